"""Who drives a run, and who works in a directory: advisory locks that the kernel drops with their process.

Law: a lock is ``flock`` on the folder it guards *and* on a file in it. The file says who holds it; the folder keeps the
lock true when somebody deletes the file (a new file would be a new lock, H21). Nothing here ever unlinks a lock file.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import asdict, frozen

from ggactors.store.folder import private_folder

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

PROBE_GRACE_TRIES = 10
PROBE_GRACE_SECS = 0.01
UNSUPPORTED = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF, errno.EINVAL)
"""What a file system without ``flock`` for directories answers."""


@frozen(kw_only=True)
class Holder:
    """The process that holds a lock, as it wrote itself down. ``start`` tells it from a later process of the same number."""

    pid: int
    boot: str
    start: str


@frozen(kw_only=True)
class LockState:
    """What ``read_lock`` found. ``holder`` is the last that wrote itself down, also when it is gone."""

    alive: bool
    holder: Holder | None


class LockHeld(Exception):  # noqa: N818
    """Another process holds the lock."""

    def __init__(self, path: Path, holder: Holder | None) -> None:
        by = f"process {holder.pid}" if holder else "another process"
        super().__init__(f"{path} is held by {by}")
        self.path = path
        self.holder = holder


class Lock:
    """A held lock; a context manager that lets it go. It is also gone with its process, however that ends."""

    def __init__(self, path: Path, descriptors: tuple[int, ...]) -> None:
        self.path = path
        self._descriptors = descriptors

    def release(self) -> None:
        """Let the lock go. The file stays, saying who had it. Doing it twice is fine."""
        descriptors, self._descriptors = self._descriptors, ()
        for descriptor in reversed(descriptors):
            os.close(descriptor)

    def __enter__(self) -> Self:
        """Hold the lock for the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the lock go."""
        self.release()


def take_lock(path: Path, *, also: tuple[Path, ...] = ()) -> Lock:
    """Take the lock file at ``path`` (made when missing) together with its folder, and the folders of ``also``.

    Raises LockHeld when another process has any of them, OSError when the file cannot be made. Does not wait, save for the
    moment that a look at the lock takes.
    """
    with ExitStack() as undo:
        descriptors = []
        for folder in (path.parent, *also):
            descriptors.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
            undo.callback(os.close, descriptors[-1])
            if not _locked(descriptors[-1], folder):
                raise LockHeld(path, read_holder(path))
        descriptors.append(_locked_file(path))
        undo.callback(os.close, descriptors[-1])
        _write_holder(descriptors[-1])
        undo.pop_all()
    return Lock(path, tuple(descriptors))


def _locked(descriptor: int, folder: Path) -> bool:
    """Try to lock a folder; a file system that cannot is no reason to refuse, its lock file still counts."""
    for left in reversed(range(PROBE_GRACE_TRIES)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Perhaps only ``read_lock`` looking; it lets go at once.
            if left:
                time.sleep(PROBE_GRACE_SECS)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise OSError(error.errno, f"cannot lock: {error.strerror}", str(folder)) from error
            return True
        else:
            return True
    return False


def _locked_file(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = os.fstat(descriptor)
            with suppress(FileNotFoundError):
                there = path.stat()
                # Between opening and locking the file may have been deleted or replaced: then this lock guards nothing.
                if (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino):
                    return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise LockHeld(path, read_holder(path)) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def lock_workspace(home: Path, workspace: Path) -> Lock:
    """Take the lock of an in-place run on ``workspace`` (O3); its file lies in the state home (W9).

    Two names of one folder are one lock. Raises LockHeld, and OSError when the workspace is not there.
    """
    there = workspace.stat()
    key = hashlib.sha256(f"{there.st_dev}:{there.st_ino}".encode()).hexdigest()[:16]
    folder = private_folder(home / "workspaces" / key)
    # The workspace's own lock writes nothing there and holds against runs with another state home.
    return take_lock(folder / "workspace.lock", also=(workspace.resolve(),))


def read_lock(path: Path) -> LockState:
    """Tell whether a living process holds the lock at ``path``, and who. Asks the kernel, so a process id used anew never
    deceives, nor does one of another container.
    """
    return LockState(alive=_is_held(path), holder=read_holder(path))


def _is_held(path: Path) -> bool:
    for place in (path.parent, path):
        try:
            descriptor = os.open(place, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
        finally:
            os.close(descriptor)
    return False


def read_holder(path: Path) -> Holder | None:
    """Read who wrote itself into the lock file at ``path``; None when that cannot be told."""
    try:
        written = json.loads(path.read_bytes())
        return Holder(pid=int(written["pid"]), boot=str(written["boot"]), start=str(written["start"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_holder(descriptor: int) -> None:
    holder = Holder(pid=os.getpid(), boot=_boot_id(), start=_start_of(os.getpid()))
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(holder)).encode() + b"\n", 0)


def _boot_id() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return _answer_of("sysctl", "-n", "kern.boottime") if sys.platform == "darwin" else ""


def _start_of(pid: int) -> str:
    with suppress(OSError, IndexError):
        # The command's name may hold anything, parentheses included; the fields begin after the last one.
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    return _answer_of("ps", "-o", "lstart=", "-p", str(pid)) if sys.platform == "darwin" else ""


def _answer_of(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout.strip()
    except OSError:
        return ""
