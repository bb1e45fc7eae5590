"""The run-wide stop and pause: what agents read at turn boundaries; a stop is a latch, and releases whoever only waits.

Law: the first stop stands, except that a defect outranks what came before it. Stopping cuts no turn: it cancels nothing but
the scopes entered through ``interruptible`` (queueing for a slot, waiting, backing off). A pause cuts nothing at all, and a stop
ends it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import trio

from ggactors.protocol.values import Status

if TYPE_CHECKING:
    from collections.abc import Iterator


class WindDown(Exception):  # noqa: N818 - flow control: the session goes to its end
    """A wait was released because the run is stopping; the agent goes to its end without a slot."""


class Switch:
    """The latch. ``status`` is None while the run goes on."""

    def __init__(self) -> None:
        self.status: Status | None = None
        self.reason = ""
        self.paused = False
        """Whether no turn and no dispatch is to begin."""
        self.cut_off = False
        """Whether all actors are being stopped at once, so that one may miss another; no breakdown is told any more."""
        self._scopes: dict[trio.CancelScope, str] = {}
        self._released: set[str] = set()
        self._lot = trio.lowlevel.ParkingLot()

    def stop(self, status: Status, reason: str) -> bool:
        """Stop the run for this status and release every interruptible wait. Tell whether this stop now stands."""
        if self.cut_off and status is Status.INTERNAL_ERROR:
            return False
        if self.status is not None and (status is not Status.INTERNAL_ERROR or self.status is Status.INTERNAL_ERROR):
            return False
        self.status, self.reason = status, reason
        self.unpause()
        for scope in tuple(self._scopes):
            scope.cancel()
        return True

    def pause(self) -> bool:
        """Let no turn and no dispatch begin from now on. False when that is so already, or the run is stopping."""
        if self.paused or self.status is not None:
            return False
        self.paused = True
        return True

    def unpause(self) -> bool:
        """Let everything go on. False when nothing was paused."""
        was, self.paused = self.paused, False
        self._lot.unpark_all()
        return was

    async def unpaused(self) -> None:
        """Wait until nothing is paused. Cancelled: nothing changes."""
        while self.paused:
            await self._lot.park()

    def release(self, agent: str) -> None:
        """Stop one agent at its next turn boundary, and release whatever it waits for: the agent it works for has ended."""
        self._released.add(agent)
        for scope, who in tuple(self._scopes.items()):
            if who == agent:
                scope.cancel()

    def stops(self, agent: str) -> bool:
        """Tell whether an agent is to go to its end."""
        return self.status is not None or agent in self._released

    @contextmanager
    def interruptible(self, agent: str) -> Iterator[None]:
        """Let a stop cut the agent's wait inside, which then raises WindDown. A cancellation from outside is passed on."""
        if self.stops(agent):
            raise WindDown
        with trio.CancelScope() as scope:
            self._scopes[scope] = agent
            try:
                yield
            finally:
                del self._scopes[scope]
        if scope.cancelled_caught:
            raise WindDown
