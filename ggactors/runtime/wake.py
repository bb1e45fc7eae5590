"""Waking a task: what every primitive of the kernel does at its end. Law: one reschedule, nothing carried.

What a task was woken for lies where it left it (its mailbox, its seat), so nothing needs to travel with the wake-up.
"""

from __future__ import annotations

from typing import Any

from trio.lowlevel import reschedule


class _Nothing:
    """Stands in for ``outcome.Value(None)``, of which trio would make a fresh one per wake-up.

    trio hands what it is given through to the sleeper, which calls ``unwrap`` and nothing else; a fresh Value, made and
    unwrapped in Python, costs a sixth of a task switch.
    """

    __slots__ = ()

    def unwrap(self) -> None:
        """Give what the sleeper's wait returns."""


NOTHING: Any = _Nothing()

__all__ = ["NOTHING", "reschedule"]
