"""Keeps the operator's untracked files safe, ignored ones too, while a merge agent works in their checkout (M4, in place only).

Law: a copy is taken before a conflict is left there; afterwards whatever is gone or differs is put back, unless it is tracked now.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from ggactors.repo.disk import make_folders
from ggactors.repo.index import Index
from ggactors.repo.retarget import make_room

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ggactors.repo.disk import Disk
    from ggactors.repo.place import Place

_NAME = b"ggactors-aside"


def set_aside(place: Place, common: bytes) -> None:
    """Copy everything untracked of a checkout into the run's own repository. Raises OSError with nothing half kept."""
    folder, index = os.path.join(common, _NAME), Index.read(place.index_path)
    making = folder + b".making"
    place.disk.sweep(folder)
    place.disk.sweep(making)
    tracked = index.records.keys() | index.unmerged.keys()
    place.disk.mkdir(making)
    try:
        for path in _files(place.root):
            if path not in tracked:
                _copy(place.disk, place.on_disk(path), os.path.join(making, path))
        place.disk.rename(making, folder)
    except BaseException:
        place.disk.sweep(making)
        raise


def bring_back(place: Place, common: bytes) -> None:
    """Put back what is gone or differs of what was set aside; no trace of it is left."""
    folder = os.path.join(common, _NAME)
    if not os.path.isdir(folder):
        return
    index = Index.read(place.index_path)
    for path in _files(folder):
        target, kept = place.on_disk(path), os.path.join(folder, path)
        if path in index.records or path in index.unmerged or _same(kept, target):
            continue
        make_room(place, path)
        if os.path.lexists(target):
            place.disk.unlink(target)
        _copy(place.disk, kept, target)
    place.disk.sweep(folder)


def _files(root: bytes) -> Iterator[bytes]:
    """Name every file and link below ``root``, the checkout's own ``.git`` aside."""
    for folder, folders, files in os.walk(root):
        if folder == root:
            folders[:] = [name for name in folders if name != b".git"]
            files = [name for name in files if name != b".git"]
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in (*files, *links):
            path = os.path.join(folder, name)
            if os.path.islink(path) or os.path.isfile(path):
                yield path[len(root) + 1 :]


def _copy(disk: Disk, source: bytes, target: bytes) -> None:
    disk.step("copy", target)
    make_folders(disk, os.path.dirname(target))
    shutil.copy2(source, target, follow_symlinks=False)


def _same(kept: bytes, target: bytes) -> bool:
    try:
        before, now = os.lstat(kept), os.lstat(target)
    except OSError:
        return False
    return (before.st_size, before.st_mtime_ns, before.st_mode) == (now.st_size, now.st_mtime_ns, now.st_mode)
