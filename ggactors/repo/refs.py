"""Refs and their logs, as git keeps them. Law: a ref moves only from the value it is expected to have, under git's own lock,
and a lock that somebody holds is waited for.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import threading
import time
from typing import TYPE_CHECKING

from attrs import frozen
from dulwich.refs import Ref, check_ref_format

from ggactors.repo.disk import Disk, Lock, make_folders
from ggactors.repo.faults import Malformed, RefMoved, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ggactors.repo.objects import Sha

ZERO = b"0" * 40
HEADS = b"refs/heads/"
_PER_WORKTREE = (b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/")
_DELETING = threading.Lock()
_MOVE = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) ")


@frozen(kw_only=True)
class Head:
    """Where a working tree stands: on a ref (its full name) or detached; ``commit`` is None on an unborn branch."""

    ref: bytes | None
    commit: Sha | None


def valid_name(name: bytes) -> bool:
    """Tell whether git would accept this full ref name."""
    return name.startswith(b"refs/") and bool(check_ref_format(Ref(name)))


def head_log(gitdir: bytes, since: int = 0) -> list[tuple[Sha, Sha]]:
    """Read off the log of a working tree's HEAD what it stood on before and after each move, oldest first.

    ``since`` is how many bytes of it are passed over. A line that is damaged is left out; no log is an empty one.
    """
    try:
        with open(os.path.join(gitdir, b"logs", b"HEAD"), "rb") as file:
            file.seek(since)
            moves = map(_MOVE.match, file.read().splitlines())
    except OSError:
        return []
    return [(move[1], move[2]) for move in moves if move is not None]


class Refs:
    """Refs of one repository as seen from one of its working trees."""

    def __init__(
        self,
        common: bytes,
        gitdir: bytes | None = None,
        *,
        disk: Disk | None = None,
        ident: bytes = b"",
        log: bool = True,
        forsaken: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.common = common
        self.gitdir = gitdir or common
        self.disk = disk or Disk()
        self._ident = ident
        self._log_new = log
        self._forsaken = forsaken

    def _lock(self, path: bytes) -> Lock:
        return Lock(self.disk, path, forsaken=self._forsaken)

    def path(self, name: bytes) -> bytes:
        """Say where a ref's own file lies."""
        private = not name.startswith(b"refs/") or name.startswith(_PER_WORKTREE)
        return os.path.join(self.gitdir if private else self.common, name)

    def read(self, name: bytes) -> Sha | None:
        """Read the commit a ref comes to, through symbolic ones; None when there is none."""
        value = self._resolved(name)
        if value is not None and value.startswith(b"ref:"):
            raise Malformed(f"{show(name)} is a symbolic ref without end; `git symbolic-ref --delete` removes one")
        return value

    def _resolved(self, name: bytes) -> bytes | None:
        for _ in range(5):
            value = self._value(name)
            if value is None or not value.startswith(b"ref:"):
                return value
            name = value[4:].strip()
        return value

    def is_symbolic(self, name: bytes) -> bool:
        """Tell whether a ref only points to another."""
        return (self._value(name) or b"").startswith(b"ref:")

    def put_plain(self, name: bytes, sha: Sha) -> None:
        """Make a ref that somebody made symbolic hold a commit again; what it pointed to is left alone. Raises Locked."""
        with self._lock(self.path(name)) as lock:
            lock.prepare(sha + b"\n")
            lock.commit()

    def _value(self, name: bytes) -> bytes | None:
        for _ in range(2):  # twice: packed away between the two looks
            try:
                with open(self.path(name), "rb") as file:
                    value = file.read().strip()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                value = self._packed().get(name, b"")
            if value:
                break
        if not value:
            return None
        if not value.startswith(b"ref:") and (len(value) != 40 or value.strip(b"0123456789abcdef")):
            raise Malformed(f"{show(self.path(name))} does not hold a ref")
        return value

    def _packed(self) -> dict[bytes, bytes]:
        try:
            with open(os.path.join(self.common, b"packed-refs"), "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return {}
        return {line[41:].strip(): line[:40] for line in lines if line[:1] not in (b"", b"#", b"^")}

    def head(self) -> Head:
        """Read where the working tree stands."""
        value = self._value(b"HEAD")
        if value is None:
            raise Malformed(f"{show(self.gitdir)} has no readable HEAD")
        if value.startswith(b"ref:"):
            name = value[4:].strip()
            return Head(ref=name, commit=self.read(name))
        return Head(ref=None, commit=value)

    def under(self, prefix: bytes) -> dict[bytes, Sha]:
        """Name every ref below a prefix (which ends in a slash) with its commit."""
        found = {name: sha for name, sha in self._packed().items() if name.startswith(prefix)}
        for name in self._loose(prefix):
            value = self._resolved(name)
            if value is not None and not value.startswith(b"ref:"):  # git passes over one without end as well
                found[name] = value
        return found

    def _loose(self, prefix: bytes) -> Iterator[bytes]:
        for folder, _, names in os.walk(os.path.join(self.common, prefix)):
            for name in names:
                if not name.endswith(b".lock"):
                    yield os.path.relpath(os.path.join(folder, name), self.common)

    def move(self, name: bytes, new: Sha, old: Sha | None, message: str) -> None:
        """Set a ref to ``new`` if it is at ``old`` (None: must not exist). Raises RefMoved, Locked."""
        path = self.path(name)
        make_folders(self.disk, os.path.dirname(path))
        with self._lock(path) as lock:
            found = self.read(name)
            if found != old:
                raise RefMoved(name, old, found)
            lock.prepare(new + b"\n")
            try:
                lock.commit()
            except IsADirectoryError:
                self._clear_empty(path)
                lock.commit()
        self.log(name, old, new, message)

    @staticmethod
    def _clear_empty(path: bytes) -> None:
        for folder, _, _ in os.walk(path, topdown=False):
            os.rmdir(folder)

    def delete(self, name: bytes, old: Sha | None = None) -> None:
        """Remove a ref wherever it is kept, with its log. ``old``: only when it is there. A ref that is gone is fine."""
        path = self.path(name)
        with _DELETING:
            if not os.path.isdir(os.path.dirname(path)) and name not in self._packed():
                return
            make_folders(self.disk, os.path.dirname(path))
            with self._lock(path):
                found = self.read(name)
                if found is None:
                    return
                if old is not None and found != old:
                    raise RefMoved(name, old, found)
                self._unpack(name)
                self.disk.forget(path)
        self.disk.forget(os.path.join(self.common, b"logs", name))

    def _unpack(self, name: bytes) -> None:
        if name not in self._packed():
            return
        path = os.path.join(self.common, b"packed-refs")
        with self._lock(path) as lock:
            with open(path, "rb") as file:
                lines = file.read().splitlines(keepends=True)
            kept, dropping = [], False
            for line in lines:
                if line[:1] == b"^":
                    if not dropping:
                        kept.append(line)
                    continue
                dropping = line[:1] != b"#" and line[41:].strip() == name
                if not dropping:
                    kept.append(line)
            lock.prepare(b"".join(kept))
            lock.commit()

    def stand_on(self, ref: bytes, message: str) -> None:
        """Put HEAD on a ref."""
        before = self.head().commit if os.path.exists(os.path.join(self.gitdir, b"HEAD")) else None
        with self._lock(os.path.join(self.gitdir, b"HEAD")) as lock:
            lock.prepare(b"ref: " + ref + b"\n")
            lock.commit()
        self.log(b"HEAD", before, self.read(ref), message)

    def move_head(self, new: Sha, old: Sha | None, message: str) -> None:
        """Move the ref HEAD is on (or a detached HEAD itself) from ``old`` to ``new``, both logs written."""
        head = self.head()
        if head.ref is None:
            self.move(b"HEAD", new, old, message)
            return
        self.move(head.ref, new, old, message)
        self.log(b"HEAD", old, new, message)

    def log(self, name: bytes, old: Sha | None, new: Sha | None, message: str) -> None:
        """Append to a ref's log, where git would keep one. A log that cannot be written stops nothing."""
        private = name == b"HEAD" or name.startswith(_PER_WORKTREE)
        path = os.path.join(self.gitdir if private else self.common, b"logs", name)
        kept = name == b"HEAD" or name.startswith((HEADS, b"refs/remotes/", b"refs/notes/"))
        if not os.path.exists(path) and not (self._log_new and kept):
            return
        zone = time.strftime("%z").encode() or b"+0000"
        subject = " ".join(message.split()).encode("utf-8", "surrogateescape")
        line = b"%s %s %s %d %s\t%s\n" % (old or ZERO, new or ZERO, self._ident, time.time(), zone, subject)
        with contextlib.suppress(OSError):
            self.disk.step("log", path)
            make_folders(self.disk, os.path.dirname(path))
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            try:
                if os.write(handle, line) != len(line):
                    raise OSError(errno.ENOSPC, "short write", path)
            finally:
                os.close(handle)
