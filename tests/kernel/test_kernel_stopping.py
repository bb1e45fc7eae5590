"""Actors at their end: stopped one by one, in fleets, by cancellation of the block, by an interrupt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from kernel_kit import CODEC, Add, Counter, Hold, Total, cancelled_at_every_step
from trio.testing import wait_all_tasks_blocked

from ggactors.runtime.system import System, SystemStopping, open_system

if TYPE_CHECKING:
    from ggactors.runtime.mailbox import Inbox
    from ggactors.runtime.ref import Ref


async def test_stopping_cancels_all_and_waits_for_their_last_words(autojump_clock: trio.testing.MockClock) -> None:
    last: list[int] = []

    class Polite:
        def __init__(self, number: int) -> None:
            self.number = number

        async def run(self, inbox: Inbox[Any, Any]) -> None:
            try:
                await inbox.receive()
            finally:
                with trio.CancelScope(shield=True):
                    await trio.sleep(self.number)
                last.append(self.number)

    async with open_system() as system:
        for number in range(40):
            system.spawn(f"p{number}", Polite(number), CODEC)
        await system.stop()
        assert sorted(last) == list(range(40))
        assert system.living == ()
        with pytest.raises(SystemStopping, match="late is not spawned"):
            system.spawn("late", Counter(), CODEC)
        await system.stop()


async def test_an_actor_spawned_in_the_tick_it_is_stopped_begins_and_ends() -> None:
    ends: list[str] = []

    class Brief:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            try:
                await inbox.receive()
            finally:
                ends.append(inbox.name)

    async with open_system() as system:
        for name in "abc":
            system.spawn(name, Brief(), CODEC)
        system.cancel()
    assert sorted(ends) == ["a", "b", "c"]


@pytest.mark.parametrize("leave", [False, True], ids=["stop", "leave the block"])
async def test_a_large_fleet_is_cancelled_in_slices(leave: bool) -> None:
    alive: list[int] = []

    async def watch(system: System) -> None:
        while system.living:
            alive.append(len(system.living))
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery, open_system(slices=8) as system:
        for number in range(800):
            system.spawn(f"c{number}", Counter(), CODEC)
        await wait_all_tasks_blocked()
        nursery.start_soon(watch, system)
        await trio.lowlevel.checkpoint()
        if not leave:
            await system.stop()
    assert len({count for count in alive if 0 < count < 800}) >= 4, alive


async def test_those_who_stumble_over_actors_stopped_before_them_did_not_crash() -> None:
    crashes: list[str] = []

    class Dependent:
        def __init__(self, on: Ref[Any, Any]) -> None:
            self.on = on

        async def run(self, inbox: Inbox[Any, Any]) -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.on.ask, Hold())

    async with open_system(on_crash=lambda name, _: crashes.append(name), slices=2) as system:
        bases = [system.spawn(f"b{n}", Counter(), CODEC) for n in range(2)]
        for number in range(8):  # each on the one that is in the other slice
            system.spawn(f"d{number}", Dependent(bases[(number + 1) % 2]), CODEC)
        await wait_all_tasks_blocked()
    assert crashes == []


async def test_an_actor_that_fails_while_it_is_cancelled_is_both() -> None:
    crashes: list[BaseException] = []

    class Clumsy:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                try:
                    await inbox.receive()
                finally:
                    raise KeyError("clumsy")

    async with open_system(on_crash=lambda _, error: crashes.append(error)) as system:
        system.spawn("clumsy", Clumsy(), CODEC)
        await wait_all_tasks_blocked()
    (group,) = crashes
    assert isinstance(group, ExceptionGroup)
    assert [type(error) for error in group.exceptions] == [KeyError]


async def test_an_interrupt_out_of_an_actor_is_not_its_own_and_ends_the_system() -> None:
    crashes: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        async with open_system(on_crash=lambda name, _: crashes.append(name)) as system:

            class Hand:
                async def run(self, inbox: Inbox[Any, Any]) -> None:
                    raise KeyboardInterrupt

            system.spawn("hand", Hand(), CODEC)
            await trio.sleep_forever()
    assert crashes == []


async def test_an_interrupt_among_cancelled_tasks_of_an_actor_is_not_lost() -> None:
    async def interrupt() -> None:
        raise KeyboardInterrupt

    class Hands:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(inbox.receive)
                nursery.start_soon(interrupt)

    with pytest.raises(BaseExceptionGroup) as raised:
        async with open_system() as system:
            system.spawn("hands", Hands(), CODEC)
            await trio.sleep_forever()
    assert [type(error) for error in raised.value.exceptions] == [KeyboardInterrupt]


async def test_cancelling_the_block_cancels_its_actors_and_is_cancellation(
    autojump_clock: trio.testing.MockClock,
) -> None:
    with trio.move_on_after(1) as scope:
        async with open_system() as system:
            system.spawn("a", Counter(), CODEC)
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert system.living == ()


async def test_opening_and_leaving_cancelled_at_any_step_leaves_nobody(nursery: trio.Nursery) -> None:
    opened: list[System] = []
    before = trio.lowlevel.current_statistics().tasks_living

    async def scenario() -> None:
        async with open_system(slices=3) as system:
            opened.append(system)
            refs = [system.spawn(f"c{n}", Counter(), CODEC) for n in range(4)]
            assert await refs[0].ask(Add()) == Total(value=1)
            await system.stop()

    async def check() -> None:
        assert all(not system.living for system in opened)
        await wait_all_tasks_blocked()
        assert trio.lowlevel.current_statistics().tasks_living == before

    assert await cancelled_at_every_step(scenario, check) >= 6


async def test_a_receiver_that_outlives_its_actor_gets_an_error_and_every_letter_is_read_or_dead(
    nursery: trio.Nursery,
) -> None:
    read: list[Any] = []
    errors: list[str] = []

    class Leaver:
        """Ends while a task it has started elsewhere receives."""

        def __init__(self) -> None:
            self.leave = trio.Event()

        async def run(self, inbox: Inbox[Any, Any]) -> None:
            async def stray() -> None:
                with pytest.raises(RuntimeError, match="closed: the actor has ended") as raised:
                    while True:
                        read.append(await inbox.receive())
                errors.append(str(raised.value))

            nursery.start_soon(stray)
            await self.leave.wait()

    async with open_system() as system:
        for number in range(40):
            leaver = Leaver()
            ref = system.spawn("leaver", leaver, CODEC)
            await wait_all_tasks_blocked()
            leaver.leave.set()
            if number % 2:
                ref.tell(Add())  # whether it is read before the end is the scheduler's whim
            await wait_all_tasks_blocked()
        assert len(errors) == 40
        assert len(read) + system.dead_letters == 20
        assert read
        assert system.dead_letters
