"""The readers-writer lock of M6: fair, and whole after any cancellation."""

from __future__ import annotations

import random
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_kit import cancelled_at_every_step
from trio.testing import wait_all_tasks_blocked

from ggactors.runtime.fairlock import FairLock


def check(lock: FairLock) -> None:
    assert not (lock.sharers and lock.held_alone)
    if lock.waiting:
        assert lock.sharers or lock.held_alone, "somebody waits for nobody"


async def test_many_share_it_or_one_holds_it_alone_M6(nursery: trio.Nursery) -> None:
    lock = FairLock()
    assert lock.try_shared()
    await lock.take_shared()
    assert (lock.sharers, lock.held_alone, lock.waiting) == (2, False, 0)
    assert repr(lock) == "<FairLock shared by 2, 0 waiting>"
    nursery.start_soon(lock.take_alone)
    await wait_all_tasks_blocked()
    assert (lock.sharers, lock.held_alone, lock.waiting) == (2, False, 1)
    lock.give_shared()
    assert not lock.held_alone
    lock.give_shared()
    assert lock.held_alone
    assert repr(lock) == "<FairLock held alone, 0 waiting>"
    assert not lock.try_shared()
    lock.give_alone()
    assert repr(lock) == "<FairLock free, 0 waiting>"
    async with lock.alone():
        assert lock.held_alone
    async with lock.shared(), lock.shared():
        assert lock.sharers == 2
    check(lock)


async def test_a_waiting_writer_is_waited_for_by_every_later_reader_M6(nursery: trio.Nursery) -> None:
    lock, order = FairLock(), []

    async def enter(name: str) -> None:
        async with lock.alone() if name.startswith("w") else lock.shared():
            order.append(name)
            await trio.lowlevel.checkpoint()

    await lock.take_shared()
    for name in ("w1", "r1", "r2", "w2", "r3"):
        nursery.start_soon(enter, name)
        await wait_all_tasks_blocked()
    assert not lock.try_shared()
    assert order == []
    lock.give_shared()
    await wait_all_tasks_blocked()
    assert order[0] == "w1"
    assert set(order[1:3]) == {"r1", "r2"}
    assert order[3:] == ["w2", "r3"]
    assert (lock.sharers, lock.held_alone, lock.waiting) == (0, False, 0)


async def test_a_writer_that_gives_up_lets_the_readers_behind_it_in_M6(nursery: trio.Nursery) -> None:
    lock = FairLock()
    await lock.take_shared()
    scope = trio.CancelScope()

    async def write() -> None:
        with scope:
            await lock.take_alone()

    nursery.start_soon(write)
    await wait_all_tasks_blocked()
    nursery.start_soon(lock.take_shared)
    await wait_all_tasks_blocked()
    assert lock.sharers == 1
    scope.cancel()
    await wait_all_tasks_blocked()
    assert (lock.sharers, lock.waiting) == (2, 0)
    lock.give_shared()
    lock.give_shared()


async def test_giving_back_what_nobody_holds_is_an_error() -> None:
    lock = FairLock()
    with pytest.raises(RuntimeError, match="not shared"):
        lock.give_shared()
    with pytest.raises(RuntimeError, match="not held alone"):
        lock.give_alone()


async def test_an_error_inside_a_block_gives_the_lock_back() -> None:
    lock = FairLock()
    for side in (lock.shared, lock.alone):
        with pytest.raises(KeyError):
            async with side():
                raise KeyError
    assert repr(lock) == "<FairLock free, 0 waiting>"


async def test_cancelled_at_any_step_it_is_whole_M6(nursery: trio.Nursery) -> None:
    lock = FairLock()

    async def use(alone: bool) -> None:
        async with lock.alone() if alone else lock.shared():
            await trio.lowlevel.checkpoint()

    async def scenario() -> None:
        async with trio.open_nursery() as others:
            for alone in (False, True, False, False, True):
                others.start_soon(use, alone)
            for alone in (False, True, False, True):
                await use(alone)

    async def whole() -> None:
        assert repr(lock) == "<FairLock free, 0 waiting>"

    assert await cancelled_at_every_step(scenario, whole) >= 6


@settings(max_examples=150, deadline=None)
@given(
    st.random_module(),
    st.lists(
        st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 3)), max_size=5), min_size=1, max_size=8
    ),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9))),
)
def test_under_any_interleaving_writers_are_alone_and_all_get_in_M6(
    seed: Any, plans: list[list[tuple[bool, int, int]]], cancels: list[tuple[int, int]]
) -> None:
    async def scenario() -> None:
        lock = FairLock()
        inside: list[bool] = []

        async def live(plan: list[tuple[bool, int, int]], scope: trio.CancelScope) -> None:
            with scope:
                for alone, before, within in plan:
                    for _ in range(before):
                        await trio.lowlevel.checkpoint()
                    async with lock.alone() if alone else lock.shared():
                        inside.append(alone)
                        try:
                            for _ in range(within):
                                assert inside == [True] or not any(inside)
                                check(lock)
                                await trio.lowlevel.checkpoint()
                        finally:
                            inside.remove(alone)

        scopes = [trio.CancelScope() for _ in plans]
        async with trio.open_nursery() as nursery:
            for plan, scope in zip(plans, scopes, strict=True):
                nursery.start_soon(live, plan, scope)
            for victim, pause in cancels:
                for _ in range(pause):
                    await trio.lowlevel.checkpoint()
                scopes[victim % len(scopes)].cancel()
        assert repr(lock) == "<FairLock free, 0 waiting>"

    trio.run(scenario)


@settings(max_examples=100, deadline=None)
@given(st.random_module(), st.lists(st.sampled_from(["read", "write", "try", "give", "cancel"]), max_size=40))
def test_it_admits_exactly_whom_a_naive_line_admits_M6(seed: Any, acts: list[str]) -> None:
    async def scenario() -> None:
        lock = FairLock()
        line: list[tuple[int, bool]] = []
        naive_in: dict[int, bool] = {}
        really_in: set[int] = set()
        scopes: dict[int, trio.CancelScope] = {}

        def naive_admit() -> None:
            while line and not any(naive_in.values()) and not (line[0][1] and naive_in):
                number, alone = line.pop(0)
                naive_in[number] = alone

        async def enter(number: int, alone: bool) -> None:
            with scopes[number]:
                await (lock.take_alone() if alone else lock.take_shared())
                really_in.add(number)

        async with trio.open_nursery() as nursery:
            for number, act in enumerate(acts):
                match act:
                    case "read" | "write":
                        scopes[number] = trio.CancelScope()
                        line.append((number, act == "write"))
                        nursery.start_soon(enter, number, act == "write")
                    case "try":
                        free = not line and not any(naive_in.values())
                        assert lock.try_shared() is free
                        if free:
                            naive_in[number] = False
                            really_in.add(number)
                    case "give" if naive_in:
                        leaver = random.choice(list(naive_in))
                        really_in.remove(leaver)
                        (lock.give_alone if naive_in.pop(leaver) else lock.give_shared)()
                    case "cancel" if line:
                        leaver, _ = line.pop(random.randrange(len(line)))
                        scopes[leaver].cancel()
                naive_admit()
                await wait_all_tasks_blocked()
                assert really_in == set(naive_in)
                check(lock)
            nursery.cancel_scope.cancel()

    trio.run(scenario)
