"""Two trees into one, by what each changed since their base. Law: computed on the object store alone; nothing else is touched
until the outcome is known, and a conflict is described by what git would leave.

The steps are git's (its "ort" strategy): read the three trees side by side (``threeway``), work the renames in (``moves``), then
settle every path, those inside a folder before the folder's own, so that a file knows whether a folder stands in its place.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attrs import Factory, define, evolve, frozen

from ggactors.repo.foldermoves import parent
from ggactors.repo.history import Histories
from ggactors.repo.mergefile import REGULAR, FileMerger, Versions, kind_of
from ggactors.repo.moves import Moves
from ggactors.repo.objects import DIRECTORY, GITLINK, Entry, Objects, Sha
from ggactors.repo.textmerge import Labels
from ggactors.repo.threeway import BASE, OURS, THEIRS, Sides, Spot
from ggactors.repo.trees import apply, lookup

if TYPE_CHECKING:
    from ggactors.repo.attributes import Attributes
    from ggactors.repo.trees import Changes

INNER = Labels(ours=b"Temporary merge branch 1", theirs=b"Temporary merge branch 2")
"""What merges of merge bases are labelled with, as in git."""


@frozen(kw_only=True)
class Conflict:
    """A path two sides disagree on: its kind, its index stages, and the entry left in the working tree (None: no file)."""

    kind: str
    stages: dict[int, Entry]
    left: Entry | None


@define(kw_only=True)
class TreeMerge:
    """The outcome of a merge against our tree."""

    ours: Sha
    changes: Changes = Factory(dict)
    conflicts: dict[bytes, Conflict] = Factory(dict)
    unclear: tuple[bytes, ...] = ()
    """Files and folders for which it cannot be told where they belong, since a folder was split or the place is taken; they
    stay where they are, but a person must look."""
    tree: Sha | None = None
    """The merged tree, when nothing conflicts."""

    @property
    def clean(self) -> bool:
        """Tell whether nobody needs to look."""
        return not self.conflicts and not self.unclear

    @property
    def paths(self) -> tuple[bytes, ...]:
        """Name what somebody must look at."""
        return tuple(sorted({*self.conflicts, *self.unclear}))

    def all_changes(self) -> Changes:
        """Say what becomes of every path, what is left of conflicts included."""
        return {**self.changes, **{path: conflict.left for path, conflict in self.conflicts.items()}}


class Merger:
    """One merge of two trees. ``depth`` counts how deep in merges of merge bases it is."""

    def __init__(
        self,
        store: Objects,
        base: Sha | None,
        ours: Sha,
        theirs: Sha,
        *,
        labels: Labels,
        attributes: Attributes | None = None,
        depth: int = 0,
    ) -> None:
        self._store, self._ours, self._depth = store, ours, depth
        self._labels = labels
        self._merge_file = FileMerger(store, labels, attributes, depth)
        self._sides = Sides(store, base, ours, theirs)
        self._spots = self._sides.spots
        self._had = {path: spot.files[OURS] for path, spot in self._spots.items()}
        self._below: Counter[bytes] = Counter()
        self._conflicts: dict[bytes, Spot] = {}

    def run(self) -> TreeMerge:
        """Merge."""
        moves = Moves(self._store, self._sides, self._merge_file, depth=self._depth)
        moves.run()
        results: Changes = {}
        for path in sorted(self._spots, reverse=True):
            spot = self._spots[path]
            if spot.folders and not spot.present:
                continue
            if not spot.settled:
                path, spot = self._stand(path, spot)
                if not spot.settled:
                    path = self._settle(path, spot, results)
            self._record(path, spot, results)
        return self._outcome(results, moves.unclear)

    def _record(self, path: bytes, spot: Spot, results: Changes) -> None:
        results[path] = spot.result
        if not spot.settled:
            self._conflicts[path] = spot
        if spot.result is not None:
            above = parent(path)
            while above:
                self._below[above] += 1
                above = parent(above)

    def _outcome(self, results: Changes, unclear: list[bytes]) -> TreeMerge:
        merged = TreeMerge(ours=self._ours, unclear=tuple(unclear))
        for path in (*results, *(path for path, entry in self._had.items() if entry and path not in results)):
            entry = results.get(path)
            spot = self._conflicts.get(path)
            if spot is not None:
                stages = {stage: found for stage, found in enumerate(spot.files, 1) if found is not None}
                merged.conflicts[path] = Conflict(kind=spot.kind, stages=stages, left=entry)
            elif entry != self._before(path):
                merged.changes[path] = entry
        if merged.clean:
            merged.tree = apply(self._store, self._ours, merged.changes)
        return merged

    def _before(self, path: bytes) -> Entry | None:
        if path in self._had:
            return self._had[path]
        entry = lookup(self._store, self._ours, path)
        return None if entry is None or entry[0] == DIRECTORY else entry

    # -- one path -------------------------------------------------------------------------------------------------------

    def _stand(self, path: bytes, spot: Spot) -> tuple[bytes, Spot]:
        """Give a file its place: its own, or one beside when a folder that keeps files stands there."""
        if not spot.folders:
            return path, spot
        if not self._below[path]:
            return path, evolve(spot, folders=0, alike=spot.alike & ~spot.folders)
        if spot.present == 1:
            return path, evolve(spot, files=[None, None, None], settled=True)
        side = THEIRS if spot.folders & 1 << OURS else OURS
        label = self._labels.theirs if side == THEIRS else self._labels.ours
        moved = evolve(
            spot, folders=0, alike=spot.alike & ~spot.folders, beside=side, disputed=True, kind="file/directory"
        )
        return self._beside(path, label), moved

    def _beside(self, path: bytes, label: bytes) -> bytes:
        plain = path + b"~" + label.replace(b"/", b"_")
        name, count = plain, 0
        while name in self._spots or name in self._conflicts or lookup(self._store, self._ours, name) is not None:
            name = b"%s_%d" % (plain, count)
            count += 1
        return name

    def _settle(self, path: bytes, spot: Spot, results: Changes) -> bytes:
        """Decide a file, or say what it comes to; answer where it is left."""
        base, ours, theirs = spot.files
        if spot.alike:
            self._agreed(spot)
        elif ours is not None and theirs is not None:
            if kind_of(ours) != kind_of(theirs):
                return self._two_kinds(path, spot, results)
            self._content(path, spot, Versions(base=base, ours=ours, theirs=theirs, names=_names(spot)))
        elif base is not None and (alive := ours or theirs) is not None:
            spot.result = base if self._depth else alive
            spot.kind = spot.kind or "modify/delete"
        else:  # added on one side, or gone from both
            spot.result = ours or theirs
            spot.settled = not spot.disputed
        return path

    @staticmethod
    def _agreed(spot: Spot) -> None:
        """Two sides had the same: the third decides, unless where it belongs is disputed."""
        spot.result = spot.files[THEIRS] if spot.alike == 3 else spot.files[OURS]
        spot.settled = not spot.disputed or (spot.alike != 6 and spot.result is None)

    def _content(self, path: bytes, spot: Spot, versions: Versions) -> None:
        merged = self._merge_file(path, versions)
        spot.result = merged.entry
        spot.settled = merged.clean and not spot.disputed
        if merged.clean and spot.beside:
            spot.files = [None, None, None]
            spot.files[spot.beside] = merged.entry
        if not merged.clean and not spot.kind:
            spot.kind = "submodule" if merged.entry[0] == GITLINK else "content" if versions.base else "add/add"

    def _two_kinds(self, path: bytes, spot: Spot, results: Changes) -> bytes:
        """A file against a link, or a link against a gitlink: a plain file comes beside, with a base of its own kind."""
        base, ours, theirs = spot.files
        if self._depth:
            spot.result = base
            return path
        left, right = kind_of(ours) == REGULAR, kind_of(theirs) == REGULAR
        if not left and not right:
            left = right = True
        there = Spot(files=[base if kind_of(base) == kind_of(theirs) else None, None, theirs], names=list(spot.names))
        there.kind, there.result = "distinct types", theirs
        spot.kind, spot.result = "distinct types", ours
        spot.files = [base if kind_of(base) == kind_of(ours) else None, ours, None]
        mine = self._beside(path, self._labels.ours) if left else path
        self._record(self._beside(path, self._labels.theirs) if right else path, there, results)
        return mine


def _names(spot: Spot) -> tuple[bytes, bytes, bytes]:
    return spot.names[BASE], spot.names[OURS], spot.names[THEIRS]


# -- commits ------------------------------------------------------------------------------------------------------------


def merge_commits(
    store: Objects, ours: Sha, theirs: Sha, *, labels: Labels, attributes: Attributes | None = None
) -> TreeMerge:
    """Merge two commits' trees over their merge base, or over a merge of their bases when there are several."""
    histories = Histories(store)
    base = _base_tree(store, histories, histories.bases(ours, theirs), attributes, 1)
    trees = store.commit(ours).tree, store.commit(theirs).tree
    return Merger(store, base, *trees, labels=labels, attributes=attributes).run()


def _base_tree(
    store: Objects, histories: Histories, bases: list[Sha], attributes: Attributes | None, depth: int
) -> Sha | None:
    """Fold merge bases into one tree, oldest first; where they conflict, the marked text is the base, as in git's recursion."""
    if not bases:
        return None
    merged = bases[0]
    for other in bases[1:]:
        below = _base_tree(store, histories, histories.bases(merged, other), attributes, depth + 1)
        ours = histories.tree(merged)
        outcome = Merger(
            store, below, ours, histories.tree(other), labels=INNER, attributes=attributes, depth=depth
        ).run()
        merged = histories.join(apply(store, ours, outcome.all_changes()), merged, other)
    return histories.tree(merged)
