"""The blocked-by graph, kept acyclic one change at a time (B4), and the waits laid over it (Q7).

Law: a change is checked before anything moves; one that would close a circle answers the circle and leaves the graph as it was.

The graph carries a topological order that is repaired locally as edges come in (Pearce and Kelly, "A Dynamic Topological Sort
Algorithm for Directed Acyclic Graphs", ACM JEA 11, 2007): an edge that agrees with the order costs nothing, one that does not
costs a search of the nodes between its two ends. Issues are filed after what they are blocked by, so nearly every edge of a
growing board is of the first kind.

Two kinds of edges share the order. *Blocked-by* edges are a set per node, replaced as a whole. *Wait* edges are counted, as
several agents working for one issue may wait for the same other one.

Inside, a node is its serial number and the graph a few lists: tuples and maps of integers are nothing the cyclic garbage
collector has to look into, which on a board of 100,000 issues is the difference between pauses of 1 and of 40 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Path = tuple[str, ...]
"""A circle: its first node again at the end, each node held back by (blocked by, or waiting for) the one after it."""

_GONE = -1


@define
class Dag:
    """The graph. Keys are issue ids; asking for one that is not in it is a ``KeyError``, our own mistake."""

    _serial: dict[str, int] = field(factory=dict, init=False)
    _keys: list[str] = field(factory=list, init=False)
    _order: list[int] = field(factory=list, init=False)
    _blockers: list[tuple[int, ...]] = field(factory=list, init=False)
    _dependents: list[dict[int, None] | None] = field(factory=list, init=False)
    _awaits: dict[int, dict[int, int]] = field(factory=dict, init=False)
    _awaited_by: dict[int, dict[int, int]] = field(factory=dict, init=False)

    def __contains__(self, key: str) -> bool:
        return key in self._serial

    def __len__(self) -> int:
        return len(self._serial)

    def blockers(self, key: str) -> tuple[str, ...]:
        """List what ``key`` is blocked by, in the order it was given."""
        return tuple([self._keys[node] for node in self._blockers[self._serial[key]]])

    def dependents(self, key: str) -> tuple[str, ...]:
        """List what is blocked by ``key``, oldest edge first."""
        return tuple([self._keys[node] for node in self._dependents[self._serial[key]] or ()])

    def position(self, key: str) -> int:
        """Tell where ``key`` stands in the topological order; whatever holds it back stands lower."""
        return self._order[self._serial[key]]

    def waits(self, key: str, awaited: str) -> bool:
        """Tell whether somebody who works for ``key`` waits for ``awaited``."""
        return self._serial[awaited] in self._awaits.get(self._serial[key], ())

    # ------------------------------------------------------------ changes

    def add(self, key: str, blockers: Iterable[str] = ()) -> None:
        """Add a new node behind ``blockers``. Never a circle, as nothing depends on it yet: no check, no search."""
        assert key not in self._serial, f"{key} is in the graph already"
        node = len(self._keys)
        sources = self._numbers(blockers)
        self._serial[key] = node
        self._keys.append(key)
        self._order.append(node)
        self._blockers.append(())
        self._dependents.append(None)
        self._reblock(node, sources)

    def circle(self, key: str, blockers: Iterable[str]) -> Path | None:
        """Name the circle that blocking ``key`` by ``blockers`` would close, or None. Changes nothing.

        The blockers ``key`` has now cannot matter: a way from ``key`` to a new blocker that came back through one of them
        would be a circle already.
        """
        return self._check(self._serial[key], self._numbers(blockers))[0]

    def set_blockers(self, key: str, blockers: Iterable[str]) -> Path | None:
        """Replace the blockers of ``key``. Answer the circle instead, changing nothing, if there would be one (B4)."""
        node, sources = self._serial[key], self._numbers(blockers)
        circle, later = self._check(node, sources)
        if circle is None:
            self._make_room(node, sources, later)
            self._reblock(node, sources)
        return circle

    def remove(self, key: str) -> tuple[str, ...]:
        """Remove a node with every edge and wait at it. Answer the nodes it blocked, oldest edge first."""
        freed = self.dependents(key)
        node = self._serial.pop(key)
        for dependent in self._dependents[node] or ():
            self._blockers[dependent] = tuple([other for other in self._blockers[dependent] if other != node])
        self._reblock(node, ())
        self._dependents[node] = None
        for other in self._awaits.pop(node, ()):
            _discard(self._awaited_by, other, node)
        for other in self._awaited_by.pop(node, ()):
            _discard(self._awaits, other, node)
        self._keys[node] = ""
        self._order[node] = _GONE
        return freed

    def add_wait(self, key: str, awaited: str) -> Path | None:
        """Lay a wait of one who works for ``key`` over the graph. Answer the circle instead if there would be one (Q7)."""
        node, source = self._serial[key], self._serial[awaited]
        circle, later = self._check(node, (source,))
        if circle is None:
            self._make_room(node, (source,), later)
            awaits = self._awaits.setdefault(node, {})
            awaits[source] = awaits.get(source, 0) + 1
            self._awaited_by.setdefault(source, {})[node] = awaits[source]
        return circle

    def wait_circle(self, key: str, awaited: str) -> Path | None:
        """Name the circle that such a wait would close, or None. Changes nothing."""
        return self._check(self._serial[key], (self._serial[awaited],))[0]

    def drop_wait(self, key: str, awaited: str) -> None:
        """Take one wait back. One that is not there, or whose nodes are gone, is no mistake: it went with them."""
        node, source = self._serial.get(key, _GONE), self._serial.get(awaited, _GONE)
        count = self._awaits.get(node, {}).get(source, 0)
        if count > 1:
            self._awaits[node][source] = self._awaited_by[source][node] = count - 1
        elif count == 1:
            _discard(self._awaits, node, source)
            _discard(self._awaited_by, source, node)

    # ------------------------------------------------------------ inside

    def _numbers(self, keys: Iterable[str]) -> tuple[int, ...]:
        return tuple([self._serial[key] for key in dict.fromkeys(keys)])

    def _reblock(self, node: int, sources: tuple[int, ...]) -> None:
        """Replace the blockers of ``node`` on both ends of the edges; those that stay keep their age."""
        for source in self._blockers[node]:
            if source not in sources:
                (self._dependents[source] or {}).pop(node, None)
        for source in sources:
            dependents = self._dependents[source]
            if dependents is None:
                self._dependents[source] = {node: None}
            else:
                dependents[node] = None
        self._blockers[node] = sources

    def _later(self, node: int) -> Iterator[int]:
        """Walk what ``node`` holds back."""
        yield from self._dependents[node] or ()
        yield from self._awaited_by.get(node, ())

    def _earlier(self, node: int) -> Iterator[int]:
        """Walk what holds ``node`` back."""
        yield from self._blockers[node]
        yield from self._awaits.get(node, ())

    def _check(self, node: int, sources: tuple[int, ...]) -> tuple[Path | None, dict[int, int]]:
        """Search what ``node`` holds back, up to the last source in the order, for one of the sources.

        Answers the circle, or None with what was found: each node mapped to the one it was reached from.
        """
        order = self._order
        limit = max([order[source] for source in sources], default=_GONE)
        if limit < order[node]:
            return None, {}
        came_from = {node: _GONE}
        queue = [node]
        for current in queue:  # grows as it is walked: nearest first, so that a circle is named by its shortest way
            for later in self._later(current):
                if order[later] <= limit and later not in came_from:
                    came_from[later] = current
                    queue.append(later)
        for source in sources:
            if source in came_from:
                return self._trace(node, source, came_from), came_from
        return None, came_from

    def _trace(self, node: int, source: int, came_from: dict[int, int]) -> Path:
        """Spell a circle out: ``node``, the source that closes it, and the way from there back to ``node``."""
        path = [self._keys[node]]
        while source != _GONE:
            path.append(self._keys[source])
            source = came_from[source]
        return tuple(path)

    def _make_room(self, node: int, sources: tuple[int, ...], later: dict[int, int]) -> None:
        """Reorder so that every source stands before ``node``: all that must move share out the places they had."""
        if not later:
            return
        order = self._order
        limit = order[node]
        earlier = {source for source in sources if order[source] > limit}
        stack = list(earlier)
        while stack:
            for other in self._earlier(stack.pop()):
                if order[other] > limit and other not in earlier:
                    earlier.add(other)
                    stack.append(other)
        moved = sorted(earlier, key=order.__getitem__) + sorted(later, key=order.__getitem__)
        for member, place in zip(moved, sorted([order[member] for member in moved]), strict=True):
            order[member] = place


def _discard(edges: dict[int, dict[int, int]], end: int, other: int) -> None:
    """Drop one edge from a map of edges, and the map of its end once that is empty."""
    ends = edges[end]
    del ends[other]
    if not ends:
        del edges[end]
