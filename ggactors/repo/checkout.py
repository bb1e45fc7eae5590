"""Writing trees to a disk. Law: a path that could leave the working tree or touch a ``.git`` is refused before anything is
written, and a file is only ever created, never written through.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ggactors.repo.attributes import NAME
from ggactors.repo.faults import UnsafePath
from ggactors.repo.index import Index, record, stat_fields
from ggactors.repo.objects import DIRECTORY, EXECUTABLE, FILE, GITLINK, LINK, Entry
from ggactors.repo.trees import folders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.repo.eol import LineEnds
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place

_IGNORED_BY_HFS = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
_SUSPECT = b".gG"
_NEVER = frozenset((b"", b".", b".."))


def unsafe_name(name: bytes) -> bool:
    """Tell whether a name must not be written: it is, or some file system takes it for, ``.git``, ``.`` or ``..``."""
    if name in _NEVER or b"/" in name or b"\x00" in name:
        return True
    if name[0] not in _SUSPECT and name.isascii():
        return False
    low = name.lower()
    if low[:1] == b"g":
        return low.rstrip(b" .") == b"git~1" or low.startswith(b"git~1:")
    if low.startswith(b".git"):
        rest = low[4:].rstrip(b" .")
        if not rest or rest.startswith(b":"):
            return True
    if not name.isascii():
        plain = low.decode("utf-8", "replace").translate(dict.fromkeys(map(ord, _IGNORED_BY_HFS)))
        return plain.casefold() == ".git"
    return False


def check_path(path: bytes, safe: set[bytes]) -> None:
    """Refuse a path with an unsafe part. ``safe`` remembers folders found good. Raises UnsafePath."""
    folder, _, name = path.rpartition(b"/")
    if unsafe_name(name):
        raise UnsafePath(path)
    if folder and folder not in safe:
        check_path(folder, safe)
        safe.add(folder)


def create(place: Place, ends: LineEnds, target: bytes, path: bytes, entry: Entry) -> os.stat_result:
    """Create the file of an entry at ``target``, which must be free; ``path`` is what it will be called in the tree."""
    mode, sha = entry
    disk = place.disk
    if mode == GITLINK:
        disk.mkdir(target)
        return os.lstat(target)
    content = place.store.blob(sha)
    if mode == LINK:
        return disk.symlink(content, target)
    content = ends.to_disk(path, mode, content) if ends.active else content
    return disk.make(target, content, mode=0o777 if mode == EXECUTABLE else 0o666)


def fresh(place: Place, tree: Sha) -> Index:
    """Check a tree out into an empty working tree; answer the index that belongs to it, not yet written."""
    all_folders = list(folders(place.store, tree))
    for folder, entries in all_folders:
        for name in entries:
            if unsafe_name(name):
                raise UnsafePath(folder + name)
    ends = place.line_ends_of(tree)
    index = Index()
    for folder, entries in all_folders:
        if folder:
            place.disk.mkdir(place.on_disk(folder[:-1]))
        _fill_folder(place, ends, index, folder, entries)
    index.attributes = place.store.names(tree, NAME)
    index.tree = tree
    return index


def _fill_folder(place: Place, ends: LineEnds, index: Index, folder: bytes, entries: Mapping[bytes, Entry]) -> None:
    """Write a folder's files, the folder held open; nearly all of them are plain files and go the short way."""
    records, blob, fill = index.records, place.store.blob, place.disk.fill
    handle = os.open(
        place.on_disk(folder[:-1]) if folder else place.root,
        os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC,
    )
    try:
        for name, entry in entries.items():
            mode, sha = entry
            path = folder + name
            if mode == DIRECTORY:
                continue
            target = place.on_disk(path)
            if ends.active or mode not in (FILE, EXECUTABLE):
                status = create(place, ends, target, path, entry)
            else:
                status = fill(handle, name, target, blob(sha), 0o777 if mode == EXECUTABLE else 0o666)
            records[path] = record(stat_fields(status, mode), sha, path)
    finally:
        os.close(handle)
