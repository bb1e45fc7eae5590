"""Questions about history: who descends from whom. Law: a shallow edge is an end, a missing commit elsewhere an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dulwich.graph import _find_lcas

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ggactors.repo.objects import Objects, Sha


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

    def _parents(self, name: Sha) -> list[Sha]:
        return list(self._joined[name][1] if name in self._joined else self._store.commit(name).parents)

    def _time(self, name: Sha) -> int:
        if name in self._joined:
            return max(map(self._time, self._joined[name][1]))
        return self._store.commit(name).time

    def bases(self, left: Sha, right: Sha) -> list[Sha]:
        """Find the best common ancestors of two commits, oldest first; more than one in a criss-cross history."""
        if left == right:
            return [left]
        found = _find_lcas(self._parents, left, [right], self._time)  # type: ignore[arg-type,list-item]
        return [bytes(sha) for sha in found]


def merge_bases(store: Objects, left: Sha, right: Sha) -> list[Sha]:
    """Find the best common ancestors of two commits, oldest first; more than one in a criss-cross history."""
    return Histories(store).bases(left, right)


def contains(store: Objects, tip: Sha, commit: Sha) -> bool:
    """Tell whether ``commit`` is ``tip`` or an ancestor of it."""
    if tip == commit:
        return True
    goal = store.commit(commit).time
    seen, todo = {tip}, [tip]
    late: list[Sha] = []  # older than the goal by their clock: only looked at when nothing else is left
    while todo or late:
        current = todo.pop() if todo else late.pop()
        for parent in store.commit(current).parents:
            if parent == commit:
                return True
            if parent not in seen:
                seen.add(parent)
                (todo if store.commit(parent).time >= goal else late).append(parent)
        if not todo and len(late) > 50_000:
            break
    return False


def new_commits(store: Objects, tip: Sha, known: Iterable[Sha]) -> list[Sha]:
    """List commits reachable from ``tip`` and from none of ``known``, newest first."""
    hidden = set(known)
    out: list[Sha] = []
    marked = _ancestry_until(store, hidden, tip)
    todo, seen = [tip], {tip}
    while todo:
        current = todo.pop(0)
        if current in marked:
            continue
        out.append(current)
        for parent in store.commit(current).parents:
            if parent not in seen:
                seen.add(parent)
                todo.append(parent)
    return out


def _ancestry_until(store: Objects, known: set[Sha], tip: Sha) -> set[Sha]:
    """Collect ancestors of ``known`` as deep as a walk from ``tip`` can need them: down to the merge bases."""
    stops: set[Sha] = set()
    marked: set[Sha] = set()
    for start in known:
        stops.update(merge_bases(store, start, tip))
    marked |= stops
    todo = list(stops)
    while todo and len(marked) < 100_000:
        for parent in store.commit(todo.pop()).parents:
            if parent not in marked:
                marked.add(parent)
                if len(marked) < 2_000:  # near ancestors suffice: a walk from the tip stops at the bases themselves
                    todo.append(parent)
    return marked
