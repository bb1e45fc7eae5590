"""The kernel under measurement: the same work as kernel_base, through real actors.

``letters`` is the real thing, typed records packed by the sender and rebuilt by the receiver; ``raw`` hands ready-made bytes
through the same mailboxes, to show what the records cost.
"""

from __future__ import annotations

import gc
from time import process_time
from typing import TYPE_CHECKING, Any

import trio
import trio.testing
from attrs import frozen
from kernel_base import Gap

from ggactors.runtime.slots import SlotPool
from ggactors.runtime.system import open_system
from ggactors.wire import Codec

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.runtime.mailbox import Inbox
    from ggactors.runtime.ref import Ref
    from ggactors.runtime.slots import Seat


@frozen(kw_only=True)
class Report:
    """A letter of about a hundred bytes on the wire."""

    issue: str
    agent: str
    attempt: int
    commit: str


@frozen(kw_only=True)
class Wake:
    """The empty letter."""


REPORT = Report(issue="AUTH-1", agent="AUTH-1.0i", attempt=1, commit="4f2c9a7be01d53c86a90f14e7b25d8c3a6f01e92")


class Raw:
    """A codec that changes nothing."""

    @staticmethod
    def pack_letter(letter: Any) -> Any:
        return letter

    unpack_letter = pack_answer = unpack_answer = pack_letter


LETTERS: tuple[Any, Any] = (Codec(Report, Report), REPORT)
RAW: tuple[Any, Any] = (Raw(), b"x" * 100)


class Echo:
    async def run(self, inbox: Inbox[Any, Any]) -> None:
        while True:
            envelope = await inbox.receive()
            envelope.answer(envelope.letter)


class Sink:
    """Takes ``expected`` letters and says so."""

    def __init__(self, expected: int) -> None:
        self.left = expected
        self.done = trio.Event()

    async def run(self, inbox: Inbox[Any, Any]) -> None:
        while self.left > 0:
            self.left -= len(await inbox.drain())
        self.done.set()


async def ask(n: int, kind: tuple[Any, Any] = LETTERS) -> float:
    codec, letter = kind
    async with open_system() as system:
        echo = system.spawn("echo", Echo(), codec)
        begin = process_time()
        for _ in range(n):
            await echo.ask(letter)
        return process_time() - begin


async def tell(n: int, kind: tuple[Any, Any] = LETTERS) -> float:
    return await fan_in(n, kind, senders=1)


async def fan_in(n: int, kind: tuple[Any, Any] = LETTERS, senders: int = 100) -> float:
    codec, letter = kind
    async with open_system() as system, trio.open_nursery() as nursery:
        sink = Sink(n // senders * senders)
        ref = system.spawn("sink", sink, codec)

        async def produce() -> None:
            for i in range(n // senders):
                ref.tell(letter)
                if i % 50 == 49:
                    await trio.lowlevel.checkpoint()

        begin = process_time()
        for _ in range(senders):
            nursery.start_soon(produce)
        await sink.done.wait()
        return process_time() - begin


async def spawn(n: int) -> float:
    async with open_system() as system:
        echo, codec = Echo(), LETTERS[0]
        begin = process_time()
        for i in range(n):
            system.spawn(f"a{i}", echo, codec)
        await trio.lowlevel.checkpoint()
        return process_time() - begin


class Hop:
    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.after: Ref[Any, Any]

    async def run(self, inbox: Inbox[Any, Any]) -> None:
        while True:
            letter = (await inbox.receive()).letter
            self.ring.left -= 1
            if self.ring.left <= 0:
                self.ring.done.set()
                return
            self.after.tell(letter)


class Ring:
    def __init__(self, hops: int) -> None:
        self.left = hops
        self.done = trio.Event()


async def ring(n: int, kind: tuple[Any, Any] = LETTERS, actors: int = 1000) -> float:
    codec, letter = kind
    async with open_system() as system:
        state = Ring(n)
        hops = [Hop(state) for _ in range(actors)]
        refs = [system.spawn(f"hop{i}", hop, codec) for i, hop in enumerate(hops)]
        for i, hop in enumerate(hops):
            hop.after = refs[(i + 1) % actors]
        await trio.lowlevel.checkpoint()
        begin = process_time()
        refs[0].tell(letter)
        await state.done.wait()
        return process_time() - begin


class Waiter:
    """Suspended on its mailbox without a slot; woken, it takes one, and gives it back."""

    def __init__(self, seat: Seat, ring: Ring) -> None:
        self.seat = seat
        self.ring = ring

    async def run(self, inbox: Inbox[Any, Any]) -> None:
        await inbox.receive()
        await self.seat.take(begun=True)
        self.ring.left -= 1
        if not self.ring.left:
            self.ring.done.set()
        self.seat.give_back()


async def wake(n: int, width: int = 64) -> float:
    """Wake n suspended actors, each of which takes a running slot again."""
    codec: Codec[Wake, None] = Codec(Wake)
    pool = SlotPool(width)
    async with open_system() as system:
        state = Ring(n)
        refs = [system.spawn(f"w{i}", Waiter(pool.seat(f"w{i}"), state), codec) for i in range(n)]
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()  # else one of the two pays for its spawning here, by chance
        begin = process_time()
        for ref in refs:
            ref.tell(Wake())
        await state.done.wait()
        return process_time() - begin


async def fleet(n: int, weigh: Callable[[], None]) -> None:
    """Hold n idle actors, names and refs included, while ``weigh`` looks."""
    async with open_system() as system:
        echo, codec = Echo(), LETTERS[0]
        for i in range(n):
            system.spawn(f"a{i}", echo, codec)
        await trio.testing.wait_all_tasks_blocked()
        weigh()


async def stop(n: int) -> float:
    """Give the longest time in seconds nobody else could run while n actors are stopped."""
    async with trio.open_nursery() as watchers, open_system() as system:
        gap = Gap()
        echo, codec = Echo(), LETTERS[0]
        for i in range(n):
            system.spawn(f"a{i}", echo, codec)
        await trio.testing.wait_all_tasks_blocked()
        watchers.start_soon(gap.watch)
        await trio.lowlevel.checkpoint()
        await system.stop()
        watchers.cancel_scope.cancel()
    return gap.longest


async def ask_with_deadline(n: int) -> float:
    """Ask as ``ask`` does, each under a deadline of its own."""
    codec, letter = LETTERS
    async with open_system() as system:
        echo = system.spawn("echo", Echo(), codec)
        begin = process_time()
        for _ in range(n):
            with trio.fail_after(60):
                await echo.ask(letter)
        return process_time() - begin
