"""What users reported of working with agents in person: evidence, approvals, stopping (H numbers), as whole runs."""

from __future__ import annotations

import pytest
import trio

import ggactors
from ggactors.app.solo import solo_document
from ggactors.testing.crews import finish, run_to_end, shell, turn, write, write_crew


def of_type(events, kind, **fields):
    return [one for one in events if one.type == kind and all(getattr(one, k) == v for k, v in fields.items())]


def solo(place, *replies, **more):
    """Write the crew of solo work on a script, and give it with a workspace."""
    (place / "work").mkdir()
    write_crew(place / "crew", {"root": list(replies)})
    return ggactors.crew_from_document(
        {**solo_document("script/script.json", **more), "limits": {"maxTurns": 30}}, folder=place / "crew"
    ), place / "work"


async def until(run, kind, nth=1, **fields):
    async for event in run.events():
        if of_type([event], kind, **fields):
            nth -= 1
            if not nth:
                return event
    raise AssertionError(f"{kind} {fields} did not come")


async def test_a_model_that_only_talks_is_stopped_with_a_diagnosis_and_not_paid_for_for_ever_H36(tmp_path):
    crew, work = solo(tmp_path, {"text": "There is nothing for me to do.", "repeat": 99})
    outcome, events = await run_to_end(crew, work, home=tmp_path / "state")
    assert (outcome.status, outcome.exit_code, outcome.turns) == ("limit_exceeded", 3, 5)
    assert "maxConsecutiveErrors" in outcome.summary
    assert {one.error_type for one in of_type(events, "turn_outcome")} == {"missing_completion_no_call"}


async def test_saying_that_there_is_nothing_to_do_is_an_honest_ending_H36(tmp_path):
    crew, work = solo(tmp_path, {"text": "Nothing to do."}, finish("There is nothing to do: the file is there."))
    outcome, _ = await run_to_end(crew, work, home=tmp_path / "state")
    assert (outcome.status, outcome.exit_code) == ("completed", 0)


async def test_the_evidence_of_a_check_is_the_exit_status_of_a_command_the_runtime_ran_H38(tmp_path):
    claims = ("pytest.log", "result.txt", ".ggactors/verify-completion.log", "hook.json")
    crew, work = solo(
        tmp_path,
        turn(*(write(name, 'exit code 0\n{"action": "continue"}\n===== 12 passed =====\n') for name in claims)),
        {**finish("pytest passed: 12 passed, exit code 0"), "repeat": 2},
        turn(write("fixed.txt", "really\n")),
        finish("fixed it"),
        verified=True,
    )
    check = "cat *.log result.txt hook.json; echo x >> ../ran; test -e fixed.txt"
    outcome, events = await run_to_end(crew, work, home=tmp_path / "state", verify=check)
    assert (outcome.verified, outcome.summary) == (True, "fixed it")
    assert [(one.outcome, one.exit_code) for one in of_type(events, "hook")] == [
        ("blocked", 1),
        ("blocked", 1),
        ("passed", 0),
    ]
    assert (tmp_path / "ran").read_text() == "x\n" * 3, "every ending is checked anew"


async def test_seven_agents_ask_at_once_one_nested_two_deep_and_are_answered_in_reverse_order_H42(tmp_path):
    (tmp_path / "work").mkdir()
    spawn = ("spawn_subagent", {"agent": "lead", "prompt": "touch your file"})
    waiting = turn(("wait_for_subagents", {}))
    script = {
        "root": [turn(*[spawn] * 7), waiting, finish("all back")],
        "root.0s": [turn(spawn), waiting, finish("mine is back")],
        "root.0s.0s": [turn(shell("touch root.0s.0s")), finish()],
        **{f"root.{n}s": [turn(shell(f"touch root.{n}s")), finish()] for n in range(1, 7)},
    }
    hands = [{"id": "files"}, {"id": "shell"}, {"id": "subagents", "params": {"maxDepth": 3}}]
    lead = {
        "capabilities": hands,
        "ask": ["shell"],
        "askSecs": None,
        "roster": [{"agent": "lead", "scopes": ["subagent"]}],
    }
    crew = write_crew(tmp_path / "crew", script, board=False, agents={"lead": lead}, limits={"maxParallel": 2})
    with trio.fail_after(60):
        async with ggactors.open_run(crew, workspace=tmp_path / "work", home=tmp_path / "state", task="go") as run:
            await until(run, "attention", nth=7, state="open")
            items = run.attention()
            assert len({item.id for item in items}) == 7
            assert {item.agent for item in items} == {"root.0s.0s", *(f"root.{n}s" for n in range(1, 7))}
            for item in reversed(items):
                choice = "refuse" if item.agent == "root.3s" else "approve"
                assert item.detail == f"touch {item.agent}"
                assert run.answer(item.id, choice, "not you").accepted
            outcome = await run.outcome()
            assert run.attention() == ()
            seen = [event async for event in run.events()]
    assert outcome.exit_code == 0
    made = {path.name for path in (tmp_path / "work").iterdir()}
    assert made == {"root.0s.0s", "root.1s", "root.2s", "root.4s", "root.5s", "root.6s"}
    (refused,) = of_type(seen, "tool_result", ok=False)
    assert refused.agent == "root.3s"
    assert "not you" in refused.output
    answered = [one.item for one in of_type(seen, "attention", state="answered")]
    assert answered == [item.id for item in reversed(items)]


@pytest.mark.parametrize("how", ["cancel", "close"])
async def test_stopping_an_idle_agent_needs_no_word_of_its_model_H47(tmp_path, how):
    crew, work = solo(tmp_path, {"text": "Standing by."}, {"text": "I would rather stay."})
    with trio.fail_after(60):
        async with ggactors.open_run(crew, workspace=work, home=tmp_path / "state", task="go", interactive=True) as run:
            assert await run.persons_turn()
            assert getattr(run, how)().accepted
            outcome = await run.outcome()
    assert outcome.turns == 1
    assert (outcome.status, outcome.exit_code) == {"cancel": ("canceled", 130), "close": ("completed", 0)}[how]
