"""Holds git's collections off the operator's repository while objects in it have no ref yet. Law: by git's own mark, ``gc.pid``: a
collection that runs is waited for, one that would begin is told that another is running, and a dead one's mark holds nobody up.

Without it ``git gc --prune=now`` may drop, after a ref has moved, what nothing named when it began to look.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from ggactors.repo.disk import LOCK_WAIT, Lock
from ggactors.repo.faults import GitFault, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ggactors.repo.place import Place

_STALE = 12 * 3600
"""Seconds after which git itself takes a mark for forgotten."""


@contextlib.contextmanager
def no_collection(place: Place) -> Iterator[None]:
    """Hold collections off until the block ends. Raises GitFault when one does not end in ``LOCK_WAIT`` seconds, or OSError."""
    path = os.path.join(place.common, b"gc.pid")
    ours = b"%d %s" % (os.getpid(), os.fsencode(os.uname().nodename))
    deadline = time.monotonic() + LOCK_WAIT
    while True:
        with Lock(place.disk, path) as lock:
            if not _running(path):
                lock.prepare(ours)
                lock.commit()
                break
        if time.monotonic() >= deadline:
            raise GitFault(f"a collection (`git gc`) is running in {show(place.common)}; try again when it has ended")
        time.sleep(0.02)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if _read(path) == ours:
                os.unlink(path)


def _read(path: bytes) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(512)
    except FileNotFoundError:
        return None


def _running(path: bytes) -> bool:
    """Tell whether the mark is one of a collection that lives, as git would."""
    text = _read(path)
    if text is None or time.time() - os.stat(path).st_mtime > _STALE:
        return False
    pid, _, host = text.strip().partition(b" ")
    if not pid.isdigit() or not host:
        return False
    if host != os.fsencode(os.uname().nodename):
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
