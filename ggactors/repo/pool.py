"""Worktrees that wait to be used again (W2). Law: a waiting one is on no branch and is made to hold exactly a tree, ignored files
gone, before anybody sees it; when anything about it is odd, a new one is made instead.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING

from attrs import evolve

from ggactors.repo import worktrees
from ggactors.repo.disk import make_folders
from ggactors.repo.faults import GitFault
from ggactors.repo.keep import forget_operations
from ggactors.repo.refs import HEADS
from ggactors.repo.retarget import Untracked, retarget

if TYPE_CHECKING:
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place
    from ggactors.repo.worktrees import Grounds

MOST = 64
"""Waiting worktrees kept; what is beyond is deleted. Making one anew costs a file system many times what one that waits does."""


class Pool:
    """The waiting worktrees of one run, and the trash that is left to delete."""

    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds
        self._idle: list[Place] = []
        self._trash: list[bytes] = []
        self._lock = threading.Lock()

    def make(self, place: Place, branch: bytes, commit: Sha) -> None:
        """Make the worktree of a name on its own branch: out of a waiting one, or anew."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        if idle is not None:
            try:
                self._reuse(idle, place, branch, commit)
            except (GitFault, OSError):
                self._drop(idle)
                self._drop(place)
                with contextlib.suppress(GitFault, OSError):
                    place.refs.delete(HEADS + branch)
            else:
                return
        worktrees.add(place, branch, commit)

    def _reuse(self, idle: Place, place: Place, branch: bytes, commit: Sha) -> None:
        """Give a waiting worktree its new name and branch. While that goes on it is marked as half made."""
        disk, ref = place.disk, HEADS + branch
        retarget(idle, place.store.commit(commit).tree, untracked=Untracked.ALL_GO)
        disk.rename(idle.gitdir, place.gitdir)
        disk.rename(idle.root, place.root)
        disk.put(os.path.join(place.root, b".git"), b"gitdir: " + place.gitdir + b"\n")
        disk.put(os.path.join(place.gitdir, b"gitdir"), os.path.join(place.root, b".git") + b"\n")
        place.refs.move(ref, commit, None, "branch: created")
        disk.put(os.path.join(place.gitdir, b"HEAD"), b"ref: " + ref + b"\n")
        place.refs.log(b"HEAD", None, commit, "worktree: made of a waiting one")
        disk.unlink(os.path.join(place.gitdir, b"locked"))

    def take_back(self, place: Place) -> None:
        """Take a worktree out of use at once: it waits for the next issue, or is deleted later (``sweep``)."""
        with self._lock:
            room = len(self._idle) < MOST
        idle = self._park(place) if room and worktrees.exists(place) else None
        if idle is None:
            self._drop(place)
            return
        with self._lock:
            self._idle.append(idle)

    def _park(self, place: Place) -> Place | None:
        """Rename a worktree to one that waits: on no branch, nothing of its issue's git state left. None when that fails."""
        disk = place.disk
        name = b".idle-%d" % time.monotonic_ns()
        waiting = self._grounds.place(name)
        idle = evolve(waiting, gitdir=os.path.join(self._grounds.common, b"idle", name))  # where no git lists it
        try:
            make_folders(disk, os.path.dirname(idle.gitdir))
            head = place.refs.head().commit
            if head is None:
                return None
            forget_operations(place)
            disk.forget(place.index_path + b".lock")
            disk.put(os.path.join(place.gitdir, b"locked"), b"initializing\n")
            disk.put(os.path.join(place.gitdir, b"HEAD"), head + b"\n")
            for left in (b"logs", b"refs"):
                disk.sweep(os.path.join(place.gitdir, left))
            for left in (b"ORIG_HEAD", b"FETCH_HEAD", b"COMMIT_EDITMSG", b"config.worktree"):
                disk.forget(os.path.join(place.gitdir, left))
            disk.rename(place.root, idle.root)
            disk.rename(place.gitdir, idle.gitdir)
        except (GitFault, OSError):
            self._drop(idle)
            return None
        return idle

    def _drop(self, place: Place) -> None:
        trash = worktrees.remove(place)
        if trash is not None:
            with self._lock:
                self._trash.append(trash)

    @property
    def littered(self) -> bool:
        """Tell whether anything waits to be deleted."""
        return bool(self._trash)

    def sweep(self) -> None:
        """Delete what was renamed away."""
        with self._lock:
            trash, self._trash = self._trash, []
        for folder in trash:
            self._grounds.disk.sweep(folder)

    def close(self) -> None:
        """Delete every waiting worktree and all trash."""
        with self._lock:
            idle, self._idle = self._idle, []
        for place in idle:
            self._drop(place)
        self.sweep()
