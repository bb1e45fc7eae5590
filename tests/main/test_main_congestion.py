"""One lane per provider account: nobody is asked early, the critical path goes first, a stop reaches whoever waits (C1, H45)."""

from __future__ import annotations

import math
import random

import pytest
import trio
from attrs import define

from ggactors.actors.traffic import Lane, Traffic
from ggactors.ports import ModelFault
from ggactors.rules.priority import STARVE_AFTER


def lane_of_trio(**more) -> Lane:
    return Lane(now=trio.current_time, jitter=lambda: 0.0, **more)


def too_many(retry_after=None) -> ModelFault:
    return ModelFault("too many", status=429, retryable=True, retry_after=retry_after)


@define(kw_only=True, eq=False)
class Watched(Lane):
    """A lane whose laws are looked at whenever somebody is let go."""

    def _let_go(self) -> None:
        before = self.flow
        waiting = tuple(self._waiting.values())
        Lane._let_go(self)
        gone = [place for place in waiting if place.leave is not None]
        if not gone:
            return
        # Width: the wait is over, one probe at a time while shut, never more than the width once open.
        assert before.shut_until <= self.now()
        if before.shut:
            assert (len(gone), before.probe) == (1, False)
        else:
            assert self.flow.under_way <= self.flow.width
        # Order: the heaviest, of equals the oldest; else only one that has waited longest of all.
        left = [place for place in self._waiting.values() if place.not_before <= self.now()]
        for place in gone:
            mine = (place.weight(), -place.since)
            assert all(mine >= (other.weight(), -other.since) or place.since < other.since for other in left)


class Provider:
    """An account that refuses everything until ``opens`` and bears ``bears`` calls at once; it notes every call.

    Only for tests under ``autojump_clock``.
    """

    def __init__(self, opens: float, bears: float = math.inf):
        self.opens, self.bears = opens, bears
        self.at_once = self.most = 0
        self.asked: list[tuple[float, str]] = []
        self.refusals: list[tuple[float, float]] = []
        """When it refused, and until when it asked not to be asked."""

    async def ask(self, agent: str, secs: float) -> None:
        self.asked.append((trio.current_time(), agent))
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            crowded = self.at_once > self.bears
            await trio.sleep(secs / 10 if crowded or trio.current_time() < self.opens else secs)
            now = trio.current_time()
            if now < self.opens:
                self.refusals.append((now, self.opens))
                raise too_many(self.opens - now)
            if crowded:
                self.refusals.append((now, now + 1.0))
                raise too_many(1.0)
        finally:
            self.at_once -= 1


async def call(lane: Lane, provider: Provider, agent: str, secs: float, weight=lambda: (0, 0)) -> None:
    """Ask until there is an answer, as an agent does."""
    while True:
        place = lane.enter_nowait(weight)
        await lane.wait(place)
        try:
            await provider.ask(agent, secs)
        except ModelFault as fault:
            lane.faulted(place, fault)
        except BaseException:
            lane.withdraw(place)
            raise
        else:
            lane.answered(place)
            return


async def test_twenty_agents_meeting_a_storm_all_finish_and_nobody_asks_before_it_is_over(autojump_clock):
    lane, provider = lane_of_trio(), Provider(opens=5.0)
    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(call, lane, provider, f"a{number}", 0.5)
    late = [at for at, _ in provider.asked if at > 0.06]
    assert len(provider.asked) == 40
    assert min(late) >= 5.0
    assert late.count(min(late)) == 1
    assert max(late) < 8.0
    assert (lane.flow.under_way, lane.waiting) == (0, 0)


@pytest.mark.parametrize("block", range(8))
async def test_shuffled_schedules_keep_width_and_order(block, autojump_clock):
    for seed in range(block * 25, block * 25 + 25):
        chance = random.Random(seed)
        start = trio.current_time()
        lane = Watched(now=trio.current_time, jitter=lambda: 0.0)
        provider = Provider(opens=start + chance.choice([0.0, 2.0, 5.0]), bears=chance.randint(2, 6))
        done: list[str] = []

        async def agent(name: str, calls: list[float], begins: float, leaves: float) -> None:
            await trio.sleep(begins)
            with trio.move_on_after(leaves):
                for secs in calls:
                    await call(lane, provider, name, secs, weight=lambda: (len(name) % 3, 0))  # noqa: B023
                done.append(name)  # noqa: B023

        async with trio.open_nursery() as nursery:
            staying = 0
            for number in range(chance.randint(2, 16)):
                calls = [chance.choice([0.1, 0.5, 2.0]) for _ in range(chance.randint(1, 4))]
                leaves = chance.choice([math.inf, math.inf, math.inf, chance.random() * 6])
                staying += leaves == math.inf
                nursery.start_soon(agent, "n" * number, calls, chance.choice([0.0, 0.0, 1.5]), leaves)
        assert len(done) >= staying
        assert (lane.flow.under_way, lane.waiting) == (0, 0)
        early = [
            (at, told, until)
            for at, _ in provider.asked
            for told, until in provider.refusals
            if told < at < until - 1e-9
        ]
        assert early == []


async def test_the_heaviest_goes_first_and_the_lightest_is_not_passed_for_ever(autojump_clock):
    lane, order = lane_of_trio(), []
    first = lane.enter_nowait()
    lane.faulted(first, too_many(1.0))

    async def waiter(name: str, weight: int) -> None:
        place = lane.enter_nowait(lambda: (weight, 0))
        await lane.wait(place)
        order.append(name)
        await trio.sleep(1.0)
        lane.faulted(place, too_many(1.0)) if len(order) < 40 else lane.answered(place)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(waiter, "light", 0)
        await trio.testing.wait_all_tasks_blocked()
        for number in range(40):
            nursery.start_soon(waiter, f"heavy{number}", 1 + number)
            await trio.testing.wait_all_tasks_blocked()
    assert order[0] == "heavy39"
    assert order.index("light") == STARVE_AFTER


async def test_cancelling_whoever_waits_or_asks_frees_the_way_for_the_next(autojump_clock):
    lane = lane_of_trio()
    lane.faulted(lane.enter_nowait(), too_many(2.0))
    reached: list[str] = []

    async def ask(name: str, secs: float) -> None:
        place = lane.enter_nowait()
        await lane.wait(place)
        reached.append(name)
        try:
            await trio.sleep(secs)
        except BaseException:
            lane.withdraw(place)
            raise
        lane.answered(place)

    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as probing:
            nursery.start_soon(ask, "second", 1.0)
            with trio.move_on_after(1.0) as early:
                await ask("never", 1.0)
            assert early.cancelled_caught
            nursery.start_soon(ask, "third", 1.0)
            probing.deadline = trio.current_time() + 1.0
    assert reached == ["second", "third"]
    assert (lane.flow.under_way, lane.waiting, lane.flow.shut) == (0, 0, False)


async def test_a_call_of_its_own_trouble_waits_by_itself(autojump_clock):
    lane = lane_of_trio()
    place = lane.enter_nowait(not_before=3.0)
    await lane.wait(lane.enter_nowait())
    assert trio.current_time() == 0.0
    await lane.wait(place)
    assert trio.current_time() == 3.0


async def test_whoever_can_go_elsewhere_is_turned_away_once_trouble_lasts(autojump_clock):
    lane = lane_of_trio()
    lane.faulted(lane.enter_nowait(), too_many(31.0))
    stays, goes = lane.enter_nowait(), lane.enter_nowait(may_leave=True)
    assert goes.turned_away
    await lane.wait(goes)
    assert trio.current_time() == 0.0
    await lane.wait(stays)
    assert trio.current_time() == 31.0


async def test_a_rate_header_holds_everybody_and_wakes_everybody(autojump_clock):
    lane = lane_of_trio()
    place = lane.enter_nowait()
    lane.told(remaining=0, resets_in=4.0)
    lane.answered(place)
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(lane.wait, lane.enter_nowait())
    assert trio.current_time() == 4.0


def test_agents_of_one_account_share_a_lane_and_those_of_none_do_not():
    traffic = Traffic()
    assert traffic.lane("a") is traffic.lane("a")
    assert traffic.lane("a") is not traffic.lane("b")
    assert traffic.lane("") is not traffic.lane("")
