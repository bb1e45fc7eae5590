"""Whole runs in memory under the virtual clock: schedules shuffled, journals that break, runs cut off at any step."""

import random

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, turn, wait, write
from ggactors.testing.journals import MemoryJournal
from ggactors.testing.simulation import Simulation

FAN = {
    "root": [
        turn(*(issue(f"Work {n}") for n in range(1, 6)), issue("Last", blockedBy=["ISSUE-1", "ISSUE-2"])),
        wait("ISSUE-6"),
        wait("ISSUE-3", "ISSUE-4", "ISSUE-5"),
        finish("all of it"),
    ],
    **{f"ISSUE-{n}.*": [turn(write(f"f{n}", str(n)), delaySecs=n / 10), finish()] for n in range(1, 7)},
}


def check_slots(staff, event):
    assert staff.pool.held <= staff.pool.width
    if event.type == "agent_state":
        running = [agent for agent in staff.place.view.agents() if agent.state == "running"]
        assert len(running) <= staff.pool.width


async def test_a_whole_run_in_memory_gives_the_tree_of_its_accepted_issues(autojump_clock):
    run = Simulation(script=FAN, watch=check_slots)
    outcome = await run.run()
    assert outcome.exit_code == 0
    assert run.repository.files == {f"f{n}": str(n) for n in range(1, 7)}
    assert len(run.repository.merged) == 6
    assert run.staff.pool.held == 0


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chance=st.randoms(use_true_random=False), width=st.integers(1, 4))
def test_under_any_schedule_slots_are_kept_and_every_issue_lands_once_S7(chance, width):
    def schedule():
        trio._core._run._r = random.Random(chance.getrandbits(32))
        run = Simulation(script=FAN, watch=check_slots, document={"limits": {"maxParallel": width}})

        async def main():
            return await run.run()

        outcome = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
        assert outcome.exit_code == 0
        assert sorted(name for name, _ in run.repository.merged) == [f"ISSUE-{n}" for n in range(1, 7)]
        order = [name for name, _ in run.repository.merged]
        assert order.index("ISSUE-6") > max(order.index("ISSUE-1"), order.index("ISSUE-2"))
        assert run.staff.pool.held == 0

    schedule()


@pytest.mark.parametrize("commit", range(2, 60, 3))
def test_a_journal_that_breaks_at_any_commit_ends_the_run_internal_error_and_fails_no_issue(commit):
    run = Simulation(script=FAN, journal=MemoryJournal(breaks_at=commit), watch=check_slots)

    async def main():
        return await run.run()

    outcome = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    if outcome.status is not Status.INTERNAL_ERROR:
        assert outcome.exit_code == 0
        assert commit > run.journal.commits - 2
        return
    assert outcome.exit_code == 1
    assert "failed" not in outcome.issues.values()
    assert run.staff.pool.held == 0


@pytest.mark.parametrize("step", range(0, 400, 13))
def test_a_run_cut_off_at_any_step_leaves_no_slot_taken_and_gives_an_account_S7(step):
    class Cutter(trio.abc.Instrument):
        """Cancels the run at its k-th scheduled step."""

        def __init__(self):
            self.left, self.scope = step, None

        def before_task_step(self, task):
            self.left -= 1
            if self.left == 0 and self.scope is not None:
                self.scope.cancel()

    cutter = Cutter()
    run = Simulation(script=FAN, watch=check_slots)

    async def main():
        with trio.CancelScope() as scope:
            cutter.scope = scope
            await run.run()
        return scope.cancelled_caught

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0), instruments=[cutter])
    assert run.staff is None or run.staff.pool.held == 0
    if run.staff is not None:
        assert run.events[-1].type == "session_ended"
        assert run.staff.outcome is not None


@settings(max_examples=40, deadline=None)
@given(chance=st.randoms(use_true_random=False))
def test_issues_filed_in_one_reply_get_their_slots_in_the_order_of_filing_S4(chance):
    trio._core._run._r = random.Random(chance.getrandbits(32))
    run = Simulation(
        script={
            "root": [turn(*(issue(f"Work {n}") for n in range(1, 6))), wait("ISSUE-5"), finish()],
            "*i": [turn(write("f", "x"), delaySecs=1), finish()],
        },
        document={"limits": {"maxParallel": 1}},
    )

    async def main():
        return await run.run()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    started = [event.agent for event in run.events if event.type == "agent_spawned" and event.kind == "implementer"]
    assert started == [f"ISSUE-{n}.0i" for n in range(1, len(started) + 1)]
