"""What waits to be shown, bounded. Law: whatever comes how fast, memory does not grow; what was left out is counted where it stood.

Lines of the story may be left out, oldest first, once more of them wait than a person could read. What answers a command or
echoes what was typed is kept, always, in its place.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from attrs import define, field

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_WAITING = 120
"""Lines of the story that may wait."""
LEFT_OUT = "… {:,} lines left out, /log has them"


@define
class _Piece:
    """A count of what was left out, then story, then what is kept."""

    gap: int = 0
    story: deque[str] = field(factory=deque)
    kept: deque[str] = field(factory=deque)

    @property
    def empty(self) -> bool:
        return not (self.gap or self.story or self.kept)


class Backlog:
    """Lines on their way to the screen. Any thread may put and take."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._pieces: deque[_Piece] = deque()
        self._story = 0
        self._lock = threading.Lock()

    def put(self, lines: Iterable[str], *, kept: bool) -> None:
        """Queue lines behind those before them."""
        with self._lock:
            for line in lines:
                if kept:
                    self._last(new=False).kept.append(line)
                else:
                    last = self._last(new=False)
                    (self._last(new=True) if last.kept else last).story.append(line)
                    self._story += 1
            while self._story > self._most:
                oldest = next(piece for piece in self._pieces if piece.story)
                oldest.story.popleft()
                oldest.gap += 1
                self._story -= 1

    def take(self, *, story: int, most: int) -> list[str]:
        """Take up to ``most`` lines, oldest first, ``story`` of them of the story; a count stands for those that were left out.

        Where an answer waits behind the story, more of the story is taken: whoever typed must not wait for it.
        """
        taken: list[str] = []
        with self._lock:
            if any(piece.kept for piece in self._pieces):
                story = most
            while self._pieces and len(taken) < most:
                piece = self._pieces[0]
                if piece.gap:
                    taken.append(LEFT_OUT.format(piece.gap))
                    piece.gap = 0
                while piece.story and story and len(taken) < most:
                    taken.append(piece.story.popleft())
                    self._story -= 1
                    story -= 1
                while piece.kept and not piece.story and len(taken) < most:
                    taken.append(piece.kept.popleft())
                if not piece.empty:
                    break
                self._pieces.popleft()
        return taken

    def __bool__(self) -> bool:
        """Tell whether anything waits."""
        return bool(self._pieces)

    def _last(self, *, new: bool) -> _Piece:
        if new or not self._pieces:
            self._pieces.append(_Piece())
        return self._pieces[-1]
