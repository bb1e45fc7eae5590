"""The durable record of a run: SQLite in WAL mode with ``synchronous=FULL``, one row per entry, group commit.

Law: one dedicated thread owns the connection; callers gather while a transaction is under way and the next one takes
them all, in the order they asked. What the bytes of an entry mean is the caller's business. A journal that cannot be
written is tried for ``PATIENCE_SECS`` with the reason made visible, then it is broken for good (O6).
"""

from __future__ import annotations

from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING

import trio
from attrs import define, field, frozen

from ggactors.ports import JournalBroken
from ggactors.store.committer import CommitThread
from ggactors.store.schema import open_for_reading

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from pathlib import Path

    from ggactors.store.committer import Row

PATIENCE_SECS = 30.0
"""How long a failing journal is tried again before it counts as broken, in seconds of trio's clock."""

LINGER_SECS = 0.01
"""How long entries that nobody waits for are held for a transaction that somebody does, in seconds of trio's clock."""

FIRST_PAUSE_SECS = 0.1
LONGEST_PAUSE_SECS = 2.0


@frozen(kw_only=True)
class JournalEntry:
    """One entry as it was committed. ``seq`` grows by one with every entry of the journal, whatever its stream."""

    seq: int
    stream: str
    body: bytes


@define(eq=False)
class _Batch:
    """The rows of one transaction, and the tasks that wait for it."""

    rows: list[Row] = field(factory=list)
    waiters: dict[trio.lowlevel.Task, None] = field(factory=dict)


@define(eq=False)
class _Trouble:
    """A transaction that fails: since when (trio's clock), why, and the pause before the next try, in seconds."""

    since: float
    reason: str
    pause: float = FIRST_PAUSE_SECS
    scope: trio.CancelScope = field(factory=trio.CancelScope)


class SqliteJournal:
    """The journal of a run that is being driven; obeys ``ports.Journal``. ``open_journal`` makes and closes it."""

    def __init__(self, thread: CommitThread, on_trouble: Callable[[str], None]) -> None:
        self._thread = thread
        self._on_trouble = on_trouble
        self._gathering = _Batch()
        self._under_way: _Batch | None = None
        self._settling = False
        self._lingering = False
        self._trouble: _Trouble | None = None
        self._broken: str | None = None
        self._closing = False
        self._idle = trio.Event()

    async def commit(self, stream: str, entries: Sequence[bytes]) -> None:
        """Append entries to a stream and return once they are durable, in the order asked.

        Raises JournalBroken. Cancelled: the entries may or may not become durable, never a part of them.
        """
        batch, task = self._gathering, trio.lowlevel.current_task()
        self._admit(batch.rows, stream, entries)
        if not entries:
            await trio.lowlevel.checkpoint()
            return
        batch.waiters[task] = None
        if self._under_way is None:
            self._start_if_idle()

        def abort(_: object) -> trio.lowlevel.Abort:
            # The rows stay where they are: the transaction may be under way already.
            batch.waiters.pop(task, None)
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)
        if self._broken is not None:
            raise JournalBroken(self._broken)

    def append(self, stream: str, entries: Sequence[bytes]) -> None:
        """Hand entries over without waiting: durable with, and ordered before, anything committed later, and soon in any case.

        Raises JournalBroken.
        """
        self._admit(self._gathering.rows, stream, entries)
        if self._under_way is None:
            self._start_soon()

    def _admit(self, rows: list[Row], stream: str, entries: Sequence[bytes]) -> None:
        if self._broken is not None:
            raise JournalBroken(self._broken)
        if self._closing:
            raise RuntimeError("the journal is closed")
        admitted = [(stream, entry) for entry in entries if type(entry) is bytes]
        if len(admitted) != len(entries):
            # Refused here, since inside the transaction it would fail everybody's entries.
            raise TypeError(f"journal entries are bytes; stream {stream!r} was given something else")
        rows.extend(admitted)

    def _start_if_idle(self) -> None:
        """Begin the next transaction unless one is under way or its writers are about to come."""
        if self._under_way is not None or self._settling:
            return
        if not self._gathering.rows:
            self._idle.set()
            return
        self._under_way, self._gathering = self._gathering, _Batch()
        self._thread.submit(self._under_way.rows)

    def _start_soon(self) -> None:
        """Begin a transaction for entries that nobody waits for, unless a commit takes them along meanwhile.

        An agent's answers to its calls are followed by its next reply: one transaction for both is half the work.
        """
        if self._closing:
            self._start_if_idle()
        elif not self._lingering and self._gathering.rows:
            self._lingering = True
            trio.lowlevel.spawn_system_task(self._linger)

    async def _linger(self) -> None:
        try:
            await trio.sleep(LINGER_SECS)
        finally:  # a run that is torn down meanwhile loses nothing either
            self._lingering = False
            self._start_if_idle()

    def answered(self, failure: str | None) -> None:
        """Take the commit thread's word on the transaction under way; called in trio's thread."""
        batch = self._under_way
        if batch is None:
            raise RuntimeError("the commit thread answered a transaction nobody asked for")
        if failure is not None:
            self._failed(failure)
            return
        if self._trouble is not None:
            self._trouble = None
            self._on_trouble(f"the journal {self._thread.path} is written again")
        self._under_way = None
        for task in batch.waiters:
            trio.lowlevel.reschedule(task)
        if len(batch.waiters) > 1:
            # The writers just woken tend to write again at once. Let them all run first, so that the next transaction
            # takes them together rather than the first alone: they run in the next tick, the second hop comes after it.
            self._settling = True
            self._thread.soon(self._thread.soon, self._settled)
        else:
            self._go_on()

    def _settled(self) -> None:
        self._settling = False
        self._go_on()

    def _go_on(self) -> None:
        """Begin what has gathered: at once where somebody waits for it, or the journal is being closed."""
        if self._gathering.waiters or not self._gathering.rows:
            self._start_if_idle()
        else:
            self._start_soon()

    def _failed(self, reason: str) -> None:
        now, trouble = trio.current_time(), self._trouble
        if trouble is None:
            trouble = self._trouble = _Trouble(since=now, reason="")
        left = trouble.since + PATIENCE_SECS - now
        if left <= 0 or self._closing:
            self._break(reason)
            return
        if reason != trouble.reason:
            trouble.reason = reason
            self._on_trouble(f"the journal {self._thread.path} cannot be written: {reason}; trying for {left:.0f} s")
        trouble.scope = trio.CancelScope()
        pause, trouble.pause = min(trouble.pause, left), min(2 * trouble.pause, LONGEST_PAUSE_SECS)
        # A system task, since the waiting goes on while the run's own tasks are being cancelled. It raises nothing.
        trio.lowlevel.spawn_system_task(self._retry_after, pause, trouble.scope)

    async def _retry_after(self, pause: float, scope: trio.CancelScope) -> None:
        with scope:
            await trio.sleep(pause)
        if self._under_way is not None:
            self._thread.submit(self._under_way.rows)

    def _break(self, reason: str) -> None:
        self._broken = f"the journal {self._thread.path} could not be written for {PATIENCE_SECS:.0f} s: {reason}"
        if self._closing:
            self._broken = f"the journal {self._thread.path} could not be written: {reason}"
        self._on_trouble(self._broken)
        for batch in (self._under_way, self._gathering):
            for task in batch.waiters if batch else ():
                trio.lowlevel.reschedule(task)
        self._under_way, self._gathering = None, _Batch()
        self._idle.set()

    async def drain(self) -> None:
        """Wait until what was asked for is durable; a failing journal gets one more try. Nothing is taken after it."""
        self._closing = True
        if self._under_way is None and not self._gathering.rows:
            return
        self._idle = trio.Event()
        self._start_if_idle()
        if self._trouble is not None:
            self._trouble.scope.cancel()
        await self._idle.wait()


def _unheard(_message: str) -> None:
    """Drop a message nobody asked to hear."""


@asynccontextmanager
async def open_journal(path: Path, *, on_trouble: Callable[[str], None] = _unheard) -> AsyncIterator[SqliteJournal]:
    """Open the run's journal at ``path``, making it when there is none; close it, its thread joined, on the way out.

    ``on_trouble`` hears, in trio's thread, why the journal cannot be written and that it can be again. It must not raise.
    Raises JournalBroken when the file cannot be opened or is none of ours. Cancelled: entries already asked for are
    brought to their end first, which takes one transaction.
    """
    thread = CommitThread(path)
    try:
        await thread.start()
        journal = SqliteJournal(thread, on_trouble)
        thread.answer = journal.answered
        try:
            yield journal
        finally:
            with trio.CancelScope(shield=True):
                await journal.drain()
    finally:
        with trio.CancelScope(shield=True):
            await thread.stop()


def read_journal(path: Path, stream: str | None = None) -> Iterator[JournalEntry]:
    """Iterate over the journal's entries, oldest first; of one stream when ``stream`` is given.

    Blocking. Safe while a run writes the journal: the iteration sees what was committed when it began. Raises JournalBroken.
    """
    where, values = ("", ()) if stream is None else ("WHERE stream = ? ", (stream,))
    with closing(open_for_reading(path)) as connection:
        rows = connection.execute(f"SELECT seq, stream, body FROM entry {where}ORDER BY seq", values)  # noqa: S608
        for seq, name, body in rows:
            yield JournalEntry(seq=seq, stream=name, body=body)
