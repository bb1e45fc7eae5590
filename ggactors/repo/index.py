"""Git's index file, versions 2 to 4. Law: what is not changed is written back as it was read, and read-modify-write happens
under ``index.lock`` from the read to the rename. Split and sparse indexes are refused: they are not what they seem.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import threading
from binascii import hexlify, unhexlify
from bisect import bisect_left
from collections import OrderedDict
from typing import TYPE_CHECKING

from ggactors.repo.disk import Lock
from ggactors.repo.faults import Malformed, show
from ggactors.repo.objects import EXECUTABLE, FILE, LINK, Entry, Sha

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ggactors.repo.disk import Disk

STAT = struct.Struct(">10I")
_M32 = 0xFFFFFFFF
_SECOND = 1_000_000_000
_NO_STAT = (0, 0, 0, 0, 0, 0)
_PADS = [bytes(8 - size) for size in range(8)]
"""What fills a record up to a multiple of eight, by its length modulo eight: one byte at least."""
_NOT_READ = {
    "extension link": "is a split index; `git update-index --no-split-index` makes it whole",
    "extension sdir": "is a sparse index; `git sparse-checkout disable` makes it whole",
}
KEPT = 100_000
"""Index records kept parsed, over all working trees."""

EXTENDED = 0x40
"""In byte 60 of a record: two more bytes of flags follow."""
SKIP_WORKTREE = 0x40
"""In byte 62 of an extended record: the path is left out of the working tree."""
INTENT_TO_ADD = 0x20


def stat_fields(found: os.stat_result, mode: int) -> bytes:
    """Pack what the index remembers of a file, to be compared byte for byte."""
    _, inode, device, _, user, group, size, _, modified, changed = found
    nanos = found.st_ctime_ns % _SECOND, found.st_mtime_ns % _SECOND
    try:  # taking the stat apart at once is twice as fast as field by field, and few files need more than 32 bits
        return STAT.pack(changed, nanos[0], modified, nanos[1], device, inode & _M32, mode, user, group, size)
    except struct.error:
        seconds = found.st_ctime_ns // _SECOND & _M32, found.st_mtime_ns // _SECOND & _M32
        rest = (device & _M32, inode & _M32, mode, user & _M32, group & _M32, size & _M32)
        return STAT.pack(seconds[0], nanos[0], seconds[1], nanos[1], *rest)


def file_mode(mode: int) -> int | None:
    """Translate a mode of the disk into one of git's; None for what git does not keep."""
    if stat.S_ISREG(mode):
        return EXECUTABLE if mode & 0o100 else FILE
    return LINK if stat.S_ISLNK(mode) else None


def record(fields: bytes, sha: Sha, path: bytes, stage: int = 0) -> bytes:
    """Make an index record, as it stands in the file: name and padding are part of it."""
    size = len(path)
    flags = (stage << 12) | min(size, 0xFFF)
    return b"%s%s%s%s%s" % (fields, unhexlify(sha), flags.to_bytes(2, "big"), path, _PADS[(62 + size) & 7])


def record_entry(raw: bytes) -> Entry:
    """Read mode and id out of a record."""
    return int.from_bytes(raw[24:28], "big"), hexlify(raw[40:60])


def sits_out(raw: bytes) -> bool:
    """Tell whether a record is left out of the working tree (sparse checkout)."""
    return bool(raw[60] & EXTENDED and raw[62] & SKIP_WORKTREE)


class Index:
    """The paths git tracks in one working tree: raw records by path, unmerged ones apart by stage."""

    def __init__(self) -> None:
        self.records: dict[bytes, bytes] = {}
        self.unmerged: dict[bytes, dict[int, bytes]] = {}
        self.stamp = 0
        """When the file was written (ns): a file modified then or later may differ without showing it."""
        self.version = 2
        self.attributes = False
        """Whether a ``.gitattributes`` may be among the paths (never wrongly False)."""
        self.tree: Sha | None = None
        """The tree the paths come to, where that is known: git's cache tree."""
        self._order: list[bytes] | None = None

    @classmethod
    def read(cls, path: bytes, known: KnownIndexes | None = None) -> Index:
        """Read an index file, unless it is ``known``; an absent one is an empty index. Raises Malformed."""
        try:
            with open(path, "rb") as file:
                found = os.fstat(file.fileno())
                if known is not None and found.st_size > 32:
                    seal = os.pread(file.fileno(), 20, found.st_size - 20)
                    self = known.get(seal)
                    if self is not None:
                        self.stamp = found.st_mtime_ns
                        return self
                content = file.read()
        except FileNotFoundError:
            return cls()
        self = cls()
        self.stamp = found.st_mtime_ns
        try:
            self._parse(content)
        except (struct.error, IndexError, ValueError) as error:
            what = _NOT_READ.get(str(error), f"is damaged ({error}); `git reset` in that working tree rebuilds it")
            raise Malformed(f"{show(path)} {what}") from error
        if known is not None:
            known.keep(content[-20:], self)
        return self

    def copy(self) -> Index:
        """Give an equal one that may be changed."""
        other = Index()
        other.records, other.unmerged = dict(self.records), {path: dict(by) for path, by in self.unmerged.items()}
        other.stamp, other.version = self.stamp, self.version
        other.attributes, other.tree, other._order = self.attributes, self.tree, self._order
        return other

    def _parse(self, content: bytes) -> None:
        magic, version, count = struct.unpack_from(">4sII", content, 0)
        if magic != b"DIRC" or version not in (2, 3, 4):
            raise ValueError(f"version {version}")
        end = len(content) - 20
        if content[end:] != bytes(20):
            found = hashlib.sha1(memoryview(content)[:end], usedforsecurity=False).digest()
            if found != content[end:]:
                raise ValueError("its checksum does not match")
        self.version = version
        self.attributes = version == 4 or b".gitattributes" in content
        position = self._parse_packed(content, count) if version == 4 else self._parse_plain(content, count)
        while position + 8 <= end:
            name = content[position : position + 4]
            if not 65 <= name[0] <= 90:  # lower case: must be understood
                raise ValueError(f"extension {show(name)}")
            if name == b"TREE" and not self.unmerged:
                self._parse_cache_tree(content, position + 8)
            position += 8 + int.from_bytes(content[position + 4 : position + 8], "big")

    def _parse_cache_tree(self, content: bytes, position: int) -> None:
        """Take the whole tree's id out of git's cache tree; a count of -1 says that it is out of date."""
        end = content.index(b"\n", position)
        top, _, counts = content[position:end].partition(b"\x00")
        if not top and int(counts.split(b" ")[0]) >= 0:
            self.tree = hexlify(content[end + 1 : end + 21])

    def _parse_plain(self, content: bytes, count: int) -> int:
        records, find, position = self.records, content.find, 12
        for _ in range(count):
            flags = content[position + 60]
            name = position + (64 if flags & EXTENDED else 62)
            length = ((flags & 0x0F) << 8) | content[position + 61]
            end = name + length if length < 0xFFF else find(b"\x00", name)
            following = position + ((end - position + 8) & ~7)
            if flags & 0x30:
                self.unmerged.setdefault(content[name:end], {})[(flags >> 4) & 3] = content[position:following]
            else:
                records[content[name:end]] = content[position:following]
            position = following
        return position

    def _parse_packed(self, content: bytes, count: int) -> int:
        position, path = 12, b""
        for _ in range(count):
            flags = content[position + 60]
            name = position + (64 if flags & EXTENDED else 62)
            head = content[position:name]
            byte = content[name]
            strip = byte & 0x7F
            while byte & 0x80:
                name += 1
                byte = content[name]
                strip = ((strip + 1) << 7) | (byte & 0x7F)
            end = content.index(b"\x00", name + 1)
            path = path[: len(path) - strip] + content[name + 1 : end]
            raw = head + path + _PADS[(len(head) + len(path)) & 7]
            if flags & 0x30:
                self.unmerged.setdefault(path, {})[(flags >> 4) & 3] = raw
            else:
                self.records[path] = raw
            position = end + 1
        return position

    def tracks_below(self, folder: bytes) -> bool:
        """Tell whether a folder holds a tracked path."""
        if self._order is None:
            self._order = sorted((*self.records, *self.unmerged))
        inside = folder + b"/"
        at = bisect_left(self._order, inside)
        return at < len(self._order) and self._order[at].startswith(inside)

    def entry(self, path: bytes) -> Entry | None:
        """Read a path's staged mode and id."""
        raw = self.records.get(path)
        return None if raw is None else record_entry(raw)

    def set(self, path: bytes, entry: Entry, found: os.stat_result | None) -> None:
        """Stage a path; ``found`` is the stat of the file that holds exactly this, None when that is not known."""
        mode, sha = entry
        fields = stat_fields(found, mode) if found is not None else STAT.pack(*_NO_STAT, mode, 0, 0, 0)
        before, after = self.records.get(path), record(fields, sha, path)
        self.records[path] = after
        if before is not None and before[24:28] == after[24:28] and before[40:60] == after[40:60]:
            return
        self.tree = None
        if path.endswith(b".gitattributes"):
            self.attributes = True
        self.unmerged.pop(path, None)
        self._order = None

    def conflict(self, path: bytes, stages: Mapping[int, Entry]) -> None:
        """Leave a path unmerged: base (1), ours (2), theirs (3), those that exist."""
        self.records.pop(path, None)
        self.tree = None
        self.unmerged[path] = {
            stage: record(STAT.pack(*_NO_STAT, mode, 0, 0, 0), sha, path, stage)
            for stage, (mode, sha) in stages.items()
        }
        self._order = None

    def remove(self, path: bytes) -> None:
        """Track a path no more."""
        if self.records.pop(path, None) is not None or self.unmerged.pop(path, None) is not None:
            self.tree = self._order = None

    def dump(self) -> bytes:
        """Serialise, in the version it was read in; but for the known tree, optional extensions are git's to rebuild."""
        if self.unmerged:
            staged = [((path, 0), raw) for path, raw in self.records.items()]
            staged += [((path, stage), raw) for path, by in self.unmerged.items() for stage, raw in by.items()]
            rows = [(key[0], raw) for key, raw in sorted(staged)]
        else:
            records = self.records
            rows = [(path, records[path]) for path in sorted(records)]
        if self.version == 4:
            version, body = 4, self._packed_rows(rows)
        else:
            version = 3 if any(raw[60] & EXTENDED for _, raw in rows) else 2
            body = [raw for _, raw in rows]
        if self.tree is not None and not self.unmerged:
            known = b"\x00%d 0\n%s" % (len(rows), unhexlify(self.tree))
            body.append(b"TREE" + len(known).to_bytes(4, "big") + known)
        content = b"".join((struct.pack(">4sII", b"DIRC", version, len(rows)), *body))
        return content + hashlib.sha1(content, usedforsecurity=False).digest()

    @staticmethod
    def _packed_rows(rows: list[tuple[bytes, bytes]]) -> list[bytes]:
        body, before = [], b""
        for path, raw in rows:
            common = _shared(before, path)
            strip = len(before) - common
            code = bytes((strip & 0x7F,))
            strip >>= 7
            while strip:
                strip -= 1
                code = bytes((0x80 | (strip & 0x7F),)) + code
                strip >>= 7
            body.append(raw[: 64 if raw[60] & EXTENDED else 62] + code + path[common:] + b"\x00")
            before = path
        return body

    def against(self, entries: Iterator[tuple[bytes, int, Sha]]) -> dict[bytes, tuple[Entry | None, Entry | None]]:
        """Compare with the files of a tree: differing paths to (in the tree, in the index). Unmerged paths count as absent."""
        out: dict[bytes, tuple[Entry | None, Entry | None]] = {}
        records = self.records
        seen: set[bytes] = set()
        add = seen.add
        for path, mode, sha in entries:
            raw = records.get(path)
            add(path)
            if raw is None:
                out[path] = ((mode, sha), None)
            elif hexlify(raw[40:60]) != sha or int.from_bytes(raw[24:28], "big") != mode:
                out[path] = ((mode, sha), record_entry(raw))
        if len(seen) != len(records) or out:
            for path, raw in records.items():
                if path not in seen:
                    out[path] = (None, record_entry(raw))
        return out


def _shared(left: bytes, right: bytes) -> int:
    """Count the bytes two names begin with alike."""
    size = min(len(left), len(right))
    if left[:size] == right[:size]:
        return size
    return next(at for at in range(size) if left[at] != right[at])


class KnownIndexes:
    """Indexes as they were last read or written, by the checksum they end in; the least used go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Index] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    def get(self, seal: bytes) -> Index | None:
        """Give a copy of the one a file holds that ends in ``seal``."""
        with self._lock:
            found = self._kept.get(seal)
            if found is not None:
                self._kept.move_to_end(seal)
        return None if found is None else found.copy()

    def keep(self, seal: bytes, index: Index) -> None:
        """Keep a copy of an index that is in a file which ends in ``seal``; a file without a checksum is not known again."""
        size = len(index.records)
        if seal == bytes(20) or size > KEPT:
            return
        copy = index.copy()
        with self._lock:
            if seal in self._kept:
                return
            self._kept[seal] = copy
            self._count += size
            while self._count > KEPT:
                _, gone = self._kept.popitem(last=False)
                self._count -= len(gone.records)


class IndexLock(Lock):
    """``index.lock``, and the index as it stands while we hold it."""

    def __init__(
        self, disk: Disk, path: bytes, known: KnownIndexes, *, forsaken: Callable[[bytes], bool] | None
    ) -> None:
        super().__init__(disk, path, forsaken=forsaken)
        self._known = known

    def read(self) -> Index:
        """Read the index that the lock guards."""
        return Index.read(self.path, self._known)

    def stage(self, index: Index) -> None:
        """Write the changed index into the lock; nothing changes for readers yet."""
        content = index.dump()
        self.prepare(content)
        self._known.keep(content[-20:], index)

    def save(self, index: Index) -> None:
        """Write the changed index and let it become the file."""
        self.stage(index)
        self.commit()
