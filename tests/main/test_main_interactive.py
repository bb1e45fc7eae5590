"""Interactive sessions (G4, G7): the floor, queued prompts, the nudge, interrupts, leaving. Real runs, scripted models."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from interactive_kit import PROSE, kinds, left, mirrored, session, until

from ggactors.programs.artifacts import problems
from ggactors.protocol.program import Language
from ggactors.testing.crews import finish, shell, turn, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


def texts_of(run, replies_of="root"):
    """Give what the model was told, from the run's own journal of events: briefs are no messages."""
    return [(one.state, one.text) for one in kinds(run, "message", agent=replies_of)]


async def test_a_reply_without_a_call_hands_the_floor_to_the_person_and_is_no_error_G7(place):
    async with session(place, [PROSE, {"text": "Aha."}, finish("did it")], task="hello") as run:
        assert await run.persons_turn()
        (state,) = kinds(run, "agent_state", state="waiting")
        assert (state.agent, state.waiting_on) == ("root", "you")
        assert [one.outcome for one in kinds(run, "turn_outcome")] == ["progressed"]
        receipt = run.send("root", "go on")
        assert (receipt.accepted, receipt.state) == (True, "queued")
        assert await run.persons_turn()
        assert receipt.state == "delivered"
        run.send("root", "and finish")
        assert await run.persons_turn()
        (ended,) = kinds(run, "task_ended")
        assert (ended.status, ended.summary, ended.verified) == ("completed", "did it", None)
        outcome = await left(run)
    assert (outcome.status, outcome.exit_code, outcome.summary, outcome.errors) == ("completed", 0, "did it", 0)


# ---------------------------------------------------------------- starting, queueing, nudging


async def test_without_a_task_the_person_speaks_first_and_no_model_is_called(place):
    async with session(place, [finish("hi there")]) as run:
        assert await run.persons_turn()
        assert not kinds(run, "turn_outcome")
        run.send("root", "say hi")
        assert await run.persons_turn()
        outcome = await left(run)
    assert (outcome.summary, outcome.turns) == ("hi there", 1)


async def test_queued_prompts_are_worked_off_in_turn_and_suppress_the_nudge_G4(place):
    replies = [finish("one"), PROSE, finish("three"), {"text": "over"}]
    async with session(place, replies, task="first", prompts=["second", "third"], confirm=True) as run:
        assert await run.persons_turn()
        assert [(one.task, one.summary, one.queued) for one in kinds(run, "task_ended")] == [
            (1, "one", 2),
            (3, "three", 0),
        ]
        receipt = run.send("root", "fourth", queue=True)
        assert await run.persons_turn()
        assert receipt.state == "delivered"
        delivered = [text for state, text in texts_of(run) if state == "delivered"]
        assert delivered == ["second", "third", "fourth"]
        await left(run)
    assert [one.waiting_on for one in kinds(run, "agent_state", state="waiting")][:1] == ["you"]


async def test_with_yes_one_nudge_is_given_once_per_stretch_and_never_shown_to_the_person_G4(place):
    replies = [PROSE, {"text": "Really done."}, PROSE, turn(shell("true")), PROSE, finish("done"), finish("again")]
    profile, told = mirrored(place, *replies)
    async with session(place, [], task="go", confirm=True, profile=profile) as run:
        assert await run.persons_turn()
        assert len(kinds(run, "turn_outcome")) == 2, "the second reply of the stretch hands the floor over"
        nudges = [text for role, text, _, _ in told() if role == "user" and "no confirmation" in text]
        assert len(nudges) == 1
        run.send("root", "more")
        assert await run.persons_turn()
        assert len(kinds(run, "turn_outcome")) == 3, "the stretch goes on: no second nudge"
        run.send("root", "work")
        assert await run.persons_turn()
        assert kinds(run, "task_ended")[0].summary == "done"
        assert len([text for role, text, _, _ in told() if role == "user" and "no confirmation" in text]) == 2
        await left(run)
    shown = [one.text for one in (*kinds(run, "message"), *kinds(run, "assistant_message"))]
    assert not [text for text in shown if "no confirmation" in text]
    assert {one.outcome for one in kinds(run, "turn_outcome")} == {"progressed", "finished"}


async def test_no_error_ceiling_and_no_default_of_turns_ends_an_interactive_agent_C3_G7(place):
    replies = [{**PROSE, "repeat": 12}, finish("at last")]
    async with session(place, replies, task="go", limits={"maxConsecutiveErrors": 2, "maxErrorRate": 0.1}) as run:
        for _ in range(12):
            assert await run.persons_turn()
            run.send("root", "again")
        assert await run.persons_turn()
        outcome = await left(run)
    assert (outcome.status, outcome.summary) == ("completed", "at last")


async def test_a_ceiling_of_turns_that_the_crew_writes_holds_also_with_a_person_there_C3(place):
    async with session(place, [{**PROSE, "repeat": 9}], task="go", limits={"maxTurns": 2}) as run:
        assert await run.persons_turn()
        run.send("root", "again")
        assert await run.persons_turn()
        run.send("root", "again")
        assert not await run.persons_turn()
        outcome = await run.outcome()
    assert (outcome.status, outcome.exit_code) == ("exhausted", 3)


async def test_a_model_that_fails_for_good_hands_the_floor_over_and_leaving_ends_as_it_did(place):
    replies = [{"error": {"status": 400}}, finish("mended"), {"error": {"status": 401}}]
    async with session(place, replies, task="go") as run:
        assert await run.persons_turn()
        assert [one.status for one in kinds(run, "task_ended")] == ["model_error"]
        run.send("root", "try again")
        assert await run.persons_turn()
        run.send("root", "and again")
        assert await run.persons_turn()
        outcome = await left(run)
    assert [one.status for one in kinds(run, "task_ended")] == ["model_error", "completed", "auth_error"]
    assert (outcome.status, outcome.exit_code) == ("auth_error", 1)


async def test_leaving_a_busy_session_waits_for_what_is_under_way_and_queued(place):
    replies = [turn(shell("sleep 0.2")), finish("one"), finish("two")]
    async with session(place, replies, task="go", prompts=["next"]) as run:
        await until(run, "tool_call")
        outcome = await left(run)
        assert not await run.persons_turn()
    assert (outcome.status, outcome.summary) == ("completed", "two")
    assert not kinds(run, "agent_state", state="waiting")


async def test_leaving_a_conversation_in_which_nothing_was_finished_is_a_completed_session(place):
    async with session(place, [PROSE], task="hello") as run:
        assert await run.persons_turn()
        outcome = await left(run)
    assert (outcome.status, outcome.exit_code, outcome.summary) == ("completed", 0, "the operator left")


async def test_a_run_without_a_person_has_no_floor(place):
    async with session(place, [finish("done")], task="go", interactive=False) as run:
        assert not run.close().accepted
        assert not run.interrupt().accepted
        assert not await run.persons_turn()
        assert (await run.outcome()).summary == "done"


async def test_autonomous_tasks_queue_and_prose_is_answered_by_the_next_one_G4(place):
    profile, told = mirrored(place, finish("one"), PROSE, PROSE, finish("three"))
    async with session(place, [], task="a", prompts=["b", "c"], interactive=False, profile=profile) as run:
        outcome = await run.outcome()
    assert (outcome.status, outcome.exit_code, outcome.summary, outcome.errors) == ("completed", 0, "three", 2)
    said = [text for role, text, _, _ in told() if role == "user"]
    assert said[:3] == ["a", "b", "c"], "the queued prompt stands in place of the auto-reply"
    assert "Your reply called no tool" in said[3]
    assert [(one.task, one.status) for one in kinds(run, "task_ended")] == [(1, "completed"), (3, "completed")]
    assert any("without an ending call" in one.message for one in kinds(run, "log"))


# ---------------------------------------------------------------- interrupting


async def test_an_interrupt_cuts_a_model_call_and_the_conversation_goes_on_H45(place):
    replies = [{**finish("too slow"), "delaySecs": 50}, finish("quick")]
    async with session(place, replies, task="go") as run:
        await until(run, "agent_state", state="running")
        assert run.interrupt().accepted
        assert await run.persons_turn()
        assert not run.interrupt().accepted, "the person has the floor already"
        assert [one.status for one in kinds(run, "task_ended")] == ["canceled"]
        run.send("root", "now")
        assert await run.persons_turn()
        outcome = await left(run)
    assert (outcome.status, outcome.turns) == ("completed", 1)


async def test_an_interrupt_reaches_a_turn_parked_in_a_two_hour_retry_wait_H45(place):
    replies = [{"error": {"status": 429, "retryAfterSecs": 7200}}, finish("there")]
    async with session(place, replies, task="go") as run:
        await until(run, "retry_wait")
        assert run.interrupt().accepted
        assert await run.persons_turn()
        assert (await left(run)).status == "canceled"


async def test_an_interrupted_batch_answers_every_call_and_five_messages_are_all_accounted_for_H46(place):
    batch = turn(shell("echo one"), shell("sleep 70"), write("never.txt", "x"), ("finish", {"summary": "no"}))
    profile, told = mirrored(place, batch, finish("read them"))
    async with session(place, [], task="go", profile=profile) as run:
        await until(run, "tool_call", nth=2)
        receipts = [run.send("root", f"message {number}") for number in range(5)]
        assert [one.text for one in run.pending()] == [f"message {number}" for number in range(5)]
        run.interrupt()
        assert await run.persons_turn()
        results = kinds(run, "tool_result")
        assert [one.ok for one in results] == [True, False, False, False]
        assert [one.code for one in results] == [None, "unavailable", "unavailable", "unavailable"]
        assert all("interrupted by the operator" in one.output for one in results[1:])
        assert {one.state for one in receipts} == {"queued"}, "they wait for the person's next word"
        assert run.withdraw(receipts[2].id)
        assert not run.withdraw(receipts[2].id)
        assert run.go_on().accepted
        assert await run.persons_turn()
        assert [one.state for one in receipts] == ["delivered", "delivered", "withdrawn", "delivered", "delivered"]
        outcome = await left(run)
    assert not (place / "work" / "never.txt").exists()
    roles = [(role, results, calls) for role, _, results, calls in told()]
    assert roles[:4] == [("system", 0, 0), ("user", 0, 0), ("assistant", 0, 4), ("tool", 4, 0)]
    said = [text for role, text, _, _ in told() if role == "user"]
    assert said[1].startswith("The operator interrupted you")
    assert said[2:] == ["message 0", "message 1", "message 3", "message 4"], "in one turn, in order"
    assert outcome.summary == "read them"
    fates = [(one.message, one.state) for one in kinds(run, "message")]
    assert len(fates) == 10
    assert len({name for name, state in fates if state != "queued"}) == 5


async def test_leaving_after_an_interrupt_ends_canceled_and_tells_what_was_not_read_H46(place):
    async with session(place, [{**finish("x"), "delaySecs": 50}], task="go") as run:
        await until(run, "agent_state", state="running")
        receipt = run.send("root", "unheard")
        run.interrupt()
        outcome = await left(run)
    assert (outcome.status, outcome.exit_code) == ("canceled", 130)
    assert receipt.state == "unread"


async def test_a_message_to_a_busy_agent_is_read_at_its_next_turn_and_not_after_its_work_H46(place):
    profile, told = mirrored(place, turn(shell("sleep 0.3")), finish("done"))
    async with session(place, [], task="go", profile=profile) as run:
        await until(run, "tool_call")
        receipt = run.send("root", "by the way")
        assert await run.persons_turn()
        assert receipt.state == "delivered"
        assert [text for role, text, _, _ in told() if role == "user"] == ["go", "by the way"]
        await left(run)


@pytest.mark.parametrize("moment", range(2, 8))
async def test_an_interrupt_of_an_answer_in_prose_hands_the_floor_over_once_and_loses_no_text_H46(place, moment):
    async with session(place, [{**PROSE, "repeat": 9}]) as run:
        assert await run.persons_turn()
        before = run.seen[-1].seq
        extra = []

        def interrupt(event):
            if event.seq == before + moment:
                extra.append(run.send("root", "one more thing"))
                run.interrupt()

        run.add_sink(interrupt)
        run.send("root", "what is this?")
        await until(run, "agent_state", nth=2, state="waiting")
        if run.go_on().accepted:
            assert await run.persons_turn()
        outcome = await left(run)
        assert not await run.persons_turn()
    assert [receipt.state for receipt in extra] in ([], ["delivered"])
    assert outcome.exit_code == (130 if outcome.status == "canceled" else 0)
    waits = [one.waiting_on for one in kinds(run, "agent_state", state="waiting")]
    assert waits == ["you"] * len(waits)


async def test_a_withdrawn_message_leaves_the_floor_with_the_person(place):
    async with session(place, [finish("never")]) as run:
        assert await run.persons_turn()
        receipt = run.send("root", "oops")
        assert run.withdraw(receipt.id)
        assert await run.persons_turn()
        assert not kinds(run, "turn_outcome")
        assert not run.go_on().accepted
        outcome = await left(run)
    assert (receipt.state, outcome.turns) == ("withdrawn", 0)


async def test_messages_to_nobody_are_not_accepted(place):
    async with session(place, [finish("done")], task="go", interactive=False) as run:
        assert not run.send("ghost", "hello").accepted
        await run.outcome()
        late = run.send("root", "too late")
    assert (late.accepted, late.state, late.id) == (False, None, None)


CHECKED = """
def reply(request):
    due = []
    for message in request["messages"]:
        if message["role"] == "tool":
            assert [one["id"] for one in message["results"]] == due, "results in the order of the calls"
            due = []
        assert not due, "every call is answered before anything else is said"
        due = [call["id"] for call in message.get("calls") or ()]
    assert not due
    if "finish" in request["messages"][-1]["text"]:
        return {"calls": [{"tool": "finish", "args": {"summary": "finished"}}]}
    made = {"tool": "write_file", "args": {"path": "a", "contents": "a"}}
    return {"calls": [made, {"tool": "shell", "args": {"command": "true"}}, made]}
"""


@pytest.mark.parametrize("moment", range(2, 22, 2))
async def test_whenever_it_is_interrupted_the_conversation_stays_whole_and_the_session_goes_on_H45(place, moment):
    (place / "crew").mkdir()
    (place / "crew" / "model.py").write_text(CHECKED)
    async with session(place, [], profile={"model": "python/model.py:reply"}) as run:
        assert await run.persons_turn()
        before = run.seen[-1].seq

        def interrupt(event):
            if event.seq == before + moment:
                run.interrupt()

        run.add_sink(interrupt)
        run.send("root", "work")
        assert await run.persons_turn()
        run.send("root", "finish")
        assert await run.persons_turn()
        outcome = await left(run)
    assert (outcome.status, outcome.summary) == ("completed", "finished")
    calls = [one.call_id for one in kinds(run, "tool_call")]
    assert sorted(calls) == sorted(one.call_id for one in kinds(run, "tool_result"))
    states = [one.state for one in kinds(run, "agent_state", agent="root")]
    assert states[-1] == "ended"
    assert not [pair for pair in pairwise(states) if pair == ("running", "running")]


@pytest.mark.skipif(bool(problems([Language.PYTHON])), reason="pip install 'ggactors[code]'")
async def test_an_agent_that_answers_with_programs_has_the_same_floor_interrupts_and_approvals_G7_X1(place):
    slow = "from gg import shell\nshell.run('touch begun; sleep 70; touch late')\ngg.session.finish('no')\n"
    asks = "from gg import files\nfiles.write_file('a.txt', 'a')\ngg.session.finish('wrote it')\n"
    replies = [PROSE, {"program": slow}, {"program": asks}]
    code = {"id": "responses-as-code", "params": {"language": "python"}}
    profile = {"capabilities": [{"id": "files"}, {"id": "shell"}, code], "ask": ["files.write_file"]}
    async with session(place, replies, task="go", profile=profile) as run:
        assert await run.persons_turn()
        assert [one.outcome for one in kinds(run, "turn_outcome")] == ["progressed"]
        run.send("root", "go on")
        await until(run, "tool_call", tool="shell.run")
        assert run.interrupt().accepted
        assert await run.persons_turn()
        run.send("root", "write")
        await until(run, "attention", state="open")
        (item,) = run.attention()
        assert item.title == "root wants to call files.write_file"
        run.answer(item.id, "approve")
        assert await run.persons_turn()
        outcome = await left(run)
    assert (outcome.status, outcome.summary) == ("completed", "wrote it")
    assert (place / "work" / "a.txt").read_text() == "a"
    assert not (place / "work" / "late").exists()
    called = [one.call_id for one in kinds(run, "tool_call")]
    assert sorted(called) == sorted(one.call_id for one in kinds(run, "tool_result"))
