"""Asking a model for one reply: through its provider's lane, spend reserved before and settled after, passing faults waited
out, and over to the crew's other model where trouble lasts (C1, C3).

Law: a fault that passes is counted nowhere, what a call spent is counted once however it ended. The seat is kept while the
provider is waited for: a slot that was given back would only let another agent run into the same closed door. Cancelled: the
reservation and the place in the lane are given back, nothing of the reply is kept.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import trio
from attrs import define, field, frozen

from ggactors.actors.spending import Hold
from ggactors.actors.switch import WindDown
from ggactors.ports import ModelFault, spent_by
from ggactors.protocol.events import Log, RetryWait, UsageSpent
from ggactors.protocol.values import THE_PROVIDER, Kind, Status
from ggactors.rules.backoff import wait_secs
from ggactors.rules.ceilings import Breach
from ggactors.rules.congestion import CONGESTED, PATIENCE, opens_at
from ggactors.rules.failover import BARRED_FOR, lasts, look_again_secs, refused_as_such
from ggactors.rules.priority import weight
from ggactors.rules.spend import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ggactors.actors.desk import Desk
    from ggactors.actors.traffic import Lane, Pass
    from ggactors.ports import Model
    from ggactors.protocol.crew import SpendLimits
    from ggactors.protocol.model import ModelReply, ModelRequest, RateLimits, Usage
    from ggactors.rules.priority import Weight
    from ggactors.rules.spend import Budget


ALIKE = 5
"""After how many faults of one call in a row that are the same a person is warned that waiting may not cure it."""


@frozen(kw_only=True)
class ForGood:
    """A fault that no retry cures: the agent ends with this status, its last turn an error of this type."""

    status: Status
    error_type: str
    message: str
    overflow: bool = False
    """The request was longer than the model's window."""


@define(kw_only=True, eq=False)
class Way:
    """One model an agent may ask, and the lane to it. ``failed`` counts the present call's faults on it in a row."""

    model: Model
    lane: Lane
    failed: int = 0
    not_before: float = 0.0
    """Until when a call that failed on its own account waits, in seconds of the run's clock."""
    why: str = ""
    """What was the matter at the present call's last fault on it."""
    alike: int = 0
    """How often in a row that was the matter."""
    refusal: ModelFault | None = None
    """Why it refuses the present call for good."""
    barred_until: float = 0.0

    def begin(self) -> None:
        """Forget the last call's troubles."""
        self.failed, self.not_before, self.refusal = 0, 0.0, None
        self.why, self.alike = "", 0

    def note(self, fault: ModelFault) -> None:
        """Count a passing fault of the present call, and how often in a row it is the same one."""
        why = " ".join(fault.reason.removeprefix(f"{self.model.label}: ").split())
        self.failed += 1
        self.alike = self.alike + 1 if why == self.why else 1
        self.why = why


@define(kw_only=True)
class Asking:
    """One agent's way to its models: its own first, then those it falls back to, in order.

    ``breach`` looks at the ceilings that stand in the way of another call; ``show`` is told what is waited for, None for nothing
    any more.
    """

    agent: str
    profile: str
    kind: Kind
    issue: str | None
    ways: Sequence[Way]
    own_limits: SpendLimits | None
    desk: Desk
    breach: Callable[[], Breach | None]
    show: Callable[[str | None], None]
    _served_by: Way | None = field(default=None, init=False)
    _shown: bool = field(default=False, init=False)
    """Whether the agent is shown as waiting for the provider."""

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """List the budgets with a ceiling in which a call spends now; an issue's epic may change."""
        epic = None if self.issue is None else self.desk.chains.epic_of(self.issue)
        return self.desk.spending.budgets(self.profile, self.own_limits, self.issue, epic)

    async def reply(self, question: Callable[[int], ModelRequest]) -> ModelReply | Breach | ForGood:
        """Ask until there is a reply. ``question`` composes the request for an attempt, counted from 1.

        A stop of the run, while waiting or between two attempts, raises WindDown.
        """
        for way in self.ways:
            way.begin()
        way = self._first()
        attempt = 0
        while True:
            if self.desk.switch.stops(self.agent):
                raise WindDown
            later = self._after(way)
            place = await self._enter(way, may_leave=later is not None)
            if isinstance(place, Breach):
                return place
            if place is None:
                way = self._first()
                continue
            if place.turned_away:
                way = later or way
                continue
            answer = await self._ask(way, place, question(attempt + 1))
            if answer is None:
                continue
            attempt += 1
            if not isinstance(answer, ModelFault):
                return answer
            turn = self._refused(way, answer) if not answer.retryable else self._failed(way, answer, attempt)
            if isinstance(turn, ForGood):
                return turn
            way = turn

    # ------------------------------------------------------------ which model

    def _open(self) -> list[Way]:
        """List the ways that have not refused the present call for good."""
        return [way for way in self.ways if way.refusal is None]

    def _first(self) -> Way:
        """Give the way to try first: one that was refused as such a moment ago only where there is no other."""
        now, left = self.desk.now(), self._open()
        return next((way for way in left if way.barred_until <= now), left[-1])

    def _after(self, way: Way) -> Way | None:
        """Give the next way behind one, if there is any."""
        behind = self.ways[self.ways.index(way) + 1 :]
        return next((other for other in behind if other.refusal is None), None)

    def _refused(self, way: Way, fault: ModelFault) -> Way | ForGood:
        """Go on with another model after a refusal for good, or end with the first refusal there was."""
        way.refusal = fault
        left = [] if fault.overflow else self._open()
        if not left:
            first = next(way.refusal for way in self.ways if way.refusal is not None)
            said = str(first) if first is fault else f"{first}; then {fault}"
            return ForGood(
                status=Status.AUTH_ERROR if first.auth else Status.MODEL_ERROR,
                error_type="model_auth" if first.auth else "model_rejected",
                message=said,
                overflow=fault.overflow,
            )
        if refused_as_such(fault.status):
            way.barred_until = self.desk.now() + BARRED_FOR
        return self._after(way) or left[0]

    def _failed(self, way: Way, fault: ModelFault, attempt: int) -> Way:
        """Go on after a passing fault: with the same model after a wait, or with another where the trouble lasts."""
        way.note(fault)
        now = self.desk.now()
        own = 0.0
        if fault.status not in CONGESTED:
            own = wait_secs(way.failed, retry_after=fault.retry_after, jitter=self.desk.jitter())
            way.not_before = now + own
        wait = min(max(own, way.lane.flow.shut_until - now), self.desk.secs_left())
        later = self._after(way)
        if later is not None and lasts(way.failed, wait):
            return later
        label = way.model.label
        self.desk.emit(
            RetryWait(
                agent=self.agent, model=label, status=fault.status, wait_secs=wait, attempt=attempt, reason=way.why
            )
        )
        if way.alike == ALIKE and fault.status not in CONGESTED:
            said = (
                f"{self.agent}: {label} failed {ALIKE} times in a row for one reason: {way.why}. It is asked again for as "
                "long as the run may take; if that will not pass, stop the run and look after what answers there"
            )
            self.desk.emit(Log(agent=self.agent, level="warning", message=said))
        # The last of several waits; but first it is seen whether one before it has recovered meanwhile.
        return way if later is not None else self._first()

    def _tell_who_serves(self, way: Way) -> None:
        """Say when another model than before answers."""
        before, self._served_by = self._served_by or self.ways[0], way
        if before is not way:
            back = self.ways.index(way) < self.ways.index(before)
            said = "is back with" if back else "hands over to"
            why = "" if back or not before.why else f": {before.why}"
            message = f"{self.agent} {said} {way.model.label}, from {before.model.label}{why}"
            self.desk.emit(Log(agent=self.agent, level="warning", message=message))

    # ------------------------------------------------------------ one call

    async def _enter(self, way: Way, *, may_leave: bool) -> Pass | Breach | None:
        """Wait for leave to ask, never longer than the run may still take; what other agents spent meanwhile may be in the way.

        The last of several models is not waited for longer than until another may be worth a look: None.
        """
        lane = way.lane
        place = lane.enter_nowait(self._weight, not_before=way.not_before, may_leave=may_leave)
        try:
            if not place.settled():
                self._show(waiting=True)
                patience = min(self.desk.secs_left(), math.inf if may_leave else self._elsewhere(way))
                with self.desk.switch.interruptible(self.agent), trio.move_on_after(patience):
                    await lane.wait(place)
                reached = self.breach()
                if reached is not None:
                    lane.withdraw(place)
                    self._shown = False
                    return reached
        except BaseException:
            lane.withdraw(place)
            self._shown = False
            raise
        if place.leave is not None:
            self._show(waiting=False)
        return place if place.settled() else None

    def _show(self, *, waiting: bool) -> None:
        """Tell that the provider is waited for, or not any more, where that changes."""
        if waiting is not self._shown:
            self._shown = waiting
            self.show(THE_PROVIDER if waiting else None)

    def _elsewhere(self, way: Way) -> float:
        """Give the seconds after which another of the models may be worth a look, infinity where there is no other."""
        now = self.desk.now()
        others = [
            look_again_secs(max(opens_at(other.lane.flow, now), other.not_before, other.barred_until) - now)
            for other in self._open()
            if other is not way
        ]
        in_trouble = way.lane.flow.shut or max(way.lane.flow.shut_until, way.not_before) > now
        # A place in a lane that merely is full is not given up for the first look that would be possible.
        return min(others, default=math.inf) if in_trouble else max(PATIENCE, min(others, default=math.inf))

    async def _ask(self, way: Way, place: Pass, request: ModelRequest) -> ModelReply | Breach | ModelFault | None:
        """Make one call that was given leave. A fault is an answer here. None: the leave was overtaken by what others were told."""
        try:
            hold = await self._reserve(way.model.bound(request))
        except BaseException:
            way.lane.withdraw(place)
            raise
        if isinstance(hold, Breach):
            way.lane.withdraw(place)
            return hold
        if not way.lane.stands(place):
            hold.settle(None)
            way.lane.withdraw(place)
            return None
        try:
            with self.desk.traffic.awaiting(self.agent, way.model.label):
                reply = await way.model.reply(request)
        except ModelFault as fault:
            self._settle(way, hold, fault.usage or spent_by(way.model))
            if fault.retryable:
                way.lane.faulted(place, fault)
            elif fault.status is not None:
                way.lane.answered(place)
            else:
                way.lane.withdraw(place)
            return fault
        except BaseException:
            self._settle(way, hold, spent_by(way.model))
            way.lane.withdraw(place)
            raise
        self._settle(way, hold, reply.usage)
        self._heed(way.lane, reply.limits)
        way.lane.answered(place)
        self._tell_who_serves(way)
        return reply

    def _heed(self, lane: Lane, limits: RateLimits | None) -> None:
        if limits is not None:
            lane.told(remaining=limits.requests, resets_in=limits.requests_reset)
            lane.told(remaining=limits.tokens, resets_in=limits.tokens_reset)

    def _settle(self, way: Way, hold: Hold, usage: Usage | None) -> None:
        """Count what a call spent, once, and say so."""
        hold.settle(usage)
        if usage is None:
            return
        self.desk.emit(
            UsageSpent(
                agent=self.agent,
                profile=self.profile,
                model=way.model.label,
                input=usage.input,
                cached_input=usage.cached_input,
                output=usage.output,
                reasoning=usage.reasoning,
                cost=usage.cost,
            )
        )

    async def _reserve(self, bound: Usage | None) -> Hold | Breach:
        """Reserve in every budget the call spends in, in line. A budget its issue was moved out of meanwhile stops nothing."""
        while True:
            budgets = self.budgets
            answer: Hold | Verdict | None = self.desk.spending.reserve_nowait(bound, budgets)
            if answer is Verdict.WAIT:
                with self.desk.switch.interruptible(self.agent):
                    answer = await self.desk.spending.reserve(bound, budgets)
            if isinstance(answer, Hold):
                return answer
            reached = self.breach()
            if reached is not None:
                return reached
            if self.budgets == budgets:
                raise AssertionError("a call was refused for its spend, and no ceiling is reached")

    def _weight(self) -> Weight:
        # Whoever works for a merge agent holds main as it does.
        merges = self.desk.family.resolves_a_merge(self.agent)
        return weight(self.desk.chains, Kind.MERGER if merges else self.kind, self.issue)
