"""What the console shows beyond the view: transcripts, what waits for a person, spend by issue, counts (T2).

Law: pure, and O(1) for an event. The same events give the same fold whether they come live or out of the file, so the console
draws the same pictures while a run goes on and after it. Memory is bounded by agent.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attrs import define, evolve, field, frozen

from ggactors.protocol import events
from ggactors.protocol.values import IssueState
from ggactors.telemetry.folds import RunView, Spend

if TYPE_CHECKING:
    from collections.abc import Iterable

KEPT = 2000
"""Events of one agent that are kept at least; twice as many at most, so that forgetting is seldom."""
LONGEST = 6000
"""Characters kept of one text of a transcript."""

_UNTOLD = (
    events.UsageSpent,
    events.BoardChanged,
    events.BoardStalled,
    events.IssueReview,
    events.WorktreeMerged,
    events.CheckoutMoved,
    events.SessionStarted,
    events.SessionSummary,
    events.SessionEnded,
)
"""What an agent may emit and its story says nothing of."""


@define
class Transcript:
    """What is told of one agent, oldest first; ``forgotten`` counts the events that were before."""

    told: list[events.Event] = field(factory=list)
    forgotten: int = 0

    def add(self, event: events.Event) -> None:
        """Keep an event, its text cut to what is shown."""
        self.told.append(_bounded(event))
        if len(self.told) >= 2 * KEPT:
            del self.told[:KEPT]
            self.forgotten += KEPT


def _bounded(event: events.Event) -> events.Event:
    match event:
        case events.ToolAnswered() if len(event.output) > LONGEST:
            return evolve(event, output=event.output[:LONGEST])
        case events.AssistantMessage() if len(event.text) > LONGEST:
            return evolve(event, text=_cut(event.text))
        case events.AgentSpawned() if len(event.brief) > LONGEST:
            return evolve(event, brief=_cut(event.brief))
        case events.ToolCalled():
            return evolve(event, args={key: _bounded_arg(value) for key, value in event.args.items()})
        case _:
            return event


def _bounded_arg(value: object) -> object:
    return _cut(value) if isinstance(value, str) and len(value) > LONGEST else value


def _cut(text: str) -> str:
    return f"{text[:LONGEST]}\n… {len(text) - LONGEST:,} characters more (`ggactors show RUN --events` has them all)"


@frozen
class _Counted:
    """What of an issue is counted or indexed."""

    state: IssueState
    epic: str | None
    blocked_by: tuple[str, ...]


@define
class WatchFold:
    """A run as the console shows it. ``take`` takes the next event.

    ``shape`` goes up whenever an agent appears, ``outline`` whenever an epic, an issue or a review does, or goes elsewhere:
    what is costly to lay out is laid out again only then. ``board`` goes up with every change of the board.
    """

    view: RunView = field(factory=RunView)
    transcripts: dict[str, Transcript] = field(factory=dict)
    waiting: dict[str, events.Attention] = field(factory=dict)
    """What waits for a person, by item."""
    by_issue: dict[str, Spend] = field(factory=dict)
    agents_of: dict[str, list[str]] = field(factory=dict)
    """Who worked at an issue, in order: implementers, reviewers, merge agents."""
    states: Counter[IssueState] = field(factory=Counter)
    by_epic: dict[str | None, Counter[IssueState]] = field(factory=dict)
    shape: int = 0
    outline: int = 0
    board: int = 0
    seq: int = 0
    """The number of the last event."""
    _counted: dict[str, _Counted] = field(factory=dict)
    _behind: dict[str, dict[str, None]] = field(factory=dict)
    """By blocker, the issues that name it."""
    _failed: dict[str, None] = field(factory=dict)

    def take(self, event: events.Event) -> None:
        """Fold one event in."""
        self.seq = event.seq or self.seq + 1
        match event:
            case events.BoardChanged():
                self._board(event)
            case _:
                self.view.apply(event)
        if event.agent is not None and not isinstance(event, _UNTOLD):
            transcript = self.transcripts.get(event.agent)
            if transcript is None:
                transcript = self.transcripts[event.agent] = Transcript()
                self.shape += 1
            transcript.add(event)
        match event:
            case events.AgentSpawned():
                self.shape += 1
                if event.issue is not None and event.agent is not None:
                    self.agents_of.setdefault(event.issue, []).append(event.agent)
            case events.UsageSpent():
                self._spent(event)
            case events.Attention():
                self._ask(event)
            case events.IssueReview() | events.WorktreeMerged():
                self.board += 1
                self.outline += 1
            case events.SessionStarted() | events.SessionEnded():
                self.waiting.clear()
                self.shape += 1
            case _:
                pass

    def take_all(self, stream: Iterable[events.Event]) -> WatchFold:
        """Fold a stream in, and give the fold."""
        for event in stream:
            self.take(event)
        return self

    def stalls(self) -> dict[str, str]:
        """Give what ``RunView.stalls`` gives, at the cost of the issues that stand behind failed ones."""
        found: dict[str, str] = {}
        for failed in self._failed:
            todo = [failed]
            while todo:
                for issue_id in self._behind.get(todo.pop(), ()):
                    issue = self.view.issues.get(issue_id)
                    if issue is not None and issue.state is IssueState.OPEN and issue_id not in found:
                        found[issue_id] = failed
                        todo.append(issue_id)
        return found

    # ------------------------------------------------------------ folding

    def _board(self, event: events.BoardChanged) -> None:
        """Fold a change in, counting the states anew for the one issue it touches."""
        self.view.apply(event)
        self.board += 1
        if event.issue is None:
            self.outline += 1
            return
        issue_id = str(event.issue.get("id"))
        before = self._counted.pop(issue_id, None)
        issue = self.view.issues.get(issue_id)
        after = None if issue is None else _Counted(issue.state, issue.epic, issue.blocked_by)
        if before is not None:
            self._count(issue_id, before, -1)
        if after is not None:
            self._counted[issue_id] = after
            self._count(issue_id, after, 1)
        self.outline += before is None or after is None or before.epic != after.epic

    def _count(self, issue_id: str, told: _Counted, by: int) -> None:
        """Count an issue in or out."""
        self.states[told.state] += by
        self.by_epic.setdefault(told.epic, Counter())[told.state] += by
        for blocker in told.blocked_by:
            if by > 0:
                self._behind.setdefault(blocker, {})[issue_id] = None
            else:
                self._behind[blocker].pop(issue_id, None)
        if told.state is IssueState.FAILED:
            if by > 0:
                self._failed[issue_id] = None
            else:
                self._failed.pop(issue_id)

    def _spent(self, event: events.UsageSpent) -> None:
        """Charge a call to the issue its agent, or the agent it was made by, works at."""
        issue = self.view.issue_of(event.agent)
        if issue is not None:
            self.by_issue.setdefault(issue, Spend()).add(event)

    def _ask(self, event: events.Attention) -> None:
        if event.state == "open":
            self.waiting[event.item] = event
        else:
            self.waiting.pop(event.item, None)
