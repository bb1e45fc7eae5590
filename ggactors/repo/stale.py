"""Locks that a dead git left behind. Law: a lock goes only when it did not change while it was waited for and no process has it
open or is a git at work in that working tree; where processes cannot be looked at, only the runtime's own repository is cleared.
"""

from __future__ import annotations

import contextlib
import os

PROCESSES = b"/proc"


def forsaken(lock: bytes, root: bytes, *, own: bool) -> bool:
    """Tell whether nobody can hold ``lock``; ``root`` is the working tree it guards, ``own`` says it is the runtime's own."""
    try:
        pids = [name for name in os.listdir(PROCESSES) if name.isdigit()]
    except OSError:
        return own
    if not pids:
        return own
    lock, root = os.path.realpath(lock), os.path.realpath(root)
    return not any(_holds(os.path.join(PROCESSES, pid), lock, root) for pid in pids)


def _holds(process: bytes, lock: bytes, root: bytes) -> bool:
    with contextlib.suppress(OSError):
        for name in os.listdir(os.path.join(process, b"fd")):
            with contextlib.suppress(OSError):
                if os.readlink(os.path.join(process, b"fd", name)) == lock:
                    return True
    with contextlib.suppress(OSError):
        with open(os.path.join(process, b"comm"), "rb") as file:
            if not file.read().startswith(b"git"):
                return False
        # Git goes to the top of the tree it works in, and keeps a lock closed while an editor is open.
        where = os.readlink(os.path.join(process, b"cwd"))
        return where == root or where.startswith(root + b"/")
    return False
