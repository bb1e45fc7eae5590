"""Running slots: one pool, two classes, and seats that hold at most one slot each (S1 to S7).

Law: a slot belongs to an actor's seat, not to a task. It is handed over inside ``give_back``, so nobody can slip in between,
and the one who is woken already holds it. At most ``width`` seats hold one, whatever is cancelled when. Seats that go on with
work already begun go ahead of those that start some; first come, first served inside each class; and of every
``starve_after + 1`` grants made while starters wait at least one is a starter's, so none is passed for ever (S4).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Self

from trio.lowlevel import Abort, current_task, wait_task_rescheduled

from ggactors.runtime.wake import NOTHING, reschedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from trio.lowlevel import RaiseCancelT, Task


class Seat:
    """An actor's place in the pool. Made by SlotPool.seat. As a context manager it gives its slot back at the end, if any."""

    __slots__ = ("_pool", "_queue", "holds", "name")

    def __init__(self, pool: SlotPool, name: str) -> None:
        self.name = name
        """Whose it is, for messages."""
        self.holds = False
        """Whether it holds a slot."""
        self._pool = pool
        self._queue: OrderedDict[Seat, Task] | None = None

    def __repr__(self) -> str:
        state = "holds a slot" if self.holds else "queued" if self._queue is not None else "idle"
        return f"<Seat {self.name}: {state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_back()

    async def take(self, *, begun: bool) -> None:
        """Wait for a slot and hold it. ``begun``: to go on with work begun, ahead of those that start some (S4).

        Does not yield when one is free. Cancelled: no slot is held; but once this has returned the slot is held, cancelled
        or not, until ``give_back``. Raises RuntimeError when the seat holds one, or another task waits on it.
        """
        pool = self._pool
        if self.holds or self._queue is not None:
            raise RuntimeError(f"{self.name} {'holds a slot' if self.holds else 'is queued for a slot'} already")
        if pool.held < pool.width:  # then nobody waits: whoever gives back hands over
            self.holds = True
            pool.held += 1
            if pool._on_change is not None:
                pool._on_change()
            return
        self._queue = pool._begun if begun else pool._starting
        self._queue[self] = current_task()
        pool._changed()
        await wait_task_rescheduled(self._leave)

    def give_back(self) -> None:
        """Give the slot back, handing it to the next in line. Does nothing when the seat holds none (S3, S7)."""
        if self.holds:
            self.holds = False
            self._pool._hand_over()

    def _leave(self, _: RaiseCancelT) -> Abort:
        assert self._queue is not None
        del self._queue[self]
        self._queue = None
        self._pool._changed()
        return Abort.SUCCEEDED


class SlotPool:
    """The pool of running slots, ``width`` wide. Also a limiter in trio's sense: ``to_thread.run_sync(limiter=pool)``.

    ``on_change`` is called after every change of ``held`` or ``queued``; it must not raise, take or give back.
    """

    def __init__(self, width: int, starve_after: int = 32, on_change: Callable[[], None] | None = None) -> None:
        if width < 1 or starve_after < 1:
            raise ValueError(f"a pool needs width and starve_after of at least 1, got {width} and {starve_after}")
        self.width = width
        """Slots there are."""
        self.held = 0
        """Slots held."""
        self._begun: OrderedDict[Seat, Task] = OrderedDict()
        self._starting: OrderedDict[Seat, Task] = OrderedDict()
        self._starve_after = starve_after
        self._passes = 0
        self._on_change = on_change
        self._borrowed: dict[object, Seat] = {}

    @property
    def queued(self) -> int:
        """Count the seats that wait for a slot."""
        return len(self._begun) + len(self._starting)

    def seat(self, name: str) -> Seat:
        """Make a seat, holding nothing."""
        return Seat(self, name)

    async def acquire_on_behalf_of(self, borrower: object) -> None:
        """Take a slot for ``borrower``, as a starter: trio's limiter protocol. Raises RuntimeError when it has or awaits one.

        Cancelled: none is held for it.
        """
        if borrower in self._borrowed:
            raise RuntimeError(f"{borrower!r} holds or awaits a slot already")
        seat = self._borrowed[borrower] = self.seat(repr(borrower))
        try:
            await seat.take(begun=False)
        except BaseException:
            del self._borrowed[borrower]
            raise

    def release_on_behalf_of(self, borrower: object) -> None:
        """Give the borrower's slot back: trio's limiter protocol. Raises RuntimeError when it holds none."""
        seat = self._borrowed.get(borrower)
        if seat is None or not seat.holds:
            raise RuntimeError(f"{borrower!r} holds no slot")
        del self._borrowed[borrower]
        seat.give_back()

    def _hand_over(self) -> None:
        """Grant the slot that was just given back to the next in line, or keep it free."""
        begun, starting = self._begun, self._starting
        if starting and (not begun or self._passes >= self._starve_after):
            self._passes = 0
            self._grant(starting)
        elif begun:
            self._passes = self._passes + 1 if starting else 0
            self._grant(begun)
        else:
            self.held -= 1
        self._changed()

    def _grant(self, queue: OrderedDict[Seat, Task]) -> None:
        seat, task = queue.popitem(last=False)
        seat._queue = None
        seat.holds = True
        reschedule(task, NOTHING)

    def _changed(self) -> None:
        if self._on_change is not None:
            self._on_change()
