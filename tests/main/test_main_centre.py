"""What an adversarial reading of the agents' centre found, each told as a plain run or at the lowest floor that shows it."""

from __future__ import annotations

import itertools
from random import Random

import trio
import trio.testing
from centre_kit import Account, simulated, two_models

from ggactors.actors.presence import Presence
from ggactors.app.masking import MaskedModel
from ggactors.app.staff import AGENT_FACTS
from ggactors.ports import LaunchRefused, ModelFault
from ggactors.protocol.model import ModelReply, ToolCall, Usage
from ggactors.protocol.values import Problem, Status
from ggactors.testing.crews import finish, issue, of_type, shell, turn, wait, write
from ggactors.testing.memory import MemoryRepository, broken
from ggactors.testing.simprograms import SimPrograms, written
from ggactors.testing.simulation import Simulation
from ggactors.tools.mask import Mask

FAKE_KEY = "quiet-otter-4242-lantern"


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
    assert [event.tool for event in of_type(run.events, "tool_call")] == ["shell", "finish"]
    assert any("could not be looked at" in event.message for event in of_type(run.events, "log"))


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

    run = Simulation(script=script, watch=watch, beside=person, launch={"interactive": True})

    async def main():
        began = trio.current_time()
        await run.run()
        return began

    began = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    told = of_type(run.events, "tool_result", agent="root")
    assert [event.code for event in told if event.code] == ["unavailable"]
    assert seen[-1] - began < 100


# ------------------------------------------------------------ providers


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
    states = [event.state for event in of_type(run.events, "agent_state", agent="root")]
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


def test_a_leave_that_was_overtaken_while_it_waited_for_its_budget_asks_nobody_C1():
    document = {
        "models": {"big": {"provider": "openai-compatible", "name": "x", "baseUrl": "http://127.0.0.1:1/v1"}},
        "limits": {"maxTokens": 1000},
        "board": False,
        "agents": {
            "lead": {
                "model": "big",
                "capabilities": [{"id": "files"}, {"id": "subagents", "params": {"maxDepth": 1}}],
                "roster": [{"agent": "lead", "scopes": ["subagent"]}],
            }
        },
    }
    asked = []

    class OneByOne(Account):
        """Its calls are as large as the budget, so the second waits for the first to be settled."""

        def bound(self, request):
            return Usage(input=900)

        async def reply(self, request):
            if request.agent == "root":
                number = sum(message.role == "assistant" for message in request.messages)
                tool, args = (
                    ("spawn_subagent", {"agent": "lead", "prompt": "x"}),
                    ("spawn_subagent", {"agent": "lead", "prompt": "y"}),
                    ("wait_for_subagents", {}),
                    ("finish", {"summary": "done"}),
                )[number]
                return ModelReply(calls=(ToolCall(id=f"c{number}", tool=tool, args=args),), usage=Usage(input=1))
            asked.append((trio.current_time(), request.agent))
            await trio.sleep(1)
            if len(asked) == 1:
                raise ModelFault("too much", status=429, retryable=True, retry_after=7200.0)
            return ModelReply(calls=(ToolCall(id="1", tool="finish", args={"summary": "done"}),), usage=Usage(input=1))

    run = Simulation(script={}, sources={"big": OneByOne("one")}, document=document)
    outcome = trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))
    assert outcome.status is Status.COMPLETED
    (first, _), *others = asked
    assert len(others) == 2
    assert all(at - first > 7200 for at, _ in others)


def test_a_subagent_of_a_merge_agent_is_served_before_the_work_that_main_is_held_from():
    script = {
        "root": [turn(issue("Left"), issue("Right")), wait("ISSUE-1", "ISSUE-2"), finish()],
        "ISSUE-1.0i": [turn(write("f", "left\n")), finish()],
        "ISSUE-2.0i": [turn(write("f", "right\n"), delaySecs=1), finish()],
        "ISSUE-2.0m": [
            turn(("spawn_subagent", {"agent": "merger", "prompt": "x"})),
            turn(("wait_for_subagents", {})),
            turn(write("f", "left\nright\n")),
            finish(),
        ],
        "*s": [finish()],
    }
    hands = [{"id": "files"}, {"id": "shell"}, {"id": "subagents", "params": {"maxDepth": 1}}]
    roster = [{"agent": "merger", "scopes": ["subagent"]}]
    run = Simulation(script=script, document={"agents": {"merger": {"capabilities": hands, "roster": roster}}})
    assert simulated(run).issues == {"ISSUE-1": "done", "ISSUE-2": "done"}
    merger, below = (run.actors[name]._asking._weight() for name in ("ISSUE-2.0m", "ISSUE-2.0m.0s"))
    assert below == merger


# ------------------------------------------------------------ hiring


class NotToBeHad(Account):
    def model_for(self, agent, profile):
        raise LaunchRefused([Problem(path="models.small", what="is gone", remedy="bring it back")])


def test_an_agent_whose_fallback_is_not_to_be_had_cannot_be_dispatched_and_nothing_breaks_down_D7():
    script = {"root": [turn(issue("A")), wait("ISSUE-1"), finish()]}
    models = {
        "big": {"provider": "openai-compatible", "name": "x", "baseUrl": "http://127.0.0.1:1/v1", "fallback": "small"},
        "small": {"provider": "openai-compatible", "name": "y", "baseUrl": "http://127.0.0.1:1/v1"},
    }
    document = {"models": models, "agents": {"coder": {"model": "big"}}}
    run = Simulation(script=script, sources={"big": Account("big"), "small": NotToBeHad("small")}, document=document)
    outcome = simulated(run)
    assert not run.crashes
    assert outcome.issues == {"ISSUE-1": "failed"}
    assert outcome.status is Status.COMPLETED


# ------------------------------------------------------------ stops


def facts_of(run):
    return [type(AGENT_FACTS.unpack(packed)).__name__ for packed in run.journal.stream("agents")]


def stopped_at_the_first_wait(**more):
    """Play a run that the operator cancels once its root waits for something."""

    def watch(staff, event):
        if event.type == "agent_state" and event.state == "waiting":
            staff.stop(Status.CANCELED, "cancelled by the operator")

    run = Simulation(watch=watch, **more)
    assert simulated(run).status is Status.CANCELED
    return run


def test_a_turn_that_a_stop_cuts_in_a_wait_is_judged_and_its_calls_are_answered_in_the_journal_C1_E9():
    script = {"root": [turn(issue("A")), wait("ISSUE-1"), finish()], "*": [finish() | {"delaySecs": 50}]}
    run = stopped_at_the_first_wait(script=script)
    assert [event.outcome for event in of_type(run.events, "turn_outcome", agent="root")] == ["progressed"] * 2
    assert of_type(run.events, "tool_result", agent="root")[-1].output == "the run is stopping"
    facts = facts_of(run)
    assert facts.count("ReplyTaken") == facts.count("CallsAnswered")


def test_a_program_that_a_stop_cuts_in_a_call_leaves_nothing_open_either_E8_E9():
    program = written("root", [("finish", {"summary": "x"}), ("write_file", {"path": "a", "contents": "b"})], Random(1))
    lead = {
        "capabilities": [{"id": "files"}, {"id": "responses-as-code", "params": {"language": "python"}}],
        "ask": ["files.write_file"],
    }
    run = stopped_at_the_first_wait(
        script={"root": [{"program": program}]},
        document={"board": False, "agents": {"lead": lead}},
        programs=SimPrograms(),
    )
    called, answered = ([event.call_id for event in of_type(run.events, kind)] for kind in ("tool_call", "tool_result"))
    assert sorted(called) == sorted(answered)
    (execution,) = of_type(run.events, "code_execution")
    assert (execution.ok, execution.finished, execution.revoked) == (False, False, True)
    assert len(of_type(run.events, "turn_outcome")) == 1
    assert facts_of(run).count("CallsAnswered") == 1
