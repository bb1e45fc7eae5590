"""Questions about history: who descends from whom. Law: a shallow edge is an end, a missing commit elsewhere an error (in a run's
own store an end too, which ``Objects.severed`` tells); no more is read than what the two sides do not share; and clocks that went
wrong change neither bases nor descent.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ggactors.repo.objects import Objects, Sha

_LEFT, _RIGHT, _BOTH, _BELOW = 1, 2, 3, 4


class Histories:
    """The history of a store, and of merges that exist in thought only: those of several merge bases."""

    def __init__(self, store: Objects) -> None:
        self._store = store
        self._joined: dict[Sha, tuple[Sha, tuple[Sha, ...]]] = {}

    def join(self, tree: Sha, left: Sha, right: Sha) -> Sha:
        """Note a merge of two commits that comes to ``tree``; answer what to call it."""
        name = b"merged-%d" % len(self._joined)
        self._joined[name] = (tree, (left, right))
        return name

    def tree(self, name: Sha) -> Sha:
        """Give a commit's tree."""
        return self._joined[name][0] if name in self._joined else self._store.commit(name).tree

    def _parents(self, name: Sha) -> tuple[Sha, ...]:
        return self._joined[name][1] if name in self._joined else self._store.commit(name).parents

    def _time(self, name: Sha) -> int:
        if name in self._joined:
            return max(map(self._time, self._joined[name][1]))
        return self._store.commit(name).time

    def bases(self, left: Sha, right: Sha) -> list[Sha]:
        """Find the best common ancestors of two commits, oldest first; more than one in a criss-cross history."""
        if left == right:
            return [left]
        paint = _Paint(self._parents, self._time, [left], [right])
        met = [name for name in paint.until_below() if paint.marks[name] & _BELOW == 0]
        if len(met) > 1:
            met = [name for name in met if not any(other != name and self._reaches(other, name) for other in met)]
        return sorted(met, key=self._time)

    def _reaches(self, tip: Sha, commit: Sha) -> bool:
        paint = _Paint(self._parents, self._time, [tip], [commit])
        for _ in paint.until_below():
            pass
        return paint.marks[commit] & _BOTH == _BOTH

    def contains(self, tip: Sha, commit: Sha) -> bool:
        """Tell whether ``commit`` is ``tip`` or an ancestor of it."""
        return tip == commit or self._reaches(tip, commit)

    def beyond(self, tip: Sha, known: Iterable[Sha]) -> list[Sha]:
        """List commits reachable from ``tip`` and from none of ``known``, newest first.

        Where clocks went wrong, some that are known may be among them; none that is new is left out.
        """
        paint = _Paint(self._parents, self._time, [tip], list(known))
        found = list(paint.until_known())
        return [name for name in found if paint.marks[name] == _LEFT]


class _Paint:
    """Walks back from two sides at once, the newest commit first, marking what each side reaches."""

    def __init__(
        self,
        parents: Callable[[Sha], tuple[Sha, ...]],
        time: Callable[[Sha], int],
        left: list[Sha],
        right: list[Sha],
    ) -> None:
        self._parents, self._time = parents, time
        self.marks: dict[Sha, int] = {}
        self._queue: list[tuple[int, int, Sha]] = []
        self._waiting: dict[Sha, int] = {}
        """What is queued, with the marks that it is yet to hand down."""
        self._count = 0
        for mark, names in ((_LEFT, left), (_RIGHT, right)):
            for name in names:
                self._mark(name, mark)

    def _mark(self, name: Sha, mark: int) -> None:
        before = self.marks.get(name, 0)
        if before | mark == before:
            return
        self.marks[name] = before | mark
        if name not in self._waiting:
            self._count += 1
            heapq.heappush(self._queue, (-self._time(name), self._count, name))
        self._waiting[name] = before | mark

    def _pop(self) -> Sha:
        name = heapq.heappop(self._queue)[2]
        del self._waiting[name]
        return name

    def until_below(self) -> Iterator[Sha]:
        """Go on until all that is left lies below a common ancestor; give the common ones as they are met."""
        above = len(self._waiting)
        while above:
            name = self._pop()
            mark = self.marks[name]
            above -= not mark & _BELOW
            if mark & _BOTH == _BOTH and not mark & _BELOW:
                yield name
                mark |= _BELOW
            for parent in self._parents(name):
                was = self._waiting.get(parent)
                self._mark(parent, mark)
                now = self._waiting.get(parent)
                above += (now is not None and not now & _BELOW) - (was is not None and not was & _BELOW)

    def until_known(self) -> Iterator[Sha]:
        """Go on until all that is left is known, or as old as what is not; give what only the left side was seen to reach."""
        oldest = 0
        new = sum(mark == _LEFT for mark in self._waiting.values())
        while self._waiting and (new or -self._queue[0][0] >= oldest):
            name = self._pop()
            mark = self.marks[name]
            if mark == _LEFT:
                new -= 1
                oldest = min(oldest, self._time(name)) if oldest else self._time(name)
                yield name
            for parent in self._parents(name):
                was = self._waiting.get(parent)
                self._mark(parent, mark)
                new += (self._waiting.get(parent) == _LEFT) - (was == _LEFT)


def merge_bases(store: Objects, left: Sha, right: Sha) -> list[Sha]:
    """Find the best common ancestors of two commits, oldest first; more than one in a criss-cross history."""
    return Histories(store).bases(left, right)


def contains(store: Objects, tip: Sha, commit: Sha) -> bool:
    """Tell whether ``commit`` is ``tip`` or an ancestor of it."""
    return Histories(store).contains(tip, commit)


def new_commits(store: Objects, tip: Sha, known: Iterable[Sha]) -> list[Sha]:
    """List commits reachable from ``tip`` and from none of ``known``, newest first."""
    return Histories(store).beyond(tip, known)
