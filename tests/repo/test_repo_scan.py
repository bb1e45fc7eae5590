"""The walk over a working tree: what vanishes under it, what the index remembers of large things, indexes known again."""

from __future__ import annotations

import os
import struct

from repo_kit import git, init, write

from ggactors.repo.index import Index, KnownIndexes, stat_fields
from ggactors.repo.objects import BLOB, digest
from ggactors.repo.operator import find
from ggactors.repo.scan import scan

NAMES = [f"d/f{number}" for number in range(12)]


def place_of(where):
    return find(os.fsencode(where)).place


def test_a_file_that_vanishes_under_the_walk_takes_no_other_with_it_W4(tmp_path):
    where = init(tmp_path / "r", dict.fromkeys(NAMES, "old\n"))
    write(where, dict.fromkeys([*NAMES, *(f"d/new{number}" for number in range(12))], "new\n"))
    read: list[bytes] = []

    def keep(content: bytes) -> bytes:
        if not read:  # the folder's names are known by now: every other file goes
            for entry in sorted(os.scandir(where / "d"), key=lambda entry: entry.name)[::2]:
                os.unlink(entry)
        read.append(content)
        return digest(BLOB, content)

    found = scan(place_of(where), Index.read(os.fsencode(where / ".git/index")), keep=keep)
    left = {os.fsencode(f"d/{entry.name}") for entry in os.scandir(where / "d")}
    seen = {*found.changed, *found.fresh}
    assert left <= seen
    assert len(seen - left) <= 1, "only the one that was being read"
    tracked = {name.encode() for name in NAMES}
    assert set(found.deleted) == tracked - seen
    assert len(left) == len(NAMES)


def test_a_folder_that_becomes_a_link_under_the_walk_is_not_followed_W4(tmp_path):
    where = init(tmp_path / "r", {"a.txt": "1\n", "z/in": "2\n"})
    outside = tmp_path / "outside"
    write(outside, {"in": "secret\n", "more": "secret\n"})
    write(where, {"a.txt": "changed\n"})
    (where / "y").mkdir()
    write(where, {"y/new": "3\n"})

    def keep(content: bytes) -> bytes:
        for name in ("y", "z"):
            if not (where / name).is_symlink():
                (where / name).rename(tmp_path / f"moved-{name}")
                (where / name).symlink_to(outside)
        return digest(BLOB, content)

    found = scan(place_of(where), Index.read(os.fsencode(where / ".git/index")), keep=keep)
    assert not any(path.startswith((b"y/", b"z/")) for path in (*found.fresh, *found.changed))
    assert found.deleted == [b"z/in"]


def test_what_needs_more_than_32_bits_is_remembered_as_git_does_it():
    far, big, inode = 5_000_000_000, 6 << 30, (7 << 40) | 42
    times = {"st_mtime_ns": far * 10**9 + 123, "st_ctime_ns": -7 * 10**9 + 5}
    plain = os.stat_result((0o100644, inode, (1 << 33) | 3, 1, 1000, 1001, big, 0, far, -7), times)
    expected = struct.pack(
        ">10I", -7 & 0xFFFFFFFF, 5, far & 0xFFFFFFFF, 123, 3, 42, 0o100644, 1000, 1001, big & 0xFFFFFFFF
    )
    assert stat_fields(plain, 0o100644) == expected


def test_an_index_known_by_its_checksum_is_what_the_file_holds_and_a_copy_of_its_own(tmp_path):
    where = init(tmp_path / "r", {"a.txt": "1\n", "b.txt": "2\n"})
    path, known = os.fsencode(where / ".git/index"), KnownIndexes()
    first = Index.read(path, known)
    first.remove(b"a.txt")
    second = Index.read(path, known)
    assert sorted(second.records) == [b"a.txt", b"b.txt"]
    assert second.records == Index.read(path).records
    assert (second.stamp, second.tree) == (Index.read(path).stamp, Index.read(path).tree)
    git(where, "rm", "-q", "--cached", "b.txt")
    assert sorted(Index.read(path, known).records) == [b"a.txt"], "git's own change is seen"


def test_our_lock_and_gits_commands_take_turns_on_a_known_index(tmp_path):
    where = init(tmp_path / "r", {"a.txt": "1\n"})
    place = place_of(where)
    for number in range(3):
        with place.lock() as lock:
            index = lock.read()
            write(where, {f"ours{number}": "x\n"})
            sha = place.store.write(BLOB, b"x\n")
            index.set(f"ours{number}".encode(), (0o100644, sha), os.lstat(where / f"ours{number}"))
            lock.save(index)
        write(where, {f"git{number}": "y\n"})
        git(where, "add", f"git{number}")
    staged = git(where, "ls-files").split()
    assert staged == sorted([b"a.txt", *(b"ours%d" % n for n in range(3)), *(b"git%d" % n for n in range(3))])
    assert sorted(place.index().records) == staged
    assert git(where, "fsck", "--strict") == b""


def test_a_file_from_before_1970_is_looked_at_like_any_other(tmp_path):
    where = init(tmp_path / "r", {"old.txt": "1\n"})
    os.utime(where / "old.txt", (-1_000, -1_000))
    place = place_of(where)
    assert scan(place, place.index()).clean
    write(where, {"old.txt": "2\n"})
    os.utime(where / "old.txt", (-1_000, -1_000))
    assert list(scan(place, place.index()).changed) == [b"old.txt"]
