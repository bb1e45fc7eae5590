"""BASE: what the kernel is measured against. A raw trio memory channel that carries ready-made bytes: no packing, no names,
no supervision, no answer to a dead letter. Every function does its work ``n`` times and returns the CPU seconds it took.
"""

from __future__ import annotations

import gc
import math
from time import process_time
from typing import TYPE_CHECKING

import trio
import trio.testing

if TYPE_CHECKING:
    from collections.abc import Callable

PAYLOAD = b"x" * 100


async def ask(n: int) -> float:
    send, receive = trio.open_memory_channel[bytes](math.inf)
    send_back, receive_back = trio.open_memory_channel[bytes](math.inf)

    async def serve() -> None:
        async for request in receive:
            await send_back.send(request)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        begin = process_time()
        for _ in range(n):
            await send.send(PAYLOAD)
            await receive_back.receive()
        took = process_time() - begin
        nursery.cancel_scope.cancel()
    return took


async def tell(n: int) -> float:
    return await fan_in(n, senders=1)


async def fan_in(n: int, senders: int = 100) -> float:
    send, receive = trio.open_memory_channel[bytes](math.inf)

    async def produce(own: trio.MemorySendChannel[bytes]) -> None:
        for _ in range(n // senders):
            await own.send(PAYLOAD)

    async with trio.open_nursery() as nursery:
        begin = process_time()
        for _ in range(senders):
            nursery.start_soon(produce, send.clone())
        for _ in range(n // senders * senders):
            await receive.receive()
        return process_time() - begin


async def _idle(receive: trio.MemoryReceiveChannel[bytes]) -> None:
    async for _ in receive:
        pass


async def spawn(n: int) -> float:
    async with trio.open_nursery() as nursery:
        held = []
        begin = process_time()
        for _ in range(n):
            send, receive = trio.open_memory_channel[bytes](math.inf)
            held.append(send)
            nursery.start_soon(_idle, receive)
        await trio.lowlevel.checkpoint()
        took = process_time() - begin
        nursery.cancel_scope.cancel()
    return took


async def ring(n: int, actors: int = 1000) -> float:
    channels = [trio.open_memory_channel[bytes](math.inf) for _ in range(actors)]
    left = n
    done = trio.Event()

    async def pass_on(receive: trio.MemoryReceiveChannel[bytes], send: trio.MemorySendChannel[bytes]) -> None:
        nonlocal left
        async for letter in receive:
            left -= 1
            if left <= 0:
                done.set()
                return
            await send.send(letter)

    async with trio.open_nursery() as nursery:
        for i in range(actors):
            nursery.start_soon(pass_on, channels[i][1], channels[(i + 1) % actors][0])
        await trio.lowlevel.checkpoint()
        begin = process_time()
        channels[0][0].send_nowait(PAYLOAD)
        await done.wait()
        took = process_time() - begin
        nursery.cancel_scope.cancel()
    return took


async def wake(n: int) -> float:
    """Wake n tasks that wait for one bare event."""
    event = trio.Event()
    left = n
    done = trio.Event()

    async def wait() -> None:
        nonlocal left
        await event.wait()
        left -= 1
        if not left:
            done.set()

    async with trio.open_nursery() as nursery:
        for _ in range(n):
            nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()  # else one of the two pays for its spawning here, by chance
        begin = process_time()
        event.set()
        await done.wait()
        return process_time() - begin


async def fleet(n: int, weigh: Callable[[], None]) -> None:
    """Hold n idle receivers while ``weigh`` looks."""
    held = []
    async with trio.open_nursery() as nursery:
        for _ in range(n):
            send, receive = trio.open_memory_channel[bytes](math.inf)
            held.append(send)
            nursery.start_soon(_idle, receive)
        await trio.testing.wait_all_tasks_blocked()
        weigh()
        nursery.cancel_scope.cancel()


async def stop(n: int) -> float:
    """Give the longest time in seconds nobody else could run while n tasks are cancelled, in one call."""
    async with trio.open_nursery() as watchers:
        gap = Gap()
        async with trio.open_nursery() as nursery:
            for _ in range(n):
                nursery.start_soon(trio.sleep_forever)
            await trio.testing.wait_all_tasks_blocked()
            watchers.start_soon(gap.watch)
            await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        watchers.cancel_scope.cancel()
    return gap.longest


class Gap:
    """Measures the longest time between two turns of the loop, in CPU seconds."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self) -> None:
        last = process_time()
        while True:
            await trio.lowlevel.checkpoint()
            now = process_time()
            self.longest = max(self.longest, now - last)
            last = now
