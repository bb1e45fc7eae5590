"""The record of a move of a checkout that is going on. Law: whoever finds one brings the checkout to exactly before or after."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import time
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.repo.disk import LOCK_WAIT
from ggactors.repo.faults import Locked, Malformed, show
from ggactors.repo.index import file_mode
from ggactors.repo.objects import GITLINK
from ggactors.repo.preflight import holds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.repo.objects import Entry, Sha
    from ggactors.repo.place import Place
    from ggactors.repo.trees import Changes

_FILE = b"ggactors-move.json"
_FOLDER = b"ggactors-move"


@frozen(kw_only=True)
class Journal:
    """What a move was going to do: paths in the order their files are numbered, with what is and what shall be there."""

    ref: bytes
    old: Sha
    new: Sha
    lock_inode: int
    paths: tuple[tuple[bytes, Entry | None, Entry | None], ...]
    folders: tuple[bytes, ...]
    """Folders that are not there yet and will be made, outermost first."""

    @classmethod
    def of(
        cls, place: Place, ref: bytes, old: Sha, new: Sha, changes: Changes, present: Mapping[bytes, Entry]
    ) -> Journal:
        """Describe a move about to begin."""
        return cls(
            ref=ref,
            old=old,
            new=new,
            lock_inode=os.stat(place.index_path + b".lock").st_ino,
            paths=tuple((path, present.get(path), changes[path]) for path in sorted(changes)),
            folders=_missing_folders(
                place,
                [path + b"/" if entry[0] == GITLINK else path for path, entry in changes.items() if entry is not None],
            ),
        )

    def dump(self) -> bytes:
        """Serialise; bytes travel as latin-1."""
        return json.dumps(
            {
                "ref": _text(self.ref),
                "old": _text(self.old),
                "new": _text(self.new),
                "lock": self.lock_inode,
                "paths": [[_text(path), _entry_out(was), _entry_out(will)] for path, was, will in self.paths],
                "folders": [_text(folder) for folder in self.folders],
            }
        ).encode()

    @classmethod
    def parse(cls, content: bytes) -> Journal:
        """Read one back. Raises ValueError or KeyError when it is not one."""
        found = json.loads(content)
        return cls(
            ref=_bytes(found["ref"]),
            old=_bytes(found["old"]),
            new=_bytes(found["new"]),
            lock_inode=int(found["lock"]),
            paths=tuple((_bytes(path), _entry_in(was), _entry_in(will)) for path, was, will in found["paths"]),
            folders=tuple(_bytes(folder) for folder in found["folders"]),
        )


def _missing_folders(place: Place, paths: list[bytes]) -> tuple[bytes, ...]:
    missing: set[bytes] = set()
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in missing and not os.path.isdir(place.on_disk(folder)):
            missing.add(folder)
            folder = folder.rpartition(b"/")[0]
    return tuple(sorted(missing))


def _text(value: bytes) -> str:
    return value.decode("latin-1")


def _bytes(value: str) -> bytes:
    return value.encode("latin-1")


def _entry_out(entry: Entry | None) -> list[object] | None:
    return None if entry is None else [entry[0], _text(entry[1])]


def _entry_in(value: list[object] | None) -> Entry | None:
    return None if value is None else (int(str(value[0])), _bytes(str(value[1])))


def journal_path(place: Place) -> bytes:
    """Say where the journal of a working tree lies."""
    return os.path.join(place.gitdir, _FILE)


def staging_of(place: Place) -> bytes:
    """Choose where files wait: beside the git folder, or in the working tree when that is on another device."""
    same = os.stat(place.gitdir).st_dev == os.stat(place.root).st_dev
    return os.path.join(place.gitdir, _FOLDER) if same else os.path.join(place.root, b"." + _FOLDER)


class OpenJournal:
    """A journal in force: durable, and locked for as long as this process is at it, so that nobody takes it for a dead one's."""

    def __init__(self, place: Place, journal: Journal) -> None:
        self._place = place
        self._temporary = b"%s.%d.%d~" % (journal_path(place), os.getpid(), time.monotonic_ns())
        place.disk.sweep(staging_of(place))  # of a move that was over: its journal is gone
        place.disk.make(self._temporary, b"")
        self._handle = os.open(self._temporary, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            place.disk.write(self._handle, journal.dump(), self._temporary)
            os.fsync(self._handle)
            place.disk.rename(self._temporary, journal_path(place))
        except BaseException:
            os.close(self._handle)
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)
            raise

    def close(self) -> None:
        """Drop journal and staging: the move is over, one way or the other.

        A disk that refuses even that undoes nothing: the next ``recover`` finds the move finished, or undone already.
        """
        try:
            with contextlib.suppress(OSError):
                _forget(self._place)
        finally:
            with contextlib.suppress(OSError):
                os.close(self._handle)


def _forget(place: Place) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(journal_path(place))
    place.disk.sweep(staging_of(place))


def _take_over(path: bytes) -> int | None:
    """Open a dead process's journal, waiting for one that lives; None when there is none (any more). Raises Locked."""
    deadline = time.monotonic() + LOCK_WAIT
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_nlink:
                return handle
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(handle)
                raise Locked(path) from None
        os.close(handle)
        time.sleep(0.02)


def recover(place: Place) -> str | None:
    """Finish or undo a move that a dead process left; say which, or None when there was none. Raises Locked, Malformed."""
    for leftover in glob.glob(glob.escape(journal_path(place)) + b".*~"):
        handle = _take_over(leftover)
        if handle is not None:
            os.unlink(leftover)
            os.close(handle)
    handle = _take_over(journal_path(place))
    if handle is None:
        return None
    try:
        return _recover(place, handle)
    finally:
        os.close(handle)


def _recover(place: Place, handle: int) -> str:
    try:
        with os.fdopen(handle, "rb", closefd=False) as file:
            journal = Journal.parse(file.read())
    except (ValueError, KeyError, TypeError) as error:
        raise Malformed(f"{show(journal_path(place))} is not readable; look at it and remove it") from error
    lock = place.index_path + b".lock"
    with contextlib.suppress(FileNotFoundError):
        if os.stat(lock).st_ino == journal.lock_inode:
            os.unlink(lock)
    if journal.new != journal.old and place.refs.read(journal.ref) == journal.new:
        _forward(place, journal)
        outcome = "finished"
    else:
        _back(place, journal)
        outcome = "undone"
    _forget(place)
    return outcome


def _forward(place: Place, journal: Journal) -> None:
    with place.lock() as lock:
        index = lock.read()
        for path, _, will in journal.paths:
            if will is None:
                index.remove(path)
        for path, _, will in journal.paths:
            if will is not None:
                found = os.lstat(place.on_disk(path)) if os.path.lexists(place.on_disk(path)) else None
                index.set(path, will, found)
        lock.save(index)


def _back(place: Place, journal: Journal) -> None:
    staging = staging_of(place)
    with place.lock() as lock:
        ends = place.line_ends(lock.read())
        for number, (path, was, will) in enumerate(journal.paths):
            target = place.on_disk(path)
            aside = b"%s/o%d" % (staging, number)
            untouched = was is not None and not os.path.lexists(aside)
            if will is None or untouched or not os.path.lexists(target):
                continue
            if holds(place, ends, target, path, will, file_mode(os.lstat(target).st_mode)):
                os.unlink(target)
        for folder in reversed(journal.folders):
            with contextlib.suppress(OSError):
                os.rmdir(place.on_disk(folder))
        for number, (path, was, _) in enumerate(journal.paths):
            aside = b"%s/o%d" % (staging, number)
            target = place.on_disk(path)
            if os.path.lexists(target):
                continue
            if was is not None and was[0] == GITLINK:
                os.makedirs(target)
            elif os.path.lexists(aside):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.rename(aside, target)
