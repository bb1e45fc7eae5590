"""Two trees into one, by what each changed since their base. Law: computed on the object store alone; nothing else is touched
until the outcome is known, and a conflict is described by what git would leave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import Factory, define, frozen

from ggactors.repo.history import merge_bases
from ggactors.repo.objects import BLOB, DIRECTORY, GITLINK, LINK, Entry, Objects, Sha
from ggactors.repo.renames import find_renames
from ggactors.repo.textmerge import Labels, looks_binary, merge_text
from ggactors.repo.trees import apply, diff, lookup, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.repo.attributes import Attributes, Value
    from ggactors.repo.trees import Changes

_REGULAR = 0o100000
Sides = dict[bytes, tuple[Entry | None, Entry | None]]
Names = tuple[bytes, bytes]
"""What a file is called by us and by them, where a rename makes that differ from its base."""


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
    tree: Sha | None = None
    """The merged tree, when nothing conflicts."""


@frozen(kw_only=True)
class _Outcome:
    entry: Entry | None
    kind: str | None


def kind_of(entry: Entry) -> int:
    """Reduce an entry to file, link, folder or gitlink."""
    return entry[0] & 0o170000


class Merger:
    """One merge of two trees."""

    def __init__(
        self,
        store: Objects,
        base: Sha | None,
        ours: Sha,
        theirs: Sha,
        *,
        labels: Labels,
        attributes: Attributes | None = None,
    ) -> None:
        self._store = store
        self._base, self._ours, self._theirs = base, ours, theirs
        self._labels = labels
        self._attributes = attributes
        self._left = diff(store, base, ours)
        self._right = diff(store, base, theirs)
        self._done: set[bytes] = set()
        self.result = TreeMerge(ours=ours)

    def run(self) -> TreeMerge:
        """Merge."""
        self._renames()
        for path, (base, theirs) in self._right.items():
            if path not in self._done:
                self._path(path, base, theirs)
        self._folders_against_files()
        if not self.result.conflicts:
            self.result.tree = apply(self._store, self._ours, self.result.changes)
        return self.result

    # -- one path -------------------------------------------------------------------------------------------------------

    def _path(self, path: bytes, base: Entry | None, theirs: Entry | None) -> None:
        if path not in self._left:
            self.result.changes[path] = theirs
            return
        ours = self._left[path][1]
        if ours == theirs:
            return
        if ours is None or theirs is None:
            alive, stage = (theirs, 3) if ours is None else (ours, 2)
            assert alive is not None
            stages = {stage: alive} if base is None else {1: base, stage: alive}
            self.result.conflicts[path] = Conflict(kind="modify/delete", stages=stages, left=alive)
            return
        self._settle(path, base, ours, theirs)

    def _settle(self, path: bytes, base: Entry | None, ours: Entry, theirs: Entry, names: Names | None = None) -> None:
        if kind_of(ours) != kind_of(theirs) and _REGULAR in (kind_of(ours), kind_of(theirs)):
            self._two_kinds(path, base, ours, theirs)
            return
        outcome = self._merge_file(path, base, ours, theirs, names)
        if outcome.kind is None:
            self.result.changes[path] = outcome.entry
        else:
            stages = {stage: entry for stage, entry in ((1, base), (2, ours), (3, theirs)) if entry is not None}
            self.result.conflicts[path] = Conflict(kind=outcome.kind, stages=stages, left=outcome.entry)

    def _two_kinds(self, path: bytes, base: Entry | None, ours: Entry, theirs: Entry) -> None:
        """A file against something else: the file comes beside, the other keeps the name, each with a base of its kind."""
        mine = kind_of(ours) == _REGULAR
        aside = self._aside(path, mine=mine)
        for name, entry, stage in (
            ((aside, ours, 2), (path, theirs, 3)) if mine else ((path, ours, 2), (aside, theirs, 3))
        ):
            stages = {stage: entry}
            if base is not None and kind_of(base) == kind_of(entry):
                stages[1] = base
            self.result.conflicts[name] = Conflict(kind="distinct types", stages=stages, left=entry)

    def _merge_file(
        self, path: bytes, base: Entry | None, ours: Entry, theirs: Entry, names: Names | None = None
    ) -> _Outcome:
        """Merge two versions of one file; the base may be missing or of another kind."""
        if kind_of(ours) != kind_of(theirs):
            return _Outcome(entry=ours, kind="distinct types")
        below = base if base is not None and kind_of(base) == kind_of(ours) else None
        mode, kind = _merge_mode(below, ours, theirs)
        if ours[1] == theirs[1]:
            return _Outcome(entry=(mode, ours[1]), kind=kind)
        if below is not None and below[1] == ours[1]:
            return _Outcome(entry=(mode, theirs[1]), kind=kind)
        if below is not None and below[1] == theirs[1]:
            return _Outcome(entry=(mode, ours[1]), kind=kind)
        if kind_of(ours) in (LINK, GITLINK):
            return _Outcome(entry=ours, kind="link" if kind_of(ours) == LINK else "submodule")
        return self._merge_content(path, below, (mode, ours[1]), theirs, kind, names)

    def _merge_content(
        self, path: bytes, base: Entry | None, ours: Entry, theirs: Entry, kind: str | None, names: Names | None
    ) -> _Outcome:
        given: Mapping[bytes, Value] = self._attributes.of(path) if self._attributes is not None else {}
        below = self._store.blob(base[1]) if base is not None else b""
        left, right = self._store.blob(ours[1]), self._store.blob(theirs[1])
        how = given.get(b"merge")
        opaque = (
            how is False
            or how == b"binary"
            or (how not in (b"union", b"text", True) and any(map(looks_binary, (below, left, right))))
        )
        if opaque:
            return _Outcome(entry=ours, kind="binary")
        labels = self._labels_for(names, given.get(b"conflict-marker-size"))
        merged = merge_text(below, left, right, labels, union=how == b"union")
        entry = (ours[0], self._store.write(BLOB, merged.content))
        return _Outcome(entry=entry, kind=("content" if base is not None else "add/add") if merged.conflicts else kind)

    def _labels_for(self, names: Names | None, size: Value) -> Labels:
        """Say at the markers which path each side has, where they differ, as git does."""
        plain = self._labels
        ours, theirs = plain.ours, plain.theirs
        if names is not None:
            ours, theirs = ours + b":" + names[0], theirs + b":" + names[1]
        wide = plain.size - 7 + int(size) if isinstance(size, bytes) and size.isdigit() else plain.size
        return Labels(ours=ours, theirs=theirs, size=wide)

    # -- renames --------------------------------------------------------------------------------------------------------

    def _renames(self) -> None:
        """Follow renames where they matter: a source gone on one side that the other side changed, or removed as well."""
        ours, theirs = self._moves(self._left, self._right), self._moves(self._right, self._left)
        for source in sorted(set(ours) | set(theirs)):
            base = (self._left.get(source) or self._right[source])[0]
            assert base is not None
            if source in ours and source in theirs:
                self._both_renamed(source, base, ours[source], theirs[source])
            elif source in ours:
                self._we_renamed(source, base, ours[source])
            else:
                self._they_renamed(source, base, theirs[source])

    def _moves(self, mine: Sides, other: Sides) -> dict[bytes, bytes]:
        gone = {path: old for path, (old, new) in mine.items() if new is None and old is not None and path in other}
        if not gone:
            return {}
        came = {path: new for path, (old, new) in mine.items() if old is None and new is not None}
        return find_renames(self._store, gone, came)

    def _both_renamed(self, source: bytes, base: Entry, left: bytes, right: bytes) -> None:
        ours, theirs = self._left[left][1], self._right[right][1]
        assert ours is not None
        assert theirs is not None
        self._done |= {source, left, right}
        if left == right:
            self._settle(left, base, ours, theirs)
            return
        add = self.result.conflicts
        outcome = self._merge_file(left, base, ours, theirs, (left, right))
        merged = outcome.entry or ours
        add[source] = Conflict(kind="rename/rename", stages={1: base}, left=None)
        add[left] = Conflict(kind="rename/rename", stages={2: merged}, left=merged)
        add[right] = Conflict(kind="rename/rename", stages={3: merged}, left=merged)

    def _we_renamed(self, source: bytes, base: Entry, target: bytes) -> None:
        ours, theirs = self._left[target][1], self._right[source][1]
        assert ours is not None
        if target in self._right:
            return  # they made something there too: each path for itself
        self._done |= {source, target}
        if theirs is None:
            self.result.conflicts[target] = Conflict(kind="rename/delete", stages={1: base, 2: ours}, left=ours)
        elif kind_of(theirs) != kind_of(ours):
            # something else took the name: to git that is a removal, and an addition
            self.result.conflicts[target] = Conflict(kind="rename/delete", stages={1: base, 2: ours}, left=ours)
            self.result.changes[source] = theirs
        else:
            self._settle(target, base, ours, theirs, (target, source))

    def _they_renamed(self, source: bytes, base: Entry, target: bytes) -> None:
        ours, theirs = self._left[source][1], self._right[target][1]
        assert theirs is not None
        if target in self._left:
            return
        self._done |= {source, target}
        if ours is None or kind_of(ours) != kind_of(theirs):
            self.result.conflicts[target] = Conflict(kind="rename/delete", stages={1: base, 3: theirs}, left=theirs)
            return
        self.result.changes[source] = None
        self._settle(target, base, ours, theirs, (source, target))

    # -- folders against files ------------------------------------------------------------------------------------------

    def _folders_against_files(self) -> None:
        """Move aside a file that stands where the other side needs a folder."""
        result = self.result
        files = {path for path, entry in result.changes.items() if entry} | {
            p for p, c in result.conflicts.items() if c.left
        }
        for folder in sorted({above for path in files for above in _above(path)}):
            if folder in result.conflicts:
                conflict = result.conflicts.pop(folder)
                result.conflicts[self._aside(folder, mine=2 in conflict.stages)] = conflict
                result.changes[folder] = None
                continue
            entry = result.changes[folder] if folder in result.changes else lookup(self._store, self._ours, folder)
            if entry is None or entry[0] == DIRECTORY:
                continue
            self._put_aside(folder, entry, mine=folder not in result.changes)
        for path in sorted(path for path, entry in result.changes.items() if entry is not None):
            self._file_on_folder(path)

    def _file_on_folder(self, path: bytes) -> None:
        """A file of theirs where we have a folder that keeps files."""
        ours = lookup(self._store, self._ours, path)
        if ours is None or ours[0] != DIRECTORY:
            return
        keeps = any(
            self.result.changes.get(inner, ours) is not None for inner, _, _ in walk(self._store, ours[1], path + b"/")
        )
        if keeps:
            entry = self.result.changes.pop(path)
            assert entry is not None
            self._put_aside(path, entry, mine=False)

    def _put_aside(self, path: bytes, entry: Entry, *, mine: bool) -> None:
        base = lookup(self._store, self._base, path)
        stages = {2 if mine else 3: entry}
        if base is not None and base[0] != DIRECTORY:
            stages[1] = base
        self.result.conflicts[self._aside(path, mine=mine)] = Conflict(kind="file/directory", stages=stages, left=entry)
        if mine:
            self.result.changes[path] = None
        else:
            self.result.changes.pop(path, None)

    def _aside(self, path: bytes, *, mine: bool) -> bytes:
        label = (self._labels.ours if mine else self._labels.theirs).replace(b"/", b"_")
        name, count = path + b"~" + label, 0
        while name in self.result.changes or name in self.result.conflicts or lookup(self._store, self._ours, name):
            name = b"%s~%s_%d" % (path, label, count)
            count += 1
        return name


def _merge_mode(base: Entry | None, ours: Entry, theirs: Entry) -> tuple[int, str | None]:
    if ours[0] == theirs[0]:
        return ours[0], None
    if base is not None and base[0] == ours[0]:
        return theirs[0], None
    if base is not None and base[0] == theirs[0]:
        return ours[0], None
    return ours[0], "mode"


def _above(path: bytes) -> list[bytes]:
    out = []
    folder = path.rpartition(b"/")[0]
    while folder:
        out.append(folder)
        folder = folder.rpartition(b"/")[0]
    return out


def merge_commits(
    store: Objects, ours: Sha, theirs: Sha, *, labels: Labels, attributes: Attributes | None = None
) -> TreeMerge:
    """Merge two commits' trees over their merge base, or over a merge of their bases when there are several."""
    base = base_tree(store, merge_bases(store, ours, theirs))
    return Merger(
        store, base, store.commit(ours).tree, store.commit(theirs).tree, labels=labels, attributes=attributes
    ).run()


def base_tree(store: Objects, bases: list[Sha], depth: int = 1) -> Sha | None:
    """Fold merge bases into one tree; where they conflict, the marked text is the base, as in git's recursive merge."""
    if not bases:
        return None
    tree = store.commit(bases[0]).tree
    for position, other in enumerate(bases[1:], start=1):
        inner = [sha for before in bases[:position] for sha in merge_bases(store, before, other)]
        below = base_tree(store, sorted(set(inner), key=inner.index), depth + 1)
        labels = Labels(ours=b"Temporary merge branch 1", theirs=b"Temporary merge branch 2", size=7 + 2 * depth)
        merged = Merger(store, below, tree, store.commit(other).tree, labels=labels).run()
        changes = dict(merged.changes)
        changes.update((path, conflict.left) for path, conflict in merged.conflicts.items())
        tree = apply(store, tree, changes)
    return tree
