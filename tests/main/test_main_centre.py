"""What an adversarial reading of the agents' centre found, each told as a plain run or at the lowest floor that shows it."""

from __future__ import annotations

import itertools

import trio
import trio.testing

from ggactors.actors.presence import Presence
from ggactors.app.masking import MaskedModel
from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelReply, ModelTraits, ToolCall, Usage
from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, shell, turn, wait
from ggactors.testing.memory import MemoryRepository, broken
from ggactors.testing.simulation import Simulation
from ggactors.tools.mask import Mask

FAKE_KEY = "quiet-otter-4242-lantern"


def simulated(run):
    return trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))


def of_type(run, kind, **fields):
    found = [event for event in run.events if event.type == kind]
    return [event for event in found if all(getattr(event, name) == value for name, value in fields.items())]


# ------------------------------------------------------------ what calls spend


class Forgetful:
    label = "forgetful"

    def __init__(self):
        self.spent = Usage(input=7)

    def take_spent(self):
        spent, self.spent = self.spent, None
        return spent


def test_what_a_call_spent_that_was_cut_off_is_known_behind_the_mask_too_C3():
    model = MaskedModel(Forgetful(), Mask({"LOCAL_KEY": FAKE_KEY}))
    assert model.take_spent() == Usage(input=7)
    assert model.take_spent() is None
    assert MaskedModel(object.__new__(Plain), Mask({"LOCAL_KEY": FAKE_KEY})).take_spent() is None


class Plain:
    """A model that knows nothing of what it spent."""

    label = "plain"


def test_an_issue_moved_out_of_a_spent_epic_while_its_call_waits_goes_on_C3():
    script = {
        "root": [
            turn(("create_epic", {"prefix": "API", "title": "one"})),
            turn(issue("A", epicId="API"), issue("B", epicId="API")),
            turn(("update_issue", {"issueId": "API-2", "epicId": ""}), delaySecs=2),
            wait("API-1", "API-2"),
            finish(),
        ],
        "API-1.0i": [finish() | {"usage": {"input": 100, "output": 0}, "delaySecs": 5}],
        "API-2.0i": [finish() | {"usage": {"input": 50, "output": 0}, "delaySecs": 1}],
    }
    run = Simulation(script=script, document={"limits": {"perEpic": {"maxTokens": 100}, "maxParallel": 4}})
    outcome = simulated(run)
    assert not run.crashes
    assert outcome.status is Status.COMPLETED
    assert outcome.issues == {"API-1": "done", "API-2": "done"}


# ------------------------------------------------------------ the main workspace


async def test_whoever_is_cut_short_as_its_work_in_main_ends_is_at_work_there_no_more(autojump_clock):
    repository = MemoryRepository()
    steps = []
    repository.faults = steps.append
    presence = Presence(repository=repository, emit=lambda _: None)
    with trio.CancelScope() as scope:
        async with presence.working():
            scope.cancel()
    steps.clear()
    await presence.look()
    assert steps == ["leave_main"]  # nobody works there, and what was left is not known
    steps.clear()
    await presence.look()
    assert steps == ["restore_main"]


class CutAtLeaving(MemoryRepository):
    scope = None

    async def leave_main(self):
        if self.scope is not None:
            scope, self.scope = self.scope, None
            scope.cancel()
        await super().leave_main()


async def test_a_look_at_what_was_left_in_main_that_is_cut_short_is_made_up_for(autojump_clock):
    repository = CutAtLeaving()
    presence = Presence(repository=repository, emit=lambda _: None)
    with trio.CancelScope() as repository.scope:
        async with presence.working():
            pass
    steps = []
    repository.faults = steps.append
    await presence.look()
    assert steps == ["leave_main"]


def test_a_disk_that_refuses_after_a_command_in_main_is_no_defect_D8():
    repository = MemoryRepository()
    left = ["guard_main"]

    def faults(step):
        if step in left:
            left.remove(step)
            raise broken(step)

    repository.faults = faults
    run = Simulation(script={"root": [turn(shell("true")), finish()]}, repository=repository)
    outcome = simulated(run)
    assert not run.crashes
    assert (outcome.status, left) == (Status.COMPLETED, [])
    assert [event.tool for event in of_type(run, "tool_call")] == ["shell", "finish"]
    assert any("could not be looked at" in event.message for event in of_type(run, "log"))


# ------------------------------------------------------------ waits and interrupts


def test_a_wait_cut_short_as_it_is_told_to_the_board_holds_nobody_later_Q1_H45():
    script = {
        "root": [
            turn(issue("A"), issue("B")),
            wait("ISSUE-1"),
            wait("ISSUE-2"),
            finish(),
        ],
        "ISSUE-1.0i": [finish() | {"delaySecs": 1000}],
        "ISSUE-2.0i": [finish() | {"delaySecs": 10}],
    }
    seen = []

    def watch(staff, event):
        if event.type == "tool_call" and event.args.get("issueId") == "ISSUE-1":
            assert staff.talk.interrupt("root")
        if event.type == "tool_result" and '"ISSUE-2"' in event.output and event.agent == "root":
            seen.append(trio.current_time())

    async def person(staff):
        assert await staff.talk.persons_turn("root")
        assert staff.talk.send("root", "wait for the other one", "operator")
        assert await staff.talk.persons_turn("root")
        assert run.actors["board"]._board.waits == {}
        assert staff.talk.leave("root")

    run = Simulation(script=script, watch=watch, person=person)

    async def main():
        began = trio.current_time()
        await run.run()
        return began

    began = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    told = of_type(run, "tool_result", agent="root")
    assert [event.code for event in told if event.code] == ["unavailable"]
    assert seen[-1] - began < 100


# ------------------------------------------------------------ providers


class Account:
    """An account that refuses until a moment of the clock, with the wait it asks for; it notes who asks when."""

    label = "account"

    def __init__(self, name, until=0.0, retry_after=None, replies=(), fault=None):
        self.name, self.until, self.retry_after, self.replies = name, until, retry_after, list(replies)
        self.fault, self.asked, self.label = fault, [], name
        self.traits = ModelTraits(account=name)

    def model_for(self, agent, profile):
        return self

    def bound(self, request):
        return Usage(input=1)

    async def reply(self, request):
        now = trio.current_time()
        self.asked.append(now)
        await trio.lowlevel.checkpoint()
        if self.fault is not None:
            raise self.fault()
        if now < self.until:
            raise ModelFault("too much", status=429, retryable=True, retry_after=self.retry_after)
        return ModelReply(calls=(ToolCall(id="1", tool="finish", args={"summary": "done"}),), usage=Usage(input=1))


def two_models(first, second, **more):
    models = {
        "big": {"provider": "openai-compatible", "name": "x", "baseUrl": "http://127.0.0.1:1/v1", "fallback": "small"},
        "small": {"provider": "openai-compatible", "name": "y", "baseUrl": "http://127.0.0.1:1/v1"},
    }
    document = {"models": models, "board": False, "agents": {"lead": {"model": "big"}}}
    return Simulation(script={}, sources={"big": first, "small": second}, document=document, **more)


def test_who_waits_two_hours_for_its_last_model_goes_back_to_the_first_once_that_recovers_H45():
    first, second = Account("first", until=1e12), Account("second", until=1e12, retry_after=7200.0)

    async def main():
        began = trio.current_time()
        first.until, second.until = began + 60, began + 7000
        outcome = await run.run()
        return outcome, trio.current_time() - began

    run = two_models(first, second)
    outcome, took = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert outcome.status is Status.COMPLETED
    assert took < 300
    assert len(second.asked) == 1
    assert len(first.asked) < 12
    states = [event.state for event in of_type(run, "agent_state", agent="root")]
    assert all(before != after for before, after in itertools.pairwise(states))


def test_a_call_refused_while_the_run_stops_is_not_taken_to_another_model_H43():
    second = Account("second")

    def refuse():
        run.staff.stop(Status.CANCELED, "cancelled by the operator")
        return ModelFault("the key is refused", status=401, auth=True)

    run = two_models(Account("first", fault=refuse), second)
    outcome = simulated(run)
    assert outcome.status is Status.CANCELED
    assert second.asked == []
