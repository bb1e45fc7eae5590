"""What becomes of texts and of what waits for a person, at the ends where they were lost before (H42, H46)."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from centre_kit import Account, simulated, two_models

from ggactors.protocol.model import ModelReply, ToolCall
from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, of_type, turn, wait
from ggactors.testing.simulation import Simulation

# ------------------------------------------------------------ texts


def fates(run):
    """Give what became of every text, by its words."""
    told = {}
    for event in of_type(run.events, "message"):
        told.setdefault(event.text, []).append(event.state)
    return told


@pytest.mark.parametrize("moment", ["ended", "message"])
def test_whoever_hears_of_an_agents_end_sends_it_nothing_that_is_lost_H46(moment):
    accepted = []

    def watch(staff, event):
        late = event.type == "agent_state" and event.state == "ended"
        unread = event.type == "message" and event.state == "unread"
        if event.type == "turn_outcome" and event.outcome == "finished":
            staff.talk.send("root", "too late to be read", "operator")
        if late if moment == "ended" else unread:
            accepted.append(staff.talk.send("root", "are you there?", "operator"))

    run = Simulation(script={"root": [finish()]}, document={"board": False}, watch=watch)
    simulated(run)
    assert accepted == [None]
    assert fates(run) == {"too late to be read": ["queued", "unread"]}


def test_texts_to_an_agent_that_breaks_down_or_is_cut_off_are_told_to_be_unread_H46():
    def refuse():
        run.staff.talk.send("root", "on its way", "operator")
        return RuntimeError("our own mistake")

    run = two_models(Account("first", fault=refuse), Account("second"))
    assert simulated(run).status is Status.INTERNAL_ERROR
    assert fates(run) == {"on its way": ["queued", "unread"]}

    async def sender(staff):
        await trio.sleep(1)
        staff.talk.send("root", "before the cut", "operator")
        await trio.sleep_forever()

    cut = Simulation(script={"root": [finish() | {"delaySecs": 60}]}, document={"board": False}, beside=sender)

    async def main():
        with trio.move_on_after(5):
            await cut.run()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert fates(cut) == {"before the cut": ["queued", "unread"]}


class Roles(Account):
    """It notes how each request ends."""

    def __init__(self, *replies):
        super().__init__("roles")
        self.texts, self.ends = list(replies), []

    async def reply(self, request):
        await trio.lowlevel.checkpoint()
        self.ends.append(request.messages[-1].role)
        text = self.texts.pop(0) if self.texts else None
        if text is None:
            return ModelReply(calls=(ToolCall(id="1", tool="finish", args={"summary": "done"}),))
        return ModelReply(text=text)


def test_a_text_withdrawn_while_its_agent_waits_for_a_slot_leaves_the_floor_with_the_person_H46():
    models = Roles("What shall I do?")
    run = two_models(models, Account("second"), launch={"interactive": True})

    async def person(staff):
        assert await staff.talk.persons_turn("root")
        other = staff.pool.seat("somebody else")
        await other.take(begun=True)
        staff.talk.send("root", "never mind", "operator")
        await trio.testing.wait_all_tasks_blocked()  # it queues for a slot
        (waiting,) = staff.talk.mail.pending("root")
        assert staff.talk.mail.withdraw(waiting.id)
        other.give_back()
        await trio.testing.wait_all_tasks_blocked()
        assert await staff.talk.persons_turn("root")
        assert len(models.ends) == 1
        staff.talk.send("root", "now do it", "operator")
        assert await staff.talk.persons_turn("root")
        staff.talk.leave("root")

    run.beside = person
    run.document = {**run.document, "limits": {"maxParallel": 1}}
    assert simulated(run).status is Status.COMPLETED
    assert models.ends == ["user", "user"]


class Withdraws:
    """A hook object that withdraws what queues once a turn is over."""

    def __init__(self):
        self.run = None

    async def after_turn(self, payload):
        mail = self.run.staff.talk.mail
        for waiting in mail.pending("root"):
            mail.withdraw(waiting.id)


def test_prose_is_answered_when_the_tasks_that_queued_behind_it_were_withdrawn_G4():
    models, hook = Roles("I am done, I think."), Withdraws()
    run = hook.run = two_models(models, Account("second"), launch={"prompts": ("the next task",)}, hooks=(hook,))
    assert simulated(run).status is Status.COMPLETED
    assert models.ends == ["user", "user"]


def test_what_a_subagent_says_takes_the_floor_from_nobody_who_interrupted_G7_H45():
    family = {
        "capabilities": [{"id": "files"}, {"id": "subagents", "params": {"maxDepth": 1}}],
        "roster": [{"agent": "coder", "scopes": ["subagent"]}],
    }
    document = {"board": False, "agents": {"lead": family, "coder": family}}
    script = {
        "root": [
            turn(("spawn_subagent", {"agent": "coder", "prompt": "x"})),
            turn(("wait_for_subagents", {})),
            finish(),
        ],
        "root.0s": [turn(("send_message", {"agent": "root", "text": "half done"}), delaySecs=20), finish()],
    }
    run = Simulation(script=script, document=document, launch={"interactive": True})
    floor = []

    async def person(staff):
        await trio.sleep(10)
        assert staff.talk.interrupt("root")
        assert await staff.talk.persons_turn("root")
        await trio.sleep(60)
        floor.append((staff.talk.floors["root"].idle, [one.text for one in staff.talk.mail.pending("root")]))
        staff.talk.send("root", "go on", "operator")
        assert await staff.talk.persons_turn("root")
        staff.talk.leave("root")

    run.beside = person
    outcome = trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))
    assert outcome.status is Status.COMPLETED
    assert floor == [(True, ["half done"])]
    assert fates(run) == {"half done": ["queued", "delivered"], "go on": ["queued", "delivered"]}


class Hangs:
    """A hook object that never comes back from what happens between two turns, the first time."""

    def __init__(self, event):
        self.times = 0
        setattr(self, event, self.hang)

    async def hang(self, payload):
        self.times += 1
        if self.times == 1:
            await trio.sleep_forever()


@pytest.mark.parametrize("event", ["before_generation", "after_turn"])
def test_an_interrupt_reaches_a_hook_object_that_hangs_between_two_turns_H45(event):
    models, hook = Roles("What shall I do?"), Hangs(event)
    run = two_models(models, Account("second"), launch={"interactive": True}, hooks=(hook,))

    async def person(staff):
        await trio.testing.wait_all_tasks_blocked()
        assert staff.talk.interrupt("root")
        with trio.fail_after(60):
            assert await staff.talk.persons_turn("root")
        assert len(models.ends) == (event == "after_turn")
        staff.talk.send("root", "again", "operator")
        assert await staff.talk.persons_turn("root")
        staff.talk.leave("root")

    run.beside = person
    assert simulated(run).status is Status.COMPLETED
    assert set(models.ends) == {"user"}


# ------------------------------------------------------------ the attention queue


def test_a_stall_that_ends_by_an_edge_that_was_dropped_is_no_longer_shown_H42():
    script = {
        "root": [
            turn(
                issue("A"), issue("B"), issue("C", blockedBy=["ISSUE-1", "ISSUE-2"]), issue("D", blockedBy=["ISSUE-1"])
            ),
            wait("ISSUE-1"),
            turn(("set_issue_blocked_by", {"issueId": "ISSUE-3", "blockedBy": ["ISSUE-2"]})),
            turn(("set_issue_blocked_by", {"issueId": "ISSUE-4", "blockedBy": ["ISSUE-3"]})),
            finish(),
        ],
        "ISSUE-1.*": [{"text": "no"}],
        "ISSUE-2.0i": [finish() | {"delaySecs": 500}],
        "ISSUE-*": [finish()],
    }
    left = []

    def watch(staff, event):
        if event.type == "agent_state" and event.agent == "root" and event.state == "ended":
            left.extend(item.issue for item in staff.talk.attention.items())

    run = Simulation(script=script, document={"params": {"maxRetries": 0}, "limits": {"maxTurns": 5}}, watch=watch)
    simulated(run)
    told = [(one.issue, one.state) for one in of_type(run.events, "attention", kind="stall")]
    assert sorted(told) == [(name, state) for name in ("ISSUE-3", "ISSUE-4") for state in ("open", "settled")]
    assert left == []


def test_an_approval_that_nobody_gives_keeps_no_run_beyond_its_ceiling_C2_H42():
    document = {
        "board": False,
        "limits": {"maxRuntimeSecs": 100},
        "agents": {"lead": {"ask": ["write_file"], "askSecs": None}},
    }
    run = Simulation(
        script={"root": [turn(("write_file", {"path": "a", "contents": "b"})), finish()]}, document=document
    )
    outcome = simulated(run)
    assert outcome.status is Status.TIMED_OUT
    assert [one.state for one in of_type(run.events, "attention")] == ["open", "expired"]
    (refused,) = of_type(run.events, "tool_result")
    assert "nobody answered within 100 s" in refused.output
