"""Where event lines go: the run's file, and a stream such as stdout.

Law: a sink never stops a run. What cannot be written is told once and kept in memory up to a bound, then dropped. A line
reaches the operating system in the tick of trio's loop after its event, so a killed process loses that tick at most.
"""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

import trio

from ggactors.telemetry.jsonl import to_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ggactors.protocol.events import Event

WRITE_AT_BYTES = 256 * 1024
KEEP_BYTES = 16 * 1024 * 1024
"""How much a sink keeps while it cannot write, in bytes."""


def _unheard(_message: str) -> None:
    """Drop a message nobody asked to hear."""


class JsonLines:
    """Appends events to a file; call it with each. Meant for one task's thread; ``close`` it at the end.

    A line that an earlier process left unfinished is cut off first. ``on_trouble`` hears once why nothing can be written;
    it must not raise. Raises OSError when the file cannot be opened.
    """

    def __init__(self, path: Path, *, on_trouble: Callable[[str], None] = _unheard) -> None:
        self._path = path
        self._on_trouble = on_trouble
        self._waiting: list[bytes] = []
        self._size = 0
        self._scheduled = False
        self._told = False
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            _cut_torn_line(self._file)
        except BaseException:
            os.close(self._file)
            raise

    def __call__(self, event: Event) -> None:
        """Take an event; its line is written at the loop's next tick, or at once outside trio."""
        if self._size > KEEP_BYTES:
            return
        line = to_line(event).encode("ascii") + b"\n"
        self._waiting.append(line)
        self._size += len(line)
        if self._scheduled and self._size < WRITE_AT_BYTES:
            return
        try:
            token = trio.lowlevel.current_trio_token()
        except RuntimeError:
            self.flush()
            return
        if self._size >= WRITE_AT_BYTES:
            self.flush()
        elif not self._scheduled:
            self._scheduled = True
            token.run_sync_soon(self._tick)

    def _tick(self) -> None:
        self._scheduled = False
        self.flush()

    def flush(self) -> None:
        """Hand every line to the operating system. What it does not take now is tried again with the next event."""
        if not self._waiting or self._file < 0:
            return
        data = memoryview(b"".join(self._waiting))
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            # Bytes may have been taken before the refusal: the rest goes on where they end.
            if not self._told:
                self._told = True
                self._on_trouble(f"events cannot be written to {self._path}: {error.strerror}; the run goes on")
        self._waiting = [bytes(data)] if data else []
        self._size = len(data)

    def close(self) -> None:
        """Write what is left and close the file. Doing it twice is fine."""
        self.flush()
        descriptor, self._file = self._file, -1
        if descriptor >= 0:
            os.close(descriptor)


def _cut_torn_line(descriptor: int) -> None:
    """Cut off what stands behind the last newline."""
    end = os.fstat(descriptor).st_size
    at = end
    while at > 0:
        start = max(0, at - 65536)
        newline = os.pread(descriptor, at - start, start).rfind(b"\n")
        if newline >= 0:
            at = start + newline + 1
            break
        at = start
    if at != end:
        os.ftruncate(descriptor, at)


class StreamWriter:
    """Writes bytes to a descriptor by a thread of its own, so that a slow reader never holds up the run.

    A reader that goes away is no error: what follows is dropped and ``reader_gone`` is true. The descriptor stays open; it
    is the caller's.
    """

    def __init__(self, descriptor: int) -> None:
        self.reader_gone = False
        self._descriptor = descriptor
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        # A daemon, so that a reader that never reads cannot keep a process that was told to go.
        self._thread = threading.Thread(target=self._write_all, name="ggactors-stream", daemon=True)
        self._thread.start()

    def put(self, data: bytes) -> None:
        """Queue bytes to be written after those before them."""
        if not self.reader_gone:
            self._waiting.put(data)

    def busy(self) -> bool:
        """Tell whether the reader has not kept up."""
        return not self._waiting.empty()

    def close(self) -> None:
        """Wait until everything is written or the reader is gone. Blocking. Doing it twice is fine."""
        self._waiting.put(None)
        self._thread.join()

    def _write_all(self) -> None:
        while (data := self._waiting.get()) is not None:
            left = memoryview(data)
            try:
                while left:
                    left = left[os.write(self._descriptor, left) :]
            except OSError:
                self.reader_gone = True
                return


class StreamLines:
    """Writes events to a stream that others read. ``close`` blocks until the reader has taken everything or is gone."""

    def __init__(self, descriptor: int) -> None:
        self._writer = StreamWriter(descriptor)

    def __call__(self, event: Event) -> None:
        """Take an event; a thread writes its line."""
        self._writer.put(to_line(event).encode("ascii") + b"\n")

    @property
    def reader_gone(self) -> bool:
        """Whether the reader went away; what follows is dropped."""
        return self._writer.reader_gone

    def close(self) -> None:
        """Wait until every line is written or the reader is gone. Blocking. Doing it twice is fine."""
        self._writer.close()
