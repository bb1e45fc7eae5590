"""Find and end every process a command left behind (H50).

Law: only processes that a command of ours began are touched: members of its process group, its descendants, and whoever
carries its mark in the environment it was started with; never anything found by its name. On systems without ``/proc`` the
process group is all that is known. A process that leaves the group, outlives its parents and was given an emptied
environment cannot be told from a stranger; only a process namespace could contain it.

Looking costs some 30 µs a process, so a look is taken in a thread and shared by all commands that end at about one time.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio
from attrs import define, frozen
from trio.lowlevel import RunVar

if TYPE_CHECKING:
    from collections.abc import Mapping

MARK = "GGACTORS_CALL"
"""The environment variable that marks a command's processes. A nested runtime adds its own mark to the one it finds."""
_PREFIX = MARK.encode() + b"="
_PROC = "/proc"
_ROUNDS = 200
_PAUSE = 0.005
_FASTEST = 50_000
"""More processes a second than a machine starts."""


@frozen
class Alive:
    """A living process: its parent, group and session, and the marks it carries."""

    parent: int
    group: int
    session: int
    marks: tuple[bytes, ...]


def last_pid() -> int | None:
    """Give the process id handed out last, or None where it cannot be known."""
    try:
        return int(_read(f"{_PROC}/loadavg").rsplit(None, 1)[1])
    except (OSError, ValueError, IndexError):
        return None


def no_wrap_secs() -> float:
    """Give the seconds in which no machine hands out all its process ids, so that younger processes have later ids."""
    try:
        return int(_read(f"{_PROC}/sys/kernel/pid_max")) / _FASTEST
    except (OSError, ValueError):
        return 0.0


def strays(alive: Mapping[int, Alive], mark: str, leader: int) -> list[int]:
    """List the living processes of a command: marked, in its group or session, or descended from such."""
    coded = mark.encode()
    found = {pid for pid, one in alive.items() if leader in (one.group, one.session) or coded in one.marks}
    grown = bool(found)
    while grown:
        children = {pid for pid, one in alive.items() if one.parent in found} - found
        grown = bool(children)
        found |= children
    return sorted(found - {os.getpid()})


async def end_strays(mark: str, leader: int, since: int | None = None) -> int:
    """Kill a command's group and what else it left until nothing is left; answer how many there were. Shield it.

    ``since`` is the id handed out last before the command began: only ids handed out later are looked at; None looks at all.
    Cancelled: what was found so far is killed.
    """
    ended: set[int] = set()
    for _ in range(_ROUNDS):
        # Looked for before the group is killed: a descendant without the mark is only known while its parents live.
        found = strays(await _census().take(since), mark, leader)
        _kill_group(leader)
        if not found:
            break
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended.update(found)
        await trio.sleep(_PAUSE)
    return len(ended)


def _kill_group(leader: int) -> None:
    """Kill a process group at once; forks in progress are caught, since the kernel restarts a fork that finds a signal."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


# ---------------------------------------------------------------- looking


@define(eq=False)
class _Request:
    since: int | None
    answer: dict[int, Alive] | None = None


class Census:
    """Looks at the living processes, once for all who asked before the look began."""

    def __init__(self) -> None:
        self._lock = trio.Lock()
        self._thread = trio.CapacityLimiter(1)
        self._asked: list[_Request] = []

    async def take(self, since: int | None) -> dict[int, Alive]:
        """Map the processes alive at some time after the call, at least those with ids handed out after ``since``."""
        request = _Request(since)
        self._asked.append(request)
        async with self._lock:
            if request.answer is None:
                batch, self._asked = {request, *self._asked}, []
                answer = await trio.to_thread.run_sync(
                    partial(_look, [one.since for one in batch]), limiter=self._thread
                )
                for one in batch:
                    one.answer = answer
        assert request.answer is not None
        return request.answer


_CENSUS: RunVar[Census] = RunVar("census")


def _census() -> Census:
    """Give the census of the present trio run, made at its first use."""
    try:
        return _CENSUS.get()
    except LookupError:
        census = Census()
        _CENSUS.set(census)
        return census


def _look(sinces: list[int | None]) -> dict[int, Alive]:
    """Read what ``/proc`` says of the processes with ids after the earliest of ``sinces``. Zombies are left out: they are dead."""
    alive: dict[int, Alive] = {}
    after = _earliest(sinces, last_pid())
    try:
        names = os.listdir(_PROC)  # noqa: PTH208 - names alone; hundreds of path objects a look would cost more than the look
    except OSError:
        return alive
    for name in names:
        if not name.isdigit() or int(name) <= after:
            continue
        with suppress(OSError, ValueError, IndexError):
            # The name in parentheses may hold anything, so the fields are counted from its end.
            state, parent, group, session = _read(f"{_PROC}/{name}/stat").rpartition(b")")[2].split()[:4]
            if state not in (b"Z", b"X"):
                alive[int(name)] = Alive(int(parent), int(group), int(session), marks_of(name))
    return alive


def _earliest(sinces: list[int | None], newest: int | None) -> int:
    """Give the id after which to look; 0, which looks at all, where one is unknown or ids have gone round since."""
    known = [since for since in sinces if since is not None]
    if newest is None or len(known) < len(sinces) or any(since > newest for since in known):
        return 0
    return min(known, default=0)


def marks_of(pid: int | str) -> tuple[bytes, ...]:
    """List the marks in the environment a process was started with; none when it is gone or another user's."""
    try:
        environ = _read(f"{_PROC}/{pid}/environ")
    except OSError:
        return ()  # another user's, so none of ours
    if _PREFIX not in environ:
        return ()
    return tuple(
        mark
        for entry in environ.split(b"\0")
        if entry.startswith(_PREFIX)
        for mark in entry.removeprefix(_PREFIX).split(b":")
    )


def _read(path: str) -> bytes:
    with Path(path).open("rb", buffering=0) as file:
        return file.read()
