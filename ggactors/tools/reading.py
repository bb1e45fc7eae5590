"""Read files and directories under a ground. Law: blocking calls, bounded results, nothing followed that the walk did not.

Everything here raises Declined for what the caller did wrong and OSError for what the world refuses.
"""

from __future__ import annotations

import codecs
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

from attrs import frozen

from ggactors.protocol.values import Code
from ggactors.protocol.workbench import DirEntry, DirListed, FileRead
from ggactors.tools.paths import Declined, Place, shown

if TYPE_CHECKING:
    from ggactors.tools.paths import Ground

MOST_BYTES = 256 * 1024
"""The most bytes of a file one read shows."""
COUNTED = 64 * 1024 * 1024
"""The largest file whose lines are counted to the end."""
MOST_ENTRIES = 2000
"""The most entries of a directory one listing shows."""
_PIECE = 256 * 1024
_LOOKED_AT = 8192

_MAGIC = (
    (b"\x89PNG\r\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "ELF program or library"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)


def open_file(place: Place) -> BinaryIO:
    """Open the regular file at a place for reading. Raises Declined when it is anything else."""
    if place.status is None:
        raise Declined(Code.NOT_FOUND, f"there is no file {shown(place.path)}.")
    check_regular(place, place.status.st_mode)
    # Not blocking, so that a pipe that has just taken the file's place cannot hang the read; the check below sees it.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(place.name, flags, dir_fd=place.directory)
    try:
        check_regular(place, os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def check_regular(place: Place, mode: int) -> None:
    """Raise Declined unless ``mode`` is a regular file's."""
    if stat.S_ISDIR(mode):
        raise Declined(Code.INVALID_ARGUMENT, f"{shown(place.path)} is a directory; list it with list_dir.")
    if not stat.S_ISREG(mode):
        raise Declined(Code.REFUSED, f"{shown(place.path)} is no regular file (a device, pipe or socket).")


class TooLarge(Exception):  # noqa: N818 - flow control inside the workbench
    """A file is larger than the caller wants to handle at once; nothing was done."""


def check_size(size: int, most: int | None) -> None:
    """Raise TooLarge when a file has more than ``most`` bytes; None allows any."""
    if most is not None and size > most:
        raise TooLarge


def read_file(ground: Ground, path: str, offset: int | None, limit: int | None, *, most: int | None = None) -> FileRead:
    """Read a file's lines from ``offset`` (counted from 1), at most ``limit`` of them and at most 256 KiB.

    Raises TooLarge for a file of more than ``most`` bytes.
    """
    with ground.place(path) as place, open_file(place) as file:
        size = os.fstat(file.fileno()).st_size
        check_size(size, most)
        head = file.read(_LOOKED_AT)
        if b"\0" in head:
            return FileRead(path=place.path, text="", size=size, binary=_kind(head))
        file.seek(0)
        start = offset or 1
        skipped = _skip(file, start - 1)
        if skipped < start - 1 or (skipped and not _more(file)):
            lines = f"{skipped} line{'' if skipped == 1 else 's'}"
            raise Declined(Code.INVALID_ARGUMENT, f"{shown(place.path)} has {lines}; offset {start} is past its end.")
        window = _window(_read_up_to(file, MOST_BYTES + 1), limit)
        whole = start == 1 and window.used == size
        total = window.lines if whole else _total(file, start, window) if size <= COUNTED else None
        return FileRead(
            path=place.path,
            text=window.text,
            size=size,
            first=start,
            last=start + window.lines - 1,
            total=total,
            cut=window.cut,
        )


def list_dir(ground: Ground, path: str, *, most: int | None = None) -> DirListed:
    """List a directory by name. Links are listed as links, whatever they lead to.

    Raises TooLarge for a directory of more than ``most`` bytes (what the file system needs for its names).
    """
    with ground.place(path) as place:
        if place.status is None:
            raise Declined(Code.NOT_FOUND, f"there is no directory {shown(place.path)}.")
        if not stat.S_ISDIR(place.status.st_mode):
            raise Declined(Code.INVALID_ARGUMENT, f"{shown(place.path)} is a file; read it with read_file.")
        check_size(place.status.st_size, most)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(place.name, flags, dir_fd=place.directory)
        try:
            with os.scandir(descriptor) as entries:
                found = sorted((entry.name, _entry_kind(entry)) for entry in entries)
        finally:
            os.close(descriptor)
        return DirListed(
            path=place.path,
            entries=tuple(DirEntry(name=name, kind=kind) for name, kind in found[:MOST_ENTRIES]),
            omitted=max(len(found) - MOST_ENTRIES, 0),
        )


def _entry_kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _kind(head: bytes) -> str:
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), "binary data")


@frozen
class _Window:
    """The lines shown. ``used`` counts their bytes; ``cut`` marks a single line that was too long."""

    text: str
    lines: int
    used: int
    cut: bool


def _window(block: bytes, limit: int | None) -> _Window:
    """Take whole lines from the front of a block, as many as asked for and as fit; of one that alone does not fit, its head."""
    end, lines = 0, 0
    while end < len(block) and (limit is None or lines < limit):
        newline = block.find(b"\n", end)
        after = len(block) if newline < 0 else newline + 1
        if after > MOST_BYTES:
            break
        end, lines = after, lines + 1
    if lines or not block:
        return _Window(block[:end].decode("utf-8", "replace"), lines, end, cut=False)
    # The decoder keeps a character that the cut splits to itself.
    return _Window(codecs.getincrementaldecoder("utf-8")("replace").decode(block[:MOST_BYTES]), 1, MOST_BYTES, cut=True)


def _skip(file: BinaryIO, lines: int) -> int:
    """Move to the beginning of a line; answer how many lines were passed, fewer at the end of the file."""
    passed, at, ended = 0, 0, True
    while passed < lines:
        piece = file.read(_PIECE)
        if not piece:
            return passed if ended else passed + 1
        here = piece.count(b"\n")
        if passed + here < lines:
            passed, at, ended = passed + here, at + len(piece), piece.endswith(b"\n")
            continue
        end = 0
        while passed < lines:
            end = piece.index(b"\n", end) + 1
            passed += 1
        file.seek(at + end)
    return passed


def _more(file: BinaryIO) -> bool:
    here = file.tell()
    more = bool(file.read(1))
    file.seek(here)
    return more


def _read_up_to(file: BinaryIO, most: int) -> bytes:
    pieces: list[bytes] = []
    while most > 0 and (piece := file.read(most)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _total(file: BinaryIO, start: int, window: _Window) -> int:
    """Count the file's lines, given that it has just been read to the end of the window's block."""
    if window.lines == 0:
        return start - 1
    file.seek(0)
    count, last = 0, b"\n"
    while piece := file.read(_PIECE):
        count += piece.count(b"\n")
        last = piece[-1:]
    return count + (last != b"\n")
