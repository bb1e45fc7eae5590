"""The laws of calls and of people: texts, approvals, budgets, lanes, and the requests that models are asked.

Law: as for ``simlaws``. They are judged by the events, by what models are sent, and at the end by what is left in the books.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from attrs import define, field

from ggactors.app.staff import AGENT_FACTS
from ggactors.protocol import events
from ggactors.protocol.agent import CallsAnswered, ReplyTaken
from ggactors.protocol.attention import ALWAYS, APPROVE, AttentionKind, AttentionState
from ggactors.protocol.values import IssueState, MessageState
from ggactors.testing.simprograms import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.app.staff import Staff
    from ggactors.protocol.crew import SpendLimits
    from ggactors.protocol.events import Event
    from ggactors.protocol.model import ModelRequest
    from ggactors.testing.journals import MemoryJournal
    from ggactors.testing.simworld import SimWorld

KEPT = 10
"""How many of the latest texts every compaction keeps."""


@define(kw_only=True)
class WaveLaws:
    """Watches a run: ``see`` every event, ``look`` at every request, ``judge_end`` once it is over."""

    world: SimWorld
    breach: Callable[[str, str], None]
    texts: dict[str, tuple[str, str]] = field(factory=dict)
    """Who every text was sent to, and what it says, by its id; ``fates`` what became of it."""
    fates: dict[str, str] = field(factory=dict)
    items: dict[str, tuple[str, str]] = field(factory=dict)
    """What waits for a person, or did: its kind, and what became of it."""
    approved: dict[tuple[str, str], float] = field(factory=dict)
    """How many more calls of a tool an agent may make."""
    spent: Counter[tuple[str, str]] = field(factory=Counter)
    """Tokens by what they were spent in."""
    delivered: list[str] = field(factory=list)
    """The texts that were delivered, in that order."""
    judged: Counter[str] = field(factory=Counter)
    """The turns of each agent that were judged and had a reply."""
    compacted: set[str] = field(factory=set)
    """The agents whose conversation was compacted."""
    issues: dict[str, str | None] = field(factory=dict)
    tools: dict[tuple[str, str], str] = field(factory=dict)

    def see(self, event: Event) -> None:
        """Look at an event."""
        match event:
            case events.AgentSpawned():
                self.issues[event.agent or ""] = event.issue
            case events.Message():
                self.a_text_has_exactly_one_fate_H46(event)
            case events.Attention():
                self.what_waits_for_a_person_has_exactly_one_fate_H42(event)
            case events.ToolCalled():
                self.tools[event.agent or "", event.call_id] = event.tool
            case events.ToolAnswered():
                self.what_is_asked_for_is_done_only_once_approved(event)
            case events.TurnOutcome():
                # One that failed for good at its model has no reply.
                self.judged[event.agent or ""] += not (event.error_type or "").startswith("model_")
            case events.Compacted():
                self.compacted.add(event.agent or "")
            case events.UsageSpent():
                self.no_call_is_made_past_a_ceiling_C3(event)
            case _:
                pass

    def a_text_has_exactly_one_fate_H46(self, event: events.Message) -> None:
        """A text is queued, then delivered, withdrawn or unread, once."""
        before = self.fates.get(event.message)
        if (before is None) != (event.state == MessageState.QUEUED) or before not in (None, MessageState.QUEUED):
            self.breach("a_text_has_exactly_one_fate_H46", f"{event.message} is {event.state} after {before}")
        self.fates[event.message] = event.state
        self.texts[event.message] = (event.agent or "", event.text)
        if event.state == MessageState.DELIVERED:
            self.delivered.append(event.message)

    def what_waits_for_a_person_has_exactly_one_fate_H42(self, event: events.Attention) -> None:
        """An item is opened once and closed once; an answer lets a call pass, or every later one of its kind."""
        before = self.items.get(event.item)
        opens = event.state == AttentionState.OPEN
        if (before is None) != opens or (before is not None and before[1] != AttentionState.OPEN):
            law = "what_waits_for_a_person_has_exactly_one_fate_H42"
            self.breach(law, f"{event.item} is {event.state} after {before}")
        self.items[event.item] = (event.kind, event.state)
        if event.kind == AttentionKind.APPROVAL and event.state == AttentionState.ANSWERED:
            who = event.agent or "", event.title.rpartition(" ")[2]
            more = {APPROVE: 1.0, ALWAYS: math.inf}.get(event.answer or "", 0.0)
            self.approved[who] = self.approved.get(who, 0.0) + more

    def what_is_asked_for_is_done_only_once_approved(self, event: events.ToolAnswered) -> None:
        """A call that has to be approved comes to something only if somebody said yes to it (crew key ``ask``)."""
        who = event.agent or "", self.tools.get((event.agent or "", event.call_id), "")
        wave = self.world.wave
        asked = (*wave.ask, *(OPERATIONS[tool] for tool in wave.ask))
        if not event.ok or who[1] not in asked or wave.confirms:
            return
        left = self.approved.get(who, 0.0)
        if left < 1.0:
            self.breach("what_is_asked_for_is_done_only_once_approved", f"{who[0]} called {who[1]} unasked")
        self.approved[who] = left - 1.0

    def no_call_is_made_past_a_ceiling_C3(self, event: events.UsageSpent) -> None:
        """Only the call that is under way when a ceiling is reached crosses it: what is spent before each is below it."""
        limits, wave = self.world.crew.limits, self.world.wave
        issue = self.issues.get(event.agent or "")
        budgets: tuple[tuple[str, str, int | None], ...] = (
            ("run", "", limits.max_tokens),
            ("issue", issue or "", None if issue is None else _tokens(wave.per_issue)),
            ("profile", event.profile, _tokens(wave.own) if event.profile == "coder" else None),
        )
        for what, name, most in budgets:
            before = self.spent[what, name]
            if most is not None and before >= most:
                message = f"{event.agent} spends when {before} of {most} tokens of {what} {name} are spent"
                self.breach("no_call_is_made_past_a_ceiling_C3", message)
            self.spent[what, name] += event.input + event.output

    # ------------------------------------------------------------ requests

    def look(self, request: ModelRequest) -> None:
        """Look at what a model is asked."""
        self.every_call_has_its_result_in_a_request_E9(request)
        self.a_text_is_read_once_H46(request)

    def every_call_has_its_result_in_a_request_E9(self, request: ModelRequest) -> None:
        """A request opens with the system prompt, answers every reply's calls in their order, and ends with what is new."""
        law = "every_call_has_its_result_in_a_request_E9"
        due: tuple[str, ...] = ()
        for message in request.messages:
            given = tuple(result.call_id for result in message.results)
            if (due or given) and (message.role != "tool" or given != due):
                self.breach(law, f"{request.agent} is asked with {due} called and {message.role} {given} after it")
            due = tuple(call.id for call in message.calls)
        if due or request.messages[0].role != "system" or request.messages[-1].role == "assistant":
            ends = request.messages[-1].role
            self.breach(law, f"{request.agent} is asked with messages that end with {ends}, {due} not answered")

    def a_text_is_read_once_H46(self, request: ModelRequest) -> None:
        """What was delivered stands in every request from then on, once, also over compactions; what was not stands in none.

        Where nothing else fits the window a compaction keeps the latest texts alone.
        """
        mine = [name for name, (agent, text) in self.texts.items() if agent == request.agent and text.startswith("<")]
        latest = [name for name in self.delivered if self.texts[name][0] == request.agent][-KEPT:]
        for name in mine:
            text = self.texts[name][1]
            count = sum(text in message.text for message in request.messages if message.role == "user")
            due = self.fates[name] == MessageState.DELIVERED
            dropped = not count and due and request.agent in self.compacted and name not in latest
            if count != due and not dropped:
                told = f"{text} is {self.fates[name]}, and {request.agent} reads it {count} times"
                self.breach("a_text_is_read_once_H46", told)

    # ------------------------------------------------------------ the end

    def judge_end(self, staff: Staff, journal: MemoryJournal, *, whole: bool) -> None:
        """Check what is left in the books. ``whole``: nothing was cut off and nothing broke down."""
        self.nothing_is_left_reserved_or_under_way_C3(staff)
        self.what_is_counted_is_what_was_told_C3(staff)
        hiring = staff._hiring
        presence = None if hiring is None else hiring.presence
        if presence is not None and presence._working:
            self.breach("nobody_is_left_at_work_in_main_M6", f"{presence._working} work in main when nobody lives")
        left = [name for name, fate in self.fates.items() if fate == MessageState.QUEUED]
        if left:
            self.breach("a_text_has_exactly_one_fate_H46", f"{left} are still on their way")
        if not whole:
            return
        self.every_reply_is_judged_and_answered_once_C1(journal)
        self.what_is_stalled_wants_to_be_seen_H42(staff)
        asked = (AttentionKind.APPROVAL, AttentionKind.QUESTION)
        left = [name for name, (kind, state) in self.items.items() if kind in asked and state == AttentionState.OPEN]
        if left:
            self.breach("what_waits_for_a_person_has_exactly_one_fate_H42", f"{left} are still open")

    def every_reply_is_judged_and_answered_once_C1(self, journal: MemoryJournal) -> None:
        """Whatever cut a turn short, its reply has one judgement, and one set of answers in the journal (C1, E9)."""
        taken: Counter[str] = Counter()
        answered: Counter[str] = Counter()
        for packed in journal.stream("agents"):
            match AGENT_FACTS.unpack(packed):
                case ReplyTaken(agent=agent):
                    taken[agent] += 1
                case CallsAnswered(agent=agent):
                    answered[agent] += 1
                case _:
                    pass
        if not taken == answered == self.judged:
            self.breach(
                "every_reply_is_judged_and_answered_once_C1",
                f"taken {dict(taken)}, answered {dict(answered - taken or taken - answered)}, judged {dict(self.judged)}",
            )

    def what_is_stalled_wants_to_be_seen_H42(self, staff: Staff) -> None:
        """The queue holds an item for each issue that is stalled, and for no other."""
        items = staff.talk.attention.items()
        told = {item.issue: item.detail for item in items if item.kind is AttentionKind.STALL}
        stalls, states = staff.place.view.stalls(), staff.place.view.issue_states()
        if set(told) != set(stalls) or any(states[blocker] != IssueState.FAILED for blocker in told.values()):
            self.breach("what_is_stalled_wants_to_be_seen_H42", f"stalled {stalls}, in the queue {told}")

    def nothing_is_left_reserved_or_under_way_C3(self, staff: Staff) -> None:
        """Every reservation was settled, and no call is left in or before a lane."""
        law = "nothing_is_left_reserved_or_under_way_C3"
        held = {key: dict(ledger.holds) for key, ledger in staff.spending.ledgers.items() if ledger.holds}
        if held or staff.spending._line:
            self.breach(law, f"reserved {held}, {len(staff.spending._line)} in line")
        lanes = {} if staff._hiring is None else staff._hiring.desk.traffic._lanes
        for name, lane in lanes.items():
            if lane.flow.under_way or lane.waiting:
                self.breach(law, f"{name}: {lane.flow.under_way} calls under way, {lane.waiting} wait")

    def what_is_counted_is_what_was_told_C3(self, staff: Staff) -> None:
        """The run's account is the sum of its ``usage`` events."""
        counted, told = staff.spending.spent.tokens, self.spent["run", ""]
        if counted != told:
            self.breach("what_is_counted_is_what_was_told_C3", f"{counted} tokens are counted, {told} told")


def _tokens(limits: SpendLimits | None) -> int | None:
    return None if limits is None else limits.max_tokens
