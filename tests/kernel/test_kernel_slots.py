"""The slot pool against S1 to S7: never exceeded, never leaking, under any interleaving and cancellation."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_kit import cancelled_at_every_step
from trio.testing import wait_all_tasks_blocked

from ggactors.runtime.slots import Seat, SlotPool


class Watched(SlotPool):
    """A pool whose law is checked after every change."""

    def __init__(self, width: int, starve_after: int = 32) -> None:
        super().__init__(width, starve_after, on_change=self.check)
        self.seats: list[Seat] = []
        self.changes = 0

    def seat(self, name: str) -> Seat:
        self.seats.append(super().seat(name))
        return self.seats[-1]

    def check(self) -> None:
        self.changes += 1
        assert 0 <= self.held <= self.width
        assert self.held == sum(seat.holds for seat in self.seats)
        assert self.held == self.width or not self.queued, "a free slot while somebody waits"

    def check_idle(self) -> None:
        assert (self.held, self.queued) == (0, 0)
        assert not any(seat.holds for seat in self.seats)


async def test_a_free_slot_is_taken_at_once_and_given_back_once_S3() -> None:
    pool = Watched(2)
    seat = pool.seat("a")
    with trio.CancelScope() as scope:
        scope.cancel()
        await seat.take(begun=False)  # no wait, so nothing to cancel
    assert seat.holds
    assert (pool.held, pool.queued, pool.width) == (1, 0, 2)
    assert repr(seat) == "<Seat a: holds a slot>"
    seat.give_back()
    seat.give_back()
    assert not seat.holds
    assert pool.held == 0
    assert repr(seat) == "<Seat a: idle>"


async def test_a_full_pool_queues_and_never_errs_S2(nursery: trio.Nursery) -> None:
    pool = Watched(1)
    holder, waiter = pool.seat("holder"), pool.seat("waiter")
    await holder.take(begun=False)
    nursery.start_soon(lambda: waiter.take(begun=False))
    await wait_all_tasks_blocked()
    assert not waiter.holds
    assert repr(waiter) == "<Seat waiter: queued>"
    holder.give_back()
    assert waiter.holds, "the slot is handed over inside give_back"
    await wait_all_tasks_blocked()
    waiter.give_back()
    pool.check_idle()


async def test_work_begun_goes_first_and_each_class_in_order_of_arrival_S4(nursery: trio.Nursery) -> None:
    pool, order = Watched(1), []
    holder = pool.seat("holder")
    await holder.take(begun=False)

    async def work(name: str, begun: bool) -> None:
        with pool.seat(name) as seat:
            await seat.take(begun=begun)
            order.append(name)
            await trio.lowlevel.checkpoint()

    for number in range(5):
        nursery.start_soon(work, f"s{number}", False)
        await wait_all_tasks_blocked()
        nursery.start_soon(work, f"r{number}", True)
        await wait_all_tasks_blocked()
    holder.give_back()
    await wait_all_tasks_blocked()
    assert order == [*(f"r{n}" for n in range(5)), *(f"s{n}" for n in range(5))]
    pool.check_idle()


@pytest.mark.parametrize("starve_after", [1, 3, 32])
async def test_a_starter_is_passed_over_so_often_and_no_more_S4(starve_after: int, nursery: trio.Nursery) -> None:
    pool, order = Watched(1, starve_after), []
    holder = pool.seat("holder")
    await holder.take(begun=False)

    async def resume_for_ever(seat: Seat) -> None:
        while len(order) < 4 * (starve_after + 1):
            await seat.take(begun=True)
            order.append("resumer")
            await trio.lowlevel.checkpoint()
            seat.give_back()

    async def start(seat: Seat) -> None:
        await seat.take(begun=False)
        order.append("starter")
        seat.give_back()

    for number in range(2):
        nursery.start_soon(resume_for_ever, pool.seat(f"r{number}"))
    for number in range(3):
        nursery.start_soon(start, pool.seat(f"s{number}"))
    await wait_all_tasks_blocked()
    holder.give_back()
    await wait_all_tasks_blocked()
    started = [at for at, name in enumerate(order) if name == "starter"]
    assert started == [(starve_after + 1) * n + starve_after for n in range(3)]


async def test_a_seat_holds_one_slot_at_most_S1(nursery: trio.Nursery) -> None:
    pool = Watched(1)
    one, two = pool.seat("one"), pool.seat("two")
    await one.take(begun=False)
    with pytest.raises(RuntimeError, match="one holds a slot already"):
        await one.take(begun=True)
    nursery.start_soon(lambda: two.take(begun=True))
    await wait_all_tasks_blocked()
    with pytest.raises(RuntimeError, match="two is queued for a slot already"):
        await two.take(begun=True)
    one.give_back()
    assert two.holds
    two.give_back()
    pool.check_idle()


async def test_a_cancelled_waiter_leaves_the_line_and_holds_nothing_S7(nursery: trio.Nursery) -> None:
    pool = Watched(1)
    holder, early, late = (pool.seat(name) for name in ("holder", "early", "late"))
    await holder.take(begun=False)
    scope = trio.CancelScope()

    async def wait_cancellably() -> None:
        with scope:
            await early.take(begun=False)

    nursery.start_soon(wait_cancellably)
    await wait_all_tasks_blocked()
    nursery.start_soon(lambda: late.take(begun=False))
    await wait_all_tasks_blocked()
    scope.cancel()
    await wait_all_tasks_blocked()
    assert pool.queued == 1
    holder.give_back()
    assert late.holds
    assert not early.holds
    late.give_back()
    await early.take(begun=True)  # the seat is as good as new
    early.give_back()
    pool.check_idle()


async def test_who_is_granted_a_slot_in_the_tick_of_its_cancel_owns_it_until_it_gives_it_back_S7(
    nursery: trio.Nursery,
) -> None:
    pool = Watched(1)
    holder, waiter = pool.seat("holder"), pool.seat("waiter")
    await holder.take(begun=False)
    scope, reached = trio.CancelScope(), []

    async def work() -> None:
        with scope, waiter:
            await waiter.take(begun=False)
            reached.append(waiter.holds)
            await trio.lowlevel.checkpoint()
            reached.append("past the checkpoint")

    nursery.start_soon(work)
    await wait_all_tasks_blocked()
    holder.give_back()
    scope.cancel()
    await wait_all_tasks_blocked()
    assert reached == [True]
    pool.check_idle()


async def test_cancelled_at_any_step_an_agent_neither_leaks_nor_over_admits_S7(nursery: trio.Nursery) -> None:
    pool = Watched(2)

    async def compete(name: str) -> None:
        with pool.seat(name) as seat:
            for begun in (False, True, True):
                await seat.take(begun=begun)
                await trio.lowlevel.checkpoint()
                seat.give_back()
                await trio.lowlevel.checkpoint()

    async def scenario() -> None:
        async with trio.open_nursery() as others:
            for number in range(5):
                others.start_soon(compete, f"other{number}")
            await compete("it")

    async def check() -> None:
        pool.check_idle()

    assert await cancelled_at_every_step(scenario, check) >= 8


Step = tuple[str, int]
PLANS = st.lists(
    st.lists(st.tuples(st.sampled_from(["start", "resume", "work", "give", "again"]), st.integers(0, 3)), max_size=12),
    min_size=1,
    max_size=10,
)


async def live(pool: Watched, name: str, plan: list[Step], scope: trio.CancelScope) -> None:
    with scope, pool.seat(name) as seat:
        for act, times in plan:
            match act:
                case "start" | "resume" if not seat.holds:
                    await seat.take(begun=act == "resume")
                    assert seat.holds
                case "work":
                    for _ in range(times):
                        await trio.lowlevel.checkpoint()
                case "give":
                    seat.give_back()
                    seat.give_back()
                case "again" if seat.holds:
                    with pytest.raises(RuntimeError):
                        await seat.take(begun=True)


@settings(max_examples=150, deadline=None)
@given(
    st.random_module(),
    st.integers(1, 4),
    st.integers(1, 5),
    PLANS,
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9))),
)
def test_under_any_interleaving_the_pool_is_neither_exceeded_nor_leaks_S7(
    seed: Any, width: int, starve_after: int, plans: list[list[Step]], cancels: list[tuple[int, int]]
) -> None:
    async def scenario() -> None:
        pool = Watched(width, starve_after)
        scopes = [trio.CancelScope() for _ in plans]
        async with trio.open_nursery() as nursery:
            for number, plan in enumerate(plans):
                nursery.start_soon(live, pool, str(number), plan, scopes[number])
            for victim, pause in cancels:
                for _ in range(pause):
                    await trio.lowlevel.checkpoint()
                scopes[victim % len(scopes)].cancel()
        pool.check_idle()

    trio.run(scenario)


class NaiveLine:
    """The order of grants as S4 says it, by looking through a list."""

    def __init__(self, starve_after: int) -> None:
        self.starve_after = starve_after
        self.waiting: list[tuple[str, bool]] = []
        self.passed = 0

    def next(self) -> str | None:
        starters = [name for name, begun in self.waiting if not begun]
        begun = [name for name, begun in self.waiting if begun]
        if not self.waiting:
            return None
        if starters and (not begun or self.passed >= self.starve_after):
            name, self.passed = starters[0], 0
        else:
            name, self.passed = begun[0], self.passed + 1 if starters else 0
        self.waiting = [each for each in self.waiting if each[0] != name]
        return name


@settings(max_examples=100, deadline=None)
@given(
    st.random_module(), st.integers(1, 3), st.lists(st.sampled_from(["start", "resume", "give", "cancel"]), max_size=40)
)
def test_grants_come_in_the_order_a_naive_list_gives_S4(seed: Any, starve_after: int, acts: list[str]) -> None:
    async def scenario() -> None:
        pool, naive = Watched(1, starve_after), NaiveLine(starve_after)
        scopes: dict[str, trio.CancelScope] = {}
        holder = pool.seat("first")
        await holder.take(begun=False)
        seats = {"first": holder}

        async def wait(seat: Seat, begun: bool, scope: trio.CancelScope) -> None:
            with scope:
                await seat.take(begun=begun)

        async with trio.open_nursery() as nursery:
            for number, act in enumerate(acts):
                held = next(name for name, seat in seats.items() if seat.holds)
                match act:
                    case "start" | "resume":
                        name = f"{act}{number}"
                        seats[name], scopes[name] = pool.seat(name), trio.CancelScope()
                        nursery.start_soon(wait, seats[name], act == "resume", scopes[name])
                        naive.waiting.append((name, act == "resume"))
                    case "cancel" if naive.waiting:
                        name, _ = naive.waiting.pop(random.randrange(len(naive.waiting)))
                        scopes[name].cancel()
                    case "give" if naive.waiting:
                        seats[held].give_back()
                        assert seats[naive.next() or ""].holds
                await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()

    trio.run(scenario)


async def test_the_pool_limits_threads_as_trio_limiters_do() -> None:
    pool, running, most = Watched(2), 0, 0
    lock = threading.Lock()
    both_in = threading.Barrier(2, timeout=20)

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both_in.wait()
        with lock:
            running -= 1

    async with trio.open_nursery() as nursery:
        for _ in range(6):
            nursery.start_soon(lambda: trio.to_thread.run_sync(work, limiter=pool))
    assert most == 2
    pool.check_idle()


async def test_a_borrower_borrows_once_and_gives_back_once(nursery: trio.Nursery) -> None:
    pool = Watched(1)
    await pool.acquire_on_behalf_of("me")
    with pytest.raises(RuntimeError, match="'me' holds or awaits a slot already"):
        await pool.acquire_on_behalf_of("me")
    with trio.CancelScope() as scope:
        scope.cancel()
        await pool.acquire_on_behalf_of("you")
    with pytest.raises(RuntimeError, match="'you' holds no slot"):
        pool.release_on_behalf_of("you")
    nursery.start_soon(pool.acquire_on_behalf_of, "you")
    await wait_all_tasks_blocked()
    with pytest.raises(RuntimeError, match="'you' holds no slot"):
        pool.release_on_behalf_of("you")
    pool.release_on_behalf_of("me")
    with pytest.raises(RuntimeError, match="'me' holds no slot"):
        pool.release_on_behalf_of("me")
    await wait_all_tasks_blocked()
    pool.release_on_behalf_of("you")
    pool.check_idle()


def test_a_pool_is_at_least_one_wide() -> None:
    for width, starve_after in ((0, 1), (-1, 1), (1, 0)):
        with pytest.raises(ValueError, match="at least 1"):
            SlotPool(width, starve_after)
