"""A provider account of a simulated world: it refuses while it storms, and looks at how it is asked.

Law: it judges the runtime by what it said itself. Nobody asks an account of several agents before the moment it named, and while it
is shut one call goes first (C1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.ports import ModelFault
from ggactors.protocol.model import Usage
from ggactors.rules.congestion import CONGESTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.testing.simwave import Storm

_LAW = "nobody_asks_an_account_before_it_said_C1"


@define(eq=False)
class Call:
    """One call under way. ``probe``: it began while the account was shut."""

    agent: str
    probe: bool


@define(kw_only=True)
class Account:
    """The account. ``shared``: its traffic goes through one lane. ``breach(law, message)`` hears how it is asked wrongly."""

    storms: tuple[Storm, ...] = ()
    shared: bool = True
    breach: Callable[[str, str], None] = field(default=lambda _law, _message: None)
    began: float | None = None
    _shut: bool = False
    _not_before: float = 0.0
    _probes: int = 0
    _unclear: bool = False
    """Whether other trouble was told too, after which only the runtime knows how wide it asks."""

    def begin(self, agent: str) -> Call:
        """Take a call in."""
        now = trio.current_time()
        if self.began is None:
            self.began = now
        if self.shared and now < self._not_before:
            self.breach(_LAW, f"{agent} asks {self._not_before - now:g} s early")
        if self.shared and self._shut and self._probes and not self._unclear:
            self.breach(_LAW, f"{agent} asks beside the call that goes first")
        call = Call(agent, self._shut)
        self._probes += call.probe
        return call

    def storm(self) -> ModelFault | None:
        """Give the fault that the account answers with just now, or None."""
        now = trio.current_time() - (self.began or 0.0)
        for storm in self.storms:
            if storm.begins <= now < storm.ends:
                if storm.status == 402:
                    return ModelFault("no money is left", status=402)
                usage = Usage(input=3) if storm.status is None else None
                return ModelFault(
                    "a storm", status=storm.status, retryable=True, retry_after=storm.retry_after, usage=usage
                )
        return None

    def answered(self, call: Call) -> None:
        """Take note that a call was answered, or refused for what it asked."""
        self._back(call)
        if call.probe:
            self._shut, self._probes = False, 0

    def faulted(self, call: Call, fault: ModelFault) -> None:
        """Take note of what a call was told."""
        if not fault.retryable and fault.status is not None:
            self.answered(call)
            return
        self._back(call)
        if fault.status not in CONGESTED:
            self._unclear = True
            return
        if call.probe or not self._shut:
            self._shut, self._probes = True, 0
        self._not_before = max(self._not_before, trio.current_time() + (fault.retry_after or 0.0))

    def cut(self, call: Call) -> None:
        """Take note that a call was cut off."""
        self._back(call)

    def _back(self, call: Call) -> None:
        if call.probe and self._probes:
            self._probes -= 1
