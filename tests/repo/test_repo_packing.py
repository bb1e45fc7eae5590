"""Packing while idle: whatever happens to it, every object is found at every moment."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

import pytest
import trio
from repo_kit import git, init, write
from service_kit import start, work

from ggactors.repo.disk import Disk
from ggactors.repo.objects import BLOB, Objects
from ggactors.repo.packing import loose_objects, pack_loose
from ggactors.repo.worktrees import clear_stale_locks
from ggactors.testing.clock import PatientClock


class Refusing(Disk):
    """Calls ``stop`` at its n-th write."""

    def __init__(self, left, stop):
        self.left, self.stop = left, stop

    def step(self, call, path):
        self.left -= 1
        if self.left == -1:
            self.stop()


def full(*_):
    raise OSError(28, "No space left on device")


def store_of(where, disk=None):
    return Objects(os.fsencode(where / ".git/objects"), disk=disk)


def everything(where):
    """Map every object git finds in a repository, however it is kept, to its kind and size."""
    lines = git(where, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    return {line.split()[0]: line for line in lines}


def filled(where, count=12):
    """Make a repository with objects that only an index, a stash, a log, a detached HEAD or nothing at all names."""
    init(where, {"a": "1\n", "d/b": "2\n"})
    write(where, {"a": "stashed\n"})
    git(where, "stash", "-q")
    git(where, "worktree", "add", "-q", "--detach", str(where.parent / f"{where.name}-detached"))
    write(where.parent / f"{where.name}-detached", {"only": "here\n"})
    git(where.parent / f"{where.name}-detached", "add", "-A")
    git(where.parent / f"{where.name}-detached", "commit", "-qm", "detached")
    write(where, {"c": "dropped\n"})
    git(where, "add", "-A")
    git(where, "commit", "-qm", "dropped")
    git(where, "reset", "-q", "--hard", "HEAD~1")
    write(where, {"staged": "staged alone\n"})
    git(where, "add", "staged")
    store = store_of(where)
    for number in range(count):
        store.write(BLOB, b"dangling %d\n" % number)
    store.close()
    return where


def test_all_that_is_loose_is_packed_and_nothing_is_dropped_however_it_is_named(tmp_path):
    where = filled(tmp_path / "r")
    before = everything(where)
    store = store_of(where)
    count = sum(1 for _ in loose_objects(store.folder))
    assert count == len(before) > 20
    assert pack_loose(store, least=count + 1) == 0, "too few to be worth a pack"
    assert pack_loose(store, least=1) == count
    assert everything(where) == before
    assert not list(loose_objects(store.folder))
    assert git(where, "fsck", "--full", "--strict", "--no-dangling") == b""
    assert git(where, "stash", "show", "-p").count(b"stashed") == 1
    assert git(where, "diff", "--cached", "--name-only") == b"staged\n"
    for sha in before:
        assert store.raw(sha)[1] == git(where, "cat-file", before[sha].split()[1].decode(), sha.decode())
    assert pack_loose(store, least=1) == 0
    store.close()


def test_a_pack_takes_no_more_than_it_is_told_and_the_next_the_rest(tmp_path):
    where = filled(tmp_path / "r", 30)
    before, store = everything(where), store_of(where)
    taken = [pack_loose(store, least=1, most=20) for _ in range(4)]
    assert (taken[0], sum(taken), taken[-1]) == (20, len(before), 0)
    assert everything(where) == before
    store.close()


def test_a_damaged_object_stays_where_it_is_and_the_others_are_packed(tmp_path):
    where = filled(tmp_path / "r")
    store = store_of(where)
    sha = store.write(BLOB, b"will be damaged\n")
    other = store.write(BLOB, b"in the place of another\n")
    damaged, swapped = Path(os.fsdecode(store.loose_path(sha))), store.write(BLOB, b"swapped\n")
    damaged.chmod(0o644)
    damaged.write_bytes(b"nonsense")
    place = Path(os.fsdecode(store.loose_path(swapped)))
    place.chmod(0o644)
    place.write_bytes(Path(os.fsdecode(store.loose_path(other))).read_bytes())
    pack_loose(store, least=1)
    assert sorted(loose_objects(store.folder)) == sorted([sha, swapped])
    assert damaged.read_bytes() == b"nonsense"
    store.close()


def test_a_disk_that_refuses_any_write_of_a_packing_loses_nothing(tmp_path):
    where = filled(tmp_path / "r", 3)
    before, moment = everything(where), 0
    while True:
        disk = Refusing(moment, full)
        store = store_of(where, disk)
        try:
            pack_loose(store, least=1)
        except OSError:
            assert everything(where) == before, moment
            assert all(store.has(sha) for sha in before)
        moment += 1
        store.close()
        if disk.left >= 0:
            break
    assert moment > 10
    assert not list((where / ".git/objects/pack").glob("tmp_*"))


def test_a_packing_killed_at_any_write_loses_nothing_and_the_next_ends_it(tmp_path):
    where = filled(tmp_path / "r", 3)
    before, moment, code = everything(where), 0, 9
    while code:
        child = os.fork()
        if child == 0:
            pack_loose(store_of(where, Refusing(moment, lambda: os._exit(9))), least=1)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 9)
        assert everything(where) == before, moment
        store = store_of(where)
        assert all(store.has(sha) and store.raw(sha) for sha in before), moment
        store.close()
        moment += 1
    assert moment > 10
    clear_stale_locks(os.fsencode(where / ".git"))
    assert not list((where / ".git/objects/pack").glob("tmp_*"))
    assert not list(loose_objects(os.fsencode(where / ".git/objects")))
    assert git(where, "fsck", "--full", "--strict", "--no-dangling") == b""


def test_packings_killed_at_random_moments_beside_a_writer_lose_nothing_that_was_written(tmp_path):
    """A child writes and packs without end, telling each object once it is written, until SIGKILL comes from outside."""
    where = init(tmp_path / "r", {"a": "1\n"})
    chance, written = random.Random(7), set()
    for turn in range(10):
        ear, mouth = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ear)
            store, number = store_of(where), 0
            while True:
                for _ in range(25):
                    number += 1
                    os.write(mouth, store.write(BLOB, b"turn %d object %d\n" % (turn, number)) + b"\n")
                pack_loose(store, least=1)
        os.close(mouth)
        with os.fdopen(ear, "rb") as heard:
            told = [heard.readline() for _ in range(chance.choice((26, 51)) + chance.randrange(-3, 3))]
            os.kill(child, signal.SIGKILL)
            told += heard.read().splitlines(keepends=True)
        os.waitpid(child, 0)
        written.update(line.strip() for line in told if line.endswith(b"\n"))
        clear_stale_locks(os.fsencode(where / ".git"))
    assert len(written) > 100
    assert written <= set(everything(where))
    store = store_of(where)
    assert all(store.raw(sha) for sha in written)
    store.close()
    assert git(where, "fsck", "--full", "--no-dangling") == b""


def test_readers_and_writers_beside_a_packing_find_every_object_at_every_moment(tmp_path):
    where = init(tmp_path / "r", {})
    ours, packer, written, lost, packs = store_of(where), store_of(where), [], [], []
    done = threading.Event()

    def write_all():
        for number in range(50_000):
            if done.is_set() or (number > 600 and len(packs) > 2):
                break
            written.append(ours.write(BLOB, b"object %d\n" % number))
            if number % 3 == 0:
                ours.write(BLOB, b"object %d\n" % (number // 2))  # again: it may be loose, packed, or on its way
        done.set()

    def read_all():
        other, chance = store_of(where), random.Random(1)
        while not done.is_set():
            if written:
                sha = chance.choice(written)
                if not (other.has(sha) and other.raw(sha)[0] == BLOB):
                    lost.append(sha)
        other.close()

    threads = [threading.Thread(target=each) for each in (write_all, read_all)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if pack_loose(packer, least=20):
            packs.append(len(written))
    for thread in threads:
        thread.join()
    assert len(packs) > 2
    assert not lost
    assert all(ours.raw(sha)[0] == BLOB for sha in written)
    assert set(written) <= set(everything(where))
    for store in (ours, packer):
        store.close()


@pytest.fixture
def place(tmp_path):
    return init(tmp_path / "ws", {"a": "1\n"}), tmp_path / "state/run"


@pytest.fixture
def patient_clock() -> PatientClock:
    return PatientClock()


async def test_a_run_packs_when_git_has_nothing_to_do_and_not_before(place, patient_clock):
    """On a clock that stands still while a thread works: two quiet seconds, and the loose objects of agents are in a pack."""
    repo = await start(place)
    common = Path(repo.facts.repository)
    async with repo.packing():
        store = repo._core.grounds.store
        for number in range(1_100):
            store.write(BLOB, b"object %d\n" % number)
        await work(repo, "AUTH-1", {"b": "2\n"})
        assert sum(1 for _ in loose_objects(store.folder)) > 1_100, "not while there is work"
        with trio.fail_after(60):
            while list(loose_objects(store.folder)):
                await trio.sleep(0.05)
        assert len(list(common.glob("objects/pack/*.idx"))) == 1
        opened = await repo.open_worktree("AUTH-1")
        assert git(opened.root, "status", "--porcelain") == b""
        assert git(opened.root, "fsck", "--full", "--no-dangling") == b""
    await repo.close()


async def test_what_is_raised_beside_a_packing_comes_out_as_it_is_and_a_cancel_ends_it(place):
    repo = await start(place)
    with pytest.raises(KeyError, match="mine"):
        async with repo.packing():
            raise KeyError("mine")
    with trio.CancelScope() as scope:
        async with repo.packing():
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    await repo.close()
