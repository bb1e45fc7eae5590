"""Subagents under any schedule: slots are kept, whoever waits is woken, and a stop reaches everybody, whenever it comes."""

from __future__ import annotations

from typing import Any

import pytest
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st
from subagents_kit import (
    LOOK,
    HeldMerges,
    Listening,
    check_slots,
    children,
    crew,
    ends,
    message,
    most_running,
    play,
    spawn,
)

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, of_type, turn, wait, write
from ggactors.testing.simulation import Simulation

TREE = {
    "root": [
        turn(*[spawn()] * 3, issue("Work")),
        turn(*[spawn("lead")] * 2),
        turn(children()),
        wait("ISSUE-1"),
        finish(),
    ],
    "root.?s": [turn(spawn(), LOOK, spawn()), turn(LOOK, delaySecs=1), turn(children()), finish("spawned two")],
    "ISSUE-1.?i": [turn(spawn(), write("a", "a"), spawn()), turn(children()), finish()],
    "*s": [turn(LOOK, delaySecs=0.5), turn(write("b", "b")), finish("a leaf")],
}
SUBAGENTS = 3 + 2 + 5 * 2 + 2


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), width=st.integers(1, 6))
def test_under_any_schedule_slots_are_kept_and_whoever_waits_is_woken_S5_S7(seed, width):
    outcome, run = play(TREE, seed=seed, limits={"maxParallel": width})
    assert outcome.exit_code == 0
    assert most_running(run.events) <= width
    assert set(ends(run.events).values()) == {"completed"}
    assert len(ends(run.events)) == SUBAGENTS + 2


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32), width=st.integers(1, 6), moment=st.integers(3, 160))
def test_a_stop_at_any_moment_reaches_every_subagent_also_one_spawned_meanwhile_H43_H44(seed, width, moment):
    source = Listening(TREE)
    stopped: list[int] = []

    def watch(staff, event):
        check_slots(staff, event)
        if len(run_events) < moment:
            run_events.append(event)
        elif not stopped and staff.outcome is None:
            stopped.append(len(source.requests))
            staff.stop(Status.CANCELED, "cancelled by the test")

    run_events: list[Any] = []
    outcome, run = play(source, seed=seed, watch=watch, limits={"maxParallel": width})
    if outcome.status is Status.COMPLETED:
        assert not stopped or run.events[-2].type == "session_summary"
        return
    assert outcome.status is Status.CANCELED
    assert set(ends(run.events).values()) <= {"canceled", "completed"}
    # No turn begins after the stop; only a reply that was being prepared in the same step can still be asked for.
    assert len(source.requests) <= stopped[0] + width
    assert "failed" not in outcome.issues.values()


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32), width=st.integers(1, 6), moment=st.integers(0, 30))
def test_a_subagent_spawned_while_its_parent_goes_to_its_end_is_caught_H44(seed, width, moment):
    spawning = [
        turn(spawn(), spawn(), delaySecs=0.1),
        turn(spawn(), delaySecs=0.1),
        turn(LOOK, delaySecs=0.1, repeat=99),
    ]
    script = {
        "root": [turn(spawn(), spawn()), turn(LOOK, delaySecs=moment / 20), {"error": {"status": 400}}],
        "*s": spawning,
    }
    source = Listening(script)
    outcome, run = play(source, seed=seed, limits={"maxParallel": width})
    assert outcome.status is Status.MODEL_ERROR
    statuses = ends(run.events)
    assert statuses.pop("root") == "model_error"
    assert set(statuses.values()) <= {"canceled"}
    assert ends(run.events)
    order = [event.agent for event in of_type(run.events, "agent_state") if event.state == "ended"]
    for name in order:
        parent = name.rpartition(".")[0]
        assert not parent or order.index(name) < order.index(parent)


@pytest.mark.parametrize("seed", range(20))
def test_subagents_in_main_that_are_taken_along_while_an_issue_merges_wait_for_the_merge_M6(seed):
    merges, idle = HeldMerges(), message("nobody", "hello?")
    script = {
        "root": [
            turn(issue("Work"), spawn(), spawn()),
            turn(idle, delaySecs=5),
            {"error": {"status": 400}},
        ],
        "ISSUE-1.*": [turn(write("f", "x"), delaySecs=0.1), finish()],
        "root.?s": [turn(idle, delaySecs=0.07, repeat=150)],
    }

    def watch(staff, event):
        check_slots(staff, event)
        if event.type == "agent_state" and event.agent in ("root.0s", "root.1s"):
            if staff.family.members["root"].ending:
                merges.let.set()
        elif event.type == "log" and event.level == "error":
            merges.let.set()

    outcome, run = play(script, seed=seed, watch=watch, repository=merges, limits={"maxParallel": 4})
    assert outcome.status is Status.MODEL_ERROR
    assert outcome.issues == {"ISSUE-1": "done"}
    assert run.repository.files["f"] == "x"
    assert {ends(run.events)[name] for name in ("root.0s", "root.1s")} == {"canceled"}


@pytest.mark.parametrize("step", range(0, 500, 17))
def test_a_run_cut_off_at_any_step_leaves_no_slot_taken_S7(step):
    class Cutter(trio.abc.Instrument):
        """Cancels the run at its k-th scheduled step."""

        def __init__(self):
            self.left, self.scope = step, None

        def before_task_step(self, task):
            self.left -= 1
            if self.left == 0 and self.scope is not None:
                self.scope.cancel()

    cutter = Cutter()
    run = Simulation(source=Listening(TREE), watch=check_slots, document=crew(limits={"maxParallel": 2}))

    async def main():
        with trio.CancelScope() as scope:
            cutter.scope = scope
            await run.run()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0), instruments=[cutter])
    if run.staff is not None:
        assert run.staff.pool.held == 0
        assert run.staff.outcome is not None
