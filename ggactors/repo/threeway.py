"""Three trees side by side, path by path. Law: only folders in which the three are not all equal are ever read, and what a later
step needs to know of renames is noted on the way, in git's order: which of several equal copies counts as the renamed one
depends on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import Factory, define

from ggactors.repo.foldermoves import FOR_ITSELF, FOR_PARENT, UNNEEDED
from ggactors.repo.objects import DIRECTORY, Entry, Objects, Sha
from ggactors.repo.trees import lookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

BASE, OURS, THEIRS = 0, 1, 2
ALL = 7
"""Sides are told by bits: 1 the base, 2 ours, 4 theirs."""

Trees = tuple[Sha | None, ...]
Entries = tuple[Entry | None, ...]


@define(kw_only=True)
class Spot:
    """A path the three trees do not agree on."""

    files: list[Entry | None]
    """What base, ours and theirs have there, folders apart."""
    names: list[bytes]
    """What each side calls it, where a rename makes that differ."""
    folders: int = 0
    """The sides that have a folder there."""
    alike: int = 0
    """The two sides that agreed when the trees were read, 0 for none."""
    disputed: bool = False
    """Whether the sides disagree on where it should be."""
    beside: int = 0
    """The side whose file was put beside a folder that stands in its place."""
    settled: bool = False
    result: Entry | None = None
    kind: str = ""
    """What the conflict is about, if a step before the last one knows."""

    @property
    def present(self) -> int:
        """Say which sides have a file."""
        return sum(1 << side for side, entry in enumerate(self.files) if entry is not None)

    def settle(self, entry: Entry | None) -> None:
        """Decide it: nothing is left to disagree on."""
        self.settled, self.result = True, entry


@define
class Side:
    """What renames on one side are found among, in the order it was met."""

    gone: dict[bytes, Entry] = Factory(dict)
    came: dict[bytes, Entry] = Factory(dict)
    relevant: set[bytes] = Factory(set)
    """Sources whose rename would change the outcome."""
    away: dict[bytes, int] = Factory(dict)
    """Folders this side has no more, and what is wanted of each (``foldermoves``)."""


class Sides:
    """The paths on which three trees differ, and each side's candidates for renames."""

    def __init__(self, store: Objects, base: Sha | None, ours: Sha | None, theirs: Sha | None) -> None:
        self._store, self._base = store, base
        self.spots: dict[bytes, Spot] = {}
        self.sides = (Side(), Side(), Side())
        self._later: tuple[dict[bytes, tuple[Trees, int]], ...] = ({}, {}, {})
        """Folders that only one side changed: read last, as git does."""
        if not base == ours == theirs:
            self._folder(b"", (base, ours, theirs), 0, postpone=True)
        for side in (OURS, THEIRS):
            for path in _as_git_keeps(self._later[side]):
                self._folder(path + b"/", *self._later[side][path], postpone=False)

    def unchanged(self, path: bytes, *, file: bool = False) -> bool:
        """Tell whether a path that is no spot is there, the same on all sides; ``file``: and is no folder."""
        entry = lookup(self._store, self._base, path)
        return entry is not None and not (file and entry[0] == DIRECTORY)

    def _folder(self, prefix: bytes, trees: Trees, watched: int, *, postpone: bool) -> None:
        """Read a folder. ``watched``: the one other side that has it, or ``ALL`` once that side was seen to add to it."""
        nothing: Mapping[bytes, Entry] = {}
        base, ours, theirs = (nothing if tree is None else self._store.tree(tree) for tree in trees)
        differing: list[tuple[bytes, bytes, Entries]] = []
        for name in {**ours, **theirs, **base}:
            entries: Entries = (base.get(name), ours.get(name), theirs.get(name))
            if not entries[0] == entries[1] == entries[2]:
                differing.append((name + b"/" if _folders(entries) else name, name, entries))
        if watched not in (0, ALL) and any(_files(entries) == watched for _, _, entries in differing):
            watched = ALL
        for _, name, entries in sorted(differing):
            self._name(prefix, prefix + name, entries, watched, postpone=postpone)

    def _name(self, prefix: bytes, path: bytes, entries: Entries, watched: int, *, postpone: bool) -> None:
        files, folders, alike = _files(entries), _folders(entries), _alike(entries)
        plain = [None if entry is None or entry[0] == DIRECTORY else entry for entry in entries]
        spot = Spot(files=plain, names=[path, path, path], folders=folders, alike=alike)
        self.spots[path] = spot
        if files == ALL and alike:
            spot.settle(plain[THEIRS] if alike == 3 else plain[OURS])
            return
        if watched != ALL and folders in (3, 5):
            watched = folders & ~1
        self._note_folder(prefix[:-1], path, files, folders, watched)
        if files not in (0, ALL):
            self._note_renames(path, plain, alike & files, watched)
        if not folders:
            return
        spot.alike = alike & files
        trees = tuple(entry[1] if entry is not None and entry[0] == DIRECTORY else None for entry in entries)
        changer = {3: THEIRS, 5: OURS}.get(alike, folders // 2 if files == 0 and folders in (2, 4) else 0)
        if postpone and changer and watched != ALL:
            self._later[changer][path] = (trees, watched)
        else:
            self._folder(path + b"/", trees, watched, postpone=postpone)

    def _note_folder(self, above: bytes, path: bytes, files: int, folders: int, watched: int) -> None:
        """Note a folder that a side has no more, and a file added to one: then it matters where that folder went."""
        if folders in (1, 3, 5):
            for side in (OURS, THEIRS):
                if not folders & 1 << side:
                    self.sides[side].away[path] = FOR_PARENT if watched == ALL else UNNEEDED
        if watched == ALL and files in (2, 4):
            self.sides[THEIRS if files == 2 else OURS].away[above] = FOR_ITSELF

    def _note_renames(self, path: bytes, entries: list[Entry | None], alike: int, watched: int) -> None:
        base = entries[BASE]
        for side in (OURS, THEIRS):
            entry, known = entries[side], self.sides[side]
            if base is not None and entry is None:
                known.gone[path] = base
                if not alike or watched == ALL:
                    known.relevant.add(path)
            elif base is None and entry is not None:
                known.came[path] = entry


def _files(entries: Entries) -> int:
    return sum(1 << side for side, entry in enumerate(entries) if entry is not None and entry[0] != DIRECTORY)


def _folders(entries: Entries) -> int:
    return sum(1 << side for side, entry in enumerate(entries) if entry is not None and entry[0] == DIRECTORY)


def _alike(entries: Entries) -> int:
    base, ours, theirs = entries
    if base is not None and base == ours:
        return 3
    if base is not None and base == theirs:
        return 5
    return 6 if ours is not None and ours == theirs else 0


def _as_git_keeps(paths: Iterable[bytes]) -> list[bytes]:
    """Order paths as git's hash table of them does (FNV-1, a quarter to four fifths full, later ones first)."""
    known = list(paths)
    size = 64
    while len(known) > size * 4 // 5:
        size *= 4
    known.reverse()
    return sorted(known, key=lambda path: _hash(path) % size)


def _hash(path: bytes) -> int:
    value = 0x811C9DC5
    for byte in path:
        value = (value * 0x01000193 & 0xFFFFFFFF) ^ byte
    return value
