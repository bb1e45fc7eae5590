"""What differs between two trees as a unified diff, the way ``git diff -M`` words it. Law: looks only; bounded in size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.repo.objects import GITLINK, Entry, Objects, Sha
from ggactors.repo.renames import find_renames
from ggactors.repo.textdiff import hunks
from ggactors.repo.textmerge import looks_binary, split
from ggactors.repo.trees import diff, lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ggactors.repo.trees import Changes

CONTEXT = 3
LARGEST = 1024 * 1024
"""Bytes of a file beyond which its lines are not compared."""
MOST_LINES = 20_000
MOST_FILES = 2_000

Content = tuple[int, bytes]
"""Mode and bytes."""


def patch(
    store: Objects,
    old: Sha | None,
    new: Sha | None,
    *,
    over: Changes | None = None,
    read: Callable[[bytes], bytes] | None = None,
) -> list[str]:
    """Compare two trees. ``over`` is what lies on disk instead of ``new``, path by path, and ``read`` reads such a path."""
    pairs = dict(diff(store, old, new))
    pairs |= {path: (lookup(store, old, path), entry) for path, entry in (over or {}).items()}
    gone = {path: before for path, (before, after) in pairs.items() if before is not None and after is None}
    came = {path: after for path, (before, after) in pairs.items() if before is None and after is not None}
    moved = {} if over else find_renames(store, gone, came)
    arrived = {target: source for source, target in moved.items()}

    def content(path: bytes, entry: Entry | None) -> Content | None:
        if entry is None:
            return None
        if entry[0] == GITLINK:
            return entry[0], b"Subproject commit " + entry[1] + b"\n"
        if over and read is not None and over.get(path) == entry and not store.has(entry[1]):
            return entry[0], read(path)
        return entry[0], store.blob(entry[1])

    lines: list[str] = []
    for number, path in enumerate(sorted(pairs)):
        if path in moved:
            continue
        if number >= MOST_FILES or len(lines) >= MOST_LINES:
            lines.append(f"… {len(pairs) - number} files more")
            break
        source = arrived.get(path, path)
        before, after = pairs[path]
        before = pairs[source][0] if source != path else before
        if before != after or source != path:
            lines += _file(source, path, content(source, before), content(path, after))
    return lines


def _file(old: bytes, new: bytes, before: Content | None, after: Content | None) -> list[str]:
    """Word one file's difference: its head, then its hunks."""
    left, right = _text(old), _text(new)
    lines = [f"diff --git a/{left} b/{right}"]
    if before is None and after is not None:
        lines.append(f"new file mode {after[0]:06o}")
    elif after is None and before is not None:
        lines.append(f"deleted file mode {before[0]:06o}")
    elif before is not None and after is not None and before[0] != after[0]:
        lines += [f"old mode {before[0]:06o}", f"new mode {after[0]:06o}"]
    if old != new:
        lines += [f"rename from {left}", f"rename to {right}"]
    a, b = before[1] if before else b"", after[1] if after else b""
    if a == b:
        return lines
    if looks_binary(a) or looks_binary(b):
        return [*lines, "Binary files differ"]
    if max(len(a), len(b)) > LARGEST:
        return [*lines, f"Too large to show: {len(a):,} bytes before, {len(b):,} after"]
    lines += [
        f"--- {_named('a/' + left) if before else '/dev/null'}",
        f"+++ {_named('b/' + right) if after else '/dev/null'}",
    ]
    return [*lines, *_hunks(split(a), split(b))]


def _hunks(left: Sequence[bytes], right: Sequence[bytes]) -> list[str]:
    """Word the changes with the lines around them; changes that touch share a hunk."""
    groups: list[list[tuple[int, int, int, int]]] = []
    for change in hunks(left, right):
        last = groups[-1][-1] if groups else None
        if last is not None and change[0] - (last[0] + last[1]) <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    lines: list[str] = []
    for group in groups:
        first, last = group[0], group[-1]
        a, b = max(0, first[0] - CONTEXT), max(0, first[2] - CONTEXT)
        a_end, b_end = min(len(left), last[0] + last[1] + CONTEXT), min(len(right), last[2] + last[3] + CONTEXT)
        lines.append(f"@@ -{_range(a, a_end)} +{_range(b, b_end)} @@")
        at = a
        for begin, removed, other, added in group:
            lines += _marked(" ", left[at:begin])
            lines += _marked("-", left[begin : begin + removed])
            lines += _marked("+", right[other : other + added])
            at = begin + removed
        lines += _marked(" ", left[at:a_end])
    return lines


def _range(begin: int, end: int) -> str:
    count = end - begin
    start = begin + 1 if count else begin
    return f"{start}" if count == 1 else f"{start},{count}"


def _marked(mark: str, found: Sequence[bytes]) -> list[str]:
    lines: list[str] = []
    for line in found:
        lines.append(mark + _text(line.removesuffix(b"\n")))
        if not line.endswith(b"\n"):
            lines.append("\\ No newline at end of file")
    return lines


def _named(path: str) -> str:
    """Mark the end of a name with blanks in it, as git does for those who apply the diff."""
    return f"{path}\t" if " " in path else path


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
