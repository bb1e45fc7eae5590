"""Which removed file became which added one. Law: the same pairs as git's diff core finds.

Equal content first, then like names of at least three quarters likeness, then the best likeness of at least half.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ggactors.repo.textmerge import looks_binary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ggactors.repo.foldermoves import FolderCounts
    from ggactors.repo.objects import Entry, Objects, Sha

WHOLE = 60_000
"""The likeness of equal files, on git's scale."""
HALF = WHOLE // 2
LIKE_NAMES = WHOLE * 3 // 4
"""What files that keep a name found once on each side must have in common."""
PAIRS = 7_000
"""Sources (and targets) beyond which likeness is not weighed for pairs of other names, as git's ``merge.renameLimit``."""
SHARED = 30_000_000
"""Shared pieces beyond which it is not weighed either: thousands of files that begin with the same licence."""
ALIKE = 101
"""How many sources of equal content are looked at for a target."""
BEST = 4
"""How many sources are kept for each target."""
LAST_LINE_COUNTS = True
"""Whether a last line without an end counts for likeness: in git since 2.44; before, it was left out."""

EMPTY_BLOB = b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
_REGULAR = 0o100000


def find_renames(
    store: Objects,
    gone: Mapping[bytes, Entry],
    came: Mapping[bytes, Entry],
    *,
    empties: bool = True,
    relevant: frozenset[bytes] | set[bytes] | None = None,
    folders: FolderCounts | None = None,
) -> dict[bytes, bytes]:
    """Pair paths that went with paths that came: old to new. Of equals, those that come first are preferred.

    ``empties``: empty files may pair (in merges they do not). ``relevant``: sources that likeness is weighed for, None for all.
    ``folders`` counts what the pairs say of folders, and is asked where a folder seems to have gone.
    """
    return _Pairing(store, gone, came, empties=empties, relevant=relevant, folders=folders).run()


def base_name(path: bytes) -> bytes:
    """Give the last part of a path."""
    return path.rpartition(b"/")[2]


def _kind(mode: int) -> int:
    return mode & 0o170000


class _Pairing:
    def __init__(
        self,
        store: Objects,
        gone: Mapping[bytes, Entry],
        came: Mapping[bytes, Entry],
        *,
        empties: bool,
        relevant: frozenset[bytes] | set[bytes] | None,
        folders: FolderCounts | None,
    ) -> None:
        def worth(entries: Mapping[bytes, Entry]) -> dict[bytes, Entry]:
            return {path: entry for path, entry in entries.items() if empties or entry[1] != EMPTY_BLOB}

        self._sources, self._goals = worth(gone), worth(came)
        self._relevant, self._folders = relevant, folders
        self._likeness = _Likeness(store)
        self._pairs: dict[bytes, bytes] = {}

    def run(self) -> dict[bytes, bytes]:
        self._exact()
        if self._relevant is not None:
            self._sources = {path: entry for path, entry in self._sources.items() if path in self._relevant}
        if self._folders is not None:
            self._folders.guess()
        self._by_name()
        if self._sources and self._goals and len(self._sources) * len(self._goals) <= PAIRS * PAIRS:
            self._by_likeness()
        return self._pairs

    def _pair(self, old: bytes, new: bytes) -> None:
        self._pairs[old] = new
        del self._sources[old], self._goals[new]
        if self._folders is not None:
            self._folders.add(old, new)

    def _exact(self) -> None:
        """Give each target the first unused source of its content, one of its name before others."""
        waiting: dict[tuple[int, Sha], list[bytes]] = {}
        for path, (mode, sha) in self._sources.items():
            waiting.setdefault((_kind(mode), sha), []).append(path)
        for path, (mode, sha) in list(self._goals.items()):
            likely = waiting.get((_kind(mode), sha))
            if likely:
                same = (old for old in likely[:ALIKE] if base_name(old) == base_name(path))
                chosen = next(same, likely[0])
                likely.remove(chosen)
                self._pair(chosen, path)

    def _by_name(self) -> None:
        """Pair files that keep their name: one found once on each side, or where its folder seems to have gone."""
        old_names, new_names = _by_base(self._sources), _by_base(self._goals)
        for old in list(self._sources):
            name = base_name(old)
            there = new_names.get(name)
            if there is None:
                continue
            new: bytes | None = there[0]
            if len(old_names[name]) > 1 or len(there) > 1:
                new = self._folders.guessed(old) if self._folders is not None else None
            if new in self._goals and self._weigh(old, new) >= LIKE_NAMES:
                self._pair(old, new)

    def _weigh(self, old: bytes, new: bytes) -> int:
        (old_mode, old_sha), (new_mode, new_sha) = self._sources[old], self._goals[new]
        return self._likeness(old_sha, new_sha) if _kind(old_mode) == _kind(new_mode) == _REGULAR else 0

    def _by_likeness(self) -> None:
        """Pair the rest, the most alike first; of equals, those of one name; then in the order of the targets."""
        rows: list[tuple[int, bool, bytes, bytes]] = []
        for new, scores in self._scores():
            best = [(-score, base_name(old) != base_name(new), new, old) for old, score in scores]
            rows += sorted(best, key=lambda row: row[:2])[:BEST]
        for _, _, new, old in sorted(rows, key=lambda row: row[:2]):
            if old in self._sources and new in self._goals:
                self._pair(old, new)

    def _scores(self) -> Iterable[tuple[bytes, list[tuple[bytes, int]]]]:
        """Give, for each target, the sources at least half alike, in order: found by the pieces they share."""
        sources = [(path, sha) for path, (mode, sha) in self._sources.items() if _kind(mode) == _REGULAR]
        holders: dict[bytes, list[tuple[int, int]]] = {}
        for at, (_, sha) in enumerate(sources):
            for piece, count in self._likeness.pieces(sha).items():
                holders.setdefault(piece, []).append((at, count))
        goals = [(path, sha) for path, (mode, sha) in self._goals.items() if _kind(mode) == _REGULAR]
        frequency = Counter(piece for _, sha in goals for piece in self._likeness.pieces(sha) if piece in holders)
        if sum(len(holders[piece]) * count for piece, count in frequency.items()) > SHARED:
            return
        for path, sha in goals:
            copied: Counter[int] = Counter()
            for piece, count in self._likeness.pieces(sha).items():
                for at, other in holders.get(piece, ()):
                    copied[at] += min(count, other)
            size = self._likeness.size(sha)
            scored = (
                (at, self._likeness.score(self._likeness.size(sources[at][1]), size, copied[at])) for at in copied
            )
            yield path, [(sources[at][0], score) for at, score in sorted(scored) if score >= HALF]


def _by_base(paths: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    found: dict[bytes, list[bytes]] = {}
    for path in paths:
        found.setdefault(base_name(path), []).append(path)
    return found


class _Likeness:
    """Scores how much of one file is in another, as git estimates it."""

    def __init__(self, store: Objects) -> None:
        self._store = store
        self._known: dict[Sha, tuple[int, dict[bytes, int]]] = {}

    def _read(self, sha: Sha) -> tuple[int, dict[bytes, int]]:
        known = self._known.get(sha)
        if known is None:
            content = self._store.blob(sha)
            known = (len(content), spans(content))
            self._known[sha] = known
        return known

    def size(self, sha: Sha) -> int:
        return self._read(sha)[0]

    def pieces(self, sha: Sha) -> dict[bytes, int]:
        return self._read(sha)[1]

    @staticmethod
    def score(old_size: int, new_size: int, copied: int) -> int:
        """Weigh what is copied against the larger file; nothing when the sizes alone forbid half."""
        largest, smallest = max(old_size, new_size), min(old_size, new_size)
        if not smallest or largest * (WHOLE - HALF) < (largest - smallest) * WHOLE:
            return 0
        return copied * WHOLE // largest

    def __call__(self, old: Sha, new: Sha) -> int:
        (old_size, before), (new_size, after) = self._read(old), self._read(new)
        copied = sum(min(count, after[span]) for span, count in before.items() if span in after)
        return self.score(old_size, new_size, copied)


def spans(content: bytes) -> dict[bytes, int]:
    """Cut a file into lines of at most 64 bytes and count the bytes of each; the CR of a text's CRLF does not count."""
    if not looks_binary(content):
        content = content.replace(b"\r\n", b"\n")
    out: dict[bytes, int] = {}
    lines = content.split(b"\n")
    last = lines.pop()
    for line in lines:
        _count(out, line + b"\n")
    whole = len(last) - len(last) % 64
    _count(out, last if LAST_LINE_COUNTS else last[:whole])
    return out


def _count(out: dict[bytes, int], line: bytes) -> None:
    for at in range(0, len(line), 64):
        piece = line[at : at + 64]
        out[piece] = out.get(piece, 0) + len(piece)
