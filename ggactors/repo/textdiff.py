"""Which lines of two texts belong together, as git's histogram diff sees it. Pure.

Law: the rarest common lines anchor first, then the longest run; what is changed slides down as far as it can, as git lets it
in merges. Repetitive text is where this matters: a plain longest-match diff pairs the wrong braces.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CHAIN = 64
"""A line more frequent than this anchors nothing (git's limit)."""
EFFORT = 2_000
"""Edits beyond which a shortest one is no longer looked for (git gives up on it too)."""
Hunk = tuple[int, int, int, int]
"""A change: first line and count on the left, first line and count on the right."""


def hunks(left: Sequence[bytes], right: Sequence[bytes]) -> list[Hunk]:
    """Give the changes that turn ``left`` into ``right``, in order."""
    gone, new = bytearray(len(left) + 1), bytearray(len(right) + 1)
    _histogram(left, right, gone, new)
    _slide(left, gone, new, len(right))
    _slide(right, new, gone, len(left))
    out: list[Hunk] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if not gone[i] and not new[j]:
            i, j = i + 1, j + 1
            continue
        begin_i, begin_j = i, j
        while gone[i]:
            i += 1
        while new[j]:
            j += 1
        out.append((begin_i, i - begin_i, begin_j, j - begin_j))
    return out


class Matcher:
    """The blocks two texts share, behind the interface ``merge3`` takes its sequence matcher by."""

    def __init__(self, _isjunk: object, a: Sequence[bytes], b: Sequence[bytes]) -> None:
        self._a, self._b = a, b

    def get_matching_blocks(self) -> list[tuple[int, int, int]]:
        """Give (line on the left, line on the right, count) of each shared run, closed by an empty one."""
        out, i, j = [], 0, 0
        for begin_i, count_i, begin_j, count_j in hunks(self._a, self._b):
            if begin_i > i:
                out.append((i, j, begin_i - i))
            i, j = begin_i + count_i, begin_j + count_j
        if i < len(self._a):
            out.append((i, j, len(self._a) - i))
        out.append((len(self._a), len(self._b), 0))
        return out


def _histogram(left: Sequence[bytes], right: Sequence[bytes], gone: bytearray, new: bytearray) -> None:
    todo = [(0, len(left), 0, len(right))]
    while todo:
        a, a_end, b, b_end = todo.pop()
        if a == a_end or b == b_end:
            gone[a:a_end] = b"\x01" * (a_end - a)
            new[b:b_end] = b"\x01" * (b_end - b)
            continue
        found = _anchor(left, right, a, a_end, b, b_end)
        if found is None:
            gone[a:a_end] = b"\x01" * (a_end - a)
            new[b:b_end] = b"\x01" * (b_end - b)
        elif found == ():
            _myers(left, right, (a, a_end, b, b_end), gone, new)
        else:
            begin_a, end_a, begin_b, end_b = found
            todo.append((a, begin_a, b, begin_b))
            todo.append((end_a, a_end, end_b, b_end))


def _anchor(
    left: Sequence[bytes], right: Sequence[bytes], a: int, a_end: int, b: int, b_end: int
) -> tuple[int, ...] | None:
    """Find the run to anchor on; None when nothing is shared, ``()`` when all that is shared is too frequent."""
    where: dict[bytes, list[int]] = defaultdict(list)
    for i in range(a, a_end):
        where[left[i]].append(i)
    best: tuple[int, int, int, int] = (0, 0, 0, 0)
    rarest = CHAIN + 1
    shared = False
    j = b
    while j < b_end:
        after = j + 1
        places = where.get(right[j])
        if places is None:
            j = after
            continue
        shared = True
        if len(places) <= rarest:
            last = -1
            for i in places:
                if i <= last:
                    continue
                count = len(places)
                begin_a, begin_b, end_a, end_b = i, j, i + 1, j + 1
                while begin_a > a and begin_b > b and left[begin_a - 1] == right[begin_b - 1]:
                    begin_a, begin_b = begin_a - 1, begin_b - 1
                    if count > 1:
                        count = min(count, len(where[left[begin_a]]))
                while end_a < a_end and end_b < b_end and left[end_a] == right[end_b]:
                    if count > 1:
                        count = min(count, len(where[left[end_a]]))
                    end_a, end_b = end_a + 1, end_b + 1
                after = max(after, end_b)
                if best[1] - best[0] < end_a - begin_a or count < rarest:
                    best, rarest = (begin_a, end_a, begin_b, end_b), count
                last = end_a - 1
        j = after
    if not shared:
        return None
    return best if rarest <= CHAIN else ()


def _myers(
    left: Sequence[bytes], right: Sequence[bytes], span: tuple[int, int, int, int], gone: bytearray, new: bytearray
) -> None:
    """Mark a shortest edit of a region whose lines are all frequent (git falls back to Myers there too)."""
    a0, a_end, b0, b_end = span
    n, m = a_end - a0, b_end - b0
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    for steps in range(n + m + 1):
        trail.append(dict(reach))
        for k in range(-steps, steps + 1, 2):
            x = reach[k + 1] if k == -steps or (k != steps and reach[k - 1] < reach[k + 1]) else reach[k - 1] + 1
            while x < n and x - k < m and left[a0 + x] == right[b0 + x - k]:
                x += 1
            reach[k] = x
            if x >= n and x - k >= m:
                _backtrack(trail, n, m, a0, b0, gone, new)
                return


def _backtrack(trail: list[dict[int, int]], n: int, m: int, a0: int, b0: int, gone: bytearray, new: bytearray) -> None:
    x, y = n, m
    for steps in range(len(trail) - 1, 0, -1):
        reach, k = trail[steps], x - y
        down = k == -steps or (k != steps and reach[k - 1] < reach[k + 1])
        before = k + 1 if down else k - 1
        x = reach[before]
        y = x - before
        if down:
            new[b0 + y] = 1
        else:
            gone[a0 + x] = 1


def _slide(lines: Sequence[bytes], mine: bytearray, other: bytearray, other_size: int) -> None:
    """Shift each changed group down as far as it goes, joining groups it meets, keeping step with the other side's groups.

    ``mine`` marks changed lines of ``lines``; between two groups both sides have the same number of unchanged lines.
    """
    size = len(lines)
    group, twin = _Group(mine, size), _Group(other, other_size)
    while True:
        if group.end != group.start:
            while True:
                length = group.end - group.start
                aligned = -1
                while group.up(lines):
                    twin.previous()
                earliest = group.end
                if twin.end > twin.start:
                    aligned = group.end
                while group.down(lines):
                    twin.following()
                    if twin.end > twin.start:
                        aligned = group.end
                if length == group.end - group.start:
                    break
            if group.end != earliest and aligned != -1:
                while twin.end == twin.start:
                    group.up(lines)
                    twin.previous()
        if not group.following():
            return
        twin.following()


class _Group:
    """A run of changed lines, possibly empty, between two unchanged ones."""

    def __init__(self, marks: bytearray, size: int) -> None:
        self.marks, self.size = marks, size
        self.start = self.end = 0
        while marks[self.end]:
            self.end += 1

    def following(self) -> bool:
        """Step to the next group."""
        if self.end == self.size:
            return False
        self.start = self.end = self.end + 1
        while self.end < self.size and self.marks[self.end]:
            self.end += 1
        return True

    def previous(self) -> bool:
        """Step to the group before."""
        if self.start == 0:
            return False
        self.end = self.start = self.start - 1
        while self.start > 0 and self.marks[self.start - 1]:
            self.start -= 1
        return True

    def down(self, lines: Sequence[bytes]) -> bool:
        """Slide one line down, if the text allows, joining what it meets."""
        if self.end < self.size and lines[self.start] == lines[self.end]:
            self.marks[self.start], self.marks[self.end] = 0, 1
            self.start, self.end = self.start + 1, self.end + 1
            while self.end < self.size and self.marks[self.end]:
                self.end += 1
            return True
        return False

    def up(self, lines: Sequence[bytes]) -> bool:
        """Slide one line up, if the text allows, joining what it meets."""
        if self.start > 0 and lines[self.start - 1] == lines[self.end - 1]:
            self.start, self.end = self.start - 1, self.end - 1
            self.marks[self.start], self.marks[self.end] = 1, 0
            while self.start > 0 and self.marks[self.start - 1]:
                self.start -= 1
            return True
        return False


def count_lines(left: Sequence[bytes], right: Sequence[bytes]) -> tuple[int, int]:
    """Count the lines a shortest edit adds and removes, as git's numstat (Myers) counts them."""
    begin, end = 0, 0
    least = min(len(left), len(right))
    while begin < least and left[begin] == right[begin]:
        begin += 1
    while end < least - begin and left[-1 - end] == right[-1 - end]:
        end += 1
    a, b = left[begin : len(left) - end], right[begin : len(right) - end]
    in_a, in_b = set(a), set(b)
    shared_a, shared_b = [line for line in a if line in in_b], [line for line in b if line in in_a]
    only_a, only_b = len(a) - len(shared_a), len(b) - len(shared_b)
    removed = _shortest(shared_a, shared_b)
    return removed - len(shared_a) + len(shared_b) + only_b, removed + only_a


def _shortest(a: Sequence[bytes], b: Sequence[bytes]) -> int:
    """Count the lines of ``a`` that a shortest edit to ``b`` removes."""
    n, m = len(a), len(b)
    reach = {1: 0}
    for steps in range(min(n + m, EFFORT) + 1):
        for k in range(-steps, steps + 1, 2):
            x = reach[k + 1] if k == -steps or (k != steps and reach[k - 1] < reach[k + 1]) else reach[k - 1] + 1
            while x < n and x - k < m and a[x] == b[x - k]:
                x += 1
            reach[k] = x
            if x >= n and x - k >= m:
                return (steps + n - m) // 2
    return sum(count for _, count, _, _ in hunks(a, b))
