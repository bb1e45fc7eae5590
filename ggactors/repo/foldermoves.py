"""Folders that one side of a merge moved, and what the other side puts into them, as git finds it. Pure.

Law: only a folder that is gone as a whole counts as moved, to where most of its files went; a file added to it on the other side
follows, and the path is left for a person to confirm (git's ``merge.directoryRenames=conflict``).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attrs import Factory, define

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

UNNEEDED, FOR_PARENT, FOR_ITSELF = range(3)
"""How much is wanted of a folder that is gone: nothing, its share in its parent's move, or where it went itself."""


def parent(path: bytes) -> bytes:
    """Give the folder a path lies in, ``b""`` for the top."""
    return path.rpartition(b"/")[0]


class FolderCounts:
    """Counts, for the folders a side has no more, where the files in them went.

    ``away`` maps such folders to what is wanted of them.
    """

    def __init__(self, away: Mapping[bytes, int]) -> None:
        self._away = away
        self._counts: dict[bytes, Counter[bytes]] = {}
        self._guesses: dict[bytes, bytes] = {}

    def add(self, old: bytes, new: bytes) -> None:
        """Count one file's move for its folder, and for those above as long as the paths below them are the same."""
        nearest = True
        while True:
            old, _, old_tail = old.rpartition(b"/")
            new, _, new_tail = new.rpartition(b"/")
            if old not in self._away or not (nearest or old_tail == new_tail):
                return
            wanted = self._away[old]
            if nearest or wanted == FOR_ITSELF:
                self._counts.setdefault(old, Counter())[new] += 1
            nearest = False
            if wanted == UNNEEDED or not old or not new:
                return

    def guess(self) -> None:
        """Take what has been counted so far for where folders went."""
        self._guesses = {folder: max(counts, key=counts.__getitem__) for folder, counts in self._counts.items()}

    def guessed(self, path: bytes) -> bytes | None:
        """Say where a file would be if it had gone with its folder."""
        folder, _, name = path.rpartition(b"/")
        target = self._guesses.get(folder)
        return None if target is None else target + b"/" + name

    def moves(self) -> tuple[dict[bytes, bytes], list[bytes]]:
        """Give the folders that moved with where they went, and those split so evenly that nobody can tell."""
        moved: dict[bytes, bytes] = {}
        split: list[bytes] = []
        for folder, counts in self._counts.items():
            if self._away[folder] == UNNEEDED:
                continue
            most = max(counts.values())
            best = [target for target, count in counts.items() if count == most]
            if len(best) > 1:
                split.append(folder)
            else:
                moved[folder] = best[0]
        return moved, split


@define
class Following:
    """Where one side's paths go when they follow the other side's moved folders."""

    moves: Mapping[bytes, bytes]
    own_moves: Mapping[bytes, bytes]
    """The folders this side moved itself: nothing follows into one of them."""
    _arriving: dict[bytes, list[bytes]] = Factory(dict)
    _told: set[bytes] = Factory(set)

    def expect(self, paths: Iterable[bytes]) -> None:
        """Note all paths of this side that may follow, so that two for one place are seen."""
        for path in paths:
            found = self._moved(path)
            if found is not None:
                self._arriving.setdefault(found[1], []).append(path)

    def _moved(self, path: bytes) -> tuple[bytes, bytes] | None:
        folder = parent(path)
        while folder:
            target = self.moves.get(folder)
            if target is not None:
                rest = path[len(folder) + 1 :]
                return target, target + b"/" + rest if target else rest
            folder = parent(folder)
        return None

    def place_of(self, path: bytes) -> tuple[bytes | None, list[bytes]]:
        """Say where a path goes, and which other paths want the same place; None when it stays."""
        found = self._moved(path)
        if found is None or found[0] in self.own_moves:
            return None, []
        return found[1], self._arriving.get(found[1], [])
