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
        self._flusher: _Flusher | None = None
        self._told = self._dropped = False
        self.failure: OSError | None = None
        """Why lines are missing in the file. What could be written after all is not; so it is known once it is closed."""
        self._trouble: OSError | None = None
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            _cut_torn_line(self._file)
        except BaseException:
            os.close(self._file)
            raise

    def __call__(self, event: Event) -> None:
        """Take an event; its line is written at the loop's next tick, or at once outside trio."""
        if self._size > KEEP_BYTES:
            self._dropped = True
            return
        line = to_line(event).encode("ascii") + b"\n"
        self._waiting.append(line)
        self._size += len(line)
        if self._scheduled and self._size < WRITE_AT_BYTES:
            return
        if self._size >= WRITE_AT_BYTES or not self._soon():
            self.flush()
        else:
            self._scheduled = True

    def _soon(self) -> bool:
        """Have the lines written in the loop's next tick. False where there is no loop, or it is going down."""
        try:
            token = trio.lowlevel.current_trio_token()
        except RuntimeError:
            return False
        if self._flusher is None or self._flusher.token is not token:
            self._flusher = _Flusher(self._tick, token)
        return self._flusher.wake()

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
            self._trouble = error
            if not self._told:
                self._told = True
                self._on_trouble(f"events cannot be written to {self._path}: {error.strerror}; the run goes on")
        self._waiting = [bytes(data)] if data else []
        self._size = len(data)

    def close(self) -> None:
        """Write what is left and close the file. Doing it twice is fine."""
        self.flush()
        descriptor, self._file = self._file, -1
        if self._waiting or self._dropped:
            self.failure = self._trouble
        if descriptor >= 0:
            os.close(descriptor)
        if self._flusher is not None:
            self._flusher.end()


class _Flusher:
    """A task of the loop's own that does one thing in the tick after it was woken.

    ``run_sync_soon`` would do the same through a socket and five calls to the kernel, for every tick that has an event.
    """

    def __init__(self, work: Callable[[], None], token: trio.lowlevel.TrioToken) -> None:
        self.token = token
        self._work = work
        self._parked: trio.lowlevel.Task | None = None
        self._gone = self._ended = False
        trio.lowlevel.spawn_system_task(self._run)

    def wake(self) -> bool:
        """Have it done in the next tick. False when the loop is going down and nothing more is done in it."""
        task, self._parked = self._parked, None
        if task is not None:
            trio.lowlevel.reschedule(task)
        return not self._gone

    def end(self) -> None:
        """Let the task go."""
        self._ended = True
        self.wake()

    async def _run(self) -> None:
        def leave(_: object) -> trio.lowlevel.Abort:
            self._parked = None
            return trio.lowlevel.Abort.SUCCEEDED

        try:
            while not self._ended:
                self._work()
                self._parked = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(leave)
        finally:
            self._gone = True
            self._work()


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
        self.failure: OSError | None = None
        """Why it could not be written, where that is not a reader that went away."""
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
            except OSError as error:
                self.failure = None if isinstance(error, BrokenPipeError) else error
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

    @property
    def failure(self) -> OSError | None:
        """Why lines could not be written, where that is not a reader that went away."""
        return self._writer.failure

    def close(self) -> None:
        """Wait until every line is written or the reader is gone. Blocking. Doing it twice is fine."""
        self._writer.close()
