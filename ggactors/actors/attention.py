"""The run's one queue of what waits for a person: approvals, questions, and what is told and wants to be seen (H42).

Law: an item is open until it has exactly one fate, and each is an event. Items are answered in any order, from whatever depth they
were asked. Cancelled while it waits: the item is withdrawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import trio
from attrs import define, evolve, field

from ggactors.protocol import events
from ggactors.protocol.attention import Answered, AttentionItem, AttentionKind, AttentionState
from ggactors.protocol.values import Code, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ggactors.protocol.events import Event, Header

_EDGES = ("set_issue_blocked_by", "drop_blocker", "remove_issue", "revive_issue")
"""What may end a stall: nothing says when one is over."""
SLOW_ROUNDS = 3
"""After how many rounds in a row that ask for changes a review is said not to converge, and again after as many more."""


@define(kw_only=True)
class _Open:
    item: AttentionItem
    asked: trio.Event | None = None
    """Set when somebody waits for the answer; set, once it is there."""
    answer: Answered | None = None


@define(kw_only=True)
class Attention:
    """The queue."""

    emit: Callable[[Event], None]
    stalls: Callable[[], Mapping[str, str]] = dict
    """Gives every issue that is stalled now, and the failed one it stands behind, as the stream tells it."""
    _open: dict[str, _Open] = field(factory=dict)
    _count: int = 0

    def items(self) -> tuple[AttentionItem, ...]:
        """List what is open, oldest first."""
        return tuple(one.item for one in self._open.values())

    async def ask(self, item: AttentionItem) -> Answered:
        """Put an item into the queue, under an id of the queue's, and wait for its answer. Cancelled: it is withdrawn."""
        asked = trio.Event()
        opened = self._add(item, asked)
        wait = math.inf if item.deadline_secs is None else item.deadline_secs
        try:
            with trio.move_on_after(wait):
                await asked.wait()
        except BaseException:
            self._close(opened, AttentionState.WITHDRAWN)
            raise
        if opened.answer is not None:
            return opened.answer
        answer = Answered(choice=item.default, expired=True)
        self._close(opened, AttentionState.EXPIRED, answer)
        return answer

    def post(self, item: AttentionItem) -> None:
        """Put something to be seen into the queue, unless the same is open already."""
        same = (item.kind, item.title, item.issue)
        if not any((one.item.kind, one.item.title, one.item.issue) == same for one in self._open.values()):
            self._add(item, None)

    def answer(self, item: str, choice: str, note: str = "") -> Refused | None:
        """Answer an open item. Refused: it is not open (any more), or that is none of its answers."""
        opened = self._open.get(item)
        if opened is None:
            return Refused(code=Code.NOT_FOUND, message=f"nothing open is called {item!r}")
        options = opened.item.options
        if options and choice not in options:
            message = f"{choice!r} is no answer to {item}; answer {', '.join(options)}"
            return Refused(code=Code.INVALID_ARGUMENT, message=message)
        opened.answer = Answered(choice=choice, note=note)
        self._close(opened, AttentionState.ANSWERED, opened.answer)
        if opened.asked is not None:
            opened.asked.set()
        return None

    # ------------------------------------------------------------ what the stream tells

    def hear(self, event: Header) -> None:
        """Take up what the stream tells that wants to be seen, and drop what holds no more. A sink of the event bus."""
        match event:
            case events.BoardStalled(issue=issue, blocker=blocker):
                self._stalled(issue, blocker)
            case events.BoardChanged(op=op, issue=dict() as issue):
                self._moved(str(issue.get("id")), str(issue.get("state")), gone=op == "remove_issue")
                if op in _EDGES:
                    self._look_at_stalls()
            case events.CheckoutMoved(source=source, target=target, reason=str() as reason) if source == target:
                detail = ", ".join(event.held)
                title = f"your checkout was left where it is: {reason}"
                self.post(AttentionItem(id="", kind=AttentionKind.CHECKOUT, title=title, detail=detail))
            case events.CheckoutMoved():
                self._settle(lambda item: item.kind is AttentionKind.CHECKOUT)
            case events.IssueReview(issue=issue, round=number, verdict=verdict):
                self._reviewed(issue, number, verdict, event.items)
            case _:
                pass

    def _stalled(self, issue: str, blocker: str) -> None:
        title = f"{issue} is stalled: {blocker} failed"
        self.post(AttentionItem(id="", kind=AttentionKind.STALL, title=title, issue=issue, detail=blocker))

    def _look_at_stalls(self) -> None:
        """Drop what is stalled no more, whatever edge was dropped on the way; what stands behind another one now says so."""
        told = [one for one in self._open.values() if one.item.kind is AttentionKind.STALL]
        if not told:
            return
        stalls = self.stalls()
        for one in told:
            issue = one.item.issue or ""
            blocker = stalls.get(issue)
            if blocker != one.item.detail:
                self._close(one, AttentionState.SETTLED)
                if blocker is not None:
                    self._stalled(issue, blocker)

    def _moved(self, issue: str, state: str, *, gone: bool) -> None:
        """Drop the stall of an issue that is open no more, and a review of one that is settled."""
        if gone or state != "open":
            self._settle(lambda item: item.kind is AttentionKind.STALL and item.issue == issue)
        if gone or state in ("done", "failed"):
            self._settle(lambda item: item.kind is AttentionKind.REVIEW and item.issue == issue)

    def _reviewed(self, issue: str, number: int, verdict: str, items: tuple[str, ...]) -> None:
        if verdict == "changes_requested" and number % SLOW_ROUNDS == 0:
            title = f"the review of {issue} does not converge: {number} rounds so far"
            detail = "\n".join(items)
            self.post(AttentionItem(id="", kind=AttentionKind.REVIEW, title=title, issue=issue, detail=detail))

    def _settle(self, about: Callable[[AttentionItem], bool]) -> None:
        for one in [one for one in self._open.values() if one.asked is None and about(one.item)]:
            self._close(one, AttentionState.SETTLED)

    # ------------------------------------------------------------ the queue

    def _add(self, item: AttentionItem, asked: trio.Event | None) -> _Open:
        self._count += 1
        opened = _Open(item=evolve(item, id=f"a{self._count}"), asked=asked)
        self._open[opened.item.id] = opened
        self._tell(opened, AttentionState.OPEN, None)
        return opened

    def _close(self, opened: _Open, state: AttentionState, answer: Answered | None = None) -> None:
        if self._open.pop(opened.item.id, None) is not None:
            self._tell(opened, state, answer)

    def _tell(self, opened: _Open, state: AttentionState, answer: Answered | None) -> None:
        item = opened.item
        self.emit(
            events.Attention(
                agent=item.agent,
                item=item.id,
                kind=item.kind,
                state=state,
                issue=item.issue,
                title=item.title,
                detail=item.detail,
                options=item.options,
                default=item.default,
                deadline_secs=item.deadline_secs,
                answer=None if answer is None else answer.choice,
                note=None if answer is None else answer.note,
            )
        )
