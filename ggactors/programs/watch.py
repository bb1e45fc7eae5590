"""The watch over running programs: it stops each at the end of its time (X4).

Law: a program's time is real time, whatever clock the run goes by, and is measured where the program runs; the watch only looks.
One thread serves a pool; it sleeps until the earliest moment at which any program could have spent its time.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ggactors.programs.execution import TIME

if TYPE_CHECKING:
    from ggactors.programs.execution import Execution


_LONGEST = 3600.0
"""Seconds it sleeps at most: a wait for as long as a crew may ask for is more than the system can count."""


class Watch:
    """The thread is started by the first program and ends with ``close``."""

    def __init__(self) -> None:
        self._running: set[Execution] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def add(self, execution: Execution) -> None:
        """Watch over a program from now on."""
        with self._changed:
            self._running.add(execution)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ggactors-program-watch", daemon=True)
                self._thread.start()
            self._changed.notify()

    def drop(self, execution: Execution) -> None:
        """Look at a program no longer."""
        with self._changed:
            self._running.discard(execution)

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with self._changed:
            while not self._closed:
                self._changed.wait(self._look())

    def _look(self) -> float | None:
        """Stop who has spent its time; give the seconds in which nobody else can have, or fewer."""
        soonest: float | None = None
        for execution in list(self._running):
            left = execution.order.seconds - execution.spent()
            if left <= 0:
                self._running.discard(execution)
                execution.stop(TIME)
            else:
                soonest = min(left, _LONGEST if soonest is None else soonest)
        return soonest
