"""What the simulator found, told once more as plain runs: each of these broke a law before."""

import trio
import trio.testing

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, turn, wait, write
from ggactors.testing.memory import MemoryRepository, broken
from ggactors.testing.simulation import Simulation

CONFLICT = {
    "root": [turn(issue("Left"), issue("Right")), wait("ISSUE-1", "ISSUE-2"), finish()],
    "ISSUE-1.*i": [turn(write("f", "left\n")), finish()],
    "ISSUE-2.*i": [turn(write("f", "right\n"), delaySecs=1), finish()],
}


class Defect(Exception):  # noqa: N818 - no error of the product's
    """Nobody expects it."""


def simulate(script, *, struck=(), **more):
    """Play a script; ``struck`` agents break down instead of replying."""
    run = Simulation(script=script, **more)
    if struck:
        run.source = Striking(run._source(), struck)
    return trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0)), run


class Striking:
    """Serves a script, but for some agents raises what is no model's fault."""

    label = "striking"

    def __init__(self, script, struck):
        self.script, self.struck = script, struck

    def model_for(self, agent, profile):
        model = self.script.model_for(agent, profile)
        if agent in self.struck:

            async def reply(_):
                await trio.lowlevel.checkpoint()
                raise Defect(agent)

            model.reply = reply
        return model


def faults(**times):
    """Refuse a step of the repository as often as is said, or raise what is given instead of a number."""

    def step(name):
        left = times.get(name)
        if isinstance(left, int) and left > 0:
            times[name] = left - 1
            raise broken(name)
        if isinstance(left, Exception):
            raise left

    return step


def of_type(run, kind):
    return [event for event in run.events if event.type == kind]


def states_of(run, agent):
    return [event.state for event in of_type(run, "agent_state") if event.agent == agent]


def most_running(run):
    running, most = set(), 0
    for event in of_type(run, "agent_state"):
        (running.add if event.state == "running" else running.discard)(event.agent)
        most = max(most, len(running))
    return most


def test_whoever_breaks_down_is_told_to_have_ended_before_the_slot_goes_on_S7():
    outcome, run = simulate(CONFLICT, struck=["ISSUE-1.0i"], document={"limits": {"maxParallel": 1}})
    assert outcome.status is Status.INTERNAL_ERROR
    assert states_of(run, "ISSUE-1.0i")[-1] == "ended"
    assert set(states_of(run, "root")[-1:]) == {"ended"}
    assert most_running(run) == 1
    assert outcome.issues == {"ISSUE-1": "failed", "ISSUE-2": "open"}
    assert "ISSUE-1" in run.repository.worktrees, "what a defect struck keeps its worktree (D8)"


def test_nothing_is_told_after_the_account_of_a_run_that_broke_down_D8():
    script = {**CONFLICT, "ISSUE-3.0i": [turn(write("g", "g"), delaySecs=2), turn(delaySecs=5), finish()]}
    script["root"] = [turn(issue("Left"), issue("Right"), issue("Third")), wait("ISSUE-1", "ISSUE-2"), finish()]

    class Slow(MemoryRepository):
        """Takes its time over putting main back."""

        async def abort_conflict(self):
            await trio.sleep(30)
            return await super().abort_conflict()

    outcome, run = simulate(
        {**script, "ISSUE-2.0m": [turn(("list_dir", {}), delaySecs=9), finish()]},
        struck=["ISSUE-4.0i"],
        repository=Slow(),
        watch=file_a_fourth,
    )
    assert outcome.status is Status.INTERNAL_ERROR
    assert [event.type for event in run.events[-2:]] == ["session_summary", "session_ended"]
    assert run.repository.conflict is None
    assert outcome.issues["ISSUE-2"] == "in_review"


def file_a_fourth(staff, event):
    """Strike once the merge agent is at work."""
    if event.type == "agent_state" and event.agent == "ISSUE-2.0m" and event.state == "running":
        staff.crashed("somebody", Defect("at the merge"))


def test_a_run_ends_only_once_the_last_failed_issue_is_reconciled_D9_W6():
    class Slow(MemoryRepository):
        """Takes its time over removing a worktree."""

        async def discard(self, issue, *, accepted):
            await trio.sleep(30)
            return await super().discard(issue, accepted=accepted)

    script = {"root": [turn(issue("Lost", agent="coder")), finish()]}
    document = {"agents": {"coder": {"model": "script/ghost.json"}}}
    outcome, run = simulate(script, repository=Slow(), document=document, unresolved=frozenset(["script/ghost.json"]))
    assert outcome.exit_code == 4
    assert [event.type for event in run.events[-2:]] == ["session_summary", "session_ended"]
    assert len(of_type(run, "worktree_merged")) == 1
    assert not run.repository.worktrees


def test_a_defect_of_a_merge_agent_fails_its_issue_and_main_is_as_it_was_D8_M4():
    outcome, run = simulate(CONFLICT, struck=["ISSUE-2.0m"])
    assert outcome.status is Status.INTERNAL_ERROR
    assert outcome.issues == {"ISSUE-1": "done", "ISSUE-2": "failed"}
    assert run.repository.files == {"f": "left\n"}
    assert "ISSUE-2" in run.repository.worktrees


def test_a_defect_in_the_middle_of_a_merge_or_of_a_dispatch_fails_that_issue_D8():
    for step in ("merge", "begin_conflict", "open_worktree"):
        outcome, run = simulate(CONFLICT, repository=MemoryRepository(faults=faults(**{step: Defect(step)})))
        assert outcome.status is Status.INTERNAL_ERROR, step
        assert "failed" in outcome.issues.values(), step
        assert run.repository.conflict is None, step
        assert run.staff.pool.held == 0, step


def test_a_disk_that_refuses_to_take_a_merge_back_is_asked_again_until_main_is_as_it_was_M4():
    script = {**CONFLICT, "ISSUE-2.0m": [{"error": {"status": 400}}], "ISSUE-3.0i": [turn(write("g", "g\n")), finish()]}
    script["root"] = [*CONFLICT["root"][:-1], turn(issue("Later")), wait("ISSUE-3"), finish()]
    for refusals in (2, 5):
        run_faults = MemoryRepository(faults=faults(abort_conflict=refusals))
        outcome, run = simulate(script, repository=run_faults)
        assert outcome.issues == {"ISSUE-1": "done", "ISSUE-2": "failed", "ISSUE-3": "done"}
        assert run.repository.files == {"f": "left\n", "g": "g\n"}
        assert run.repository.conflict is None


def test_git_that_cannot_be_asked_about_a_merge_leaves_nothing_of_it_in_main_D2_M4():
    def fail_after_the_gate(name, seen=[]):  # noqa: B006 - one list a test run
        seen.append(name)
        if name == "resolution" and seen.count("resolution") == 2:
            raise broken(name)

    script = {**CONFLICT, "ISSUE-2.0m": [turn(write("f", "both\n")), finish()]}
    outcome, run = simulate(script, repository=MemoryRepository(faults=fail_after_the_gate))
    assert outcome.issues == {"ISSUE-1": "done", "ISSUE-2": "failed"}
    assert run.repository.files == {"f": "left\n"}


def test_a_merge_that_fails_while_the_run_is_stopping_is_left_to_later_D5():
    def stop(staff, event):
        if event.type == "board_changed" and event.op == "accept" and event.issue["id"] == "ISSUE-2":
            staff.stop(Status.CANCELED, "cancelled")

    def no_second_merge(name, seen=[]):  # noqa: B006 - one list a test run
        seen.append(name)
        if name == "merge" and seen.count("merge") == 2:
            raise broken(name)

    outcome, run = simulate(CONFLICT, repository=MemoryRepository(faults=no_second_merge), watch=stop)
    assert outcome.exit_code == 130
    assert outcome.issues == {"ISSUE-1": "done", "ISSUE-2": "in_review"}
    assert "ISSUE-2" in run.repository.worktrees


def test_a_stop_while_a_merge_is_waited_for_answers_only_calls_that_were_told_E9():
    """The root comes to main while a merge agent has it, with two calls in one reply, and the run is cancelled then."""

    def stop(staff, event):
        if (
            event.type == "agent_state"
            and event.agent == "root"
            and event.waiting_on == "a merge into the main workspace"
        ):
            staff.stop(Status.CANCELED, "cancelled")

    script = {**CONFLICT, "ISSUE-2.0m": [turn(("list_dir", {}), delaySecs=60), finish()]}
    script["root"] = [CONFLICT["root"][0], turn(write("a", "a"), write("b", "b"), delaySecs=30), finish()]
    outcome, run = simulate(script, watch=stop)
    assert outcome.exit_code == 130
    told = [event.call_id for event in of_type(run, "tool_call") if event.agent == "root"]
    answered = [event.call_id for event in of_type(run, "tool_result") if event.agent == "root"]
    assert told == answered
    assert [event.code for event in of_type(run, "tool_result") if event.agent == "root"][-2:] == ["unavailable"] * 2


def test_a_landing_that_breaks_says_where_the_checkout_stands_W10():
    def second_landing(name, seen=[]):  # noqa: B006 - one list a test run
        seen.append(name)
        if name == "land" and seen.count("land") == 2:
            raise broken(name)

    script = {
        "root": [turn(issue("One")), wait("ISSUE-1"), turn(issue("Two")), wait("ISSUE-2"), finish()],
        "ISSUE-1.0i": [turn(write("a", "a")), finish()],
        "ISSUE-2.0i": [turn(write("b", "b")), finish()],
    }
    _, run = simulate(script, repository=MemoryRepository(faults=second_landing), document={"land": "each"})
    first, refused, last = of_type(run, "checkout_moved")
    assert (refused.source, refused.target, refused.reason) == (first.target, first.target, "write-failed")
    assert (last.source, last.reason) == (first.target, None)
