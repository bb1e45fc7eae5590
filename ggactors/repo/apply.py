"""Moves a checkout: its branch, its index and its files together. Law: it ends exactly before or exactly after (W10, M4).

The order is: journal, new files beside, old files aside and checked, new files in place, ref, index. What was aside is what
comes back: the same inode with its bytes, mode and times. Nothing is ever written over: a name must be free.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from attrs import Factory, define, frozen

from ggactors.repo.checkout import check_path, create
from ggactors.repo.disk import make_folders
from ggactors.repo.faults import InTheWay, Locked, RefMoved
from ggactors.repo.index import IndexLock, file_mode
from ggactors.repo.journal import Journal, OpenJournal, staging_of
from ggactors.repo.objects import GITLINK, LINK, Entry
from ggactors.repo.preflight import Preflight, holds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.repo.eol import LineEnds
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place
    from ggactors.repo.trees import Changes


@frozen(kw_only=True)
class Move:
    """What is asked: the branch the checkout is on goes from ``old`` to ``new``, and ``changes`` is what that does to paths."""

    ref: bytes
    old: Sha
    new: Sha
    changes: Changes
    message: str
    untouched: Mapping[bytes, Entry | None] = Factory(dict)
    """Content that counts as nobody's edit although it is not committed (W11: the snapshot taken at the start);
    None is an absent file."""
    stages: Mapping[bytes, Mapping[int, Entry]] = Factory(dict)
    """Paths left unmerged in the index (M2); ``changes`` says what lies in the working tree for them, where that changes."""
    notes: Mapping[bytes, bytes] = Factory(dict)
    """Files of the git folder written with it: what an operation left in place is known by."""


@define
class _Trail:
    """What has been done so far, to be undone."""

    aside: dict[bytes, bytes] = Factory(dict)
    placed: dict[bytes, os.stat_result] = Factory(dict)
    made: list[bytes] = Factory(list)
    removed: list[tuple[bytes, int]] = Factory(list)
    moved_ref: bool = False


def is_link(entry: Entry | None) -> bool:
    """Tell whether an entry stands for a commit of another repository."""
    return entry is not None and entry[0] == GITLINK


def move_checkout(place: Place, move: Move) -> None:
    """Carry out a move. Raises InTheWay, RefMoved or OSError with everything as it was before."""
    with place.lock() as lock:
        Mover(place, move, lock).run()


class Mover:
    """One move under ``index.lock``."""

    def __init__(self, place: Place, move: Move, lock: IndexLock) -> None:
        self._place, self._move, self._lock = place, move, lock
        self._disk = place.disk
        self._index = lock.read()
        self._staging = staging_of(place)
        self._trail = _Trail()
        self._present: dict[bytes, Entry] = {}
        self._ends = place.line_ends(self._index)
        self._new_ends = self._ends_after()

    def _ends_after(self) -> LineEnds:
        tree = self._place.store.commit(self._move.new).tree
        touched = any(path.endswith(b".gitattributes") for path in self._move.changes)
        if not touched and not self._index.attributes:
            return self._ends
        return self._place.line_ends_of(tree)

    def run(self) -> None:
        """Check, journal, stage, swap, commit."""
        move, place = self._move, self._place
        head = place.refs.head()
        if head.ref != move.ref or head.commit != move.old:
            raise RefMoved(move.ref, move.old, head.commit)
        safe: set[bytes] = set()
        for path, entry in move.changes.items():
            if entry is not None:
                check_path(path, safe)
        tree = place.store.commit(move.old).tree
        self._present = Preflight(
            place, self._index, tree, move.changes, ends=self._ends, untouched=move.untouched
        ).run()
        journal = OpenJournal(place, Journal.of(place, move.ref, move.old, move.new, move.changes, self._present))
        try:
            self._swap(self._present)
            self._commit()
        except BaseException:
            self._undo()
            raise
        finally:
            journal.close()

    # -- files ----------------------------------------------------------------------------------------------------------

    def _swap(self, present: Mapping[bytes, Entry]) -> None:
        order = sorted(self._move.changes)
        self._disk.mkdir(self._staging)
        for number, path in enumerate(order):
            entry = self._move.changes[path]
            if entry is not None and not self._stays(path, entry):
                create(self._place, self._new_ends, self._beside(number), path, entry)
        for number, path in enumerate(order):
            if path in present and not is_link(present[path]):
                self._set_aside(number, path, present[path])
        for path in reversed(order):
            gone = is_link(present.get(path)) and not is_link(self._move.changes[path])
            self._drop_empty(path if gone else path.rpartition(b"/")[0])
        for number, path in enumerate(order):
            entry = self._move.changes[path]
            if entry is not None and not self._stays(path, entry):
                self._put_in_place(number, path)

    def _stays(self, path: bytes, entry: Entry) -> bool:
        """Tell whether only a gitlink's commit changes: the folder of its repository stays as it is."""
        return is_link(entry) and is_link(self._index.entry(path))

    def _beside(self, number: int) -> bytes:
        return b"%s/n%d" % (self._staging, number)

    def _set_aside(self, number: int, path: bytes, entry: Entry) -> None:
        """Take the old file away and make sure that it is the one that was looked at: an edit of this very moment shows here."""
        target = b"%s/o%d" % (self._staging, number)
        source = self._place.on_disk(path)
        self._parents_real(path)
        self._disk.rename(source, target)
        self._trail.aside[path] = target
        if not self._still(target, path, entry):
            raise InTheWay([path], "a file was changed at this very moment")

    def _still(self, target: bytes, path: bytes, entry: Entry) -> bool:
        mode = file_mode(os.lstat(target).st_mode)
        if not self._place.settings.file_mode and mode is not None and mode != LINK != entry[0]:
            mode = entry[0]
        return holds(self._place, self._ends, target, path, entry, mode)

    def _drop_empty(self, folder: bytes) -> None:
        while folder:
            path = self._place.on_disk(folder)
            try:
                mode = os.lstat(path).st_mode
                if not stat.S_ISDIR(mode):
                    return
                self._disk.rmdir(path)
            except OSError:
                return
            self._trail.removed.append((path, stat.S_IMODE(mode)))
            folder = folder.rpartition(b"/")[0]

    def _put_in_place(self, number: int, path: bytes) -> None:
        target = self._place.on_disk(path)
        make_folders(self._disk, os.path.dirname(target), self._trail.made)
        self._parents_real(path)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if stat.S_ISDIR(os.lstat(target).st_mode):
                self._clear_folders(target)
        beside = self._beside(number)
        self._trail.placed[path] = os.lstat(beside)  # before it is there: known as ours whatever fails then
        try:
            self._disk.place(beside, target)
        except FileExistsError:
            raise InTheWay([path], "a file appeared at this very moment") from None
        self._trail.placed[path] = os.lstat(target)

    def _clear_folders(self, target: bytes) -> None:
        for folder, _, _ in os.walk(target, topdown=False):
            mode = stat.S_IMODE(os.lstat(folder).st_mode)
            self._disk.rmdir(folder)
            self._trail.removed.append((folder, mode))

    def _parents_real(self, path: bytes) -> None:
        """Make sure that no folder above a path is a link: nothing is ever written through one."""
        folder = path.rpartition(b"/")[0]
        while folder:
            try:
                real = stat.S_ISDIR(os.lstat(self._place.on_disk(folder)).st_mode)
            except FileNotFoundError:
                real = False
            if not real:
                raise InTheWay([path], "a folder was replaced at this very moment")
            folder = folder.rpartition(b"/")[0]

    # -- ref and index --------------------------------------------------------------------------------------------------

    def _commit(self) -> None:
        move, index, store = self._move, self._index, self._place.store
        whole = index.tree == store.commit(move.old).tree and not move.stages
        for path, entry in move.changes.items():
            if entry is None:
                index.remove(path)
        for path, entry in move.changes.items():
            if entry is not None:
                index.set(path, entry, None if is_link(entry) else self._trail.placed[path])
        for path, stages in move.stages.items():
            index.conflict(path, stages)
        if whole:
            index.tree = store.commit(move.new).tree
        self._lock.stage(index)
        self._verify_aside()
        for name, content in move.notes.items():
            self._disk.put(os.path.join(self._place.gitdir, name), content)
        if move.new != move.old:
            self._place.refs.move_head(move.new, move.old, move.message)
            self._trail.moved_ref = True
        self._lock.commit()

    def _verify_aside(self) -> None:
        """Catch a program that still had an old file open and wrote to it while it was aside."""
        for path, target in self._trail.aside.items():
            if not self._still(target, path, self._present[path]):
                raise InTheWay([path], "a file was changed at this very moment")

    # -- undoing --------------------------------------------------------------------------------------------------------

    def _undo(self) -> None:
        """Put everything back. Where somebody's newer file stands, theirs stays and an edited old one comes beside it."""
        trail = self._trail
        for name in self._move.notes:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._place.gitdir, name))
        if trail.moved_ref:
            with contextlib.suppress(RefMoved, Locked, OSError):
                self._place.refs.move_head(self._move.old, self._move.new, "ggactors: move undone")
        for path, found in trail.placed.items():
            target = self._place.on_disk(path)
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                now = os.lstat(target)
                if stat.S_ISDIR(now.st_mode) and now.st_ino == found.st_ino:
                    with contextlib.suppress(OSError):
                        os.rmdir(target)
                elif (now.st_ino, now.st_mtime_ns, now.st_size) == (found.st_ino, found.st_mtime_ns, found.st_size):
                    os.unlink(target)
        for folder in reversed(trail.made):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        for folder, mode in reversed(trail.removed):
            with contextlib.suppress(FileExistsError, FileNotFoundError):
                os.mkdir(folder)
                os.chmod(folder, mode)
        for path, aside in trail.aside.items():
            target = self._place.on_disk(path)
            if os.path.lexists(target):
                if self._still(aside, path, self._present[path]):
                    continue  # what stood there is committed
                target = _free_name(target)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.rename(aside, target)


def _free_name(target: bytes) -> bytes:
    count = 0
    while os.path.lexists(b"%s.kept-%d" % (target, count)):
        count += 1
    return b"%s.kept-%d" % (target, count)
