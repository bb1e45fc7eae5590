"""After a run: what is left of it is found without a write, and brought back whole or not at all (W5, W8, W10)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repo_kit import full_state, git, init, write

from ggactors.protocol.git import Merged, Signature
from ggactors.repo.aftermath import bring_back, keep_open_work, land, release
from ggactors.repo.disk import Disk
from ggactors.repo.faults import GitFault
from ggactors.repo.remains import find_remains, reached, standing
from ggactors.repo.service import open_repository

SIGN = Signature(agent="AUTH-1.0i", issue="AUTH-1", attempt=0)


class Failing(Disk):
    """Refuses exactly the n-th write."""

    def __init__(self, left: int = -1) -> None:
        self.left = left

    def step(self, call: str, path: bytes) -> None:
        self.left -= 1
        if self.left == -1:
            raise OSError(28, "No space left on device", path)


async def run_once(tmp_path: Path, *, land_it: bool = False) -> Path:
    """A run that merged AUTH-1, gave AUTH-2 up and has AUTH-3 in flight."""
    workspace = init(tmp_path / "ws", {"a": "1\n", "b/c": "1\n", ".gitignore": "*.ign\n"})
    repo = await open_repository(workspace, run_id="run1", run_dir=tmp_path / "state/run1", checkout="private")
    for name in ("AUTH-1", "AUTH-2", "AUTH-3"):
        opened = await repo.open_worktree(name)
        write(Path(opened.root), {f"{name}.txt": f"{name}\n", "b/c": f"{name}\n"})
        if name != "AUTH-3":
            sealed = await repo.seal(name, SIGN, f"{name}: work")
        if name == "AUTH-1":
            assert isinstance(await repo.merge(name, sealed.commit, SIGN, "Merge"), Merged)
    await repo.discard("AUTH-1", accepted=True)
    await repo.discard("AUTH-2", accepted=False)
    if land_it:
        await repo.land()
    await repo.close()
    return workspace


def find(tmp_path: Path, disk: Disk | None = None):
    remains = find_remains("run1", tmp_path / "state/run1", str(tmp_path / "ws"), disk=disk)
    assert remains is not None
    return remains


async def test_looking_writes_nothing_and_tells_all(tmp_path):
    workspace = await run_once(tmp_path)
    refs = git(tmp_path / "state/run1/repo.git", "for-each-ref"), git(workspace, "for-each-ref")
    found = standing(find(tmp_path, Failing(0)), deep=True)
    assert found.merged
    assert found.unlanded
    assert [(work.name, work.agent, work.recovered) for work in found.saved] == [("AUTH-2#0", "AUTH-1.0i", False)]
    assert found.saved[0].size.startswith("2 files changed, +2 ")
    assert [(work.name, work.size) for work in found.open] == [("AUTH-3", "2 uncommitted paths")]
    assert (git(tmp_path / "state/run1/repo.git", "for-each-ref"), git(workspace, "for-each-ref")) == refs


async def test_a_disk_that_refuses_any_write_of_a_recovery_leaves_the_branch_whole_or_not_there_W5(tmp_path):
    workspace = await run_once(tmp_path)
    git(workspace, "branch", "behind")
    before = full_state(workspace)
    commit = standing(find(tmp_path), deep=False).saved[0].commit
    refused = 0
    for left in range(200):
        remains = find(tmp_path, Failing(left))
        try:
            back = bring_back(remains, commit, "behind", given=True)
        except (OSError, GitFault):
            refused += 1
            assert full_state(workspace) == before
            git(workspace, "fsck", "--strict")
        else:
            break
        finally:
            remains.close()
    assert refused > 5
    assert back.moved
    assert git(workspace, "rev-parse", "behind").decode().strip() == commit
    assert not list((workspace / ".git").rglob("*.lock"))
    assert not list((workspace / ".git").rglob("tmp_*"))
    git(workspace, "fsck", "--strict", "--full")


async def test_a_disk_that_refuses_any_write_of_saving_open_work_loses_none_of_it(tmp_path):
    await run_once(tmp_path)
    own, tree = tmp_path / "state/run1/repo.git", tmp_path / "state/run1/worktrees/AUTH-3"
    kept, left = None, 0
    while kept is None:
        remains = find(tmp_path, Failing(left))
        try:
            kept = keep_open_work(remains, "AUTH-3")
        except OSError:
            left += 1
            assert (tree / "AUTH-3.txt").read_text() == "AUTH-3\n"
        finally:
            remains.close()
    assert left > 3
    assert git(own, "show", f"{kept.decode()}:AUTH-3.txt") == b"AUTH-3\n"
    assert len(git(own, "for-each-ref", "refs/ggactors/saved/AUTH-3").splitlines()) == 1
    assert keep_open_work(find(tmp_path), "AUTH-3") == kept
    git(own, "fsck", "--full")


async def test_a_disk_that_refuses_any_write_of_a_late_landing_leaves_before_or_after_W10(tmp_path):
    workspace = await run_once(tmp_path)
    write(workspace, {"mine": "untracked\n"})
    before, held = full_state(workspace), 0
    for left in range(200):
        remains = find(tmp_path, Failing(left))
        try:
            landing = land(remains)
        except OSError:  # of the run's own repository
            held += 1
            assert full_state(workspace) == before
            continue
        finally:
            remains.close()
        if landing.reason is None:
            break
        held += 1
        assert landing.reason == "write-failed"
        assert full_state(workspace) == before
    assert held > 5
    assert standing(find(tmp_path), deep=False).landed
    assert git(workspace, "status", "--porcelain") == b"?? mine\n"
    git(workspace, "fsck", "--strict")


async def test_what_came_back_needs_nothing_of_the_run_even_without_the_base_ref_W8(tmp_path):
    workspace = await run_once(tmp_path)
    commit = standing(find(tmp_path), deep=False).saved[0].commit
    git(workspace, "update-ref", "-d", "refs/ggactors/run1/base")
    git(workspace, "commit", "-q", "--amend", "--allow-empty", "-m", "the base is on no branch any more")
    git(workspace, "reflog", "expire", "--expire=now", "--all")
    bring_back(find(tmp_path), commit, "back", given=False)
    os.rename(tmp_path / "state", tmp_path / "gone")
    git(workspace, "gc", "-q", "--prune=now")
    git(workspace, "fsck", "--strict", "--full")
    assert git(workspace, "show", "back:AUTH-2.txt") == b"AUTH-2\n"


async def test_letting_go_removes_the_base_ref_of_this_run_alone_and_once(tmp_path):
    workspace = await run_once(tmp_path, land_it=True)
    git(workspace, "update-ref", "refs/ggactors/other/base", "HEAD")
    for _ in range(2):
        release(find(tmp_path))
        assert git(workspace, "for-each-ref", "--format=%(refname)", "refs/ggactors").split() == [
            b"refs/ggactors/other/base"
        ]
    git(workspace, "update-ref", "refs/ggactors/run1/base", "HEAD")
    release(find(tmp_path))
    assert b"run1" in git(workspace, "for-each-ref", "refs/ggactors"), "a later run of this name holds another commit"


@pytest.mark.parametrize("ref", ["refs/tags/x", "refs/heads/x", "refs/remotes/o/x"])
async def test_work_is_found_behind_any_ref_and_annotated_tags(tmp_path, ref):
    workspace = await run_once(tmp_path)
    tip = standing(find(tmp_path), deep=False).commit
    git(workspace, "fetch", "-q", str(tmp_path / "state/run1/repo.git"), "refs/heads/main")
    if ref.startswith("refs/tags/"):
        git(workspace, "tag", "-a", "-m", "note", "x", "FETCH_HEAD")
    else:
        git(workspace, "update-ref", ref, "FETCH_HEAD")
    found = standing(find(tmp_path), deep=False)
    assert (found.held_by, found.landed, found.unlanded) == (ref, False, False)
    place = find(tmp_path).operator.place
    assert reached(place, {tip.encode(), b"1" * 40}) == {tip.encode()}


async def test_a_commit_with_a_clock_before_its_parents_is_found_all_the_same(tmp_path):
    workspace = await run_once(tmp_path, land_it=True)
    env = {"GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z"}
    for number in range(3):
        git(workspace, "commit", "-q", "--allow-empty", "-m", str(number), env=env)
    assert standing(find(tmp_path), deep=False).landed
    git(workspace, "checkout", "-q", "--orphan", "other")
    assert standing(find(tmp_path), deep=False).held_by == "refs/heads/main"
