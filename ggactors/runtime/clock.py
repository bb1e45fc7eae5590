"""Clocks: what time it is for deadlines, and what is written on events. Law: nobody else reads a clock."""

from __future__ import annotations

import time
from typing import Protocol

import trio


class Clock(Protocol):
    """What actors know of time."""

    def now(self) -> float:
        """Give the time deadlines are measured by, in seconds from an arbitrary start; never goes back."""

    def stamp(self) -> str:
        """Give the wall-clock time as RFC 3339 in UTC with milliseconds: ``2026-11-30T14:05:09.123Z``."""


class RealClock:
    """The run loop's time for deadlines, the machine's for stamps."""

    __slots__ = ("_prefix", "_second")

    def __init__(self) -> None:
        self._second = -1
        self._prefix = ""

    def now(self) -> float:
        """Give trio's current time; follows a test's clock."""
        return trio.current_time()

    def stamp(self) -> str:
        """Give the machine's time of day; goes back when somebody sets it back."""
        # Every event is stamped: the date is written once a second, only the milliseconds each time.
        second, nanos = divmod(time.time_ns(), 1_000_000_000)
        if second != self._second:
            self._second, self._prefix = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._prefix}.{nanos // 1_000_000:03d}Z"
