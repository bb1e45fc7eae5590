"""Writes many objects as one pack. Law: the pack appears whole, its index last, or not at all; equal objects are written once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import time
import zlib
from binascii import hexlify
from itertools import accumulate
from typing import TYPE_CHECKING

from ggactors.repo.disk import Disk, make_folders
from ggactors.repo.objects import Sha, binary_digest

if TYPE_CHECKING:
    from typing import BinaryIO, Self


class PackWriter:
    """One pack being written into an object folder; use it as a context, ``finish`` inside."""

    def __init__(self, folder: bytes, disk: Disk, *, level: int = 1) -> None:
        self._folder = os.path.join(folder, b"pack")
        self._disk = disk
        self._level = level
        self._entries: dict[bytes, tuple[int, int]] = {}
        self._offset = 12
        mark = b"%d_%d" % (os.getpid(), time.monotonic_ns())
        self._temporary = b"%s/tmp_pack_%s" % (self._folder, mark)
        self._temporary_index = b"%s/tmp_idx_%s" % (self._folder, mark)
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        """Open the temporary file."""
        make_folders(self._disk, self._folder)
        self._disk.step("pack", self._temporary)
        self._file = open(self._temporary, "xb", buffering=1 << 20)
        self._file.write(b"PACK" + struct.pack(">II", 2, 0))
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing temporary behind."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        for leftover in (self._temporary, self._temporary_index):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(leftover)

    def __len__(self) -> int:
        """Count the objects written."""
        return len(self._entries)

    def add(self, kind: int, content: bytes) -> Sha:
        """Write an object; answer its id."""
        binary = binary_digest(kind, content)
        sha = hexlify(binary)
        if binary in self._entries:
            return sha
        size = len(content)
        byte = (kind << 4) | (size & 15)
        size >>= 4
        head = bytearray()
        while size:
            head.append(byte | 0x80)
            byte = size & 0x7F
            size >>= 7
        head.append(byte)
        body = bytes(head) + zlib.compress(content, self._level)
        assert self._file is not None
        self._file.write(body)
        self._entries[binary] = (self._offset, zlib.crc32(body))
        self._offset += len(body)
        return sha

    def finish(self) -> bytes | None:
        """Give the pack its name; None when it would be empty."""
        assert self._file is not None
        if not self._entries:
            return None
        self._disk.step("pack", self._temporary)
        self._file.flush()
        os.pwrite(self._file.fileno(), struct.pack(">I", len(self._entries)), 8)
        seal = hashlib.sha1(usedforsecurity=False)
        with open(self._temporary, "rb") as written:
            while block := written.read(1 << 20):
                seal.update(block)
        self._file.write(seal.digest())
        self._file.flush()
        os.fsync(self._file.fileno())
        os.fchmod(self._file.fileno(), 0o444)
        rows = sorted((sha, offset, crc) for sha, (offset, crc) in self._entries.items())
        name = hashlib.sha1(b"".join(row[0] for row in rows), usedforsecurity=False).hexdigest().encode()
        base = os.path.join(self._folder, b"pack-" + name)
        if os.path.exists(base + b".idx"):
            return base
        self._disk.step("pack", self._temporary_index)
        with open(self._temporary_index, "xb") as index:
            index.write(_index_bytes(rows, seal.digest()))
            index.flush()
            os.fsync(index.fileno())
            os.fchmod(index.fileno(), 0o444)
        self._disk.rename(self._temporary, base + b".pack")
        self._disk.rename(self._temporary_index, base + b".idx")
        return base


def _index_bytes(rows: list[tuple[bytes, int, int]], seal: bytes) -> bytes:
    """Make a pack index of version 2 out of sorted rows: id, offset, checksum."""
    counts = [0] * 256
    for sha, _, _ in rows:
        counts[sha[0]] += 1
    fanout = list(accumulate(counts))
    far = [offset for _, offset, _ in rows if offset >= 0x80000000]
    near = iter(range(len(far)))
    offsets = [offset if offset < 0x80000000 else 0x80000000 | next(near) for _, offset, _ in rows]
    count = len(rows)
    body = b"".join(
        (
            b"\xfftOc\x00\x00\x00\x02",
            struct.pack(">256I", *fanout),
            *(row[0] for row in rows),
            struct.pack(f">{count}I", *(row[2] for row in rows)),
            struct.pack(f">{count}I", *offsets),
            struct.pack(f">{len(far)}Q", *far),
            seal,
        )
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()
