"""What a person sees on stderr while a run goes on: a view redrawn in place on a terminal, plain lines elsewhere.

Law: showing never holds the run up (a thread writes), and nothing is left behind on the terminal at the end.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Protocol, TextIO

import trio

from ggactors.cli.terminal import is_lively, size_of
from ggactors.protocol import events
from ggactors.telemetry.frame import frame_lines
from ggactors.telemetry.plaintext import Look, cells, safe
from ggactors.telemetry.sink import StreamWriter
from ggactors.telemetry.story import headline, local_time

if TYPE_CHECKING:
    from ggactors.telemetry.folds import RunView

FRAME_SECS = 0.1
CLOCK_SECS = 1.0


class Progress(Protocol):
    """Shows a run while it goes on."""

    def take(self, event: events.Event) -> None:
        """Show an event; the view has folded it in already."""

    def say(self, text: str) -> None:
        """Show a line that is no event."""

    async def keep_fresh(self) -> None:
        """Redraw as long as it is let. Cancelled: ``close`` still has to be called."""

    def close(self) -> None:
        """Leave the terminal as a plain program would, everything written. Blocking."""


def progress_on_stderr(view: RunView, *, slots: int, verbose: bool) -> Progress:
    """Choose how to show a run on this process's stderr."""
    if is_lively(sys.stderr, os.environ):
        return LiveView(view, sys.stderr.fileno(), slots=slots, verbose=verbose)
    return PlainLines(view, verbose=verbose)


def _writer_to(stream: TextIO | None) -> StreamWriter | None:
    """Write to what lies under a stream; None for one that is only a Python object, as in a notebook."""
    try:
        return StreamWriter(stream.fileno()) if stream is not None else None
    except (OSError, ValueError):
        return None


class PlainLines:
    """One line per noteworthy event, with its time."""

    def __init__(self, view: RunView, *, verbose: bool) -> None:
        self._view = view
        self._verbose = verbose
        self._out = _writer_to(sys.stderr)

    def take(self, event: events.Event) -> None:
        """Print the event's line, if it has one."""
        line = headline(event, self._view, verbose=self._verbose)
        if line is not None:
            self.say(f"{local_time(event.time)} {line}")

    def say(self, text: str) -> None:
        """Print a line."""
        if self._out is not None:
            self._out.put(safe(text).encode(errors="replace") + b"\n")
        elif sys.stderr is not None:
            print(safe(text), file=sys.stderr)

    async def keep_fresh(self) -> None:
        """Nothing needs redrawing."""
        await trio.sleep_forever()

    def close(self) -> None:
        """Wait until every line is written."""
        if self._out is not None:
            self._out.close()


ABOVE = (events.LimitExceeded, events.BoardStalled, events.Log)
"""What stays on the screen above the view, besides failed issues and merges: what a person must not miss."""


class LiveView:
    """The compact view, redrawn in place: agents with their states and waits, issues by state, slots, spend."""

    def __init__(self, view: RunView, descriptor: int, *, slots: int, verbose: bool) -> None:
        self._view = view
        self._descriptor = descriptor
        self._slots = slots
        self._verbose = verbose
        self._out = StreamWriter(descriptor)
        self._above: list[str] = []
        self._drawn: list[str] = []
        self._news = trio.Event()
        self._began: float | None = None

    def take(self, event: events.Event) -> None:
        """Have the view redrawn soon; keep what must not be missed above it."""
        if self._must_stay(event):
            line = headline(event, self._view, verbose=self._verbose)
            if line is not None:
                self._above.append(line)
        self._news.set()

    def _must_stay(self, event: events.Event) -> bool:
        if isinstance(event, events.BoardChanged):
            return event.op == "fail"
        return isinstance(event, ABOVE) or (isinstance(event, events.WorktreeMerged) and not event.merged)

    def say(self, text: str) -> None:
        """Print a line above the view."""
        self._above.append(safe(text))
        self._news.set()

    async def keep_fresh(self) -> None:
        """Redraw when something changed, at most every ``FRAME_SECS``; the clock ticks anyway."""
        self._began = trio.current_time()
        while True:
            with trio.move_on_after(CLOCK_SECS):
                await self._news.wait()
            self._news = trio.Event()
            if not self._out.busy():
                self._draw()
            await trio.sleep(FRAME_SECS)

    def _draw(self) -> None:
        width, rows = size_of(self._descriptor)
        # One column stays free, so that no terminal wraps by itself; two rows, so that the top never scrolls away.
        look = Look(width=max(1, width - 1), colour=True)
        elapsed = trio.current_time() - (self._began or 0.0)
        painted = frame_lines(self._view, look, rows=max(1, rows - 2), slots=self._slots, elapsed=elapsed)
        self._write(painted)
        self._drawn = [safe(line) for line in painted]

    def _write(self, painted: list[str]) -> None:
        above, self._above = self._above, []
        lines = [*(line for text in above for line in text.splitlines()), *painted]
        body = "".join(f"{line}\x1b[K\n" for line in lines)
        self._out.put(f"{self._back_to_top()}{body}\x1b[J".encode(errors="replace"))

    def _back_to_top(self) -> str:
        """Move to where the last frame begins. A terminal made narrower since has wrapped its lines."""
        width, rows = size_of(self._descriptor)
        height = sum(max(1, -(-cells(line) // width)) for line in self._drawn)
        up = min(height, rows - 1)
        return f"\r\x1b[{up}A" if up else "\r"

    def close(self) -> None:
        """Take the frame off the screen; what stood above it stays."""
        self._write([])
        self._drawn = []
        self._out.close()
