"""Puts an issue's worktree back together that its agent took apart (W2, W4). Law: nothing that is on disk is written over or
removed; what is missing comes from the issue's branch, and a branch that is gone from where HEAD last was.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from typing import TYPE_CHECKING

from ggactors.repo import worktrees
from ggactors.repo.checkout import create
from ggactors.repo.disk import make_folders
from ggactors.repo.faults import GitFault, show
from ggactors.repo.index import Index
from ggactors.repo.refs import HEADS, ZERO, head_log
from ggactors.repo.scan import scan
from ggactors.repo.trees import walk

if TYPE_CHECKING:
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place


def whole(place: Place) -> bool:
    """Tell whether a worktree is a folder that git knows as the worktree it was made as."""
    try:
        if os.path.islink(place.root):
            return False
        with open(os.path.join(place.root, b".git"), "rb") as file:
            named = file.read(4096)
    except OSError:
        return False
    return named == b"gitdir: " + place.gitdir + b"\n" and os.path.isfile(os.path.join(place.gitdir, b"HEAD"))


def put_branch_back(place: Place, ref: bytes, base: Sha) -> Sha:
    """Give the issue's branch its last known tip again when it is gone; answer where it is."""
    tip = place.refs.read(ref)
    if tip is None:
        tip = _last_known(place, base)
        place.refs.move(ref, tip, None, "ggactors: put back")
    return tip


def _last_known(place: Place, base: Sha) -> Sha:
    """Read off the worktree's own log where HEAD last stood on a commit."""
    for before, after in reversed(head_log(place.gitdir)):
        for sha in (after, before):
            if sha != ZERO and place.store.has(sha):
                return sha
    return base


def put_together(place: Place, branch: bytes, base: Sha) -> str:
    """Register a broken worktree again and give it back the files of its branch if none is left; say what was done.

    Raises GitFault when the repository itself is gone, naming where the files lie.
    """
    if not os.path.isfile(os.path.join(place.common, b"HEAD")):
        raise GitFault(f"{show(place.common)} is gone or damaged; the files of the worktree lie in {show(place.root)}")
    disk, ref, root = place.disk, HEADS + branch, place.root
    what = []
    if os.path.lexists(root) and (os.path.islink(root) or not os.path.isdir(root)):
        what.append(_set_aside(place, root))
    make_folders(disk, root)
    tip = put_branch_back(place, ref, base)
    _register(place, ref, tip)
    mark, text = os.path.join(root, b".git"), b"gitdir: " + place.gitdir + b"\n"
    if os.path.isdir(mark) and not os.path.islink(mark):
        what.append(_set_aside(place, mark))
    disk.put(mark, text)
    count = _bring_files(place, tip)
    what.append(f"{count} file(s) of {show(branch)} were put back" if count else "the files are as you left them")
    return "; ".join(what)


def _set_aside(place: Place, path: bytes) -> str:
    target = os.path.join(place.common, b"aside-%d-%s" % (time.monotonic_ns(), os.path.basename(path)))
    place.disk.rename(path, target)
    return f"what was in the place of {show(path)} lies in {show(target)}"


def _register(place: Place, ref: bytes, tip: Sha) -> None:
    disk = place.disk
    make_folders(disk, place.gitdir)
    for name, text in (
        (b"gitdir", os.path.join(place.root, b".git") + b"\n"),
        (b"commondir", b"../..\n"),
        (b"HEAD", b"ref: " + ref + b"\n"),
    ):
        if not os.path.isfile(os.path.join(place.gitdir, name)):
            disk.put(os.path.join(place.gitdir, name), text)
    if not os.path.isfile(place.index_path):
        index = Index()
        for path, mode, sha in walk(place.store, place.store.commit(tip).tree):
            index.set(path, (mode, sha), None)
        with place.lock() as lock:
            lock.save(index)


def _bring_files(place: Place, tip: Sha) -> int:
    """Write the files of the index when not one of them is left; answer how many."""
    with place.lock() as lock:
        index = lock.read()
        found = scan(place, index, fresh=False)
        if not index.records or set(found.deleted) != set(index.records):
            return 0
        ends = place.line_ends_of(place.store.commit(tip).tree)
        for path in found.deleted:
            entry = index.entry(path)
            target = place.on_disk(path)
            if entry is None:
                continue
            try:
                make_folders(place.disk, os.path.dirname(target))
                status = create(place, ends, target, path, entry)
            except (FileExistsError, NotADirectoryError):
                continue  # something else of the agent's is there
            index.set(path, entry, status)
        lock.save(index)
    return len(found.deleted)


def make_readable(root: bytes) -> None:
    """Let the owner read everything below ``root`` again; what is not ours stays as it is."""
    _allow(root, 0o700)
    for folder, folders, files in os.walk(root):
        for name in folders:
            _allow(os.path.join(folder, name), 0o700)
        for name in files:
            _allow(os.path.join(folder, name), 0o400)


def _allow(path: bytes, wanted: int) -> None:
    with contextlib.suppress(OSError):
        mode = os.lstat(path).st_mode
        if mode & wanted != wanted and (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            os.chmod(path, stat.S_IMODE(mode) | wanted)


def fit_to_save(place: Place, branch: bytes, base: Sha | None) -> bool:
    """Bring a worktree that is given up into a state its work can be saved from; False when there is nothing of it."""
    if not os.path.lexists(place.root):
        return False
    if not whole(place) or not worktrees.exists(place):
        make_readable(place.root)
    if not whole(place) or not worktrees.exists(place):
        if base is None:
            raise GitFault(f"{show(place.common)} has lost this issue's base; its files lie in {show(place.root)}")
        put_together(place, branch, base)
    return True
