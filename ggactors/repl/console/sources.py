"""Where the console's events come from: the file of a run of any process, or the stream of a run of this one.

Law: every event once, in the order of ``seq``; asking never blocks and never waits. A source only listens.
"""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TYPE_CHECKING, Protocol

from ggactors.telemetry.tail import Tail

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ggactors.protocol.events import Event

LOOKED_AT_EVERY = 0.5
"""Seconds between two looks at whether the run's process lives."""

PATIENCE = 20
"""How often a file is asked in vain for what stands before the first event that was put."""


class Source(Protocol):
    """Gives events to a console."""

    def take(self, most: int) -> list[Event]:
        """Give the next events, about ``most`` at most; none when nothing is there yet."""

    def alive(self) -> bool:
        """Tell whether somebody still drives the run."""

    def progress(self) -> float:
        """Say how much of what is there was taken, from 0 to 1."""

    def close(self) -> None:
        """Listen no more. Doing it twice is fine."""


class FileSource:
    """Reads a run's event file as it grows. ``driven`` tells whether a process drives the run; it is asked now and then."""

    def __init__(self, path: Path, driven: Callable[[], bool]) -> None:
        """Open the file. Raises OSError."""
        self._tail = Tail(path)
        self._driven = driven
        self._alive, self._asked = True, -math.inf

    def take(self, most: int) -> list[Event]:
        """Give the next events of the file."""
        return self._tail.take(most)

    def alive(self) -> bool:
        """Tell whether a process drives the run."""
        now = time.monotonic()
        if now - self._asked >= LOOKED_AT_EVERY:
            self._asked, self._alive = now, self._driven()
        return self._alive

    def progress(self) -> float:
        """Say how much of the file was read."""
        return self._tail.progress()

    def close(self) -> None:
        """Close the file."""
        self._tail.close()


class StreamSource:
    """Takes the events of a run of this process: give them to ``put``, in any thread.

    ``before`` is the run's event file, out of which comes what was emitted before the first ``put``. A run without one is
    shown from the first event that was put.
    """

    def __init__(self, before: Path | None = None) -> None:
        """Listen from now on."""
        self._file: Tail | None = None
        if before is not None and before.exists():
            self._file = Tail(before)
        self._coming: deque[Event] = deque()
        self._seq = 0
        self._ended = False
        self._vain = 0

    def put(self, event: Event) -> None:
        """Hand an event on."""
        self._coming.append(event)

    def end(self) -> None:
        """Say that no more will come."""
        self._ended = True

    def take(self, most: int) -> list[Event]:
        """Give the next events: first those of the file, then those that were put, none of them twice."""
        if self._file is not None:
            found = self._file.take(most)
            self._seq = found[-1].seq if found else self._seq
            # The file is complete as soon as it reaches what was put first; without news it is simply read on. One that
            # cannot be written any more never gets there.
            self._vain = 0 if found or not self._coming else self._vain + 1
            if self._coming and (self._seq >= self._coming[0].seq - 1 or self._vain >= PATIENCE):
                self._file.close()
                self._file = None
            return found
        found = []
        while self._coming and len(found) < most:
            event = self._coming.popleft()
            if event.seq > self._seq:
                self._seq = event.seq
                found.append(event)
        return found

    def alive(self) -> bool:
        """Tell whether more may come."""
        return not self._ended

    def progress(self) -> float:
        """Say how much of what is there was taken."""
        return self._file.progress() if self._file is not None else 1.0

    def close(self) -> None:
        """Close the file, if it is still read."""
        if self._file is not None:
            self._file.close()
            self._file = None
