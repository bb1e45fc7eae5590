"""Whatever an agent's command started ends with its runtime, also when that is killed at once (H50)."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ggactors.testing.crews import finish, issue, shell, turn, wait, write_crew
from ggactors.testing.repos import make_repo
from ggactors.tools.strays import MARK
from ggactors.tools.watchdog import Watchdog

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc here")

LONGEST = 20_000
"""Milliseconds something that has to happen may take on a busy machine."""


def gone(pid: int) -> bool:
    """Wait for the end of a process that is not our child."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    try:
        return bool(poll.poll(LONGEST))
    finally:
        os.close(descriptor)


def numbers(fifo: Path, count: int) -> list[int]:
    """Read so many numbers, a line each, from a named pipe."""
    descriptor = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    text = b""
    while text.count(b"\n") < count and poll.poll(LONGEST):
        text += os.read(descriptor, 4096)
    os.close(descriptor)
    return [int(line) for line in text.split()]


def test_a_killed_runtime_leaves_no_process_of_its_agents_and_no_watchdog_H50(tmp_path: Path):
    """Three processes: one in the command's group, one in a session of its own, one whose parent has ended."""
    repo = make_repo(tmp_path / "repo")
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    command = f"(setsid sleep 4321 & echo $!; sleep 4322 & echo $!; (sleep 4323 & echo $!)) > {pids}; sleep 4324"
    script = {"root": [turn(issue()), wait("ISSUE-1"), finish()], "ISSUE-1.*": [turn(shell(command, timeoutSecs=4000))]}
    crew = write_crew(tmp_path / "crew", script)
    runtime = subprocess.Popen(
        [sys.executable, "-m", "ggactors", "run", str(crew), "--workspace", str(repo.path), "--task", "t"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "GGACTORS_HOME": str(tmp_path / "state")},
    )
    started = numbers(pids, 3)
    children = [int(pid) for pid in Path(f"/proc/{runtime.pid}/task/{runtime.pid}/children").read_text().split()]
    runtime.kill()
    runtime.wait()
    assert len(started) == 3
    assert [pid for pid in (*started, *children) if not gone(pid)] == []


def marked_sleep(token: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "4325"], env={**os.environ, MARK: f"outer:{token}:agent.1"})


def test_a_farewell_kills_nothing_and_leaves_no_watchdog():
    watchdog = Watchdog("farewell.1")
    other = marked_sleep("farewell.1")
    watchdog.arm()
    watchdog.arm()
    process = watchdog._process
    watchdog.close()
    watchdog.close()
    assert process is not None
    assert process.returncode == 0
    assert other.poll() is None
    other.kill()
    other.wait()


def test_it_kills_what_carries_the_whole_token_and_nothing_else():
    watchdog = Watchdog("token.1")
    mine, stranger = marked_sleep("token.1"), marked_sleep("token.11")
    watchdog.arm()
    process = watchdog._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert mine.wait() == -signal.SIGKILL
    process.wait()
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_a_watchdog_that_was_never_needed_is_never_started():
    watchdog = Watchdog("idle.1")
    watchdog.close()
    watchdog.arm()
    assert watchdog._process is None
