"""The way to the providers: one lane per account, shared by every agent of the run (C1). A thin shell over the pure flow.

Law: a call is under way between ``enter`` and one of the three ways out. Whoever must wait is let go in the order of what it
holds up, and nobody is passed for ever. There is no task behind a lane: whoever wakes first, by the clock or by a call that
returned, lets go whoever may. Cancelled while waiting: nothing is held, and the next in line is let go instead.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.rules.congestion import Flow, answered, faulted, is_down, left, let_go, opens_at, told
from ggactors.rules.priority import NOTHING, Waiting, pick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ggactors.ports import ModelFault
    from ggactors.rules.congestion import Leave
    from ggactors.rules.priority import Weight


def _no_weight() -> Weight:
    return NOTHING


@define(eq=False)
class Pass:
    """One call's place in a lane. ``leave`` is set once it was let go; ``turned_away`` once waiting is no use to it."""

    since: int
    weight: Callable[[], Weight]
    not_before: float
    may_leave: bool
    leave: Leave | None = None
    turned_away: bool = False
    stirred: trio.Event | None = None
    """Set when it should look again; there is one only while it waits."""

    def stir(self) -> None:
        """Let it look again, if it waits."""
        if self.stirred is not None:
            self.stirred.set()

    def settled(self) -> bool:
        """Tell whether it waits no more."""
        return self.leave is not None or self.turned_away


@define(kw_only=True, eq=False)
class Lane:
    """One account's calls. ``now`` is the run's clock in seconds, ``jitter`` gives a number in [0, 1)."""

    now: Callable[[], float]
    jitter: Callable[[], float]
    flow: Flow = field(factory=Flow)
    _waiting: dict[int, Pass] = field(factory=dict)
    _tickets: int = 0
    _passed: int = 0
    _timed_for: float = 0.0

    @property
    def waiting(self) -> int:
        """Count the calls that wait."""
        return len(self._waiting)

    def enter_nowait(
        self, weight: Callable[[], Weight] = _no_weight, *, not_before: float = 0.0, may_leave: bool = False
    ) -> Pass:
        """Take a place in the lane, and go at once if that is possible. ``may_leave``: it goes elsewhere when the trouble lasts."""
        self._tickets += 1
        place = Pass(self._tickets, weight, not_before, may_leave)
        now = self.now()
        if not self._waiting and not_before <= now and opens_at(self.flow, now) <= now:
            self.flow, place.leave = let_go(self.flow)
            return place
        self._waiting[place.since] = place
        self._let_go()
        return place

    async def wait(self, place: Pass) -> None:
        """Wait until a place is let go or turned away. Cancelled: it is in the lane no more."""
        try:
            while not place.settled():
                place.stirred = stirred = trio.Event()
                with trio.move_on_after(self._looks_again(place) - self.now()):
                    await stirred.wait()
                self._let_go()
        except BaseException:
            self.withdraw(place)
            raise

    def withdraw(self, place: Pass) -> None:
        """Leave the lane with nothing to tell: cancelled, or never asked after all."""
        self._waiting.pop(place.since, None)
        if place.leave is not None:
            self.flow = left(self.flow, place.leave)
            place.leave = None
        self._let_go()

    def stands(self, place: Pass) -> bool:
        """Tell whether a leave still holds: nothing was told since that lets nobody go."""
        return place.leave is not None and place.leave.era == self.flow.era and self.flow.shut_until <= self.now()

    def answered(self, place: Pass) -> None:
        """Tell that the provider answered."""
        leave = self._back(place)
        self.flow = answered(self.flow, leave)
        self._let_go()

    def faulted(self, place: Pass, fault: ModelFault) -> None:
        """Tell of a fault that passes: the whole fleet slows down where it says that the account is asked too much."""
        leave = self._back(place)
        self.flow = faulted(
            self.flow,
            leave,
            self.now(),
            status=fault.status,
            retry_after=fault.retry_after,
            jitter=self.jitter(),
        )
        self._let_go()

    def told(self, *, remaining: int | None, resets_in: float | None) -> None:
        """Tell what the provider's rate headers say: how many calls are left, and in how many seconds there are more."""
        self.flow = told(self.flow, self.now(), remaining=remaining, resets_in=resets_in)

    def _back(self, place: Pass) -> Leave:
        leave, place.leave = place.leave, None
        if leave is None:
            raise RuntimeError("a call that was not let go has returned")
        return leave

    def _looks_again(self, place: Pass) -> float:
        """Tell when a place that waits must look by the clock; what returns lets it go without that."""
        now = self.now()
        opens = opens_at(self.flow, now)
        if math.isinf(opens):
            return place.not_before if place.not_before > now else math.inf
        return max(opens, place.not_before, now)

    def _let_go(self) -> None:
        """Let go whoever may go now, and turn away whoever need not wait for trouble that lasts."""
        if not self._waiting:
            return
        now = self.now()
        while self._waiting and opens_at(self.flow, now) <= now:
            ripe = [place for place in self._waiting.values() if place.not_before <= now]
            if not ripe:
                break
            waiting = [Waiting(weight=place.weight(), since=place.since) for place in ripe]
            chosen, self._passed = pick(waiting, self._passed)
            place = ripe[chosen]
            del self._waiting[place.since]
            self.flow, place.leave = let_go(self.flow)
            place.stir()
        if is_down(self.flow, now):
            for place in [place for place in self._waiting.values() if place.may_leave]:
                del self._waiting[place.since]
                place.turned_away = True
                place.stir()
        if self._waiting and now < (opens := opens_at(self.flow, now)) < math.inf and opens != self._timed_for:
            # Those that wait set their clocks by what they were told when they lay down.
            self._timed_for = opens
            for place in self._waiting.values():
                place.stir()


@define(kw_only=True, eq=False)
class Traffic:
    """Every lane of the run, by account. A model without an account has a lane of its own for each agent."""

    now: Callable[[], float] = trio.current_time
    jitter: Callable[[], float] = lambda: 0.0
    awaited: dict[str, str] = field(factory=dict)
    """The agents that a model is answering right now, and which model."""
    _lanes: dict[str, Lane] = field(factory=dict)

    @contextmanager
    def awaiting(self, agent: str, model: str) -> Iterator[None]:
        """Note that an agent's model is answering it, for as long as the block lasts."""
        self.awaited[agent] = model
        try:
            yield
        finally:
            del self.awaited[agent]

    def lane(self, account: str) -> Lane:
        """Give the lane of an account; a new one every time where there is none."""
        if not account:
            return Lane(now=self.now, jitter=self.jitter)
        if account not in self._lanes:
            self._lanes[account] = Lane(now=self.now, jitter=self.jitter)
        return self._lanes[account]
