"""The event bus: numbered without a gap, seen by all in one order, harmed by nobody who listens."""

from __future__ import annotations

from typing import Any, get_args

import attrs
import pytest
import trio
from kernel_golden import sample
from kernel_kit import cancelled_at_every_step
from trio.testing import wait_all_tasks_blocked

from ggactors.protocol.events import Event, Header, Log
from ggactors.runtime.bus import EventBus, Subscription


def make_bus(**options: Any) -> EventBus:
    ticks = iter(range(10_000))
    return EventBus("260101-0000-abc", lambda: f"t{next(ticks)}", **options)


def log(message: str) -> Log:
    return Log(level="info", message=message)


async def test_an_event_is_stamped_and_the_one_given_is_not_touched_T1() -> None:
    bus, seen = make_bus(), []
    bus.add_sink(seen.append)
    given = Log(agent="root", level="info", message="hello")
    stamped = bus.emit(given)
    assert stamped == Log(agent="root", level="info", message="hello", seq=1, time="t0", run="260101-0000-abc")
    assert given == Log(agent="root", level="info", message="hello")
    assert seen == [stamped]
    assert bus.seq == 1
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        stamped.seq = 9  # type: ignore[misc]


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
async def test_every_kind_of_event_keeps_its_fields_T1(kind: type[Header]) -> None:
    given = attrs.evolve(sample(kind), seq=0)
    stamped = make_bus().emit(given)
    assert stamped == attrs.evolve(given, seq=1, time="t0", run="260101-0000-abc")
    assert type(stamped) is kind


async def test_numbers_go_on_from_an_earlier_segment_without_a_gap_T1() -> None:
    bus = make_bus(seq=41)
    assert [bus.emit(log("x")).seq for _ in range(3)] == [42, 43, 44]


async def test_a_sink_that_raises_is_dropped_and_reported_and_the_others_see_all() -> None:
    lost: list[tuple[Any, Exception]] = []
    seen: list[int] = []
    bus = make_bus(on_sink_lost=lambda *loss: lost.append(loss))

    def bad(event: Header) -> None:
        if event.seq >= 2:
            raise OSError("disk full")

    bus.add_sink(bad)
    bus.add_sink(lambda event: seen.append(event.seq))
    for _ in range(4):
        bus.emit(log("x"))
    assert seen == [1, 2, 3, 4]
    assert [(sink, str(error)) for sink, error in lost] == [(bad, "disk full")]


async def test_a_sink_that_emits_is_heard_after_the_event_it_was_given() -> None:
    bus, first, last = make_bus(), [], []

    def echo(event: Header) -> None:
        first.append(event.seq)
        if event.seq < 4:
            bus.emit(log("echo"))

    bus.add_sink(echo)
    bus.add_sink(lambda event: last.append(event.seq))
    bus.emit(log("start"))
    assert first == last == [1, 2, 3, 4]


async def test_a_subscriber_gets_every_event_from_then_on_in_order_and_an_end(nursery: trio.Nursery) -> None:
    bus, got = make_bus(), []
    bus.emit(log("before"))

    async def read(events: Subscription) -> None:
        async for event in events:
            got.append(event.seq)  # noqa: PERF401 - one by one, to see how far it got
        got.append(-1)

    with bus.subscribe() as events:
        nursery.start_soon(read, events)
        for number in range(5):
            bus.emit(log("x"))
            if number % 2:
                await wait_all_tasks_blocked()
        bus.emit(log("last"))
        assert len(events) == 2
        bus.close()
        await wait_all_tasks_blocked()
    assert got == [2, 3, 4, 5, 6, 7, -1]


async def test_what_is_emitted_after_the_end_is_counted_and_seen_by_nobody() -> None:
    bus, seen = make_bus(), []
    bus.add_sink(seen.append)
    bus.close()
    event = log("late")
    assert bus.emit(event) is event
    assert (seen, bus.ignored, bus.seq) == ([], 1, 0)
    async for _ in bus.subscribe():
        raise AssertionError("nothing is left to read")


async def test_leaving_a_subscription_ends_it_alone(nursery: trio.Nursery) -> None:
    bus = make_bus()
    kept = bus.subscribe()
    with bus.subscribe() as left:
        bus.emit(log("both"))
    bus.emit(log("one"))
    assert (len(left), len(kept)) == (1, 2)
    assert [event.seq async for event in left] == [1]


async def test_two_tasks_may_not_read_one_subscription(nursery: trio.Nursery) -> None:
    events = make_bus().subscribe()
    nursery.start_soon(events.__anext__)
    await wait_all_tasks_blocked()
    with pytest.raises(RuntimeError, match="two tasks read one subscription"):
        await anext(events)
    nursery.cancel_scope.cancel()


async def test_a_reader_cancelled_at_any_step_loses_no_event(nursery: trio.Nursery) -> None:
    bus, got = make_bus(), []
    events = bus.subscribe()

    async def scenario() -> None:
        target = len(got) + 3
        while len(got) < target:
            got.append((await anext(events)).seq)

    async def emit() -> None:
        while True:
            if not len(events):  # so that the reader has to wait for each
                bus.emit(log("x"))
            await trio.lowlevel.checkpoint()

    async def check() -> None:
        assert got == list(range(1, len(got) + 1))

    nursery.start_soon(emit)
    assert await cancelled_at_every_step(scenario, check) >= 2
    nursery.cancel_scope.cancel()


async def test_a_reader_that_is_behind_does_not_starve_others() -> None:
    bus = make_bus()
    events = bus.subscribe()
    for _ in range(1000):
        bus.emit(log("x"))
    bus.close()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        read = len([event async for event in events])
        nursery.cancel_scope.cancel()
    assert read == 1000
    assert turns >= 1000 // 64 - 1


async def test_the_high_water_mark_of_a_reader_is_reported_once() -> None:
    marks: list[int] = []
    bus = make_bus(on_high_water=marks.append, high_water=5)
    with bus.subscribe() as events:
        for _ in range(2):
            for _ in range(20):
                bus.emit(log("x"))
            while len(events):
                await anext(events)
    assert marks == [5]


async def test_a_hook_may_close_the_stream_it_is_told_about() -> None:
    bus = make_bus(on_high_water=lambda _: bus.close(), high_water=2)
    first, second = bus.subscribe(), bus.subscribe()
    bus.emit(log("x"))
    bus.emit(log("x"))
    assert bus.closed
    assert [event.seq async for event in first] == [1, 2]
    assert [event.seq async for event in second] == [1, 2]
