"""A run's event file, read as it grows. Law: whole lines only, each once; a torn last line is waited for, or is written anew."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Self

from ggactors.telemetry.jsonl import parse_line

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from ggactors.protocol.events import Event

CHUNK = 64 * 1024


class Tail:
    """An open event file. Raises OSError when it cannot be opened or read. Close it, or use it as a context manager."""

    def __init__(self, path: Path) -> None:
        """Open the file at ``path``."""
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._at = 0
        """Behind the last whole line that was read: what follows may be cut off again by whoever goes on with the run."""
        self._lines: deque[bytes] = deque()

    def take(self, most: int) -> list[Event]:
        """Give the next events, ``most`` at most; none when no more are there yet. Never waits."""
        found: list[Event] = []
        while len(found) < most and (self._lines or self._read()):
            event = parse_line(self._lines.popleft())
            if event is not None:
                found.append(event)
        return found

    def progress(self) -> float:
        """Say how much of the file was read, from 0 to 1."""
        size = os.fstat(self._file).st_size if self._file >= 0 else self._at
        return self._at / size if size else 1.0

    def _read(self) -> bool:
        want = CHUNK if self._file >= 0 else 0
        while want:
            data = os.pread(self._file, want, self._at)
            end = data.rfind(b"\n") + 1
            if end:
                self._lines.extend(data[: end - 1].split(b"\n"))
                self._at += end
                return True
            want = want * 4 if len(data) == want else 0  # one line may be longer than a chunk
        return False

    def close(self) -> None:
        """Close the file. Doing it twice is fine."""
        descriptor, self._file = self._file, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
