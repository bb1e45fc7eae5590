"""Which removed file became which added one, by git's rules. Law: the same pairs as git's, exact ones first, then like names,
then the best likeness of at least half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.repo.textmerge import looks_binary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.repo.objects import Entry, Objects, Sha

HALF = 50
"""Percent of likeness that makes a rename."""
PAIRS = 7_000
"""Sources (and targets) beyond which only exact renames are looked for, as git's ``merge.renameLimit``."""
_REGULAR = 0o100000


def find_renames(store: Objects, gone: Mapping[bytes, Entry], new: Mapping[bytes, Entry]) -> dict[bytes, bytes]:
    """Pair paths that went with paths that came: old to new. Only regular files and links of equal kind pair."""
    pairs: dict[bytes, bytes] = {}
    taken: set[bytes] = set()
    by_content: dict[Sha, list[bytes]] = {}
    for path, (_, sha) in new.items():
        by_content.setdefault(sha, []).append(path)
    for path, (mode, sha) in sorted(gone.items()):
        likely = [
            other for other in by_content.get(sha, ()) if other not in taken and _kind(new[other][0]) == _kind(mode)
        ]
        if likely:
            chosen = max(likely, key=lambda other: (_name(other) == _name(path), [-byte for byte in other]))
            pairs[path] = chosen
            taken.add(chosen)
    sources = {path: entry for path, entry in gone.items() if path not in pairs and _kind(entry[0]) == _REGULAR}
    goals = {path: entry for path, entry in new.items() if path not in taken and _kind(entry[0]) == _REGULAR}
    if not sources or not goals or len(sources) * len(goals) > PAIRS * PAIRS:
        return pairs
    likeness = _Likeness(store)
    _by_name(sources, goals, likeness, pairs)
    scores = [
        (-score, _name(old) != _name(other), old, other)
        for old, (_, old_sha) in sources.items()
        for other, (_, other_sha) in goals.items()
        if (score := likeness(old_sha, other_sha)) >= HALF
    ]
    used: set[bytes] = set()
    for _, _, old, other in sorted(scores):
        if old not in pairs and other not in used:
            pairs[old] = other
            used.add(other)
    return pairs


def _by_name(
    sources: dict[bytes, Entry], goals: dict[bytes, Entry], likeness: _Likeness, pairs: dict[bytes, bytes]
) -> None:
    """Pair first where a file name is unique on both sides: git asks more likeness there (75 percent) and then looks no further."""
    old_names, new_names = _unique(sources), _unique(goals)
    for name, old in sorted(old_names.items()):
        other = new_names.get(name)
        if other is not None and likeness(sources[old][1], goals[other][1]) >= (HALF + 100) // 2:
            pairs[old] = other
            del sources[old], goals[other]


def _unique(paths: Mapping[bytes, Entry]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes | None] = {}
    for path in paths:
        name = _name(path)
        found[name] = None if name in found else path
    return {name: path for name, path in found.items() if path is not None}


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _kind(mode: int) -> int:
    return mode & 0o170000


class _Likeness:
    """Scores how much of one file is in another, in percent, as git estimates it."""

    def __init__(self, store: Objects) -> None:
        self._store = store
        self._known: dict[Sha, tuple[int, dict[bytes, int]]] = {}

    def _spans(self, sha: Sha) -> tuple[int, dict[bytes, int]]:
        known = self._known.get(sha)
        if known is None:
            content = self._store.blob(sha)
            known = (len(content), spans(content))
            self._known[sha] = known
        return known

    def __call__(self, old: Sha, new: Sha) -> int:
        (old_size, before), (new_size, after) = self._spans(old), self._spans(new)
        largest, smallest = max(old_size, new_size), min(old_size, new_size)
        if not smallest or smallest * 100 < HALF * largest:
            return 0
        copied = sum(min(count, after[span]) for span, count in before.items() if span in after)
        return copied * 100 // largest


def spans(content: bytes) -> dict[bytes, int]:
    """Cut a file into lines of at most 64 bytes and count the bytes of each; the CR of a text's CRLF does not count.

    A last line without an end counts, as in git since 2.44; before, git left it out.
    """
    if not looks_binary(content):
        content = content.replace(b"\r\n", b"\n")
    out: dict[bytes, int] = {}
    for line in content.splitlines(keepends=True) if b"\r" not in content else _lines(content):
        for at in range(0, len(line), 64):
            piece = line[at : at + 64]
            out[piece] = out.get(piece, 0) + len(piece)
    return out


def _lines(content: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in content.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines
