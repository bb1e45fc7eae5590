"""The watchdog's own process: a script that is run by its path, alone, so that it starts in a moment.

Law: it waits on its input. A byte there is a farewell; the end of it is the runtime's sudden death, and then every process that
carries the run's mark, and what descends from one, is killed until none is found. It knows no name and no process group.
"""

import contextlib
import os
import signal
import sys
import time

ROUNDS = 400
PAUSE = 0.01


def environment(pid: int) -> bytes:
    """Read what a process was started with; nothing when it is gone or somebody else's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - importing pathlib would double the start
            return file.read()
    except OSError:
        return b""


def parent(pid: int) -> int:
    """Read a process's parent; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def marked(variable: bytes, token: bytes) -> set[int]:
    """List the living processes whose mark has ``token`` among its parts, and their descendants."""
    begins = variable + b"="
    # Not the directory's order: a process's children have later ids, until ids begin anew.
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    found = set()
    for pid in pids:
        for line in environment(pid).split(b"\0"):
            if line.startswith(begins) and token in line[len(begins) :].split(b":"):
                found.add(pid)
    parents = {pid: parent(pid) for pid in pids} if found else {}
    grown = bool(found)
    while grown:
        children = {pid for pid, above in parents.items() if above in found} - found
        grown = bool(children)
        found |= children
    return found - {os.getpid()}


def main() -> None:
    """Wait for the farewell or for the end, and clear up after the latter."""
    variable, token = (os.fsencode(word) for word in sys.argv[1:3])
    if os.read(0, 1):
        return
    for _ in range(ROUNDS):
        left = marked(variable, token)
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
