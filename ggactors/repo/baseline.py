"""The first commit of a folder that has none (W1). Law: one walk, one pack; what was staged stays staged; on failure a repository
that was not there is gone again.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from ggactors.repo.index import Index
from ggactors.repo.objects import BLOB, COMMIT, DIRECTORY, TREE, Entry, Sha, commit_bytes, tree_bytes
from ggactors.repo.operator import open_place
from ggactors.repo.packwriter import PackWriter
from ggactors.repo.scan import scan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.repo.disk import Disk
    from ggactors.repo.place import Place

_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"


def make_repository(root: bytes, disk: Disk) -> Place:
    """Make a folder a repository: the git folder is built aside and appears whole."""
    aside = b"%s/.git.%d~" % (root, time.monotonic_ns())
    git = os.path.join(root, b".git")
    disk.mkdir(aside)
    try:
        for name in (b"objects", b"objects/info", b"objects/pack", b"refs", b"refs/heads", b"refs/tags", b"info"):
            disk.mkdir(os.path.join(aside, name))
        disk.make(os.path.join(aside, b"HEAD"), b"ref: refs/heads/main\n")
        disk.make(os.path.join(aside, b"config"), _CONFIG)
        disk.make(os.path.join(aside, b"info", b"exclude"), b"")
        disk.rename(aside, git)
    except BaseException:
        disk.sweep(aside)
        raise
    return open_place(root, git, disk=disk)


def commit_baseline(place: Place, message: bytes) -> Sha:
    """Commit everything unignored as the first commit of an unborn branch; the index agrees afterwards."""
    store, disk = place.store, place.disk
    with place.lock() as lock:
        before = lock.read()
        index = Index()
        with PackWriter(store.folder, disk) as pack:
            found = scan(place, Index(), keep=lambda content: pack.add(BLOB, content))
            files: dict[bytes, Entry] = {}
            for path, (status, entry) in found.fresh.items():
                index.set(path, entry, status)
                files[path] = entry
            tree = _pack_tree(pack, files)
            stamp = place.settings.stamp()
            commit = pack.add(
                COMMIT, commit_bytes(tree=tree, parents=(), author=stamp, committer=stamp, message=message)
            )
            pack.finish()
        staged = {path: raw for path, raw in before.records.items() if before.entry(path) != files.get(path)}
        index.records.update(staged)  # staged otherwise than it lies on disk: it stays staged
        index.tree = None if staged else tree
        lock.stage(index)
        place.refs.move_head(commit, None, "commit (initial): baseline")
        lock.commit()
    return commit


def _pack_tree(pack: PackWriter, files: Mapping[bytes, Entry]) -> Sha:
    top: dict[bytes, object] = {}
    for path, entry in files.items():
        *folders, name = path.split(b"/")
        here = top
        for folder in folders:
            here = here.setdefault(folder, {})  # type: ignore[assignment]
        here[name] = entry
    return _pack_folder(pack, top)


def _pack_folder(pack: PackWriter, folder: Mapping[bytes, object]) -> Sha:
    entries: dict[bytes, Entry] = {}
    for name, value in folder.items():
        if isinstance(value, dict):
            entries[name] = (DIRECTORY, _pack_folder(pack, value))
        else:
            entries[name] = value  # type: ignore[assignment]
    return pack.add(TREE, tree_bytes(entries))
