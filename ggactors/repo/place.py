"""A working tree and the git folder that serves it. Law: knows where things lie and what is going on there; writes nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import field, frozen

from ggactors.repo.eol import LineEnds, attributes_in_tree, attributes_on_disk
from ggactors.repo.index import Index, IndexLock, KnownIndexes
from ggactors.repo.refs import Refs
from ggactors.repo.stale import forsaken

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.repo.attributes import Attributes
    from ggactors.repo.disk import Disk
    from ggactors.repo.objects import Objects, Sha
    from ggactors.repo.settings import Settings

_GOING_ON = {
    b"MERGE_HEAD": ("merge", "git merge --abort` or `git commit"),
    b"CHERRY_PICK_HEAD": ("cherry-pick", "git cherry-pick --abort` or `git cherry-pick --continue"),
    b"REVERT_HEAD": ("revert", "git revert --abort` or `git revert --continue"),
    b"rebase-merge": ("rebase", "git rebase --abort` or `git rebase --continue"),
    b"rebase-apply": ("rebase", "git rebase --abort` or `git rebase --continue"),
    b"sequencer": ("sequence of picks", "git cherry-pick --abort` or `git cherry-pick --continue"),
    b"BISECT_LOG": ("bisect", "git bisect reset"),
}


@frozen(kw_only=True)
class Operation:
    """A git operation somebody left unfinished, and the commands that end it."""

    name: str
    way_out: str


@frozen(kw_only=True)
class Place:
    """A working tree: ``root`` (its top), ``gitdir`` (its HEAD and index), ``common`` (refs, objects, configuration)."""

    root: bytes
    gitdir: bytes
    common: bytes
    store: Objects
    settings: Settings
    disk: Disk
    indexes: KnownIndexes = field(factory=KnownIndexes, eq=False, repr=False)
    locks: str = "theirs"
    """Whose its locks are: ``ours`` (only agents and the runtime work here), ``shared`` (in place), ``theirs`` (never removed)."""

    @property
    def index_path(self) -> bytes:
        """Say where the index lies."""
        return os.path.join(self.gitdir, b"index")

    @property
    def refs(self) -> Refs:
        """Give the refs as seen from here."""
        return Refs(
            self.common,
            self.gitdir,
            disk=self.disk,
            ident=self.settings.ident,
            log=self.settings.log_refs,
            forsaken=self._forsaken,
        )

    def lock(self) -> IndexLock:
        """Make the lock on the index, not yet taken."""
        return IndexLock(self.disk, self.index_path, self.indexes, forsaken=self._forsaken)

    def index(self) -> Index:
        """Read the index as it stands. Raises Malformed."""
        return Index.read(self.index_path, self.indexes)

    @property
    def _forsaken(self) -> Callable[[bytes], bool] | None:
        if self.locks == "theirs":
            return None
        return lambda lock: forsaken(lock, self.root, own=self.locks == "ours")

    def on_disk(self, path: bytes) -> bytes:
        """Say where a path of the tree lies."""
        return self.root + b"/" + path

    def operation(self) -> Operation | None:
        """Find the operation that is going on here, if any."""
        for name, (what, way_out) in _GOING_ON.items():
            if os.path.exists(os.path.join(self.gitdir, name)):
                return Operation(name=what, way_out=way_out)
        return None

    def line_ends(self, index: Index) -> LineEnds:
        """Give the conversion of the working tree as it stands."""
        found = attributes_on_disk(self.root, self.common, self.settings, any_tracked=index.attributes)
        return LineEnds(self.settings, found)

    def line_ends_of(self, tree: Sha) -> LineEnds:
        """Give the conversion that holds once ``tree`` is checked out."""
        return LineEnds(self.settings, self.attributes_of(tree))

    def attributes_of(self, tree: Sha) -> Attributes | None:
        """Give the attributes that hold in a tree; None when nothing says anything."""
        return attributes_in_tree(self.store, tree, self.common, self.settings)
