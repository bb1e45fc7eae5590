"""Reads packed objects, straight from mapped memory. Law: no state but the maps, so any thread may read at any time;
a map outlives the file, so a collection beside us takes nothing away that was open.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import threading
import time
import zlib
from bisect import bisect_left

from dulwich.pack import apply_delta

from ggactors.repo.faults import Malformed, show

OFS_DELTA = 6
REF_DELTA = 7
MANY = 50
"""Lookups after which a pack's whole index is read,"""
TABLE = 300_000
"""if it has no more objects than this."""
SETTLED = 100_000_000
"""Nanoseconds after which a folder's time tells of every change: a change within one tick of the clock does not show."""
BASES_KEPT = 16 << 20
"""Bytes of delta bases kept at hand."""


class _Slots:
    """The sorted ids of one pack as a sequence for ``bisect``."""

    def __init__(self, index: mmap.mmap, start: int, count: int) -> None:
        self._index = index
        self._start = start
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, position: int) -> bytes:
        at = self._start + 20 * position
        return self._index[at : at + 20]


class Pack:
    """One pack and its index (version 2), mapped."""

    def __init__(self, base: bytes) -> None:
        self.base = base
        self._index = _map(base + b".idx")
        self._pack = _map(base + b".pack")
        if self._index[:8] != b"\xfftOc\x00\x00\x00\x02":
            raise Malformed(f"{show(base)}.idx is not a pack index of version 2; `git repack -ad` rewrites it")
        self._fanout = struct.unpack(">256I", self._index[8:1032])
        self._count = self._fanout[255]
        self._slots = _Slots(self._index, 1032, self._count)
        self._offsets = 1032 + 24 * self._count
        self._large = self._offsets + 4 * self._count
        self._asked = 0
        self._table: dict[bytes, int] | None = None

    def find(self, raw: bytes) -> int | None:
        """Find where the object with this binary id begins, or None."""
        if self._table is not None:
            return self._table.get(raw)
        self._asked += 1
        if self._asked > MANY and self._count <= TABLE:
            self._table = self._whole_table()
            return self._table.get(raw)
        first = raw[0]
        low = self._fanout[first - 1] if first else 0
        high = self._fanout[first]
        position = bisect_left(self._slots, raw, low, high)
        if position >= high or self._slots[position] != raw:
            return None
        at = self._offsets + 4 * position
        return self._far(int.from_bytes(self._index[at : at + 4], "big"))

    def _far(self, offset: int) -> int:
        if offset & 0x80000000:
            at = self._large + 8 * (offset & 0x7FFFFFFF)
            offset = int.from_bytes(self._index[at : at + 8], "big")
        return offset

    def _whole_table(self) -> dict[bytes, int]:
        """Read the whole index: worth it once many are asked for."""
        names = self._index[1032 : 1032 + 20 * self._count]
        offsets = struct.unpack(f">{self._count}I", self._index[self._offsets : self._large])
        table = {names[20 * at : 20 * at + 20]: offset for at, offset in enumerate(offsets)}
        if any(offset & 0x80000000 for offset in offsets):
            table = {name: self._far(offset) for name, offset in table.items()}
        return table

    def header(self, offset: int) -> tuple[int, int, int]:
        """Read an entry's kind, its size when inflated, and where its body begins."""
        pack = self._pack
        byte = pack[offset]
        kind, size, shift = (byte >> 4) & 7, byte & 15, 4
        offset += 1
        while byte & 0x80:
            byte = pack[offset]
            size |= (byte & 0x7F) << shift
            shift += 7
            offset += 1
        return kind, size, offset

    def base_offset(self, offset: int, start: int) -> tuple[int, int]:
        """Read the distance of an offset delta: where its base begins, where its body begins."""
        pack = self._pack
        byte = pack[start]
        distance = byte & 0x7F
        start += 1
        while byte & 0x80:
            byte = pack[start]
            distance = ((distance + 1) << 7) | (byte & 0x7F)
            start += 1
        return offset - distance, start

    def base_id(self, start: int) -> bytes:
        """Read the binary id a reference delta is based on."""
        return self._pack[start : start + 20]

    def inflate(self, start: int, size: int) -> bytes:
        """Inflate the body at ``start`` to exactly ``size`` bytes."""
        if not size:
            return b""
        engine = zlib.decompressobj()
        step = size + (size >> 3) + 64
        room = size + 1  # for all of it at once, and for the end
        out = engine.decompress(self._pack[start : start + step], room)
        while not engine.eof:
            start += step
            more = self._pack[start : start + step]
            if not more:
                break
            out += engine.decompress(more)
        if len(out) != size:
            raise Malformed(f"{show(self.base)}.pack is damaged; `git fsck` shows more")
        return out

    def close(self) -> None:
        """Let the maps go."""
        for each in (self._index, self._pack):
            with contextlib.suppress(BufferError):
                each.close()


def _map(path: bytes) -> mmap.mmap:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)


class Packs:
    """All packs of some object folders, found again when a folder changes."""

    def __init__(self, folders: tuple[bytes, ...]) -> None:
        self._folders = tuple(os.path.join(folder, b"pack") for folder in folders)
        self._packs: dict[bytes, Pack] = {}
        self._stamps: dict[bytes, int] = {}
        self._bases: dict[tuple[bytes, int], tuple[int, bytes]] = {}
        self._kept = 0
        self._lock = threading.Lock()
        self.refresh()

    def refresh(self, *, sure: bool = False) -> bool:
        """Look for packs that appeared; tell whether there are any. ``sure``: also in a folder that shows no change."""
        found = False
        with self._lock:
            for folder in self._folders:
                try:
                    stamp = os.stat(folder).st_mtime_ns
                except FileNotFoundError:
                    continue
                if self._stamps.get(folder) == stamp and not sure:
                    continue
                if time.time_ns() - stamp > SETTLED:
                    self._stamps[folder] = stamp
                for name in os.listdir(folder):
                    base = os.path.join(folder, name[:-4])
                    if name.endswith(b".idx") and not name.startswith(b"tmp_") and base not in self._packs:
                        with contextlib.suppress(FileNotFoundError):
                            self._packs = {**self._packs, base: Pack(base)}
                            found = True
        return found

    def locate(self, raw: bytes) -> tuple[Pack, int] | None:
        """Find the pack that holds a binary id, and where in it."""
        found = self._among_known(raw)
        return self._among_known(raw) if found is None and self.refresh() else found

    def _among_known(self, raw: bytes) -> tuple[Pack, int] | None:
        for pack in self._packs.values():
            offset = pack.find(raw)
            if offset is not None:
                return pack, offset
        return None

    def holds(self, raw: bytes, base: bytes | None = None) -> bool:
        """Tell whether a binary id is in a pack (``base``: that one) that is still on disk: a map alone may outlive its file."""
        return self._on_disk(raw, base) or (self.refresh() and self._on_disk(raw, base))

    def _on_disk(self, raw: bytes, base: bytes | None) -> bool:
        return any(
            pack.find(raw) is not None and os.path.exists(pack.base + b".pack")
            for pack in self._packs.values()
            if base is None or pack.base == base
        )

    def get(self, raw: bytes, *, known: bool = False) -> tuple[int, bytes] | None:
        """Read an object: its kind (1 commit, 2 tree, 3 blob, 4 tag) and its bytes, or None.

        ``known``: look only into packs that were seen before.
        """
        for pack in self._packs.values():
            offset = pack.find(raw)
            if offset is not None:
                return self._read(pack, offset)
        found = None if known else self.locate(raw)
        return None if found is None else self._read(*found)

    def _read(self, pack: Pack, offset: int) -> tuple[int, bytes]:
        kind, size, start = pack.header(offset)
        if kind < OFS_DELTA:
            return kind, pack.inflate(start, size)
        deltas: list[tuple[bytes, int, bytes]] = []
        while True:
            kept = self._bases.get((pack.base, offset))
            if kept is not None:
                kind, content = kept
                break
            kind, size, start = pack.header(offset)
            if kind == OFS_DELTA:
                below, start = pack.base_offset(offset, start)
                deltas.append((pack.base, offset, pack.inflate(start, size)))
                offset = below
            elif kind == REF_DELTA:
                found = self.locate(pack.base_id(start))
                if found is None:
                    raise Malformed(
                        f"{show(pack.base)}.pack builds on an object that is missing; `git fsck` shows more"
                    )
                deltas.append((pack.base, offset, pack.inflate(start + 20, size)))
                pack, offset = found
            else:
                content = pack.inflate(start, size)
                if deltas:
                    self._keep(pack.base, offset, kind, content)
                break
        for position, (base, at, delta) in enumerate(reversed(deltas)):
            content = b"".join(apply_delta(content, delta))
            if position < len(deltas) - 1:
                self._keep(base, at, kind, content)
        return kind, content

    def _keep(self, base: bytes, offset: int, kind: int, content: bytes) -> None:
        if self._kept > BASES_KEPT:
            self._bases = {}
            self._kept = 0
        self._bases[(base, offset)] = (kind, content)
        self._kept += len(content)

    def close(self) -> None:
        """Let every map go."""
        for pack in self._packs.values():
            pack.close()
        self._packs = {}
        self._bases = {}
