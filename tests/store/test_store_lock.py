"""Locks: one holder, true also when the lock file is deleted, gone with the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ggactors.store.lock import LockHeld, lock_workspace, read_lock, take_lock

ROOT = Path(__file__).parents[2]

HOLDER = """
import sys
from pathlib import Path
from ggactors.store.lock import lock_workspace, take_lock
lock = take_lock(Path(sys.argv[2])) if sys.argv[1] == "run" else lock_workspace(Path(sys.argv[2]), Path(sys.argv[3]))
print("held", flush=True)
sys.stdin.readline()
"""


class Other:
    """Another process that holds a lock until it is told to let go."""

    def __init__(self, *args: object) -> None:
        command = [sys.executable, "-c", HOLDER, *map(str, args)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"held\n"

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_a_held_lock_refuses_others_and_names_the_holder(tmp_path):
    path = tmp_path / "run.lock"
    with Other("run", path) as other:
        with pytest.raises(LockHeld, match=f"held by process {other.process.pid}"):
            take_lock(path)
        state = read_lock(path)
        assert state.alive
        assert state.holder.pid == other.process.pid
        other.process.stdin.write(b"\n")
        other.process.stdin.flush()
        other.process.wait()
        assert not read_lock(path).alive
        assert read_lock(path).holder == state.holder, "the file says who had it last"
    with take_lock(path):
        assert read_lock(path).holder.pid == os.getpid()
    assert not read_lock(path).alive


def test_a_killed_holder_leaves_no_lock_behind(tmp_path):
    path = tmp_path / "run.lock"
    with Other("run", path) as other:
        os.kill(other.process.pid, signal.SIGKILL)
        other.process.wait()
        assert not read_lock(path).alive
        take_lock(path).release()


def test_deleting_the_lock_file_does_not_let_a_second_run_in_H21(tmp_path):
    path = tmp_path / "run.lock"
    with Other("run", path):
        path.unlink()
        with pytest.raises(LockHeld):
            take_lock(path)
        assert read_lock(path).alive


def test_looking_at_a_lock_does_not_keep_others_from_taking_it(tmp_path):
    path = tmp_path / "run.lock"
    for _ in range(50):
        assert not read_lock(path).alive
        take_lock(path).release()


def test_the_lock_file_tells_process_boot_and_start(tmp_path):
    path = tmp_path / "run.lock"
    with take_lock(path):
        written = json.loads(path.read_text())
    assert written["pid"] == os.getpid()
    assert set(written) == {"pid", "boot", "start"}
    assert all(written.values())


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', "\0\0"])
def test_a_lock_file_that_cannot_be_read_is_nobodys(tmp_path, content):
    path = tmp_path / "run.lock"
    path.write_text(content)
    assert read_lock(path).holder is None
    with take_lock(path):
        assert read_lock(path).holder.pid == os.getpid()


def test_letting_go_twice_is_fine_and_leaves_no_descriptor(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    lock = take_lock(tmp_path / "run.lock")
    lock.release()
    lock.release()
    with take_lock(tmp_path / "run.lock"), pytest.raises(LockHeld):
        take_lock(tmp_path / "run.lock")
    assert len(os.listdir("/proc/self/fd")) == before


def test_two_in_place_runs_on_one_workspace_are_refused_whatever_it_is_called(tmp_path):
    workspace, home = tmp_path / "work", tmp_path / "home"
    workspace.mkdir()
    (tmp_path / "alias").symlink_to(workspace)
    with Other("workspace", home, workspace):
        for name in (workspace, tmp_path / "alias"):
            with pytest.raises(LockHeld):
                lock_workspace(home, name)
        with pytest.raises(LockHeld):
            lock_workspace(tmp_path / "another home", workspace)
        (tmp_path / "elsewhere").mkdir()
        lock_workspace(home, tmp_path / "elsewhere").release()
    lock_workspace(home, workspace).release()
    assert list(workspace.iterdir()) == [], "nothing is written into the workspace (W9)"
