"""A disk that refuses to make an issue's worktree: an attempt that was not finished, made again after a moment (D5, D8)."""

from __future__ import annotations

import trio
import trio.testing

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, turn, wait, write
from ggactors.testing.memory import MemoryRepository, broken
from ggactors.testing.simulation import Simulation

SCRIPT = {
    "root": [turn(issue("A")), wait("ISSUE-1"), finish()],
    "ISSUE-*": [turn(write("a.txt", "a")), finish()],
}


def full_for(times: int) -> MemoryRepository:
    """Make a repository whose disk is full for so many worktrees that are to be made."""
    repository, left = MemoryRepository(), [times]

    def faults(step: str) -> None:
        if step == "open_worktree" and left[0]:
            left[0] -= 1
            raise broken(step)

    repository.faults = faults
    return repository


def simulated(run: Simulation, *, stop_at: float | None = None):
    """Drive a run under a virtual clock. Answers what it came to, and the virtual seconds it took."""

    async def stopped():
        await trio.sleep(stop_at)
        run.staff.stop(Status.CANCELED, "by the test")

    async def main():
        async with trio.open_nursery() as nursery:
            if stop_at is not None:
                nursery.start_soon(stopped)
            outcome = await run.run()
            took = trio.current_time()
            nursery.cancel_scope.cancel()
        return outcome, took

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def ops(run):
    return [event.op for event in run.events if event.type == "board_changed"]


def test_a_disk_that_is_full_for_a_moment_costs_one_retry_and_not_the_issue_D5():
    run = Simulation(script=SCRIPT, repository=full_for(1))
    outcome, took = simulated(run)
    assert (outcome.exit_code, outcome.issues) == (0, {"ISSUE-1": "done"})
    assert 5.0 <= took < 10.0
    assert ops(run).count("retry_wait") == 1
    [said] = [event.message for event in run.events if event.type == "log" and event.level == "error"]
    assert "ISSUE-1.0i could not be dispatched: no space left" in said
    # The next agent works under the next name, in a worktree that is fresh.
    assert "ISSUE-1.1i" in {agent.id for agent in run.staff.place.view.agents()}


def test_a_disk_that_stays_full_fails_the_issue_with_its_reason_when_its_retries_are_spent_D5():
    run = Simulation(script=SCRIPT, repository=full_for(100))
    outcome, _ = simulated(run)
    assert outcome.issues == {"ISSUE-1": "failed"}
    assert outcome.status is Status.COMPLETED
    [failed] = [event for event in run.events if event.type == "board_changed" and event.op == "fail"]
    assert "could not be dispatched: no space left" in failed.issue["reason"]
    assert "spent" in failed.issue["reason"]


def test_others_use_the_slot_while_a_disk_is_waited_out_S3():
    script = {
        "root": [turn(issue("A"), issue("B")), wait("ISSUE-1", "ISSUE-2"), finish()],
        "ISSUE-*": [turn(write("a.txt", "a")), finish()],
    }
    run = Simulation(script=script, repository=full_for(1), document={"limits": {"maxParallel": 1}})
    outcome, _ = simulated(run)
    assert set(outcome.issues.values()) == {"done"}
    done = [event.issue["id"] for event in run.events if event.type == "board_changed" and event.op == "accept"]
    assert done[0] == "ISSUE-2"


def test_a_stop_reaches_a_disk_that_is_waited_out_and_leaves_the_issue_in_flight_D5():
    run = Simulation(script=SCRIPT, repository=full_for(100))
    outcome, took = simulated(run, stop_at=1.0)
    assert outcome.status is Status.CANCELED
    assert outcome.issues == {"ISSUE-1": "in_progress"}
    assert took < 2.0
