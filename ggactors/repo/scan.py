"""What is in a working tree, against its index. Law: one walk, links never followed, a file is read only when its stat does
not prove it unchanged; ``keep`` decides whether what is read is stored or only named.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING

from attrs import Factory, define

from ggactors.repo.ignore import Ignore
from ggactors.repo.index import EXTENDED, INTENT_TO_ADD, STAT, Index, file_mode, record_entry, sits_out, stat_fields
from ggactors.repo.objects import BLOB, EXECUTABLE, FILE, GITLINK, LINK, Entry, Sha, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ggactors.repo.place import Place

Found = tuple[os.stat_result, Entry]
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_CODING = sys.getfilesystemencoding()


@define
class Scan:
    """A working tree against its index; paths relative to its root."""

    changed: dict[bytes, Found] = Factory(dict)
    """Tracked paths whose content, mode or kind differs."""
    deleted: list[bytes] = Factory(list)
    fresh: dict[bytes, Found] = Factory(dict)
    """Untracked files that are not ignored."""
    refreshed: dict[bytes, Found] = Factory(dict)
    """Tracked paths whose stat alone differs."""
    strays: list[bytes] = Factory(list)
    """Everything untracked, ignored or not, when that was asked for; a folder stands for what is in it."""
    nested: list[bytes] = Factory(list)
    """Untracked folders that are repositories of their own."""
    unreadable: list[bytes] = Factory(list)

    @property
    def clean(self) -> bool:
        """Tell whether the working tree holds exactly what the index says, untracked files aside."""
        return not (self.changed or self.deleted)

    @property
    def anything(self) -> bool:
        """Tell whether taking the scan up changes the index."""
        return bool(self.changed or self.deleted or self.fresh or self.refreshed)

    def changes(self) -> dict[bytes, Entry | None]:
        """Say what staging everything would make of each path."""
        out: dict[bytes, Entry | None] = dict.fromkeys(self.deleted)
        out.update((path, entry) for path, (_, entry) in (*self.changed.items(), *self.fresh.items()))
        return out


def is_repository(folder: bytes) -> bool:
    """Tell whether a folder is the top of a git working tree of its own."""
    git = os.path.join(folder, b".git")
    try:
        found = os.lstat(git)
    except OSError:
        return False
    if stat.S_ISDIR(found.st_mode):
        return os.path.exists(os.path.join(git, b"HEAD"))
    if stat.S_ISREG(found.st_mode):
        with open(git, "rb") as file:
            return file.read(8) == b"gitdir: "
    return False


def read_file(path: bytes, mode: int) -> bytes:
    """Read a file, or where a link points."""
    if mode == LINK:
        return os.readlink(path)
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        size = os.fstat(handle).st_size + 1
        content = os.read(handle, size)
        if len(content) + 1 == size:
            return content
        parts = [content]
        while part := os.read(handle, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(handle)


def only_name(content: bytes) -> Sha:
    """Name a file's content without storing it."""
    return digest(BLOB, content)


class Scanner:
    """One walk over one working tree."""

    def __init__(
        self,
        place: Place,
        index: Index,
        *,
        keep: Callable[[bytes], Sha] = only_name,
        fresh: bool = True,
        into_nested: bool = False,
        through_links: bool = False,
        strays: bool = False,
    ) -> None:
        self._place = place
        self._index = index
        self._keep = keep
        self._want_fresh = fresh
        self._into_nested = into_nested
        self._through_links = through_links
        self._strays = strays
        self._ends = place.line_ends(index)
        self._ignored = Ignore(place)
        self._left = dict(index.records)
        """What the index names and the walk has not come upon."""
        self._stack: list[bytes] = []
        self.found = Scan()

    def run(self) -> Scan:
        """Walk, and answer what was found."""
        self._stack.append(b"")
        while self._stack:
            prefix = self._stack.pop()
            try:
                self._look(prefix)
            except PermissionError:
                self.found.unreadable.append(prefix.rstrip(b"/") or b".")
            except OSError as error:
                if error.errno not in _GONE:
                    raise
        self.found.deleted += [
            path for path, raw in self._left.items() if not sits_out(raw) and raw[24:28] != b"\x00\x00\xe0\x00"
        ]
        return self.found

    def _look(self, prefix: bytes) -> None:
        """Look into a folder, held open: no name in it is searched for from the top again, and no link is followed to it."""
        folder = self._place.on_disk(prefix[:-1]) if prefix else self._place.root
        handle = os.open(folder, _FOLDER | (os.O_NOFOLLOW if prefix else 0))
        try:
            with os.scandir(handle) as entries:
                self._entries(entries, prefix)
        finally:
            os.close(handle)

    def _entries(self, entries: Iterator[os.DirEntry[str]], prefix: bytes) -> None:
        """Look at a folder's entries; the one case of nearly all of them, a file as the index knows it, is settled right here."""
        left, stamp, pop, pack = self._left, self._index.stamp, self._left.pop, STAT.pack
        second, mask = 1_000_000_000, 0xFFFFFFFF
        for entry in entries:
            path = prefix + entry.name.encode(_CODING, "surrogateescape")
            raw = pop(path, None)
            try:
                if raw is not None and raw[26] & 0xF0 == 0x80 and not raw[60] & EXTENDED:
                    found = entry.stat(follow_symlinks=False)
                    mode, inode, device, _, user, group, size, _, modified, changed = found
                    finest = found.st_mtime_ns
                    if (  # as ``stat_fields`` does it: the call would cost as much as the comparison
                        size <= mask and 0 <= modified <= mask and 0 <= changed <= mask
                        and raw[:40] == pack(
                            changed, found.st_ctime_ns % second, modified, finest % second, device & mask,
                            inode & mask, 0x81ED if mode & 0o100 else 0x81A4, user, group, size,
                        )
                        and finest < stamp
                        and mode & 0o170000 == 0o100000
                    ):  # fmt: skip
                        continue
                if entry.name != ".git" or (self._strays and prefix):
                    self._visit(entry, path, raw)
                elif raw is not None:
                    left[path] = raw
            except FileNotFoundError:  # gone while we looked
                if raw is not None:
                    left[path] = raw

    def _visit(self, entry: os.DirEntry[str], path: bytes, raw: bytes | None) -> None:
        if raw is not None:
            self._tracked(entry, path, raw)
        elif path in self._index.unmerged:
            return
        elif entry.is_dir(follow_symlinks=False):
            self._folder(path)
        elif self._strays:
            self.found.strays.append(path)
        elif (
            self._want_fresh
            and (entry.is_file(follow_symlinks=False) or entry.is_symlink())
            and not self._ignored(path, folder=False)
        ):
            self._read(entry, path, None)

    def _folder(self, path: bytes) -> None:
        if not self._index.tracks_below(path):
            if self._strays:
                self.found.strays.append(path)
                return
            if not self._want_fresh or self._ignored(path, folder=True):
                return
            if not self._into_nested and is_repository(self._place.on_disk(path)):
                self.found.nested.append(path)
                return
        self._stack.append(path + b"/")

    def _tracked(self, entry: os.DirEntry[str], path: bytes, raw: bytes) -> None:
        found = entry.stat(follow_symlinks=False)
        mode = found.st_mode
        if raw[24:28] == b"\x00\x00\xe0\x00":  # a gitlink: its repository is its own affair
            if not self._through_links or not is_repository(self._place.on_disk(path)):
                return
            self.found.deleted.append(path)
        kept = file_mode(mode)
        if kept is None:
            self._left[path] = raw
            if stat.S_ISDIR(mode):
                self._folder(path)
            return
        if not self._place.settings.file_mode and kept == FILE and record_entry(raw)[0] == EXECUTABLE:
            kept = EXECUTABLE
        if (
            raw[:40] == stat_fields(found, kept)
            and found.st_mtime_ns < self._index.stamp
            and not (raw[60] & EXTENDED and raw[62] & INTENT_TO_ADD)
        ):
            return
        self._read(entry, path, raw, kept)

    def _read(self, entry: os.DirEntry[str], path: bytes, raw: bytes | None, kept: int | None = None) -> None:
        try:
            found = entry.stat(follow_symlinks=False)
            mode = kept if kept is not None else file_mode(found.st_mode)
            if mode is None:
                return
            if raw is None and mode == EXECUTABLE and not self._place.settings.file_mode:
                mode = FILE
            content = read_file(self._place.on_disk(path), mode)
        except (FileNotFoundError, NotADirectoryError):
            if raw is not None:
                self._left[path] = raw
            return
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.ELOOP):
                raise
            self.found.unreadable.append(path)
            return
        content = self._ends.to_store(path, mode, content, lambda: self._staged(raw))
        if raw is None:
            self.found.fresh[path] = (found, (mode, self._keep(content)))
            return
        before = record_entry(raw)
        sha = only_name(content)
        if (mode, sha) == before:
            self.found.refreshed[path] = (found, before)
            if raw[60] & EXTENDED and raw[62] & INTENT_TO_ADD:  # intended to be added, and empty
                self.found.changed[path] = (found, (mode, self._keep(content)))
        else:
            self.found.changed[path] = (found, (mode, self._keep(content)))

    def _staged(self, raw: bytes | None) -> bytes | None:
        if raw is None:
            return None
        mode, sha = record_entry(raw)
        return None if mode == GITLINK or not self._place.store.has(sha) else self._place.store.blob(sha)


def scan(
    place: Place,
    index: Index,
    *,
    keep: Callable[[bytes], Sha] = only_name,
    fresh: bool = True,
    into_nested: bool = False,
    through_links: bool = False,
    strays: bool = False,
) -> Scan:
    """Compare a working tree with its index.

    ``into_nested``: untracked repositories are walked like folders. ``through_links``: tracked ones (gitlinks) as well, in the
    place of the gitlink. ``strays``: everything untracked is only named.
    """
    return Scanner(
        place, index, keep=keep, fresh=fresh, into_nested=into_nested, through_links=through_links, strays=strays
    ).run()


def refresh(index: Index, found: Scan) -> None:
    """Take up in the index what a scan read anew and found unchanged, so that the next one need not."""
    for path, (status, entry) in found.refreshed.items():
        index.set(path, entry, status)


def take_up(index: Index, found: Scan) -> None:
    """Stage everything a scan found: new, changed, deleted, mode, links (W4)."""
    refresh(index, found)
    for path in found.deleted:
        index.remove(path)
    for path, (status, entry) in (*found.changed.items(), *found.fresh.items()):
        _clear_way(index, path)
        index.set(path, entry, status)


def _clear_way(index: Index, path: bytes) -> None:
    folder = path.rpartition(b"/")[0]
    while folder:
        if folder in index.records:
            index.remove(folder)
        folder = folder.rpartition(b"/")[0]
