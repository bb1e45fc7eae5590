"""Provider accounts for simulated runs: scripted replies behind limits and trouble, every call noted.

Law: it sleeps, so it belongs under a virtual clock. A refused call uses up nothing of the script.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.models.script import script_of
from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelTraits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ggactors.ports import Model
    from ggactors.protocol.model import ModelReply, ModelRequest, Usage
    from ggactors.testing.crews import Entry

Trouble = tuple[float, float, int | None]
"""From when, until when, and with which status calls are refused; None is a transport fault."""


@define(kw_only=True)
class Account:
    """A source of models that all share one account. Times are those of the virtual clock.

    ``bears`` is how many calls it takes at once: what is more is refused with a wait of a second. Where ``retry_after`` is set a
    refusal says how long to wait, if there is an end to it.
    """

    script: Mapping[str, Sequence[Entry]]
    label: str = "acme/large"
    account: str = "acme"
    trouble: Sequence[Trouble] = ()
    bears: float = math.inf
    refusing_secs: float = 0.05
    retry_after: bool = True
    asked: list[tuple[float, str]] = field(factory=list, init=False)
    """Time and agent of every call."""
    refusals: list[tuple[float, float]] = field(factory=list, init=False)
    """When a refusal that asks to wait was known, and until when it asks."""
    _at_once: int = field(default=0, init=False)

    @property
    def traits(self) -> ModelTraits:
        """Say whose account it is."""
        return ModelTraits(account=self.account)

    def model_for(self, agent: str, profile: str) -> Model:
        """Make the model of one agent, at the beginning of its list."""
        script, problems = script_of(json.dumps({"agents": self.script}).encode(), "script.json", self.label)
        if problems:
            raise AssertionError("; ".join(map(str, problems)))
        return _Served(source=self, scripted=script.model_for(agent, profile), agent=agent, label=self.label)

    @property
    def early(self) -> list[tuple[float, str, float]]:
        """List the calls made although a refusal that was known by then asked for a later one."""
        return [
            (at, agent, until) for at, agent in self.asked for told, until in self.refusals if told < at < until - 1e-9
        ]

    async def serve(self, agent: str, scripted: Model, request: ModelRequest) -> ModelReply:
        """Answer one call, or refuse it."""
        self.asked.append((trio.current_time(), agent))
        self._at_once += 1
        try:
            refusal = self._refusal()
            if refusal is not None:
                await trio.sleep(self.refusing_secs)
                raise self._fault(*refusal)
            return await scripted.reply(request)
        finally:
            self._at_once -= 1

    def _refusal(self) -> tuple[int | None, float] | None:
        now = trio.current_time()
        for since, until, status in self.trouble:
            if since <= now < until:
                return status, until
        return (429, now + self.refusing_secs + 1.0) if self._at_once > self.bears else None

    def _fault(self, status: int | None, until: float) -> ModelFault:
        now = trio.current_time()
        passing = status is None or status == 429 or status >= 500
        asks = passing and self.retry_after and until < math.inf
        if asks:
            self.refusals.append((now, until))
        return ModelFault(
            f"{self.label}: answered {status}",
            status=status,
            retryable=passing,
            auth=status in (401, 403),
            retry_after=max(until - now, 0.0) if asks else None,
        )


@define(kw_only=True)
class _Served:
    """One agent's use of an account."""

    source: Account
    scripted: Model
    agent: str
    label: str

    async def reply(self, request: ModelRequest) -> ModelReply:
        return await self.source.serve(self.agent, self.scripted, request)

    def bound(self, request: ModelRequest) -> Usage | None:
        return self.scripted.bound(request)
