"""The operator's collections and a landing exclude each other by git's own mark."""

from __future__ import annotations

import os
import subprocess

import pytest
from repo_kit import git, git_code, init
from service_kit import finish, start

from ggactors.repo import collecting
from ggactors.repo.collecting import no_collection
from ggactors.repo.faults import GitFault
from ggactors.repo.operator import find

HOST = os.uname().nodename


@pytest.fixture
def where(tmp_path):
    return init(tmp_path / "ws")


def test_a_collection_that_would_begin_meanwhile_is_told_by_git_and_goes_through_afterwards_W8(where):
    place = find(os.fsencode(where)).place
    with no_collection(place):
        assert git_code(where, "gc", "-q", "--prune=now") == 128
        assert git_code(where, "commit", "-q", "--allow-empty", "-m", "goes on") == 0
    assert git_code(where, "gc", "-q", "--prune=now") == 0
    assert not (where / ".git/gc.pid").exists()
    assert not (where / ".git/gc.pid.lock").exists()


@pytest.mark.parametrize("mark", ["{dead} {host}", "nonsense", ""], ids=["of a dead process", "no mark", "empty"])
def test_a_mark_that_means_nothing_holds_nobody_up(where, mark):
    dead = subprocess.Popen(["true"])
    dead.wait()
    (where / ".git/gc.pid").write_text(mark.format(dead=dead.pid, host=HOST))
    with no_collection(find(os.fsencode(where)).place):
        assert (where / ".git/gc.pid").read_text() == f"{os.getpid()} {HOST}"
    assert not (where / ".git/gc.pid").exists()


def test_a_mark_of_another_machine_is_waited_for_and_half_a_day_later_no_more(where, monkeypatch):
    mark, place = where / ".git/gc.pid", find(os.fsencode(where)).place
    mark.write_text(f"1 {HOST}-other")
    monkeypatch.setattr(collecting, "LOCK_WAIT", 0.05)
    with pytest.raises(GitFault, match="is running in"), no_collection(place):
        raise AssertionError("it was let in")
    assert mark.read_text() == f"1 {HOST}-other"
    os.utime(mark, (1, 1))
    with no_collection(place):
        assert str(os.getpid()) in mark.read_text()


async def test_a_collection_that_does_not_end_holds_the_landing_and_says_so_W10(tmp_path, where, monkeypatch):
    repo = await start((where, tmp_path / "state/run"))
    await finish(repo, "AUTH-1", {"one": "1"})
    (where / ".git/gc.pid").write_text(f"{os.getpid()} {HOST}")
    monkeypatch.setattr(collecting, "LOCK_WAIT", 0.05)
    held = await repo.land()
    assert held.reason == "write-failed"
    assert "`git gc`" in held.detail
    assert git(where, "status", "--porcelain") == b""
    (where / ".git/gc.pid").unlink()
    assert (await repo.land()).reason is None
    assert (where / "one").read_text() == "1"
    await repo.close()
