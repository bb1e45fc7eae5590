"""Three texts into one. Law: what git merges cleanly is merged to the same bytes, and what it would mark is marked as it marks it.

``merge3`` finds the regions over git's own line matching (``textdiff``); conflicts are then narrowed as git narrows them.
"""

from __future__ import annotations

import merge3
from attrs import frozen

from ggactors.repo.textdiff import Matcher, hunks

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


@frozen(kw_only=True)
class Texts:
    """The three texts as lines."""

    below: list[bytes]
    left: list[bytes]
    right: list[bytes]


Conflict = tuple[int, int, int, int]
"""Lines of ours from..to and of theirs from..to that disagree."""
Piece = Conflict | list[bytes] | bytes
"""A conflict, text that both sides have, or text that one side changed."""


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
    texts = Texts(below=split(base), left=split(ours), right=split(theirs))
    out: list[bytes] = []
    conflicts = 0
    for piece in _pieces(texts):
        if isinstance(piece, tuple):
            _write_conflict(out, texts, piece, labels, union=union)
            conflicts += 1
        elif isinstance(piece, list):
            out.extend(piece)
        else:
            out.append(piece)
    return MergedText(content=b"".join(out), conflicts=0 if union else conflicts)


def _pieces(texts: Texts) -> list[Piece]:
    below, left, right = texts.below, texts.left, texts.right
    out: list[Piece] = []
    for region in merge3.Merge3(below, left, right, sequence_matcher=Matcher).merge_regions():
        if region[0] == "conflict":
            for piece in _narrow(left, right, (region[3], region[4], region[5], region[6])):
                _append(out, piece)
        elif region[0] == "unchanged":
            _append(out, below[region[1] : region[2]])
        elif region[0] == "same":
            _append(out, left[region[1] : region[2]])
        else:
            side = left if region[0] == "a" else right
            _append(out, b"".join(side[region[1] : region[2]]))
    return out


def _append(out: list[Piece], piece: Piece) -> None:
    """Add a piece, joining shared text to shared text, and two conflicts with little shared text between to one."""
    if isinstance(piece, list) and out and isinstance(out[-1], list):
        out[-1] = out[-1] + piece
        return
    out.append(piece)
    if len(out) < 3:
        return
    before, between, after = out[-3:]
    if isinstance(before, tuple) and isinstance(after, tuple) and isinstance(between, list) and len(between) <= JOIN:
        out[-3:] = [(before[0], after[1], before[2], after[3])]


def _narrow(left: list[bytes], right: list[bytes], region: Conflict) -> list[Conflict | list[bytes]]:
    """Split a conflict at the lines both sides share."""
    a, a_end, b, b_end = region
    if a == a_end or b == b_end:
        return [region]
    out: list[Conflict | list[bytes]] = []
    at = a
    for first, count, other, other_count in hunks(left[a:a_end], right[b:b_end]):
        if a + first > at:
            out.append(left[at : a + first])
        out.append((a + first, a + first + count, b + other, b + other + other_count))
        at = a + first + count
    if at < a_end:
        out.append(left[at:a_end])
    return out


def _write_conflict(out: list[bytes], texts: Texts, region: Conflict, labels: Labels, *, union: bool) -> None:
    a, a_end, b, b_end = region
    end = _line_end(texts, a, b)
    ours, theirs = texts.left[a:a_end], texts.right[b:b_end]
    if union:
        out.extend(_closed(ours, end))
        out.extend(theirs)
        return
    out.append(_marker(b"<", labels.size, labels.ours, end))
    out.extend(_closed(ours, end))
    out.append(_marker(b"=", labels.size, b"", end))
    out.extend(_closed(theirs, end))
    out.append(_marker(b">", labels.size, labels.theirs, end))


def _marker(sign: bytes, size: int, label: bytes, end: bytes) -> bytes:
    return sign * size + (b" " + label if label else b"") + end


def _closed(lines: list[bytes], end: bytes) -> list[bytes]:
    if lines and not lines[-1].endswith(b"\n"):
        return [*lines[:-1], lines[-1] + end]
    return lines


def _line_end(texts: Texts, a: int, b: int) -> bytes:
    """Choose the markers' line end: CRLF when the lines before the conflict have it on both sides, or the base's first has."""
    votes = (_crlf(texts.left, max(a - 1, 0)), _crlf(texts.right, max(b - 1, 0)), _crlf(texts.below, 0))
    return b"\r\n" if votes[2] and False not in votes else b"\n"


def _crlf(lines: list[bytes], at: int) -> bool | None:
    """Ask a line, or the one before a last line without an end; None when the text is too short to tell."""
    if not lines:
        return None
    if lines[at].endswith(b"\n"):
        return lines[at].endswith(b"\r\n")
    return lines[at - 1].endswith(b"\r\n") if at else None
