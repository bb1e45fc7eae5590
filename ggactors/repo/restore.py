"""Puts a working tree back to what it held, untracked files included. Law: only paths that differ are written; ignored files
are not looked at. The caller has saved what this drops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.repo.checkout import create
from ggactors.repo.index import STAT, Index, record
from ggactors.repo.retarget import make_room, remove
from ggactors.repo.scan import scan
from ggactors.repo.trees import flatten

if TYPE_CHECKING:
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place


def restore(place: Place, tree: Sha, original: Index | None) -> None:
    """Make everything unignored on disk exactly ``tree``, and the index what ``original`` says (None: the tree itself)."""
    goal = flatten(place.store, tree)
    with place.lock() as lock:
        probe = Index()
        if original is not None:
            probe.stamp = original.stamp
        for path, entry in goal.items():
            raw = original.records.get(path) if original is not None else None
            known = raw is not None and original is not None and original.entry(path) == entry
            fields = STAT.pack(0, 0, 0, 0, 0, 0, entry[0], 0, 0, 0)
            probe.records[path] = raw if known and raw is not None else record(fields, entry[1], path)
        found = scan(place, probe, into_nested=True)
        for path in (*found.fresh, *found.changed):
            remove(place, path)
        ends = place.line_ends_of(tree)
        written = {}
        for path in (*found.changed, *found.deleted):
            make_room(place, path)
            written[path] = create(place, ends, place.on_disk(path), path, goal[path])
        index = original if original is not None else probe
        for path, status in (*written.items(), *((path, status) for path, (status, _) in found.refreshed.items())):
            if index.entry(path) == goal[path]:
                index.set(path, goal[path], status)
        lock.save(index)
