"""Three texts into one. Law: what git merges cleanly is merged to the same bytes, and what it would mark is marked as it marks it.

``merge3`` finds the regions over git's own line matching (``textdiff``); conflicts are then narrowed as git narrows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import merge3
from attrs import frozen

from ggactors.repo.textdiff import Matcher, hunks

if TYPE_CHECKING:
    from collections.abc import Sequence

JOIN = 3
"""Conflicts with no more unconflicting lines than this between them are shown as one (git's rule)."""


@frozen(kw_only=True)
class Labels:
    """What stands beside the conflict markers."""

    ours: bytes = b"ours"
    theirs: bytes = b"theirs"
    size: int = 7


@frozen(kw_only=True)
class MergedText:
    """The outcome: its bytes and how many conflicts are marked in them."""

    content: bytes
    conflicts: int


Piece = tuple[bool, int, int, int, int]
"""Conflicting or not; lines of ours from..to; lines of theirs from..to (ours and theirs are equal when not conflicting)."""


def looks_binary(content: bytes) -> bool:
    """Tell whether git takes this for binary: a zero byte early on."""
    return b"\x00" in content[:8000]


def split(content: bytes) -> list[bytes]:
    """Split into lines that keep their ends; only a line feed ends one."""
    lines = content.split(b"\n")
    last = lines.pop()
    out = [line + b"\n" for line in lines]
    if last:
        out.append(last)
    return out


def merge_text(
    base: bytes, ours: bytes, theirs: bytes, labels: Labels | None = None, *, union: bool = False
) -> MergedText:
    """Merge two texts that come from ``base``. ``union`` keeps both sides of a conflict, unmarked."""
    labels = labels or Labels()
    below, left, right = split(base), split(ours), split(theirs)
    out: list[bytes] = []
    conflicts = 0
    chunks = _chunks(below, left, right)
    for chunk in chunks:
        if isinstance(chunk, list):
            out.extend(chunk)
        else:
            conflicts += _write_conflict(out, left, right, chunk, labels, union=union)
    return MergedText(content=b"".join(out), conflicts=0 if union else conflicts)


def _chunks(below: list[bytes], left: list[bytes], right: list[bytes]) -> list[list[bytes] | tuple[int, int, int, int]]:
    out: list[list[bytes] | tuple[int, int, int, int]] = []
    regions = merge3.Merge3(below, left, right, sequence_matcher=Matcher).merge_regions()
    pending: list[tuple[int, int, int, int] | list[bytes]] = []
    for region in regions:
        if region[0] == "conflict":
            pending.extend(_narrow(left, right, (region[3], region[4], region[5], region[6])))
        elif region[0] == "unchanged":
            pending.append(below[region[1] : region[2]])
        elif region[0] == "b":
            pending.append(right[region[1] : region[2]])
        else:
            pending.append(left[region[1] : region[2]])
    for piece in pending:
        out.append(piece)
        _join(out, left)
    return out


def _narrow(
    left: list[bytes], right: list[bytes], region: tuple[int, int, int, int]
) -> list[tuple[int, int, int, int] | list[bytes]]:
    """Split a conflict at the lines both sides share."""
    a, a_end, b, b_end = region
    if a == a_end or b == b_end:
        return [region]
    out: list[tuple[int, int, int, int] | list[bytes]] = []
    at = a
    for first, count, other, other_count in hunks(left[a:a_end], right[b:b_end]):
        if a + first > at:
            out.append(left[at : a + first])
        out.append((a + first, a + first + count, b + other, b + other + other_count))
        at = a + first + count
    if at < a_end:
        out.append(left[at:a_end])
    return out


def _join(out: list[list[bytes] | tuple[int, int, int, int]], left: Sequence[bytes]) -> None:
    """Show two conflicts as one when little stands between them. What stands between is in ours and in theirs alike."""
    if len(out) < 3:
        return
    before, between, after = out[-3], out[-2], out[-1]
    if isinstance(before, tuple) and isinstance(after, tuple) and isinstance(between, list):
        same = after[0] - before[1] == len(between) == after[2] - before[3]
        if same and len(between) <= JOIN and list(left[before[1] : after[0]]) == between:
            out[-3:] = [(before[0], after[1], before[2], after[3])]


def _write_conflict(
    out: list[bytes],
    left: list[bytes],
    right: list[bytes],
    region: tuple[int, int, int, int],
    labels: Labels,
    *,
    union: bool,
) -> int:
    a, a_end, b, b_end = region
    end = _line_end(left, right, a, b)
    ours, theirs = left[a:a_end], right[b:b_end]
    if union:
        out.extend(_closed(ours, end))
        out.extend(theirs)
        return 1
    out.append(_marker(b"<", labels.size, labels.ours, end))
    out.extend(_closed(ours, end))
    out.append(_marker(b"=", labels.size, b"", end))
    out.extend(_closed(theirs, end))
    out.append(_marker(b">", labels.size, labels.theirs, end))
    return 1


def _marker(sign: bytes, size: int, label: bytes, end: bytes) -> bytes:
    return sign * size + (b" " + label if label else b"") + end


def _closed(lines: list[bytes], end: bytes) -> list[bytes]:
    if lines and not lines[-1].endswith(b"\n"):
        return [*lines[:-1], lines[-1] + end]
    return lines


def _line_end(left: list[bytes], right: list[bytes], a: int, b: int) -> bytes:
    """Choose the markers' line end: CRLF when the text around the conflict has it on both sides."""
    known = [value for value in (_has_cr(left, a), _has_cr(right, b)) if value is not None]
    return b"\r\n" if known and all(known) else b"\n"


def _has_cr(lines: list[bytes], at: int) -> bool | None:
    """Ask the line before, or the next, whether lines end in CRLF; None when the text is too short to tell."""
    near = lines[max(0, at - 1) : at + 1] or lines[:1]
    for line in near:
        if line.endswith(b"\n"):
            return line.endswith(b"\r\n")
    return None
