"""The system: where actors are spawned, watched and stopped.

Law: an actor's exception ends that actor alone; whoever opened the system is told, its siblings live. Nobody outlives the
``async with`` block. Large fleets are stopped in slices, since cancelling thousands of tasks in one call freezes the loop.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import trio
from trio.lowlevel import cancel_shielded_checkpoint, current_task

from ggactors.runtime.mailbox import ActorGone, Inbox, Post
from ggactors.runtime.ref import Ref

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ggactors.runtime.mailbox import LetterCodec

L = TypeVar("L")
A = TypeVar("A")


class Actor(Protocol[L, A]):
    """Anything that lives off a mailbox. When ``run`` returns, the actor has ended."""

    async def run(self, inbox: Inbox[L, A]) -> None:
        """Live. An exception out of here ends this actor alone and is reported; cancellation must pass through."""


class SystemStopping(RuntimeError):  # noqa: N818 - it is news, and kin of trio's own for a closed nursery
    """Nothing is spawned any more: the system is being stopped."""


class System:
    """The living actors of one run. Made by open_system."""

    def __init__(self, post: Post, on_crash: Callable[[str, BaseException], None] | None) -> None:
        self._post = post
        self._on_crash = on_crash
        self._living: dict[str, Ref[Any, Any]] = {}
        self._squads: list[trio.Nursery] = []
        self._next_squad = 0
        self._stopping = False
        self._all_gone = trio.Event()
        self.untold: list[tuple[str, BaseException]] = []
        """Crashes nobody was told of, because the system was opened without ``on_crash``."""

    @property
    def living(self) -> tuple[str, ...]:
        """Name the living actors, oldest first."""
        return tuple(self._living)

    @property
    def dead_letters(self) -> int:
        """Count the letters nobody read: told or asked after an actor's end, or left in its box."""
        return self._post.dead_letters

    def find(self, name: str) -> Ref[Any, Any] | None:
        """Return the ref of a living actor, or None."""
        return self._living.get(name)

    def spawn(self, name: str, actor: Actor[L, A], codec: LetterCodec[L, A]) -> Ref[L, A]:
        """Let an actor live under ``name``; never blocks, and its mailbox is open at once.

        Raises ValueError when a living actor has that name, SystemStopping when the system is being stopped.
        """
        if self._stopping:
            raise SystemStopping(f"{name} is not spawned: the system is being stopped")
        if name in self._living:
            raise ValueError(f"an actor called {name!r} is alive")
        inbox = Inbox(name, codec, self._post)
        ref = self._living[name] = Ref(inbox)
        self._next_squad = (self._next_squad + 1) % len(self._squads)
        self._squads[self._next_squad].start_soon(self._live, actor, inbox, name=name)
        return ref

    async def stop(self) -> None:
        """Cancel the living, a slice at a time, and wait until all have ended. Nothing is spawned from here on.

        Cancelled: all are being cancelled, some may not have ended yet.
        """
        await self._cancel_in_slices()
        if self._living:
            await self._all_gone.wait()

    def cancel(self) -> None:
        """Cancel all the living in one call, however many. Nothing is spawned from here on."""
        self._stopping = True
        for squad in self._squads:
            squad.cancel_scope.cancel()

    async def _cancel_in_slices(self) -> None:
        self._stopping = True
        for squad in self._squads:
            squad.cancel_scope.cancel()
            await cancel_shielded_checkpoint()  # the cancelled take their last steps
            await cancel_shielded_checkpoint()  # everybody else gets a turn

    async def _live(self, actor: Actor[L, A], inbox: Inbox[L, A]) -> None:
        inbox.owner = current_task()
        try:
            await actor.run(inbox)
        except Exception as crash:  # noqa: BLE001 - let it crash, here and no further
            self._bury(inbox)
            self._report(inbox.name, crash)
        except BaseExceptionGroup as group:
            self._bury(inbox)
            crash_part, rest = group.split(Exception)
            if crash_part is not None:
                self._report(inbox.name, crash_part)
            if rest is not None:  # cancellation and interrupts are not the actor's own
                raise rest from None
        finally:
            self._bury(inbox)

    def _bury(self, inbox: Inbox[Any, Any]) -> None:
        # Before anybody is told: whoever hears of the end may spawn a successor under the same name at once.
        if not inbox.closed:
            inbox.owner = None
            del self._living[inbox.name]
            inbox.close()
            if self._stopping and not self._living:
                self._all_gone.set()

    def _report(self, name: str, crash: BaseException) -> None:
        if self._stopping and _only_of_stopping(crash):
            return
        if self._on_crash is not None:
            self._on_crash(name, crash)
        else:
            self.untold.append((name, crash))


def _only_of_stopping(crash: BaseException) -> bool:
    """Tell whether an actor only stumbled over others that were stopped a slice before it."""
    if isinstance(crash, BaseExceptionGroup):
        return all(_only_of_stopping(part) for part in crash.exceptions)
    return isinstance(crash, ActorGone | SystemStopping)


@asynccontextmanager
async def open_system(
    *,
    on_crash: Callable[[str, BaseException], None] | None = None,
    on_dead_letter: Callable[[str, Any], None] | None = None,
    on_high_water: Callable[[str, int], None] | None = None,
    high_water: int = 10_000,
    slices: int = 32,
) -> AsyncIterator[System]:
    """Open a system of actors; leaving the block cancels the living and waits for them.

    ``on_crash(name, exception)`` is told of every actor that died of an exception, after its name is free again. Without it
    the crashes are raised, as one group, when the block is left. ``on_dead_letter(name, letter)`` is told of letters nobody
    will read, ``on_high_water(name, letters)`` once per mailbox that holds ``high_water`` letters. The living are stopped in
    ``slices`` parts. Cancelled: all actors are cancelled with it. An error out of the block is raised as it is.
    """
    system = System(Post(on_dead_letter, on_high_water, high_water), on_crash)
    failure: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            for _ in range(slices):
                system._squads.append(await nursery.start(_squad))
            try:
                yield system
            finally:
                await system._cancel_in_slices()  # noqa: ASYNC102 - its checkpoints are shielded and wait for nothing
    except BaseExceptionGroup as group:
        failure = _unwrapped(group)
    try:
        if failure is not None:
            for name, crash in system.untold:
                failure.add_note(f"actor {name!r} had crashed: {crash!r}")
            raise failure
        if system.untold:
            raise BaseExceptionGroup("actors crashed", [crash for _, crash in system.untold])
    finally:
        del failure  # it holds this frame, and this frame held it


def _unwrapped(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Take off what a nursery of ours put round a single error: our nurseries are nobody's business."""
    return group.exceptions[0] if len(group.exceptions) == 1 else group


async def _squad(*, task_status: trio.TaskStatus[trio.Nursery]) -> None:
    """Hold one slice of the fleet: a nursery that can be cancelled for itself, and that costs its actors nothing."""
    failure: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            task_status.started(nursery)
            await trio.sleep_forever()
    except BaseExceptionGroup as group:
        failure = _unwrapped(group)
    if failure is not None:
        raise failure
