"""What the kernel's tests share: a few letters, and ways to stop a task at any step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio
from attrs import frozen
from trio.abc import Instrument

from ggactors.wire import Codec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ggactors.runtime.mailbox import Inbox


@frozen(kw_only=True)
class Add:
    by: int = 1


@frozen(kw_only=True)
class Crash:
    word: str = "boom"


@frozen(kw_only=True)
class Quit:
    pass


@frozen(kw_only=True)
class Hold:
    """Keep this one unanswered."""


@frozen(kw_only=True)
class Total:
    value: int


CODEC: Codec[Any, Any] = Codec(Add | Crash | Quit | Hold, Total)


class Counter:
    """Adds up, answers with the total, and does as it is told otherwise."""

    def __init__(self) -> None:
        self.total = 0
        self.held: list[Any] = []

    async def run(self, inbox: Inbox[Any, Any]) -> None:
        while True:
            envelope = await inbox.receive()
            match envelope.letter:
                case Add(by=by):
                    self.total += by
                    envelope.answer(Total(value=self.total))
                case Crash(word=word):
                    raise ValueError(word)
                case Hold():
                    self.held.append(envelope)
                case Quit():
                    return


class CancelAtStep(Instrument):
    """Cancels a scope just before the n-th step of a task. ``steps`` counts how many the task took."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.steps = 0
        self.task: Any = None
        self.scope: trio.CancelScope | None = None

    def before_task_step(self, task: Any) -> None:
        if task is self.task:
            self.steps += 1
            if self.steps == self.at and self.scope is not None:
                self.scope.cancel()


async def cancelled_at_every_step(
    scenario: Callable[[], Awaitable[None]], check: Callable[[], Awaitable[None]], at_most: int = 200
) -> int:
    """Run ``scenario`` again and again, cancelling it at its first step, its second, … and ``check`` each time.

    Gives how many steps it has. The scenario must be one that ends by itself.
    """
    for at in range(1, at_most):
        instrument = CancelAtStep(at)
        done = False

        async def run(instrument: CancelAtStep = instrument) -> None:
            nonlocal done
            instrument.task = trio.lowlevel.current_task()
            with trio.CancelScope() as instrument.scope:
                await scenario()
                done = True

        trio.lowlevel.add_instrument(instrument)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run)
        finally:
            trio.lowlevel.remove_instrument(instrument)
        await check()
        if done and instrument.steps < at:
            return at - 1
    raise AssertionError(f"the scenario did not end within {at_most} steps")
