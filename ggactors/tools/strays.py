"""Find and end every process a command left behind (H50).

Law: only processes that a command of ours began are touched: members of its process group, its descendants, and whoever
carries its mark in the environment it was started with; never anything found by its name. On systems without ``/proc`` the
process group is all that is known. A process that leaves the group, outlives its parents and was given an emptied
environment cannot be told from a stranger; only a process namespace could contain it.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import trio

MARK = "GGACTORS_CALL"
"""The environment variable that marks a command's processes. A nested runtime adds its own mark to the one it finds."""
_PROC = "/proc"
_ROUNDS = 200
_PAUSE = 0.005
_FASTEST = 50_000
"""More processes a second than a machine starts."""


def kill_group(leader: int) -> None:
    """Kill a process group at once; forks in progress are caught, since the kernel restarts a fork that finds a signal."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def last_pid() -> int | None:
    """Give the process id handed out last, or None where it cannot be known."""
    try:
        return int(Path(_PROC, "loadavg").read_text().rsplit(None, 1)[1])
    except (OSError, ValueError, IndexError):
        return None


def no_wrap_secs() -> float:
    """Give the seconds in which no machine hands out all its process ids, so that younger processes have later ids."""
    try:
        return int(Path(_PROC, "sys/kernel/pid_max").read_text()) / _FASTEST
    except (OSError, ValueError):
        return 0.0


def strays(mark: str, leader: int, since: int | None) -> list[int]:
    """List the living processes of a command: marked, in its group or session, or descended from such.

    ``since`` is the id handed out last before the command began: only ids handed out later are looked at; None looks at all.
    """
    table = _table(since, last_pid())
    coded = mark.encode()
    found = {pid for pid, (_, group, session) in table.items() if leader in (group, session) or _is_marked(pid, coded)}
    grown = True
    while grown:
        children = {pid for pid, (parent, _, _) in table.items() if parent in found} - found
        grown = bool(children)
        found |= children
    return sorted(found - {os.getpid()})


async def end_strays(mark: str, leader: int, since: int | None = None) -> int:
    """Kill a command's group and what else it left until nothing is left; answer how many there were. Shield it.

    Cancelled: what was found so far is killed.
    """
    ended: set[int] = set()
    for _ in range(_ROUNDS):
        # Looked for before the group is killed: a descendant without the mark is only known while its parents live.
        found = strays(mark, leader, since)
        kill_group(leader)
        if not found:
            break
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended.update(found)
        await trio.sleep(_PAUSE)
    return len(ended)


def _table(since: int | None, newest: int | None) -> dict[int, tuple[int, int, int]]:
    """Map each living process with an id handed out after ``since`` to its parent, group and session.

    Zombies are left out: they are dead.
    """
    table: dict[int, tuple[int, int, int]] = {}
    try:
        names = os.listdir(_PROC)  # noqa: PTH208 - names alone; hundreds of path objects a call would cost more than the scan
    except OSError:
        return table
    for name in names:
        if not name.isdigit() or not _later(int(name), since, newest):
            continue
        with suppress(OSError, ValueError, IndexError):
            # The name in parentheses may hold anything, so the fields are counted from its end.
            state, parent, group, session = _read(f"{_PROC}/{name}/stat").rpartition(b")")[2].split()[:4]
            if state not in (b"Z", b"X"):
                table[int(name)] = (int(parent), int(group), int(session))
    return table


def _later(pid: int, since: int | None, newest: int | None) -> bool:
    """Tell whether an id was handed out after ``since``; ids go round at their end."""
    if since is None or newest is None:
        return True
    return pid > since if newest >= since else pid > since or pid <= newest


def _is_marked(pid: int, mark: bytes) -> bool:
    try:
        environ = _read(f"{_PROC}/{pid}/environ")
    except OSError:
        return False
    prefix = MARK.encode() + b"="
    return mark in environ and any(
        mark in entry[len(prefix) :].split(b":") for entry in environ.split(b"\0") if entry.startswith(prefix)
    )


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
        return file.read()
