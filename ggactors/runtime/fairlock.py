"""A fair readers-writer lock (M6). Law: first come, first served. A waiting writer is waited for by every later reader, and
cancellation leaves neither a hold nor a hole in the line.

Whoever takes a side gives that side back, exactly once; it need not be the same task. It is not re-entrant: who shares it and
asks to share it again behind a waiting writer waits for itself.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from trio.lowlevel import Abort, current_task, wait_task_rescheduled

from ggactors.runtime.wake import NOTHING, reschedule

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from trio.lowlevel import RaiseCancelT, Task


class FairLock:
    """Held by many who share it, or by one alone."""

    def __init__(self) -> None:
        self._sharers = 0
        self._alone = False
        self._line: OrderedDict[Task, bool] = OrderedDict()
        """Who waits, in order of arrival, and whether to be alone."""

    def __repr__(self) -> str:
        held = "held alone" if self._alone else f"shared by {self._sharers}" if self._sharers else "free"
        return f"<FairLock {held}, {len(self._line)} waiting>"

    @property
    def sharers(self) -> int:
        """Count those who share it now."""
        return self._sharers

    @property
    def held_alone(self) -> bool:
        """Tell whether one holds it alone."""
        return self._alone

    @property
    def waiting(self) -> int:
        """Count those who wait, for either side."""
        return len(self._line)

    def try_shared(self) -> bool:
        """Share it if that needs no waiting: nobody holds it alone and nobody waits."""
        if self._alone or self._line:
            return False
        self._sharers += 1
        return True

    async def take_shared(self) -> None:
        """Wait until it may be shared, and share it. Does not yield when it may be at once. Cancelled: not shared."""
        if not self.try_shared():
            await self._wait(alone=False)

    def give_shared(self) -> None:
        """Stop sharing it. Raises RuntimeError when nobody shares it."""
        if not self._sharers:
            raise RuntimeError("the lock is not shared")
        self._sharers -= 1
        self._admit()

    async def take_alone(self) -> None:
        """Wait until nobody holds it, and hold it alone. Does not yield when it is free. Cancelled: not held."""
        if self._alone or self._sharers:  # nobody waits for a free lock
            await self._wait(alone=True)
        else:
            self._alone = True

    def give_alone(self) -> None:
        """Stop holding it alone. Raises RuntimeError when nobody does."""
        if not self._alone:
            raise RuntimeError("the lock is not held alone")
        self._alone = False
        self._admit()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Share it for the length of a block. Cancelled while waiting: not shared."""
        await self.take_shared()
        try:
            yield
        finally:
            self.give_shared()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Hold it alone for the length of a block. Cancelled while waiting: not held."""
        await self.take_alone()
        try:
            yield
        finally:
            self.give_alone()

    async def _wait(self, *, alone: bool) -> None:
        task = current_task()
        self._line[task] = alone

        def leave(_: RaiseCancelT) -> Abort:
            del self._line[task]
            self._admit()  # a writer that leaves the head of the line lets the readers behind it in
            return Abort.SUCCEEDED

        await wait_task_rescheduled(leave)

    def _admit(self) -> None:
        """Let in from the head of the line whoever may come in now; the lock is theirs when they wake."""
        while self._line and not self._alone:
            task, alone = next(iter(self._line.items()))
            if alone and self._sharers:
                return
            del self._line[task]
            if alone:
                self._alone = True
            else:
                self._sharers += 1
            reschedule(task, NOTHING)
