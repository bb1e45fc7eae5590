"""What all agents of a run have in common, handed to each at its making. Law: holds references, decides nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from attrs import field, frozen

from ggactors.actors.switch import Switch  # noqa: TC001 - attrs reads it
from ggactors.actors.traffic import Traffic
from ggactors.rules.priority import Chains

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.actors.family import Family
    from ggactors.actors.mail import Mail
    from ggactors.actors.spending import SpendGate
    from ggactors.ports import Journal
    from ggactors.protocol.agent import Ending
    from ggactors.protocol.board import BoardAnswer, BoardLetter
    from ggactors.protocol.crew import Limits
    from ggactors.protocol.events import Event
    from ggactors.protocol.model import ToolCall, ToolSpec
    from ggactors.protocol.run import AgentGone
    from ggactors.protocol.values import Refused, Status
    from ggactors.runtime.ref import Ref


def _as_it_is(value: Any) -> Any:
    return value


class CannotDispatch(Exception):  # noqa: N818
    """An agent cannot be made at all: undeclared profile, model that does not resolve (D7)."""


class Endings(Protocol):
    """The ending calls of one role: what is offered, and how a declaration is read (E3, E4, E5)."""

    specs: tuple[ToolSpec, ...]

    def is_ending(self, tool: str) -> bool:
        """Tell whether a tool name is an ending call of any role."""

    def declare(self, call: ToolCall) -> Ending | Refused:
        """Read a declaration: the role is checked first, the shape second."""


@frozen(kw_only=True)
class Desk:
    """The shared services of a run's agents. ``now`` is the run's clock in seconds; ``jitter`` gives a number in [0, 1)."""

    run: str
    """The run's id."""
    limits: Limits
    emit: Callable[[Event], None]
    journal: Journal
    now: Callable[[], float]
    jitter: Callable[[], float]
    started: float
    switch: Switch
    family: Family
    spending: SpendGate
    gone: Callable[[AgentGone], None]
    """Tells the run that an agent is gone; from then on it does not count as living."""
    board: Ref[BoardLetter, BoardAnswer] | None
    pack: Callable[[Any], bytes]
    """Packs an agent's fact for the journal."""
    mail: Mail
    stop_run: Callable[[Status, str], None]
    """Stops the whole run: a run-wide ceiling."""
    clean: Callable[[Any], Any] = _as_it_is
    """Gives a copy of a plain value that may be kept or shown: without the values of keys (O4)."""
    traffic: Traffic = field(factory=Traffic)
    """The lanes to the providers."""
    chains: Chains = field(factory=Chains)
    """What each issue holds up, and the epic it is in."""

    def secs_left(self) -> float:
        """Give the seconds the run may still take, infinity for no end of them."""
        most = self.limits.max_runtime_secs
        return math.inf if most is None else max(most - (self.now() - self.started), 0.0)
