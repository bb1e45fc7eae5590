"""Write and edit files under a ground. Law: a file holds its old bytes or its new ones, never a part of either.

New contents are written beside the tree, in the agent's scratch folder, and renamed into place; only where that folder lies
on another file system is the temporary file made in the directory itself. It never outlives the call.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.values import Code
from ggactors.protocol.workbench import FileEdited, FileWritten
from ggactors.tools.paths import Declined, Place, shown
from ggactors.tools.reading import check_regular, check_size, open_file

if TYPE_CHECKING:
    from ggactors.tools.paths import Ground

MOST_EDITED = 64 * 1024 * 1024
"""The largest file that is edited, in bytes."""
_SHOWN_MATCHES = 10


def write_file(ground: Ground, scratch: str, path: str, contents: str, *, most: int | None = None) -> FileWritten:
    """Make a file hold exactly ``contents``, its directories made as needed; an existing one keeps its mode.

    Raises TooLarge for contents of more than ``most`` characters.
    """
    check_size(len(contents), most)
    data = contents.encode("utf-8")
    if path.rpartition("/")[2] in ("", ".", ".."):
        raise Declined(Code.INVALID_ARGUMENT, f"{shown(path)} names a directory, not a file.")
    with ground.place(path, writing=True, make_parents=True) as place:
        _check_writable(place)
        _put(place, data, scratch)
        return FileWritten(path=place.path, bytes=len(data))


def edit_file(
    ground: Ground, scratch: str, path: str, old: str, new: str, *, every: bool, most: int | None = None
) -> FileEdited:
    """Replace ``old`` by ``new`` where it stands exactly once, or everywhere with ``every``.

    In a file whose every line ends with CRLF a bare newline in ``old`` and ``new`` stands for CRLF. Raises Declined:
    ``not-found`` when ``old`` is absent, ``conflict`` when it stands in several places or the file changed meanwhile; and
    TooLarge for a file of more than ``most`` bytes.
    """
    with ground.place(path, writing=True) as place:
        edit = _plan(place, old, new, every=every, most=most)
        _put(place, edit.after, scratch, was=edit.was)
        return FileEdited(path=place.path, replacements=edit.replacements, lines=edit.lines)


def preview_edit(ground: Ground, path: str, old: str, new: str, *, every: bool, most: int | None = None) -> str:
    """Give the whole text the file would hold after that edit, decoded with replacement. Raises what ``edit_file`` raises."""
    with ground.place(path, writing=True) as place:
        return _plan(place, old, new, every=every, most=most).after.decode("utf-8", "replace")


@frozen(kw_only=True)
class _Edit:
    """An edit that can be made: the file as it was read, and what it would hold."""

    was: os.stat_result
    after: bytes
    replacements: int
    lines: tuple[int, ...]


def _plan(place: Place, old: str, new: str, *, every: bool, most: int | None) -> _Edit:
    with open_file(place) as file:
        status = os.fstat(file.fileno())
        check_size(status.st_size, most)
        if status.st_size > MOST_EDITED:
            raise Declined(Code.LIMIT_EXCEEDED, f"{shown(place.path)} is too large to edit; use the shell.")
        data = file.readall()  # type: ignore[attr-defined]  # unbuffered, so a FileIO
    _check_writable(place)
    before, after = _as_in(data, old), _as_in(data, new)
    if not before:
        raise Declined(Code.INVALID_ARGUMENT, "edit_file: `oldString` is empty; send the text to replace.")
    if before == after:
        raise Declined(
            Code.INVALID_ARGUMENT, "edit_file: `oldString` and `newString` are the same; nothing would change."
        )
    found = _places(data, before, overlapping=not every)
    if not found:
        raise Declined(Code.NOT_FOUND, f"`oldString` is not in {shown(place.path)}{_why_absent(data, before, old)}")
    lines = _line_numbers(data, found)
    if len(found) > 1 and not every:
        raise Declined(Code.CONFLICT, _ambiguous(place.path, lines))
    return _Edit(was=status, after=data.replace(before, after), replacements=len(found), lines=lines)


def _as_in(data: bytes, text: str) -> bytes:
    """Encode a text the way the file's lines end."""
    coded = text.encode("utf-8")
    breaks = data.count(b"\n")
    if breaks and breaks == data.count(b"\r\n"):
        return coded.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    return coded


def _places(data: bytes, sought: bytes, *, overlapping: bool) -> list[int]:
    found: list[int] = []
    at = data.find(sought)
    while at >= 0:
        found.append(at)
        at = data.find(sought, at + (1 if overlapping else len(sought)))
    return found


def _line_numbers(data: bytes, places: list[int]) -> tuple[int, ...]:
    lines: list[int] = []
    line, at = 1, 0
    for place in places:
        line += data.count(b"\n", at, place)
        at = place
        lines.append(line)
    return tuple(lines)


def _ambiguous(path: str, lines: tuple[int, ...]) -> str:
    listed = ", ".join(map(str, lines[:_SHOWN_MATCHES])) + (" …" if len(lines) > _SHOWN_MATCHES else "")
    return (
        f"`oldString` stands {len(lines)} times in {shown(path)}, on lines {listed}; "
        "send more of the text around the one you mean, or `all` to replace every one."
    )


def _why_absent(data: bytes, sought: bytes, old: str) -> str:
    """Name the likely cause, since the model cannot see bytes."""
    if data.replace(b"\r\n", b"\n").count(sought.replace(b"\r\n", b"\n")):
        return "; its lines end partly with CRLF and partly with LF: send them exactly."
    if "\ufffd" in old:
        return "; the file has bytes that are not UTF-8, shown as \ufffd: leave them out of `oldString`."
    stripped = sought.strip()
    if stripped and stripped in data:
        return "; the text is there with other white space around it. Read the file and send it exactly."
    return "; read the file and send the text exactly, white space included."


def _check_writable(place: Place) -> None:
    if place.name == ".":
        raise Declined(Code.INVALID_ARGUMENT, f"{shown(place.path)} is a directory, not a file.")
    if place.status is None:
        return
    check_regular(place, place.status.st_mode)
    # A rename would replace a file that its mode protects; say what opening it for writing would say.
    if not os.access(place.name, os.W_OK, dir_fd=place.directory):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place.path)


def make_folder(path: str) -> None:
    """Make a folder of the agent's own, with its parents, unless it is there."""
    Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)


def _put(place: Place, data: bytes, scratch: str, was: os.stat_result | None = None) -> None:
    """Put ``data`` where ``place`` is, all or nothing. ``was`` is the file as it was read, for an edit."""
    try:
        make_folder(scratch)
        beside = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        _put_from(place.directory, place, data, was)
        return
    try:
        if os.fstat(beside).st_dev == os.fstat(place.directory).st_dev:
            try:
                _put_from(beside, place, data, was)
            except OSError as error:
                if error.errno != errno.EXDEV:  # a bind mount has the same device and yet cannot be renamed across
                    raise
            else:
                return
        _put_from(place.directory, place, data, was)
    finally:
        os.close(beside)


def _put_from(directory: int, place: Place, data: bytes, was: os.stat_result | None) -> None:
    name = f".ggactors-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o666, dir_fd=directory)  # the umask applies to new files
    try:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            if place.status is not None:
                _keep_marks(descriptor, place.status)
        finally:
            os.close(descriptor)
        _check_unchanged(place, was)
        os.rename(name, place.name, src_dir_fd=directory, dst_dir_fd=place.directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=directory)
        raise


def _keep_marks(descriptor: int, status: os.stat_result) -> None:
    made = os.fstat(descriptor)
    if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
        with suppress(PermissionError):  # only the superuser may give a file away; the contents matter more
            os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _check_unchanged(place: Place, was: os.stat_result | None) -> None:
    """Raise Declined when an edit would overwrite what somebody else has written since it was read."""
    if was is None:
        return
    try:
        now = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
    except FileNotFoundError:
        now = None
    if now is None or (now.st_ino, now.st_size, now.st_mtime_ns) != (was.st_ino, was.st_size, was.st_mtime_ns):
        raise Declined(Code.CONFLICT, f"{shown(place.path)} changed while it was edited; read it and edit again.")
