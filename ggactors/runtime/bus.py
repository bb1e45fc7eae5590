"""The event bus: stamps events and hands them on. Law: ``seq`` goes up by one with every event, every sink and subscriber sees
them in that order, and nobody who listens can harm or hold up whoever emits.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self, TypeVar

from attrs import fields
from trio.lowlevel import Abort, checkpoint, current_task, wait_task_rescheduled

from ggactors.protocol.events import Header
from ggactors.runtime.wake import NOTHING, reschedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from trio.lowlevel import RaiseCancelT, Task

E = TypeVar("E", bound=Header)
_STAMPS = ("seq", "time", "run")
_BREATH = 64


class EventBus:
    """The stream of one run's events.

    ``clock`` gives the time stamp; ``seq`` is the number of the last event of an earlier segment. ``on_sink_lost(sink,
    error)`` is told of a sink that raised and was dropped, ``on_high_water(events)`` once per subscription that holds
    ``high_water`` unread events; neither may raise.
    """

    def __init__(
        self,
        run: str,
        clock: Callable[[], str],
        seq: int = 0,
        *,
        on_sink_lost: Callable[[Callable[[Header], None], Exception], None] | None = None,
        on_high_water: Callable[[int], None] | None = None,
        high_water: int = 100_000,
    ) -> None:
        self.run = run
        self.seq = seq
        """The number of the last event emitted."""
        self.closed = False
        self.ignored = 0
        """Events emitted after the end, which nobody saw."""
        self._clock = clock
        self._sinks: list[Callable[[Header], None]] = []
        self._subscriptions: dict[Subscription, None] = {}
        self._backlog: list[Header] | None = None
        self._on_sink_lost = on_sink_lost
        self._on_high_water = on_high_water
        self._high_water = high_water

    def add_sink(self, sink: Callable[[Header], None]) -> None:
        """Call ``sink`` with every event from now on, inside ``emit``. One that raises is dropped and reported."""
        self._sinks.append(sink)

    def subscribe(self) -> Subscription:
        """Queue every event from now on for one reader: ``with bus.subscribe() as events: async for event in events: …``."""
        subscription = Subscription(self, self._high_water, self._on_high_water)
        if self.closed:
            subscription._end()
        else:
            self._subscriptions[subscription] = None
        return subscription

    def emit(self, event: E) -> E:
        """Stamp an event, hand it to everybody who listens, and return the stamped copy; the event given is not touched.

        After ``close`` it is returned as it is, counted, and seen by nobody.
        """
        if self.closed:
            self.ignored += 1
            return event
        self.seq += 1
        stamped = _stamped(event, self.seq, self._clock(), self.run)
        if self._backlog is not None:  # a sink emits: its event goes to all after the one they are being handed
            self._backlog.append(stamped)
            return stamped
        self._backlog = [stamped]
        try:
            for waiting in self._backlog:  # grows while it is walked
                self._hand_on(waiting)
        finally:
            self._backlog = None
        return stamped

    def close(self) -> None:
        """End the stream: every subscriber still gets what was emitted before, then its iteration ends."""
        self.closed = True
        for subscription in tuple(self._subscriptions):
            subscription._end()
        self._subscriptions.clear()

    def _hand_on(self, event: Header) -> None:
        for sink in tuple(self._sinks):
            try:
                sink(event)
            except Exception as error:  # noqa: BLE001 - listening must not harm the run
                self._sinks.remove(sink)
                if self._on_sink_lost is not None:
                    self._on_sink_lost(sink, error)
        for subscription in tuple(self._subscriptions):  # a hook may close the stream meanwhile
            subscription._put(event)


class Subscription:
    """One reader's queue of events: an async iterator, and a context manager that ends the subscription.

    Unbounded, with a high-water mark. Cancelled while waiting for an event: none is lost.
    """

    def __init__(self, bus: EventBus, high_water: int, on_high_water: Callable[[int], None] | None) -> None:
        self._bus = bus
        self._later: list[Header] = []
        self._soon: list[Header] = []
        self._reader: Task | None = None
        self._ended = False
        self._high_water = high_water
        self._on_high_water = on_high_water
        self._streak = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bus._subscriptions.pop(self, None)
        self._end()

    def __len__(self) -> int:
        """Count the events not read yet."""
        return len(self._soon) + len(self._later)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Header:
        """Wait for the next event."""
        if len(self):
            self._streak += 1
            if self._streak >= _BREATH:
                self._streak = 0
                await checkpoint()
        elif self._ended:
            raise StopAsyncIteration
        else:
            if self._reader is not None:
                raise RuntimeError("two tasks read one subscription")
            self._streak = 0
            self._reader = current_task()
            await wait_task_rescheduled(self._leave)
            if not len(self):
                raise StopAsyncIteration
        if not self._soon:
            self._later.reverse()
            self._soon, self._later = self._later, self._soon
        return self._soon.pop()

    def _leave(self, _: RaiseCancelT) -> Abort:
        self._reader = None
        return Abort.SUCCEEDED

    def _put(self, event: Header) -> None:
        self._later.append(event)
        if self._reader is not None:
            self._wake()
        elif len(self._later) == self._high_water:
            self._high_water = 0  # said once
            if self._on_high_water is not None:
                self._on_high_water(len(self))

    def _end(self) -> None:
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reschedule(reader, NOTHING)


_getters: dict[type[Any], tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]] = {}
"""Per event type: its fields but the stamps, and what reads them all at once. A cache, filled as types are met."""


def _stamped(event: E, seq: int, time: str, run: str) -> E:
    """Copy an event with its stamps set, at a third of what attrs.evolve costs."""
    cls = event.__class__
    known = _getters.get(cls)
    if known is None:
        names = tuple(field.name for field in fields(cls) if field.name not in _STAMPS)
        known = _getters[cls] = (names, attrgetter(*names, "seq"))  # one name more, so that it always gives a tuple
    names, getter = known
    return cls(**dict(zip(names, getter(event), strict=False)), seq=seq, time=time, run=run)
