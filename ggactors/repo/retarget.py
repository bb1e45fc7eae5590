"""Makes a working tree hold exactly a tree, rewriting only what differs. Law: the caller has saved what is precious; what is
written over or removed here is gone.
"""

from __future__ import annotations

import contextlib
import os
import stat
from enum import Enum
from typing import TYPE_CHECKING

from ggactors.repo.checkout import check_path, create
from ggactors.repo.disk import make_folders
from ggactors.repo.faults import Malformed
from ggactors.repo.index import Index
from ggactors.repo.objects import DIRECTORY
from ggactors.repo.scan import scan
from ggactors.repo.trees import against, lookup

if TYPE_CHECKING:
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place


class Untracked(Enum):
    """What becomes of files that are not tracked."""

    KEEP = "keep"
    UNIGNORED_GO = "unignored-go"
    ALL_GO = "all-go"


def retarget(place: Place, tree: Sha, *, untracked: Untracked) -> int:
    """Bring files and index to ``tree``; answer how many files were written."""
    with place.lock() as lock:
        try:
            index = lock.read()
        except Malformed:
            index = Index()  # spoilt by somebody: everything is looked at anew
        found = scan(
            place,
            index,
            fresh=untracked is Untracked.UNIGNORED_GO,
            into_nested=True,
            strays=untracked is Untracked.ALL_GO,
        )
        for path, (status, entry) in found.refreshed.items():
            index.set(path, entry, status)
        stale = {*found.changed, *found.deleted, *index.unmerged}
        for path in stale:
            index.remove(path)
        differing = against(place.store, index, tree)
        safe: set[bytes] = set()
        for path, (wanted, _) in differing.items():
            if wanted is not None:
                check_path(path, safe)
        for path in stale | set(differing):
            if not _wanted(place, tree, path):
                remove(place, path)
                index.remove(path)
        for path in found.fresh:
            if not _wanted(place, tree, path):
                remove(place, path)
        for path in found.strays:
            _remove_whole(place, path)
        ends = place.line_ends_of(tree)
        written = 0
        for path, (wanted, _) in differing.items():
            if wanted is not None:
                make_room(place, path)
                index.set(path, wanted, create(place, ends, place.on_disk(path), path, wanted))
                written += 1
        index.tree = tree
        lock.save(index)
        return written


def _wanted(place: Place, tree: Sha, path: bytes) -> bool:
    entry = lookup(place.store, tree, path)
    return entry is not None and entry[0] != DIRECTORY


def remove(place: Place, path: bytes) -> None:
    """Remove a file or link and the folders that empties; never through a linked folder."""
    target = place.on_disk(path)
    if not _under_real_folders(place, path):
        return
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        os.unlink(target)
    folder = path.rpartition(b"/")[0]
    while folder:
        try:
            os.rmdir(place.on_disk(folder))
        except OSError:
            return
        folder = folder.rpartition(b"/")[0]


def _under_real_folders(place: Place, path: bytes) -> bool:
    folder = path.rpartition(b"/")[0]
    while folder:
        try:
            if not stat.S_ISDIR(os.lstat(place.on_disk(folder)).st_mode):
                return False
        except OSError:
            return False
        folder = folder.rpartition(b"/")[0]
    return True


def make_room(place: Place, path: bytes) -> None:
    """Clear what stands where a file shall be, or where a folder above it shall be, and make those folders."""
    parts = path.split(b"/")
    for depth in range(1, len(parts)):
        folder = place.on_disk(b"/".join(parts[:depth]))
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                os.unlink(folder)
    target = place.on_disk(path)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if stat.S_ISDIR(os.lstat(target).st_mode):
            place.disk.sweep(target)
        else:
            os.unlink(target)
    make_folders(place.disk, os.path.dirname(target))


def _remove_whole(place: Place, path: bytes) -> None:
    target = place.on_disk(path)
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.lstat(target).st_mode):
            place.disk.sweep(target)
        else:
            os.unlink(target)
