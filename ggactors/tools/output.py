"""Keep what a command prints: its head and its tail in memory, all of it in a file once it is long.

Law: memory is bounded whatever is printed; nothing reaches memory or disk unmasked; a disk that refuses costs the file, never
the command.
"""

from __future__ import annotations

import codecs
import itertools
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ggactors.tools.writing import make_folder

if TYPE_CHECKING:
    from ggactors.tools.mask import Mask

HEAD = 4 * 1024
"""Bytes shown from the beginning of a long output."""
TAIL = 12 * 1024
"""Bytes shown from its end."""
KEPT = 64 * 1024 * 1024
"""Bytes of one output kept in its file; past them its middle is dropped."""
FILES = 32
"""Kept outputs of one agent; the oldest goes when there are more."""


class Outputs:
    """The folder of one agent's kept outputs. Nothing is made before something is kept."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._numbers = itertools.count(1)
        self._kept: list[str] = []

    def create(self, label: str) -> tuple[str, int]:
        """Open a new file for an output; its path and descriptor. Raises OSError."""
        make_folder(self.folder)
        path = f"{self.folder}/{label}-{next(self._numbers)}.txt"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self._kept.append(path)
        while len(self._kept) > FILES:
            with suppress(OSError):
                Path(self._kept.pop(0)).unlink()
        return path, descriptor

    def keep(self, label: str, text: str) -> str | None:
        """Keep a whole text; its path, or None where the disk refuses."""
        try:
            path, descriptor = self.create(label)
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace")[:KEPT])
        except OSError:
            return None
        return path


class Recorder:
    """Takes one command's output piece by piece. Close it, whatever happens; then ask for the text.

    ``ending`` is how many bytes of a long output's end are shown, when they are to be more or fewer than ``TAIL``.
    """

    def __init__(self, outputs: Outputs, mask: Mask, label: str = "shell", *, ending: int | None = None) -> None:
        self._outputs = outputs
        self._label = label
        self._ending = TAIL if ending is None else ending
        self._stream = mask.stream()
        self._head = bytearray()
        self._tail = bytearray()
        self._seen = 0
        self._written = 0
        self._descriptor: int | None = None
        self._refused = False
        self.path: str | None = None

    @property
    def truncated(self) -> bool:
        """Tell whether the text leaves something out."""
        return self._seen > HEAD + self._ending

    def feed(self, piece: bytes) -> None:
        """Take a piece of output."""
        self._take(self._stream.feed(piece))

    def close(self) -> None:
        """Take what the mask held back and finish the file."""
        self._take(self._stream.finish())
        if self._descriptor is None:
            return
        try:
            # What fell out of the tail was written up to the cap; between the two lies what was dropped.
            dropped = self._seen - self._written - len(self._tail)
            if dropped:
                self._write(b"\n[%d bytes were dropped here]\n" % dropped)
            self._write(bytes(self._tail))
        except OSError:
            self._lose()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def text(self) -> str:
        """Give the output as it is shown: decoded with replacement, its middle left out when it is long."""
        if not self.truncated:
            return (self._head + self._tail).decode("utf-8", "replace")
        left = self._seen - len(self._head) - len(self._tail)
        where = f"; all of it is in {self.path}" if self.path else ""
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(self._head)
        tail = _whole_from_here(self._tail).decode("utf-8", "replace")
        return f"{head}\n[… {left} bytes left out here{where} …]\n{tail}"

    def _take(self, piece: bytes) -> None:
        if not piece:
            return
        self._seen += len(piece)
        if len(self._head) < HEAD:
            room = HEAD - len(self._head)
            self._head += piece[:room]
            piece = piece[room:]
        self._tail += piece
        over = len(self._tail) - self._ending
        if over > 0:
            self._spill(over)
            del self._tail[:over]

    def _spill(self, over: int) -> None:
        """Write what is about to fall out of the tail, as far as the cap allows; the tail itself is written at the end."""
        if self._refused:
            return
        try:
            if self._descriptor is None:
                self.path, self._descriptor = self._outputs.create(self._label)
                self._write(bytes(self._head))
            self._write(bytes(self._tail[: min(over, max(KEPT - self._written, 0))]))
        except OSError:
            self._lose()

    def _write(self, piece: bytes) -> None:
        assert self._descriptor is not None
        self._written += len(piece)
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def _lose(self) -> None:
        """Give the file up: a part of an output that looks whole would mislead."""
        self._refused = True
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self.path is not None:
            with suppress(OSError):
                Path(self.path).unlink()
            self.path = None


def _whole_from_here(piece: bytearray) -> bytes:
    """Drop the end of a character that the cut has split."""
    start = 0
    while start < min(3, len(piece)) and piece[start] & 0xC0 == 0x80:
        start += 1
    return bytes(piece[start:])
