"""A move of a checkout under a disk that fails at any system call, and under SIGKILL at random moments: exactly before or after."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal

from attrs import evolve
from repo_kit import disk_state, git, init, write

from ggactors.repo.apply import Move, move_checkout
from ggactors.repo.disk import Disk
from ggactors.repo.faults import GitFault
from ggactors.repo.journal import recover
from ggactors.repo.operator import find
from ggactors.repo.trees import diff, targets

MAIN = b"refs/heads/main"
CALLS = (
    "open", "write", "close", "fstat", "fsync", "fchmod", "rename", "link", "unlink", "symlink", "readlink", "mkdir", "rmdir",
    "lstat", "stat", "scandir", "listdir", "read", "pread", "chmod",
)  # fmt: skip


def two_commits(where, count=0):
    """Make a repository whose branch ``next`` changes everything a move can change; main is checked out."""
    many = {f"many/f{number}": f"{number}\n" for number in range(count)}
    init(where, {"a": "1\n", "gone": "2\n", "run": "3\n", "spot": "file\n", "d/in": "4\n", "keep": "5\n", **many})
    git(where, "switch", "-qc", "next")
    write(
        where, {"a": "changed\n", "gone": None, "spot": None, "new/deep/er": "n\n", **dict.fromkeys(many, "changed\n")}
    )
    write(where, {"spot/in": "folder\n", "d/in": None})
    (where / "d").symlink_to("a") if not (where / "d").exists() else (
        (where / "d").rmdir(),
        (where / "d").symlink_to("a"),
    )
    (where / "run").chmod(0o755)
    git(where, "add", "-A")
    git(where, "commit", "-qm", "next")
    git(where, "switch", "-q", "main")
    write(where, {"mine": "untracked\n", "keep": "edited\n"})
    shutil.rmtree(where / ".git/hooks")
    return where


def state(where):
    """What a person could lose or see changed, read without git's help."""
    place = find(os.fsencode(where)).place
    index = place.index()
    try:
        return (
            disk_state(where),
            {path: index.entry(path) for path in index.records},
            place.refs.head(),
            [name for name in os.listdir(where / ".git") if name.startswith(("ggactors-move.", "index.lock"))],
        )
    finally:
        place.store.close()


def move_of(place):
    old, new = place.refs.read(MAIN), place.refs.read(b"refs/heads/next")
    changes = targets(diff(place.store, place.store.commit(old).tree, place.store.commit(new).tree))
    return Move(ref=MAIN, old=old, new=new, changes=changes, message="moved")


class Faulty:
    """Counts the system calls of ``os`` and fails exactly the n-th."""

    def __init__(self, patch, error) -> None:
        self.left, self.error, self.armed = -1, error, False
        for name in CALLS:
            patch.setattr(os, name, self._wrapped(getattr(os, name)))

    def _wrapped(self, call):
        def wrapper(*args, **more):
            if self.armed:
                self.left -= 1
                if self.left == -1:
                    raise OSError(self.error, os.strerror(self.error), args[0] if args else None)
            return call(*args, **more)

        return wrapper


def test_a_system_call_that_fails_anywhere_in_a_move_leaves_exactly_before_or_after_M4_W10(tmp_path, monkeypatch):
    """Each of some two hundred calls in turn; a move that raises has not moved, one that returns has."""
    template = two_commits(tmp_path / "template")
    before = state(template)
    where, moment = tmp_path / "w", -1
    shutil.copytree(template, where, symlinks=True)
    place = find(os.fsencode(where)).place
    move_checkout(place, move_of(place))
    place.store.close()
    after = state(where)
    assert git(where, "status", "--porcelain") == b" M keep\n?? mine\n"
    faulty, outcomes, wanted = Faulty(monkeypatch, errno.EIO), {"before": 0, "after": 0}, after
    while faulty.left < 0:
        moment += 1
        if wanted == after:  # one that did not move is as before, and takes the next fault as it is
            shutil.rmtree(where)
            shutil.copytree(template, where, symlinks=True)
        place = find(os.fsencode(where)).place
        move = move_of(place)
        faulty.left, faulty.armed = moment, True
        try:
            move_checkout(place, move)
        except (OSError, GitFault):
            faulty.armed = False
            wanted, word = before, "before"
        else:
            faulty.armed = False
            wanted, word = after, "after"
        recover(place)
        assert state(where) == wanted, (moment, word)
        place.store.close()
        outcomes[word] += 1
    assert outcomes["before"] > 100, outcomes
    assert outcomes["after"] > 1, "what fails after the last write, and the one that was not disturbed"


class Telling(Disk):
    """Says into a pipe that another write is about to happen."""

    def __init__(self, mouth) -> None:
        self.mouth = mouth

    def step(self, call, path) -> None:
        os.write(self.mouth, b".")


def moved_by_a_child(place, ear, mouth, steps):
    """Let a child make the move and kill it from outside once it has told of so many writes; answer how many it told of."""
    child = os.fork()
    if child == 0:
        os.close(ear)
        move_checkout(evolve(place, disk=Telling(mouth)), move_of(place))
        os._exit(0)
    os.close(mouth)
    with os.fdopen(ear, "rb", buffering=0) as heard:
        told = 0
        while told < steps and heard.read(1):
            told += 1
        if told == steps:
            os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return told


def test_a_move_killed_at_random_moments_is_exactly_before_or_after_once_recovered_M4_W10(tmp_path):
    template = two_commits(tmp_path / "template", 60)
    before = state(template)
    where, chance, writes = tmp_path / "w", random.Random(3), 0
    seen = {"before": 0, "after": 0, "recovered": 0}
    for turn in range(14):
        shutil.copytree(template, where, symlinks=True)
        place = find(os.fsencode(where)).place
        steps = chance.randrange(1, writes) if turn else 1_000_000
        told = moved_by_a_child(place, *os.pipe(), steps)
        writes = writes or told
        seen["recovered"] += recover(place) is not None
        for lock in (where / ".git").rglob("*.lock"):
            lock.unlink()
        place.store.close()
        found = state(where)
        if not turn:
            after = found
        assert found in (before, after), (turn, steps)
        seen["after" if found == after else "before"] += 1
        shutil.rmtree(where)
    assert after != before
    assert seen["before"] > 1
    assert seen["recovered"] > 1, "none hit the move itself"
