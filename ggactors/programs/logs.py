"""What a program prints: kept by its end, bounded, told to the operator and never to the model (X3)."""

from __future__ import annotations

from collections import deque

MOST_LINES = 200
MOST_BYTES = 16 * 1024
LINE_BYTES = 2 * 1024

_CUT = " …"


class LogTail:
    """The last lines of a stream: at most 200, 16 KiB together, 2 KiB each. Cost and memory do not grow with what is printed."""

    def __init__(self) -> None:
        self.dropped = 0
        """Lines that are no longer kept."""
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._open = b""
        self._too_long = False

    def feed(self, piece: bytes) -> None:
        """Take more of the stream; lines may begin and end anywhere."""
        *whole, rest = self._recent(piece).split(b"\n")
        for end in whole:
            self._extend(end)
            self._close()
        self._extend(rest)

    def lines(self) -> tuple[str, ...]:
        """Give the lines kept, the one not ended yet included."""
        if self._open:
            self._close()
        return tuple(line.decode("utf-8", "replace") for line in self._lines)

    def _recent(self, piece: bytes) -> bytes:
        """Pass over what could not be kept anyway, counting its lines."""
        if len(piece) <= 4 * MOST_BYTES:
            return piece
        passed = piece[: -4 * MOST_BYTES]
        self.dropped += passed.count(b"\n")
        self._open = b""
        self._too_long = False
        return piece[-4 * MOST_BYTES :]

    def _extend(self, more: bytes) -> None:
        room = LINE_BYTES - len(self._open)
        self._too_long = self._too_long or len(more) > room
        self._open += more[:room]

    def _close(self) -> None:
        line = self._open + (_CUT.encode() if self._too_long else b"")
        self._open, self._too_long = b"", False
        self._lines.append(line)
        self._size += len(line) + 1
        while len(self._lines) > MOST_LINES or self._size > MOST_BYTES:
            self._size -= len(self._lines.popleft()) + 1
            self.dropped += 1
