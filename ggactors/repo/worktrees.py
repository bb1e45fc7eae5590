"""Working trees of the run's own repository. Law: a name is taken exclusively, a half-made one is undone, and removing is renaming
away, so that nobody ever sees half a tree (W2, W5).
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from attrs import field, frozen

from ggactors.repo.checkout import fresh
from ggactors.repo.disk import make_folders
from ggactors.repo.index import KnownIndexes
from ggactors.repo.place import Place
from ggactors.repo.refs import HEADS

if TYPE_CHECKING:
    from ggactors.repo.disk import Disk
    from ggactors.repo.objects import Objects, Sha
    from ggactors.repo.settings import Settings


@frozen(kw_only=True)
class Grounds:
    """Where a run's working trees are made: its repository, and the folder that holds them."""

    common: bytes
    folder: bytes
    store: Objects
    settings: Settings
    disk: Disk
    indexes: KnownIndexes = field(factory=KnownIndexes, eq=False, repr=False)

    def place(self, name: bytes, root: bytes | None = None) -> Place:
        """Describe the working tree of this name, made or not."""
        return Place(
            root=root or os.path.join(self.folder, name),
            gitdir=os.path.join(self.common, b"worktrees", name),
            common=self.common,
            store=self.store,
            settings=self.settings,
            disk=self.disk,
            indexes=self.indexes,
            locks="ours",
        )


def flat_name(issue: str) -> bytes:
    """Make of an issue's id a name that is one plain folder and one plain branch part on every file system (H10)."""
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter == "-") else "-" for letter in issue)
    return plain.strip("-").encode() or b"issue"


def exists(place: Place) -> bool:
    """Tell whether a working tree is there and whole."""
    return os.path.exists(os.path.join(place.root, b".git")) and os.path.exists(place.index_path)


def add(place: Place, branch: bytes, commit: Sha, *, new_branch: bool = True) -> None:
    """Make a working tree on its own branch at a commit. What was begun is undone when it fails."""
    disk, ref = place.disk, HEADS + branch
    make_folders(disk, os.path.dirname(place.gitdir))
    make_folders(disk, os.path.dirname(place.root))
    disk.mkdir(place.gitdir)
    made_ref = False
    try:
        disk.make(os.path.join(place.gitdir, b"locked"), b"initializing\n")
        disk.mkdir(place.root)
        disk.make(os.path.join(place.gitdir, b"gitdir"), os.path.join(place.root, b".git") + b"\n")
        disk.make(os.path.join(place.gitdir, b"commondir"), b"../..\n")
        if new_branch:
            place.refs.move(ref, commit, None, "branch: created")
            made_ref = True
        disk.make(os.path.join(place.gitdir, b"HEAD"), b"ref: " + ref + b"\n")
        place.refs.log(b"HEAD", None, commit, "worktree: created")
        disk.make(os.path.join(place.root, b".git"), b"gitdir: " + place.gitdir + b"\n")
        index = fresh(place, place.store.commit(commit).tree)
        with place.lock() as lock:
            lock.save(index)
        disk.unlink(os.path.join(place.gitdir, b"locked"))
    except BaseException:
        disk.sweep(place.root)
        disk.sweep(place.gitdir)
        if made_ref:
            with contextlib.suppress(Exception):
                place.refs.delete(ref, commit)
        raise


def remove(place: Place) -> bytes | None:
    """Take a working tree away at once; answer the folder that waits to be deleted, None when there was no tree."""
    trash: bytes | None = None
    if os.path.lexists(place.root):
        trash = b"%s/.trash-%d-%s" % (os.path.dirname(place.root), time.monotonic_ns(), os.path.basename(place.root))
        place.disk.rename(place.root, trash)
    if os.path.isdir(place.gitdir):
        gone = os.path.join(place.common, b".trash-%d" % time.monotonic_ns())
        place.disk.rename(place.gitdir, gone)
        place.disk.sweep(gone)
    return trash


def clear_stale_locks(common: bytes) -> None:
    """Remove locks a dead process left in the run's own repository. Only when no agent lives (H15)."""
    for folder, names, files in os.walk(common):
        if os.path.basename(folder) == b"pack":
            names[:] = []
        for file in files:
            if file.endswith(b".lock") or file.startswith((b"tmp_obj_", b"tmp_pack_", b"tmp_idx_")):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, file))


def drop_half_made(grounds: Grounds) -> list[bytes]:
    """Undo working trees whose making was cut short, and clear away trash; answer the names undone."""
    admin = os.path.join(grounds.common, b"worktrees")
    dropped = []
    for name in sorted(os.listdir(admin)) if os.path.isdir(admin) else ():
        folder = os.path.join(admin, name)
        try:
            with open(os.path.join(folder, b"locked"), "rb") as file:
                half = file.read() == b"initializing\n"
        except FileNotFoundError:
            half = not os.path.exists(os.path.join(folder, b"HEAD"))
        if half:
            with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, b"gitdir"), "rb") as file:
                grounds.disk.sweep(os.path.dirname(file.read().strip()))
            grounds.disk.sweep(folder)
            dropped.append(name)
    grounds.disk.sweep(os.path.join(grounds.common, b"idle"))
    for where in (grounds.common, grounds.folder):
        for name in os.listdir(where) if os.path.isdir(where) else ():
            if name.startswith((b".trash-", b".idle-")):
                grounds.disk.sweep(os.path.join(where, name))
    return dropped
