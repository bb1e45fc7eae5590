"""The attention queue in whole runs: approvals, questions, what wants to be seen; answered in any order (H42)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio
from interactive_kit import crew_of, kinds, left, session, until

import ggactors
from ggactors.actors.attention import Attention
from ggactors.protocol import events
from ggactors.testing.crews import finish, issue, run_to_end, shell, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


async def test_a_call_marked_ask_waits_for_the_person_without_a_slot_and_the_refusal_says_why(place):
    replies = [turn(write("a.txt", "a")), turn(write("b.txt", "b")), turn(write("c.txt", "c")), finish("done")]
    async with session(place, replies, task="go", interactive=False, profile={"ask": ["write_file"]}) as run:
        await until(run, "attention", state="open")
        (item,) = run.attention()
        assert (item.kind, item.agent, item.default, item.deadline_secs) == ("approval", "root", "refuse", 600)
        assert '"a.txt"' in item.detail
        waiting = await until(run, "agent_state", state="waiting")
        assert waiting.waiting_on == "approval of write_file"
        with pytest.raises(ValueError, match="approve, always, refuse"):
            run.answer(item.id, "perhaps")
        assert run.answer(item.id, "refuse", "not there").accepted
        assert not run.answer(item.id, "approve").accepted
        second = await until(run, "attention", nth=2, state="open")
        assert run.answer(second.item, "always").accepted
        await run.outcome()
    refused, *others = kinds(run, "tool_result")[:3]
    assert (refused.code, [one.ok for one in others]) == ("refused", [True, True])
    assert "not there" in refused.output
    assert sorted(path.name for path in (place / "work").iterdir()) == ["b.txt", "c.txt"]


async def test_nobody_answering_in_time_is_a_refusal_and_is_said(place):
    replies = [turn(shell("touch x")), finish("done")]
    profile = {"ask": ["shell"], "askSecs": 0.05}
    async with session(place, replies, task="go", interactive=False, profile=profile) as run:
        outcome = await run.outcome()
    assert outcome.exit_code == 0
    assert [one.state for one in kinds(run, "attention")] == ["open", "expired"]
    assert "nobody answered within 0.05 s" in kinds(run, "tool_result")[0].output
    assert not (place / "work" / "x").exists()


async def test_yes_beforehand_asks_for_nothing(place):
    replies = [turn(write("a.txt", "a")), finish("done")]
    async with session(place, replies, task="go", confirm=True, profile={"ask": ["write_file"]}) as run:
        assert await run.persons_turn()
        await left(run)
    assert (place / "work" / "a.txt").read_text() == "a"
    assert not kinds(run, "attention")


async def test_an_interrupt_withdraws_what_the_turn_asked_for(place):
    async with session(place, [turn(shell("touch x")), finish()], task="go", profile={"ask": ["shell"]}) as run:
        await until(run, "attention", state="open")
        run.interrupt()
        assert await run.persons_turn()
        assert run.attention() == ()
        await left(run)
    assert [one.state for one in kinds(run, "attention")] == ["open", "withdrawn"]
    assert not (place / "work" / "x").exists()


async def test_a_stop_releases_who_waits_for_approval_and_answers_its_calls(place):
    replies = [turn(shell("touch x"), write("y", "y")), finish()]
    async with session(place, replies, task="go", interactive=False, profile={"ask": ["shell"]}) as run:
        await until(run, "attention", state="open")
        run.cancel()
        outcome = await run.outcome()
    assert (outcome.status, outcome.exit_code) == ("canceled", 130)
    assert [one.state for one in kinds(run, "attention")] == ["open", "withdrawn"]
    assert [one.code for one in kinds(run, "tool_result")] == ["unavailable", "unavailable"]
    assert not any((place / "work").iterdir())


async def test_a_question_of_the_embedding_program_is_answered_by_a_text_or_by_its_default(place):
    async with session(place, []) as run:
        answers = {}

        async def ask(name, **more):
            answers[name] = await run.ask("Which port?", **more)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "told")
            item = (await until(run, "attention")).item
            nursery.start_soon(lambda: ask("late", default="8080", deadline_secs=0.05))
            await until(run, "attention", state="expired")
            run.answer(item, "9090", "it is free")
        await left(run)
    assert (answers["told"].choice, answers["told"].note, answers["told"].expired) == ("9090", "it is free", False)
    assert (answers["late"].choice, answers["late"].expired) == ("8080", True)


# ---------------------------------------------------------------- what wants to be seen


async def test_a_stall_a_held_checkout_and_a_slow_review_want_to_be_seen_and_go_by_themselves(tmp_path):
    repo = make_repo(tmp_path / "repo", {"a.py": "old\n"})
    (repo.path / "a.py").write_text("the operator's\n")
    script = {
        "root": [
            turn(issue("Add a", reviewers=["critic"]), issue("Hopeless"), issue("Behind it", blockedBy=["ISSUE-2"])),
            wait("ISSUE-1", "ISSUE-2"),
            turn(("remove_issue", {"issueId": "ISSUE-3"})),
            finish("seen"),
        ],
        "ISSUE-1.?i": [turn(write("a.py", "new\n")), finish("wrote it")],
        "ISSUE-1.[012]i.0r": [turn(("request_changes", {"items": ["more"]}))],
        "ISSUE-1.3i.0r": [turn(("approve", {}))],
        "ISSUE-2.*": [{"text": "no"}],
    }
    crew = write_crew(tmp_path / "crew", script, params={"maxRetries": 0}, limits={"maxTurns": 9})
    outcome, seen = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert outcome.issues == {"ISSUE-1": "done", "ISSUE-2": "failed"}
    told = [(one.kind, one.state, one.issue) for one in seen if one.type == "attention"]
    assert sorted(told) == [
        ("checkout", "open", None),
        ("review", "open", "ISSUE-1"),
        ("review", "settled", "ISSUE-1"),
        ("stall", "open", "ISSUE-3"),
        ("stall", "settled", "ISSUE-3"),
    ]
    review = next(one for one in seen if one.type == "attention" and one.kind == "review")
    assert (review.title, review.detail) == ("the review of ISSUE-1 does not converge: 3 rounds so far", "more")


def test_the_same_thing_is_told_once_while_it_is_open_and_seeing_it_closes_it():
    told = []
    queue = Attention(emit=told.append)
    stalled = events.BoardStalled(issue="ISSUE-2", blocker="ISSUE-1")
    queue.hear(stalled)
    queue.hear(stalled)
    (item,) = queue.items()
    assert queue.answer(item.id, "seen") is None
    assert queue.items() == ()
    queue.hear(stalled)
    assert [one.state for one in told] == ["open", "answered", "open"]
    assert told[2].item != told[0].item


# ---------------------------------------------------------------- the crew's key


@pytest.mark.parametrize(
    ("profile", "path", "said"),
    [
        ({"ask": ["finish"]}, "agents[0].ask[0]", "never asked"),
        ({"ask": ["wait_for_issue"]}, "agents[0].ask[0]", "never asked"),
        ({"ask": ["shel"]}, "agents[0].ask[0]", "no such tool"),
        ({"ask": ["shell.run"]}, "agents[0].ask[0]", "code mode"),
        ({"ask": "shell"}, "agents[0].ask", "list"),
        ({"ask": ["shell"], "askSecs": 0}, "agents[0].askSecs", "0"),
    ],
)
def test_what_cannot_be_asked_for_refuses_the_launch_P2(place, profile, path, said):
    with pytest.raises(ggactors.LaunchRefused) as refused:
        crew_of(place / "crew", [finish()], **profile)
    (problem,) = refused.value.problems
    assert problem.path == path
    assert said in problem.what
    assert problem.remedy
