"""Every write to a disk goes through here. Law: a file another process may read appears whole or not at all.

``step`` is called before each write and may raise: that is how tests make a disk fail at its n-th write.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from typing import TYPE_CHECKING

from ggactors.repo.faults import Locked

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

LOCK_WAIT = 10.0
"""Seconds a lock of another git process is waited for."""

STALE_WAIT = 2.0
"""Seconds a lock must have stayed the same before it is asked whether anybody holds it."""


class Disk:
    """The writes git work is made of."""

    def step(self, call: str, path: bytes) -> None:
        """Be told of the write that is about to happen."""

    def make(self, path: bytes, content: bytes, *, mode: int = 0o666, sync: bool = False) -> os.stat_result:
        """Create a file that must not exist and write it whole; answer its stat. What was begun is removed on failure."""
        self.step("make", path)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            if content:
                self.write(handle, content, path)
            if sync:
                os.fsync(handle)
            return os.fstat(handle)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        finally:
            os.close(handle)

    def fill(self, folder: int, name: bytes, path: bytes, content: bytes, mode: int) -> os.stat_result:
        """Create a file in a folder that is held open, as ``make`` does: its way is not looked up again for each of many."""
        self.step("make", path)
        try:
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
        except OSError as error:
            raise OSError(error.errno, os.strerror(error.errno or errno.EIO), path) from error
        try:
            if content:
                self.write(handle, content, path)
            return os.fstat(handle)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise
        finally:
            os.close(handle)

    def write(self, handle: int, content: bytes, path: bytes) -> None:
        """Write all of ``content``; a disk that refuses names ``path``."""
        self.step("write", path)
        try:
            written = os.write(handle, content)
            while written < len(content):
                written += os.write(handle, memoryview(content)[written:])
        except OSError as error:
            raise OSError(error.errno, os.strerror(error.errno or errno.EIO), path) from error

    def put(self, path: bytes, content: bytes, *, sync: bool = False) -> None:
        """Write a file so that readers see the old or the new one, whole."""
        temporary = b"%s.%d.%d~" % (path, os.getpid(), time.monotonic_ns())
        self.make(temporary, content, sync=sync)
        try:
            self.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def rename(self, source: bytes, target: bytes) -> None:
        """Move a file or folder, replacing a file at ``target``."""
        self.step("rename", target)
        os.rename(source, target)

    def place(self, source: bytes, target: bytes) -> None:
        """Move a file to a name that must be free; ``FileExistsError`` when it is not."""
        self.step("place", target)
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
                raise
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from error
            os.rename(source, target)
        else:
            os.unlink(source)

    def symlink(self, content: bytes, path: bytes) -> os.stat_result:
        """Create a symbolic link that must not exist."""
        self.step("symlink", path)
        os.symlink(content, path)
        return os.lstat(path)

    def mkdir(self, path: bytes) -> None:
        """Create one folder that must not exist."""
        self.step("mkdir", path)
        os.mkdir(path)

    def rmdir(self, path: bytes) -> None:
        """Remove one empty folder."""
        self.step("rmdir", path)
        os.rmdir(path)

    def unlink(self, path: bytes) -> None:
        """Remove one file or link."""
        self.step("unlink", path)
        os.unlink(path)

    def forget(self, path: bytes) -> None:
        """Remove a file of git's own if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self.unlink(path)

    def sweep(self, path: bytes) -> None:
        """Remove a folder of the runtime's own with all that is in it, as far as the disk allows."""
        shutil.rmtree(path, ignore_errors=True)
        if os.path.isdir(path):
            for folder, _, _ in os.walk(path):
                with contextlib.suppress(OSError):
                    os.chmod(folder, 0o700)
            shutil.rmtree(path, ignore_errors=True)


class Lock:
    """A git lock file (``<file>.lock``) held from entry to exit; ``commit`` makes its content the file's (W8).

    Others' locks are waited for up to ``LOCK_WAIT`` seconds, then ``Locked`` names the file. Never steals one, unless it stayed
    the same for ``STALE_WAIT`` seconds and ``forsaken`` says that nobody can hold it (an agent's git that was killed).
    """

    def __init__(
        self, disk: Disk, path: bytes, *, wait: float = LOCK_WAIT, forsaken: Callable[[bytes], bool] | None = None
    ) -> None:
        self.disk = disk
        self.path = path
        self.lock = path + b".lock"
        self.prepared = False
        self._wait = wait
        self._forsaken = forsaken
        self._handle: int | None = None
        self._held = False

    def __enter__(self) -> Self:
        """Take the lock, waiting for its holder."""
        deadline = time.monotonic() + self._wait
        pause = 0.001
        seen, since = None, 0.0
        self.disk.step("lock", self.lock)
        while True:
            try:
                self._handle = os.open(self.lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            except FileExistsError:
                now, mark = time.monotonic(), self._mark()
                if mark != seen:
                    seen, since = mark, now
                elif self._forsaken is not None and now - since >= STALE_WAIT:
                    since = now
                    if self._forsaken(self.lock) and self._mark() == mark:
                        self.disk.forget(self.lock)
                        continue
                if now >= deadline:
                    raise Locked(self.lock) from None
                time.sleep(pause)
                pause = min(pause * 2, 0.05)
            else:
                self._held = True
                return self

    def _mark(self) -> tuple[int, int, int] | None:
        """Tell one lock file from the next of the same name."""
        try:
            found = os.lstat(self.lock)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def prepare(self, content: bytes, *, sync: bool = False) -> None:
        """Write the file-to-be into the lock; nothing changes for readers yet."""
        assert self._handle is not None
        self.disk.write(self._handle, content, self.lock)
        self.prepared = True
        if sync:
            os.fsync(self._handle)

    def commit(self) -> None:
        """Let the prepared content become the file. When this raises, it has not."""
        self._close()  # first: a disk may tell only now that it could not write
        self.disk.rename(self.lock, self.path)
        self._held = False

    def _close(self) -> None:
        if self._handle is not None:
            handle, self._handle = self._handle, None
            os.close(handle)

    def __exit__(self, *_: object) -> None:
        """Give the lock back; what was prepared but not committed is dropped."""
        if self._held:
            self._held = False
            with contextlib.suppress(OSError):
                self._close()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.lock)


def make_folders(disk: Disk, path: bytes, made: list[bytes] | None = None) -> list[bytes]:
    """Create a folder and its missing parents; answer those created, outermost first, after what is in ``made`` already.

    ``made`` holds them also when it fails half way.
    """
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    made = [] if made is None else made
    for folder in reversed(missing):
        try:
            disk.mkdir(folder)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise
        else:
            made.append(folder)
    return made
