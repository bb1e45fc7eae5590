"""What the report shows beyond the view: when agents did what, which slots they held, who spent how much (T2).

Law: pure; folded from the events alone. Times are seconds since the run's first event.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from ggactors.protocol import events
from ggactors.telemetry.folds import RunView, Spend

if TYPE_CHECKING:
    from collections.abc import Iterable

CURVE = 400
"""Points of the spend curve at most."""
LONGEST_BRIEF = 4000


@frozen
class Span:
    """A stretch of an agent's life in one state; for one of running, the slot it held, from 0."""

    state: str
    start: float
    end: float
    slot: int | None = None
    on: str | None = None
    """What it waited for."""


@define
class _Life:
    state: str = ""
    since: float = 0.0
    slot: int | None = None
    on: str | None = None
    spans: list[Span] = field(factory=list)


@define
class ReportFold:
    """A run as its report shows it. ``take`` takes the next event."""

    view: RunView = field(factory=RunView)
    briefs: dict[str, str] = field(factory=dict)
    tools: dict[str, int] = field(factory=dict)
    """How many tool calls each agent made."""
    asked: dict[str, events.Attention] = field(factory=dict)
    """What waits for the operator's answer, by item."""
    by_profile: dict[str, Spend] = field(factory=dict)
    by_model: dict[str, Spend] = field(factory=dict)
    by_issue: dict[str, Spend] = field(factory=dict)
    curve: list[tuple[float, int, float]] = field(factory=list)
    """Tokens and cost so far, over time."""
    now: float = 0.0
    slots: int = 0
    """The most slots that were held at once."""
    _begin: float | None = None
    _lives: dict[str, _Life] = field(factory=dict)
    _free: list[int] = field(factory=list)
    _busy: float = 0.0

    def take(self, event: events.Event) -> None:
        """Fold one event in."""
        self.view.apply(event)
        self.now = max(self.now, self._seconds(event.time))
        match event:
            case events.AgentSpawned():
                self.briefs[event.agent or "?"] = event.brief[:LONGEST_BRIEF]
            case events.AgentState():
                self._state(event)
            case events.ToolCalled():
                name = event.agent or "?"
                self.tools[name] = self.tools.get(name, 0) + 1
            case events.UsageSpent():
                self._spent(event)
            case events.Attention():
                self._ask(event)
            case events.SessionStarted() | events.SessionEnded():
                self._cut()
            case _:
                pass

    def spans(self, agent: str) -> tuple[Span, ...]:
        """List an agent's stretches so far, in their order."""
        life = self._lives.get(agent)
        if life is None:
            return ()
        last = () if life.state in ("", "ended") else (Span(life.state, life.since, self.now, life.slot, life.on),)
        return (*life.spans, *last)

    def held(self) -> tuple[tuple[str, Span], ...]:
        """List who held a slot, and when."""
        return tuple((agent, span) for agent in self._lives for span in self.spans(agent) if span.slot is not None)

    @property
    def use(self) -> float | None:
        """Give the part of the time that the slots there were at most at once were held; None while nothing ran."""
        held = sum(span.end - span.start for _, span in self.held())
        return held / (self.now * self.slots) if self.now and self.slots else None

    # ------------------------------------------------------------ folding

    def _seconds(self, stamp: str) -> float:
        try:
            at = datetime.fromisoformat(stamp).timestamp()
        except ValueError:
            return self.now
        if self._begin is None:
            self._begin = at
        return max(0.0, at - self._begin)

    def _state(self, event: events.AgentState) -> None:
        life = self._lives.setdefault(event.agent or "?", _Life())
        self._leave(life)
        life.state, life.since, life.on = event.state, self.now, event.waiting_on
        if event.state == "running":
            if self._free:
                life.slot = min(self._free)
                self._free.remove(life.slot)
            else:
                life.slot, self.slots = self.slots, self.slots + 1

    def _leave(self, life: _Life) -> None:
        """End the stretch an agent is in; a slot it held is free again."""
        if life.state not in ("", "ended"):
            last = life.spans[-1] if life.spans else None
            if last is not None and (last.state, last.slot, last.end) == (life.state, life.slot, life.since):
                life.spans[-1] = Span(life.state, last.start, self.now, life.slot, life.on)
            else:
                life.spans.append(Span(life.state, life.since, self.now, life.slot, life.on))
        if life.slot is not None:
            self._free.append(life.slot)
            life.slot = None

    def _cut(self) -> None:
        """End the stretches of a segment that is over: nobody is left to tell of their end."""
        for life in self._lives.values():
            self._leave(life)
            life.state = "ended"
        self.asked.clear()

    def _ask(self, event: events.Attention) -> None:
        """Take note of a question; what only tells of another event is shown by that."""
        if event.state == "open" and event.kind in ("question", "approval"):
            self.asked[event.item] = event
        else:
            self.asked.pop(event.item, None)

    def _spent(self, event: events.UsageSpent) -> None:
        into = [(self.by_profile, event.profile), (self.by_model, event.model)]
        issue = self.view.issue_of(event.agent)
        if issue is not None:
            into.append((self.by_issue, issue))
        for table, key in into:
            table.setdefault(key, Spend()).add(event)
        total = self.view.spend
        self.curve.append((self.now, total.tokens, total.cost or 0.0))
        if len(self.curve) > 2 * CURVE:
            self.curve = self.curve[::2]


def fold_report(stream: Iterable[events.Event]) -> ReportFold:
    """Fold a whole stream."""
    fold = ReportFold()
    for event in stream:
        fold.take(event)
    return fold
