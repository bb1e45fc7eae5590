"""The peer: pykka, an actor a thread. The same work as kernel_base; what it sends it sends by reference, nothing is packed.

Every function does its work ``n`` times and returns the CPU seconds it took, all threads together.
"""

from __future__ import annotations

import threading
from time import process_time
from typing import Any

import pykka  # type: ignore[import-not-found]

PAYLOAD = b"x" * 100


class Echo(pykka.ThreadingActor):
    def on_receive(self, message: Any) -> Any:
        return message


class Sink(pykka.ThreadingActor):
    def __init__(self, expected: int, done: threading.Event) -> None:
        super().__init__()
        self.left = expected
        self.done = done

    def on_receive(self, _: Any) -> None:
        self.left -= 1
        if not self.left:
            self.done.set()


class Sender(pykka.ThreadingActor):
    def on_receive(self, message: tuple[Any, int]) -> None:
        sink, letters = message
        for _ in range(letters):
            sink.tell(PAYLOAD)


class Hop(pykka.ThreadingActor):
    def on_receive(self, message: Any) -> None:
        match message:
            case ("after", after, done):
                self.after, self.done = after, done
            case 0:
                self.done.set()
            case left:
                self.after.tell(left - 1)


def ask(n: int) -> float:
    echo = Echo.start()
    begin = process_time()
    for _ in range(n):
        echo.ask(PAYLOAD)
    took = process_time() - begin
    echo.stop()
    return took


def tell(n: int) -> float:
    return fan_in(n, senders=1)


def fan_in(n: int, senders: int = 100) -> float:
    done = threading.Event()
    sink = Sink.start(n // senders * senders, done)
    crowd = [Sender.start() for _ in range(senders)]
    begin = process_time()
    for sender in crowd:
        sender.tell((sink, n // senders))
    done.wait()
    took = process_time() - begin
    for actor in (sink, *crowd):
        actor.stop()
    return took


def spawn(n: int) -> float:
    begin = process_time()
    crowd = [Echo.start() for _ in range(n)]
    took = process_time() - begin
    for actor in crowd:
        actor.stop(block=False)
    return took


def ring(n: int, actors: int = 1000) -> float:
    done = threading.Event()
    hops = [Hop.start() for _ in range(actors)]
    for i, hop in enumerate(hops):
        hop.ask(("after", hops[(i + 1) % actors], done))
    begin = process_time()
    hops[0].tell(n)
    done.wait()
    took = process_time() - begin
    for hop in hops:
        hop.stop(block=False)
    return took


def fleet(n: int) -> Any:
    """Hold n idle actors."""
    return [Echo.start() for _ in range(n)]
