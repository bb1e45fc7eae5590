"""The run-wide stop: one latch that agents read at turn boundaries and that releases whoever only waits.

Law: the first stop stands, except that a defect outranks what came before it. Stopping cuts no turn: it cancels nothing but
the scopes entered through ``interruptible`` (queueing for a slot, waiting, backing off).
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
        self._scopes: set[trio.CancelScope] = set()

    def stop(self, status: Status, reason: str) -> bool:
        """Stop the run for this status and release every interruptible wait. Tell whether this stop now stands."""
        if self.status is not None and (status is not Status.INTERNAL_ERROR or self.status is Status.INTERNAL_ERROR):
            return False
        self.status, self.reason = status, reason
        for scope in tuple(self._scopes):
            scope.cancel()
        return True

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let a stop cut the wait inside, which then raises WindDown. Cancelled from outside: passes the cancellation on."""
        if self.status is not None:
            raise WindDown
        with trio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)
        if scope.cancelled_caught:
            raise WindDown
