"""The board's actor: letters in, decisions of ``rules.board``, one commit for all of them, and only then answers and events.

Law: the board is the only writer of truth and asks nobody. Nothing that follows from a fact leaves before the fact is durable;
if the commit fails, the board in memory dies with its actor and nobody has seen it. While a commit is under way new letters
gather in the mailbox, and the next batch takes them all (group commit).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, field

from ggactors.protocol.board import (
    BoardFact,
    EpicCreated,
    EpicRemoved,
    IssueRevised,
    IssueStarted,
    ReviewerAssigned,
    WaitBegan,
    WaitEnded,
)
from ggactors.rules import board as rules
from ggactors.rules.boardevents import events_of
from ggactors.wire import Tagged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ggactors.ports import Journal
    from ggactors.protocol.board import BoardAnswer, BoardLetter, Charter
    from ggactors.protocol.events import Event
    from ggactors.runtime.mailbox import Envelope, Inbox

STREAM = "board"
"""The journal's stream of board facts."""

FACTS: Tagged[BoardFact] = Tagged(BoardFact)
"""What the journal holds of the board."""

_QUIET = (EpicCreated, EpicRemoved, IssueRevised, IssueStarted, ReviewerAssigned, WaitBegan, WaitEnded)
"""Facts after which nothing more can be dispatched or merged than before, nor is there less left to do."""


def replay(entries: Iterable[bytes]) -> rules.Board:
    """Build the board that these entries of its stream made. Raises WireError for an entry that is no fact."""
    return rules.replay(FACTS.unpack(entry) for entry in entries)


@define
class _Batch:
    """What the letters of one commit came to, held back until it stands."""

    entries: list[bytes] = field(factory=list)
    changes: list[rules.Change] = field(factory=list)
    releases: list[tuple[list[Event], Envelope[Any, BoardAnswer], BoardAnswer]] = field(factory=list)


class BoardActor:
    """The actor. ``emit`` takes events, ``wake`` the id of an agent whose waits are over, ``nudge`` tells who dispatches,
    merges and ends the run that there may be something to do. None of the three may block or ask the board.
    """

    def __init__(
        self,
        charter: Charter,
        journal: Journal,
        emit: Callable[[Event], None],
        wake: Callable[[str], None],
        nudge: Callable[[], None],
        board: rules.Board | None = None,
    ) -> None:
        self._charter = charter
        self._journal = journal
        self._emit = emit
        self._wake = wake
        self._nudge = nudge
        self._board = rules.Board() if board is None else board

    async def run(self, inbox: Inbox[BoardLetter, BoardAnswer]) -> None:
        """Serve letters for ever. Raises JournalBroken when a commit fails: the letters of that batch are never answered.

        Cancelled: facts under way may or may not become durable; nothing of them was released.
        """
        while True:
            batch = _Batch()
            for envelope in await inbox.drain():
                self._decide(envelope, batch)
            if batch.entries:
                await self._journal.commit(STREAM, batch.entries)
            self._release(batch)

    def _decide(self, envelope: Envelope[BoardLetter, BoardAnswer], batch: _Batch) -> None:
        """Decide one letter and apply its facts, so that the next letter finds them."""
        decision = rules.decide(self._board, self._charter, envelope.letter)
        events: list[Event] = []
        for fact in decision.facts:
            batch.entries.append(FACTS.pack(fact))
            change = rules.apply(self._board, fact)
            batch.changes.append(change)
            events.extend(events_of(self._board, change, self._charter.names))
        batch.releases.append((events, envelope, decision.answer))

    def _release(self, batch: _Batch) -> None:
        """Let out what the commit made true, in the order of the letters; wakes and the nudge come last."""
        for events, envelope, answer in batch.releases:
            for event in events:
                self._emit(event)
            envelope.answer(answer)
        for agent in sorted(rules.woken(self._board, batch.changes)):
            self._wake(agent)
        if not all(isinstance(change.fact, _QUIET) for change in batch.changes):
            self._nudge()
