"""Subagents of reviewers and merge agents, waits that would close a circle through them, and what breaks under them."""

from __future__ import annotations

from typing import Any

import pytest
import trio.testing
from attrs import define, field
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
    play,
    spawn,
)

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, of_type, turn, wait, write
from ggactors.testing.journals import MemoryJournal
from ggactors.testing.simulation import Simulation

APPROVE = turn(("approve", {}))
TWO_SIDES = {
    "ISSUE-1.0i": [turn(issue("Two")), wait("ISSUE-2"), turn(write("f", "one side")), finish()],
    "ISSUE-2.0i": [turn(write("f", "the other side")), finish()],
}
"""Two issues that conflict, also with one slot: the first has its worktree before the second is filed."""
FILED = turn(issue("One", agent="lead"))


def test_a_reviewers_subagent_works_in_the_worktree_under_review_and_ends_before_the_verdict_S6():
    script = {
        "root": [turn(issue("Work", reviewers=["critic"])), wait("ISSUE-1"), finish()],
        "ISSUE-1.0i": [turn(write("a", "a")), finish()],
        "ISSUE-1.0i.0r": [turn(spawn()), APPROVE, turn(children()), APPROVE],
        "ISSUE-1.0i.0r.0s": [turn(("read_file", {"path": "a"}), delaySecs=2), finish("it says a")],
    }
    outcome, run = play(script, limits={"maxParallel": 1})
    assert (outcome.exit_code, outcome.issues) == (0, {"ISSUE-1": "done"})
    early, late = answers(run.events, "ISSUE-1.0i.0r", "approve")
    assert (early.ok, early.code, late.ok) == (False, "conflict", True)
    assert answers(run.events, "ISSUE-1.0i.0r.0s", "read_file")[0].output == "a"
    spawned = {event.agent: event for event in of_type(run.events, "agent_spawned")}
    child, reviewer = spawned["ISSUE-1.0i.0r.0s"], spawned["ISSUE-1.0i.0r"]
    assert (child.workdir, child.issue, child.role) == (reviewer.workdir, "ISSUE-1", "standard")
    # Whatever the reviewer's role is, its subagent ends by finishing (E3).
    assert child.tools[-1] == "finish"


def test_a_merge_agents_subagent_resolves_in_main_also_with_one_slot_S6_M2():
    script = {
        **TWO_SIDES,
        "root": [FILED, wait("ISSUE-1"), finish()],
        "ISSUE-1.0m": [turn(spawn("lead")), turn(children()), finish("resolved")],
        "ISSUE-1.0m.0s": [turn(write("f", "both sides")), finish("resolved it")],
    }
    outcome, run = play(script, limits={"maxParallel": 1})
    assert (outcome.exit_code, outcome.issues) == (0, {"ISSUE-1": "done", "ISSUE-2": "done"})
    assert run.repository.files == {"f": "both sides"}
    ((child,),) = outputs(run.events, "ISSUE-1.0m", "wait_for_subagents")
    assert child == {"id": "ISSUE-1.0m.0s", "status": "completed", "summary": "resolved it"}


def test_a_merge_agents_subagent_may_not_wait_for_an_issue_that_waits_for_the_merge_Q7():
    script = {
        **TWO_SIDES,
        "root": [FILED, wait("ISSUE-1"), wait("ISSUE-3"), finish()],
        "ISSUE-3.*": [turn(write("g", "g"), delaySecs=30), finish()],
        "ISSUE-1.0m": [turn(spawn("lead")), turn(children()), finish("resolved")],
        "ISSUE-1.0m.0s": [
            turn(issue("Three"), spawn("lead")),
            turn(children()),
            turn(write("f", "both sides")),
            finish(),
        ],
        "ISSUE-1.0m.0s.0s": [wait("ISSUE-3"), finish("could not wait")],
    }
    outcome, run = play(script, limits={"maxParallel": 8})
    assert (outcome.exit_code, set(outcome.issues.values())) == (0, {"done"})
    (refused,) = answers(run.events, "ISSUE-1.0m.0s.0s", "wait_for_issue")
    assert (refused.ok, refused.code) == (False, "refused")


def test_a_circle_of_waits_through_subagents_is_refused_and_names_its_path_Q7():
    script = {
        "root": [turn(issue("One"), issue("Two", agent="lead")), wait("ISSUE-1"), wait("ISSUE-2"), finish()],
        "ISSUE-1.0i": [turn(spawn("lead")), turn(children()), turn(write("a", "a")), finish()],
        "ISSUE-1.0i.0s": [wait("ISSUE-2"), finish("two is there")],
        "ISSUE-2.0i": [turn(LOOK, delaySecs=5), wait("ISSUE-1"), turn(write("b", "b")), finish()],
    }
    outcome, run = play(script)
    assert (outcome.exit_code, outcome.issues) == (0, {"ISSUE-1": "done", "ISSUE-2": "done"})
    (refused,) = answers(run.events, "ISSUE-2.0i", "wait_for_issue")
    assert (refused.ok, refused.code) == (False, "conflict")
    assert "ISSUE-1" in refused.output
    assert outputs(run.events, "ISSUE-1.0i.0s", "wait_for_issue") == [{"id": "ISSUE-2", "state": "done"}]


# ---------------------------------------------------------------- what breaks


@define
class Breaking(Listening):
    """Models of which one breaks down by a fault of our own, on its second turn."""

    victim: str = field(default="", kw_only=True)

    def model_for(self, agent, profile):
        model = super().model_for(agent, profile)
        return Broken(model) if agent == self.victim else model


@define
class Broken:
    model: Any
    label: str = "broken"

    async def reply(self, request):
        if request.turn == 2:
            raise RuntimeError("a defect")
        return await self.model.reply(request)

    def bound(self, request):
        return self.model.bound(request)


@pytest.mark.parametrize("victim", ["root.0s", "ISSUE-1.0i.0s", "ISSUE-1.0i"])
def test_a_defect_in_or_above_a_subagent_ends_the_run_and_leaves_nobody_waiting_D8_Q5(victim):
    script = {
        "root": [turn(spawn(), issue("Work")), turn(children()), finish()],
        "root.0s": [turn(LOOK, delaySecs=3, repeat=99), finish()],
        "ISSUE-1.0i": [turn(spawn()), turn(children()), finish()],
        "ISSUE-1.0i.0s": [turn(LOOK, delaySecs=3, repeat=99), finish()],
    }
    run = Simulation(source=Breaking(script, victim=victim), watch=check_slots, document=crew())
    outcome = trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))
    assert outcome.status is Status.INTERNAL_ERROR
    assert run.staff is not None
    assert run.staff.pool.held == 0
    assert set(ends(run.events).values()) == {"internal_error"}


@pytest.mark.parametrize("commit", range(2, 40, 2))
def test_a_journal_that_breaks_at_any_commit_leaves_no_subagent_behind_S7(commit):
    script = {
        "root": [turn(spawn(), issue("Work")), turn(children()), wait("ISSUE-1"), finish()],
        "ISSUE-1.0i": [turn(spawn(), spawn()), turn(children()), turn(write("a", "a")), finish()],
        "*s": [turn(LOOK, delaySecs=0.1), turn(message("root", "hello")), finish()],
    }
    run = Simulation(
        source=Listening(script), watch=check_slots, document=crew(), journal=MemoryJournal(breaks_at=commit)
    )
    outcome = trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))
    assert outcome.status in (Status.INTERNAL_ERROR, Status.COMPLETED)
    assert "failed" not in outcome.issues.values()
    assert run.staff is not None
    assert run.staff.pool.held == 0


# ---------------------------------------------------------------- messages nobody read


def test_a_message_its_addressee_ended_without_reading_is_told_to_the_operator_H46():
    script = {
        "root": [
            turn(spawn()),
            turn(message("root.0s", "one\nof two"), message("root.0s", "two")),
            turn(children()),
            finish(),
        ],
        "root.0s": [turn(("finish", {"summary": "done"}), delaySecs=5)],
    }
    outcome, run = play(script)
    assert outcome.exit_code == 0
    told = [event.message for event in of_type(run.events, "log", "root.0s") if event.level == "warning"]
    assert told == [
        "root.0s ended before it read a message from root: one of two",
        "root.0s ended before it read a message from root: two",
    ]


@pytest.mark.parametrize("seed", range(40))
def test_every_message_of_a_cancelled_run_is_read_or_accounted_for_H46(seed):
    texts = [f"number {n}" for n in range(5)]
    source = Listening(
        {
            "root": [turn(spawn()), turn(LOOK, delaySecs=seed / 40, repeat=99)],
            "root.0s": [turn(*(message("root", text) for text in texts), delaySecs=0.4), turn(LOOK, repeat=99)],
        }
    )

    def stop(staff, event):
        check_slots(staff, event)
        if event.type == "tool_result" and event.agent == "root.0s" and event.output == '{"ok": true}':
            staff.stop(Status.CANCELED, "cancelled by the test")

    outcome, run = play(source, seed=seed, watch=stop)
    assert outcome.status is Status.CANCELED
    sent = sum(answer.ok for answer in answers(run.events, "root.0s", "send_message"))
    told = [event.message for event in of_type(run.events, "log", "root") if "ended before it read" in event.message]
    read = [text for request in source.requests if request.agent == "root" for text in texts if text in str(request)]
    assert len(told) + len(set(read)) == sent > 0
