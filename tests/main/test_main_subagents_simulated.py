"""Subagents in whole runs in memory: names, depths, refusals, endings, messages."""

from __future__ import annotations

import pytest
import trio.testing
from subagents_kit import (
    LOOK,
    Listening,
    answers,
    check_slots,
    children,
    crew,
    ends,
    message,
    outputs,
    place,
    play,
    spawn,
)

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, of_type, turn, wait, write
from ggactors.testing.simulation import Simulation

# ---------------------------------------------------------------- names and depth


def test_subagents_are_named_after_who_spawned_them_from_0_each_D3():
    script = {
        "root": [turn(issue("Work")), turn(spawn(), spawn()), turn(children()), wait("ISSUE-1"), finish()],
        "root.0s": [turn(spawn()), turn(children()), turn(spawn()), turn(children()), finish()],
        "ISSUE-1.0i": [turn(spawn()), turn(children()), {"error": {"status": 400}}],
        "ISSUE-1.1i": [turn(spawn()), turn(children()), turn(write("a", "a")), finish()],
        "*s": [finish()],
    }
    outcome, run = play(script)
    assert outcome.exit_code == 0
    names = sorted(event.agent for event in of_type(run.events, "agent_spawned") if event.kind == "subagent")
    expected = ["ISSUE-1.0i.0s", "ISSUE-1.1i.0s", "root.0s", "root.0s.0s", "root.0s.1s", "root.1s"]
    assert names == expected


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_an_agent_at_the_maximum_depth_spawns_nobody_and_is_told_to_do_it_itself(depth):
    down = [turn(spawn()), turn(children()), finish()]
    outcome, run = play({"root": down, "*s": down}, depth=depth)
    assert outcome.exit_code == 0
    chain = ["root" + ".0s" * level for level in range(depth + 1)]
    assert [event.agent for event in of_type(run.events, "agent_spawned")] == chain
    (refused,) = answers(run.events, chain[-1], "spawn_subagent")
    assert (refused.ok, refused.code) == (False, "limit-exceeded")
    assert "yourself" in refused.output
    # A refused call is no error turn (C1), and whoever has no subagent waits for none.
    assert {event.outcome for event in of_type(run.events, "turn_outcome")} == {"progressed", "finished"}
    assert outputs(run.events, chain[-1], "wait_for_subagents") == [[]]


def test_an_implementer_begins_at_depth_0_however_deep_the_issue_was_filed_D1():
    script = {
        "root": [turn(spawn("lead")), turn(children()), finish()],
        "root.0s": [turn(issue("Work")), wait("ISSUE-1"), finish()],
        "ISSUE-1.0i": [turn(spawn()), turn(children()), turn(write("a", "a")), finish()],
        "*s": [finish()],
    }
    outcome, run = play(script, depth=1)
    assert outcome.exit_code == 0
    implementer = of_type(run.events, "agent_spawned", "ISSUE-1.0i")[0]
    assert implementer.parent is None
    assert ends(run.events)["ISSUE-1.0i.0s"] == "completed"


# ---------------------------------------------------------------- waiting and ending


def test_finishing_with_living_subagents_is_refused_as_conflict_and_names_them_W4():
    script = {
        "root": [turn(spawn(), spawn(), spawn()), finish("too early"), turn(children()), finish("at last")],
        "root.1s": [finish()],
        "*s": [turn(LOOK, delaySecs=5), finish()],
    }
    outcome, run = play(script, limits={"maxParallel": 4})
    assert (outcome.exit_code, outcome.summary) == (0, "at last")
    early, late = answers(run.events, "root", "finish")
    assert (early.ok, early.code) == (False, "conflict")
    assert "root.0s" in early.output
    assert "root.2s" in early.output
    assert "wait_for_subagents" in early.output
    assert late.ok


def test_a_spawn_a_wait_and_an_ending_in_one_reply_are_served_in_that_order_E9():
    script = {
        "root": [turn(spawn(), ("finish", {"summary": "all in one"}), children())],
        "root.0s": [turn(write("a", "a"), delaySecs=3), finish()],
    }
    outcome, run = play(script, limits={"maxParallel": 1})
    assert (outcome.exit_code, outcome.summary) == (0, "all in one")
    assert run.repository.files == {"a": "a"}


def test_a_wait_reports_in_the_order_asked_and_only_of_those_named():
    script = {
        "root": [turn(*[spawn()] * 3), turn(children("root.2s", "root.0s")), turn(children()), finish()],
        "root.0s": [turn(LOOK, delaySecs=3), finish("zero")],
        "root.1s": [turn(LOOK, delaySecs=60), finish("one")],
        "root.2s": [turn(LOOK, delaySecs=6), finish("two")],
    }
    outcome, run = play(script)
    assert outcome.exit_code == 0
    named, everybody = outputs(run.events, "root", "wait_for_subagents")
    assert [(one["id"], one["summary"]) for one in named] == [("root.2s", "two"), ("root.0s", "zero")]
    assert [one["id"] for one in everybody] == ["root.0s", "root.1s", "root.2s"]
    assert {one["status"] for one in everybody} == {"completed"}


def test_waiting_for_somebody_elses_subagent_is_not_found_and_waits_for_nobody():
    script = {
        "root": [turn(spawn()), turn(children("root.0s.0s")), turn(children("root")), turn(children()), finish()],
        "root.0s": [turn(spawn()), turn(children()), finish()],
        "*s": [finish()],
    }
    outcome, run = play(script)
    assert outcome.exit_code == 0
    first, second, _ = answers(run.events, "root", "wait_for_subagents")
    assert [(one.ok, one.code) for one in (first, second)] == [(False, "not-found")] * 2
    assert "root.0s" in first.output


def test_waits_for_issues_and_for_subagents_in_one_reply_are_one_suspension_Q1():
    script = {
        "root": [turn(issue("Work"), spawn()), turn(children(), ("wait_for_issue", {"issueId": "ISSUE-1"})), finish()],
        "root.0s": [turn(LOOK, delaySecs=30), finish("looked")],
        "ISSUE-1.0i": [turn(write("a", "a"), delaySecs=10), finish()],
    }
    outcome, run = play(script, limits={"maxParallel": 1})
    assert outcome.exit_code == 0
    waits = [event for event in of_type(run.events, "agent_state", "root") if event.state == "waiting"]
    assert len(waits) == 1
    assert "root.0s" in waits[0].waiting_on
    assert "ISSUE-1" in waits[0].waiting_on
    assert outputs(run.events, "root", "wait_for_issue") == [{"id": "ISSUE-1", "state": "done"}]
    assert outputs(run.events, "root", "wait_for_subagents")[0][0]["summary"] == "looked"


def test_a_subagent_may_not_wait_for_the_issue_it_works_under_Q1():
    script = {
        "root": [turn(issue("Work")), wait("ISSUE-1"), finish()],
        "ISSUE-1.0i": [turn(spawn("lead")), turn(children()), turn(write("a", "a")), finish()],
        "ISSUE-1.0i.0s": [wait("ISSUE-1"), finish("could not wait")],
    }
    outcome, run = play(script)
    assert outcome.exit_code == 0
    (refused,) = answers(run.events, "ISSUE-1.0i.0s", "wait_for_issue")
    assert refused.code == "refused"


@pytest.mark.parametrize(
    ("replies", "status", "word"),
    [
        ([turn(LOOK, repeat=50)], "exhausted", "maxTurns"),
        ([{"text": "hm", "repeat": 50}], "limit_exceeded", "maxConsecutiveErrors"),
        ([{"error": {"status": 400}}], "model_error", "400"),
        ([{"error": {"status": 401}}], "auth_error", "401"),
    ],
)
def test_a_subagent_that_did_not_finish_is_reported_with_its_status_never_as_an_empty_success_H51(
    replies, status, word
):
    script = {"root": [turn(spawn()), turn(children()), finish("saw it")], "root.0s": replies}
    outcome, run = play(script, limits={"maxTurns": 4, "maxConsecutiveErrors": 2})
    assert (outcome.status, outcome.summary) == (Status.COMPLETED, "saw it")
    ((child,),) = outputs(run.events, "root", "wait_for_subagents")
    assert (child["id"], child["status"]) == ("root.0s", status)
    assert word in child["summary"]


def test_a_parent_that_ends_badly_takes_its_subagents_with_it_before_its_issue_is_settled():
    script = {
        "root": [turn(issue("Work")), wait("ISSUE-1"), finish()],
        "ISSUE-1.0i": [turn(spawn(), spawn()), turn(LOOK, delaySecs=20), {"error": {"status": 400}}],
        "ISSUE-1.0i.0s": [turn(spawn()), turn(children()), finish()],
        "ISSUE-1.1i": [turn(write("a", "a")), finish()],
        "*s": [turn(LOOK, delaySecs=3, repeat=1000)],
    }
    outcome, run = play(script)
    assert outcome.exit_code == 0
    family = ["ISSUE-1.0i.0s", "ISSUE-1.0i.0s.0s", "ISSUE-1.0i.1s", "ISSUE-1.0i"]
    ended = {name: place(run.events, agent=name, type="agent_state", state="ended") for name in family}
    assert {name: ends(run.events)[name] for name in family[:3]} == dict.fromkeys(family[:3], "canceled")
    assert ended["ISSUE-1.0i.0s.0s"] < ended["ISSUE-1.0i.0s"] < ended["ISSUE-1.0i"]
    changes = of_type(run.events, "board_changed")
    settled = next(event for event in changes if event.issue and "model_error" in (event.issue["reason"] or ""))
    assert max(ended[name] for name in family[:3]) < run.events.index(settled)
    retry = place(run.events, agent="ISSUE-1.1i", type="agent_spawned")
    assert max(ended.values()) < retry
    assert all(event.agent not in family for event in run.events[retry:] if event.type == "turn_outcome")


def test_a_subagent_that_queues_or_backs_off_when_its_parent_ends_is_released_at_once():
    script = {
        "root": [turn(spawn(), spawn()), turn(LOOK, delaySecs=1), {"error": {"status": 400}}],
        "root.0s": [{"error": {"status": 429, "retryAfterSecs": 7200}}, finish()],
        "*s": [turn(LOOK, repeat=1000)],
    }
    clock = trio.testing.MockClock(autojump_threshold=0)
    run = Simulation(script=script, watch=check_slots, document=crew(limits={"maxParallel": 2}))

    async def timed():
        outcome = await run.run()
        return outcome, trio.current_time()

    began = clock.current_time()
    outcome, over = trio.run(timed, clock=clock)
    assert outcome.status is Status.MODEL_ERROR
    assert ends(run.events)["root.0s"] == "canceled"
    assert over - began < 60


# ---------------------------------------------------------------- messages


def test_a_message_reaches_its_addressees_next_turn_up_and_down():
    source = Listening(
        {
            "root": [
                turn(spawn()),
                turn(LOOK, message("root.0s", "and look at b")),
                turn(children()),
                turn(LOOK),
                finish(),
            ],
            "root.0s": [turn(LOOK, delaySecs=5), turn(LOOK), turn(message("root", "b is odd"), LOOK), finish()],
        }
    )
    outcome, _ = play(source)
    assert outcome.exit_code == 0
    assert source.heard_by("root.0s", 2) == ["Message from root:\nand look at b"]
    assert source.heard_by("root", 4) == ["Message from root.0s:\nb is odd"]


def test_siblings_and_agents_of_the_board_can_write_to_each_other():
    source = Listening(
        {
            "root": [turn(issue("Work"), spawn()), wait("ISSUE-1"), turn(children()), finish()],
            "root.0s": [turn(LOOK, delaySecs=5), turn(message("ISSUE-1.0i", "mind the gap")), finish()],
            "ISSUE-1.0i": [turn(LOOK, delaySecs=20), turn(write("a", "a")), finish()],
        }
    )
    outcome, _ = play(source)
    assert outcome.exit_code == 0
    assert source.heard_by("ISSUE-1.0i", 2) == ["Message from root.0s:\nmind the gap"]


def test_a_message_to_nobody_to_oneself_or_to_who_has_ended_is_refused_with_its_code_B10():
    script = {
        "root": [
            turn(spawn()),
            turn(children()),
            turn(message("root.0s", "late"), message("root.7s", "lost"), message("root", "me")),
            finish(),
        ],
        "root.0s": [finish()],
    }
    outcome, run = play(script)
    assert outcome.exit_code == 0
    codes = [(answer.ok, answer.code) for answer in answers(run.events, "root", "send_message")]
    assert codes == [(False, "conflict"), (False, "not-found"), (False, "not-found")]
