"""Where ``--events`` streams to, and what of it was lost.

Law: a stream that takes no more never stops a run; it is said, and a run that would have exited with 0 exits with 1
(docs/reference/cli.md). A reader that goes away is no loss: it has had what it wanted.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, field

from ggactors.cli.exits import FAILED
from ggactors.cli.failures import Refusal
from ggactors.telemetry.sink import JsonLines, StreamLines

if TYPE_CHECKING:
    from contextlib import ExitStack

    from ggactors.protocol.events import Event


@define
class EventSink:
    """Takes every event of a run; ``close`` it before its exit code is asked for."""

    target: str | None
    _out: JsonLines | StreamLines | None = field(default=None, alias="out")
    _device: int | None = field(default=None, alias="device")
    """A descriptor that is this sink's to close."""
    lost: bool = False
    """Whether events that were asked for could not be written. Known once it is closed."""

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if self._out is not None:
            self._out(event)

    def close(self) -> None:
        """Wait until every event is written, or cannot be, and say which. Blocking."""
        out, self._out = self._out, None
        if out is None:
            return
        out.close()
        if self._device is not None:
            os.close(self._device)
        failure = out.failure
        self.lost = failure is not None
        if failure is not None:
            name = "stdout" if self.target == "-" else self.target
            say(f"ggactors: events are missing, {name} takes no more: {failure.strerror}")

    def code(self, code: int) -> int:
        """Give the exit code of a run whose own is ``code``."""
        return FAILED if self.lost and code == 0 else code


def event_sink(target: str | None, stack: ExitStack) -> EventSink:
    """Open where ``--events`` streams to. A file is written anew; pipes and devices are streams. Raises Refusal."""
    if target is None:
        return EventSink(None)
    sink = _opened(target)
    stack.callback(sink.close)
    return sink


def _opened(target: str) -> EventSink:
    if target == "-":
        sys.stdout.flush()
        return EventSink(target, out=StreamLines(sys.stdout.fileno()))
    path = Path(target)
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            descriptor = os.open(path, os.O_WRONLY)
            return EventSink(target, out=StreamLines(descriptor), device=descriptor)
        with path.open("wb"):
            pass
        return EventSink(target, out=JsonLines(path, on_trouble=lambda message: say(f"ggactors: {message}")))
    except OSError as error:
        raise Refusal(f"--events {target}: {error.strerror}") from error


def say(text: str) -> None:
    """Print a line on stderr, if that takes any."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)
