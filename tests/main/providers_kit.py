"""A provider account for simulated runs: scripted replies behind limits, trouble and a price. Only for a virtual clock."""

from __future__ import annotations

import json
import math

import trio
from attrs import define, field

from ggactors.models.script import script_of
from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelTraits
from ggactors.testing.simulation import Simulation


@define(kw_only=True)
class Account:
    """A source whose every call is noted. ``trouble`` lists (from, until, status): asked then, it refuses.

    ``bears`` is how many calls it takes at once; what is more is refused with a wait of a second. A refusal takes
    ``refusing`` seconds and uses up nothing of the script.
    """

    script: dict = field(factory=dict)
    label: str = "acme/large"
    account: str = "acme"
    trouble: list = field(factory=list)
    bears: float = math.inf
    refusing: float = 0.05
    retry_after: bool = True
    most: int = 0
    asked: list = field(factory=list)
    """Time and agent of every call."""
    refusals: list = field(factory=list)
    """When it refused with a wait, and until when."""
    _at_once: int = 0

    @property
    def traits(self) -> ModelTraits:
        return ModelTraits(account=self.account)

    def model_for(self, agent, profile):
        script, problems = script_of(json.dumps({"agents": self.script}).encode(), "script.json", self.label)
        assert problems == ()
        return Served(self, script.model_for(agent, profile), agent)

    async def serve(self, agent, reply):
        self.asked.append((trio.current_time(), agent))
        self._at_once += 1
        self.most = max(self.most, self._at_once)
        try:
            refusal = self._refusal()
            if refusal is not None:
                await trio.sleep(self.refusing)
                raise self._fault(*refusal)
            return await reply()
        finally:
            self._at_once -= 1

    def _refusal(self):
        now = trio.current_time()
        for since, until, status in self.trouble:
            if since <= now < until:
                return status, until
        return (429, now + self.refusing + 1.0) if self._at_once > self.bears else None

    def _fault(self, status, until):
        now = trio.current_time()
        passing = status is None or status == 429 or status >= 500
        if passing and self.retry_after and until < math.inf:
            self.refusals.append((now, until))
        return ModelFault(
            f"{self.label}: answered {status}",
            status=status,
            retryable=passing,
            auth=status in (401, 403),
            retry_after=max(until - now, 0.0) if passing and self.retry_after and until < math.inf else None,
        )

    @property
    def early(self):
        """List the calls that were made although a refusal, known by then, asked for a later one."""
        return [
            (at, agent, until) for at, agent in self.asked for told, until in self.refusals if told < at < until - 1e-9
        ]


@define
class Served:
    """One agent's use of an account."""

    source: Account
    scripted: object
    agent: str

    @property
    def label(self):
        return self.source.label

    async def reply(self, request):
        return await self.source.serve(self.agent, lambda: self.scripted.reply(request))

    def bound(self, request):
        return self.scripted.bound(request)


def simulated(run: Simulation):
    """Drive a run under a virtual clock. Answers what it came to, and the virtual seconds it took."""

    async def main():
        outcome = await run.run()
        return outcome, trio.current_time()

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def of_type(events, kind):
    return [event for event in events if event.type == kind]
