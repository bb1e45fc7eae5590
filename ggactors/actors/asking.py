"""Asking a model for one reply: spend reserved before and settled after, passing faults waited out (C1, C3).

Law: a fault that passes is counted nowhere. Cancelled: the reservation is given back, nothing of the reply is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from attrs import define, frozen

from ggactors.actors.spending import Hold
from ggactors.ports import ModelFault
from ggactors.protocol.events import RetryWait, UsageSpent
from ggactors.protocol.values import Status
from ggactors.rules.backoff import wait_secs
from ggactors.rules.spend import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.actors.desk import Desk
    from ggactors.ports import Model
    from ggactors.protocol.model import ModelReply, ModelRequest, Usage
    from ggactors.rules.ceilings import Breach


@frozen(kw_only=True)
class ForGood:
    """A fault that no retry cures: the agent ends with this status, its last turn an error of this type."""

    status: Status
    error_type: str
    message: str


@define(kw_only=True)
class Asking:
    """One agent's way to its model. ``breach`` looks at the ceilings that stand in the way of another call."""

    agent: str
    profile: str
    model: Model
    desk: Desk
    breach: Callable[[], Breach | None]

    async def reply(self, question: Callable[[int], ModelRequest]) -> ModelReply | Breach | ForGood:
        """Ask until there is a reply. ``question`` composes the request for an attempt, counted from 1.

        A stop of the run while waiting raises WindDown.
        """
        attempt = 0
        while True:
            attempt += 1
            request = question(attempt)
            hold = await self._reserve(self.model.bound(request))
            if hold is None:
                reached = self.breach()
                if reached is None:
                    raise AssertionError("a call was refused for its spend, and no ceiling is reached")
                return reached
            try:
                reply = await self.model.reply(request)
            except ModelFault as fault:
                hold.settle(None)
                if not fault.retryable:
                    status = Status.AUTH_ERROR if fault.auth else Status.MODEL_ERROR
                    kind = "model_auth" if fault.auth else "model_rejected"
                    return ForGood(status=status, error_type=kind, message=str(fault))
                await self._wait_out(fault, attempt)
                reached = self.breach()
                if reached is not None:
                    return reached
                continue
            except BaseException:
                hold.settle(None)
                raise
            hold.settle(reply.usage)
            self._tell(reply.usage)
            return reply

    def _tell(self, usage: Usage) -> None:
        self.desk.emit(
            UsageSpent(
                agent=self.agent,
                profile=self.profile,
                model=self.model.label,
                input=usage.input,
                cached_input=usage.cached_input,
                output=usage.output,
                reasoning=usage.reasoning,
                cost=usage.cost,
            )
        )

    async def _reserve(self, bound: Usage | None) -> Hold | None:
        match self.desk.spending.reserve_nowait(bound):
            case Hold() as hold:
                return hold
            case Verdict.SPENT:
                return None
            case Verdict.WAIT:
                with self.desk.switch.interruptible(self.agent):
                    return await self.desk.spending.reserve(bound)

    async def _wait_out(self, fault: ModelFault, attempt: int) -> None:
        """Wait a passing fault out, never longer than the run may still take."""
        wait = wait_secs(attempt, retry_after=fault.retry_after, jitter=self.desk.jitter())
        if self.desk.limits.max_runtime_secs is not None:
            left = self.desk.limits.max_runtime_secs - (self.desk.now() - self.desk.started)
            wait = min(wait, max(left, 0.0))
        self.desk.emit(
            RetryWait(agent=self.agent, model=self.model.label, status=fault.status, wait_secs=wait, attempt=attempt)
        )
        with self.desk.switch.interruptible(self.agent):
            await trio.sleep(wait)
