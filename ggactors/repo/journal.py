"""The record of a move of a checkout that is going on. Law: whoever finds one brings the checkout to exactly before or after."""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.repo.faults import Malformed, show
from ggactors.repo.index import file_mode
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
            folders=_missing_folders(place, [path for path, entry in changes.items() if entry is not None]),
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


def write_journal(place: Place, journal: Journal) -> None:
    """Make the journal durable before anything else is touched."""
    place.disk.put(journal_path(place), journal.dump(), sync=True)


def forget(place: Place) -> None:
    """Drop journal and staging: the move is over, one way or the other."""
    with contextlib.suppress(OSError):
        os.unlink(journal_path(place))
    place.disk.sweep(staging_of(place))


def recover(place: Place) -> str | None:
    """Finish or undo a move that a dead process left; say which, or None when there was none (call only without live agents)."""
    try:
        with open(journal_path(place), "rb") as file:
            journal = Journal.parse(file.read())
    except FileNotFoundError:
        return None
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
    forget(place)
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
        for number, (path, _, _) in enumerate(journal.paths):
            aside = b"%s/o%d" % (staging, number)
            target = place.on_disk(path)
            if os.path.lexists(aside) and not os.path.lexists(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.rename(aside, target)
