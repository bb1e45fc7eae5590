"""Landing moves the operator's branch, index and files together or not at all (W10)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from attrs import evolve
from repo_kit import full_state, git, git_code, init, write

from ggactors.protocol.git import Merged, Signature
from ggactors.repo.disk import Disk
from ggactors.repo.journal import recover
from ggactors.repo.operator import find
from ggactors.repo.service import open_repository

SIGN = Signature(agent="AUTH-1.0i", issue="AUTH-1", attempt=0)
BASE = {
    "a": "1\n",
    "b": "1\n",
    "c/d": "1\n",
    ".gitignore": "*.ign\n",
    "run.sh": "x\n",
    "gone": "g\n",
    "deep/er/f": "f\n",
}
WORK = {"a": "2\n", "new/file": "n\n", "gone": None, "my.ign": None, "deep/er/f": None}


async def prepared(tmp_path, base=BASE, change=None, disk=None, **more):
    """A run with one merged issue."""
    workspace = tmp_path / "ws"
    if not workspace.exists():
        init(workspace, base)
    repo = await open_repository(
        workspace, run_id="run1", run_dir=tmp_path / "state/run1", checkout="private", disk=disk, **more
    )
    opened = await repo.open_worktree("AUTH-1")
    root = Path(opened.root)
    if change is None:
        write(root, {"a": "2\n", "new/file": "n\n", "gone": None, "deep/er/f": None, "forced.ign": "from the run"})
        git(root, "add", "-f", "forced.ign")
        (root / "run.sh").chmod(0o755)
        os.symlink("a", root / "link")
    else:
        change(root)
    sealed = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(await repo.merge("AUTH-1", sealed.commit, SIGN, "Merge"), Merged)
    await repo.discard("AUTH-1", accepted=True)
    return workspace, repo


async def test_branch_index_and_files_move_together_and_the_checkout_is_clean_W10_H14(tmp_path):
    workspace, repo = await prepared(tmp_path)
    write(workspace, {"mine.ign": "ignored stays", "b": "edited by me\n", "untracked": "u"})
    write(workspace, {"c/d": "staged by me\n"})
    git(workspace, "add", "c/d")
    landing = await repo.land()
    assert landing.reason is None
    assert landing.source == repo.facts.base
    assert landing.target == git(workspace, "rev-parse", "main").decode().strip()
    assert git(workspace, "status", "--porcelain").decode().split("\n")[:-1] == [" M b", "M  c/d", "?? untracked"]
    assert (workspace / "a").read_text() == "2\n"
    assert (workspace / "run.sh").stat().st_mode & 0o111
    assert os.readlink(workspace / "link") == "a"
    assert not (workspace / "deep").exists()
    assert (workspace / "mine.ign").read_text() == "ignored stays"
    assert b"Fast-forward" in git(workspace, "reflog", "-1")
    git(workspace, "fsck", "--strict")
    assert (await repo.land()).source == landing.target
    await repo.close()
    assert git(workspace, "worktree", "list").count(b"\n") == 1


HELD = {
    "modified": (lambda ws: write(ws, {"a": "mine\n"}), "dirty", ("a",)),
    "staged": (lambda ws: (write(ws, {"a": "mine\n"}), git(ws, "add", "a")), "dirty", ("a",)),
    "staged, then put back on disk": (
        lambda ws: (write(ws, {"a": "mine\n"}), git(ws, "add", "a"), write(ws, {"a": "1\n"})), "dirty", ("a",),
    ),
    "deleted": (lambda ws: write(ws, {"a": None}), "dirty", ("a",)),
    "removed from the index": (lambda ws: git(ws, "rm", "-q", "--cached", "a"), "dirty", ("a",)),
    "untracked in the way": (lambda ws: write(ws, {"new/file": "mine"}), "dirty", ("new/file",)),
    "ignored in the way": (lambda ws: write(ws, {"forced.ign": "precious"}), "dirty", ("forced.ign",)),
    "a file where a folder comes": (lambda ws: write(ws, {"new": "mine"}), "dirty", ("new/file",)),
    "a folder where a file comes": (lambda ws: write(ws, {"link/mine": "m"}), "dirty", ("link/mine",)),
    "a link where a folder comes": (lambda ws: os.symlink("/tmp", ws / "new"), "dirty", ("new/file",)),
    "the mode changed": (lambda ws: (ws / "run.sh").chmod(0o755), "dirty", ("run.sh",)),
    "a tracked file became a link": (lambda ws: ((ws / "a").unlink(), os.symlink("b", ws / "a")), "dirty", ("a",)),
    "detached": (lambda ws: git(ws, "checkout", "-q", "--detach"), "detached", ()),
    "another branch": (lambda ws: git(ws, "checkout", "-q", "-b", "other"), "branch-elsewhere", ()),
    "also in a second worktree": (
        lambda ws: git(ws, "worktree", "add", "-q", "-f", "../second", "main"), "branch-elsewhere", (),
    ),
    "a merge going on": (
        lambda ws: (
            git(ws, "checkout", "-q", "-b", "x"), write(ws, {"b": "x\n"}), git(ws, "commit", "-qam", "x"),
            git(ws, "checkout", "-q", "main"), git(ws, "merge", "-q", "--no-ff", "--no-commit", "x"),
        ), "operation-in-progress", (),
    ),
    "commits that conflict": (lambda ws: (write(ws, {"a": "mine\n"}), git(ws, "commit", "-qam", "mine")), "diverged", ("a",)),
}  # fmt: skip


@pytest.mark.parametrize("case", HELD)
async def test_whatever_would_lose_an_edit_holds_the_landing_and_nothing_moves_W10(tmp_path, case):
    spoil, reason, paths = HELD[case]
    workspace, repo = await prepared(tmp_path)
    spoil(workspace)
    before = full_state(workspace)
    landing = await repo.land()
    assert (landing.reason, landing.held) == (reason, paths), landing
    assert landing.source == landing.target
    assert landing.detail
    assert full_state(workspace) == before
    await repo.close()


async def test_a_held_landing_goes_through_once_the_way_is_clear(tmp_path):
    workspace, repo = await prepared(tmp_path)
    write(workspace, {"a": "mine\n"})
    assert (await repo.land()).reason == "dirty"
    git(workspace, "checkout", "-q", "a")
    assert (await repo.land()).reason is None
    await repo.close()


async def test_commits_of_the_operators_are_merged_into_the_runs_work_first_H13(tmp_path):
    workspace, repo = await prepared(tmp_path)
    write(workspace, {"b": "operator\n"})
    git(workspace, "commit", "-qam", "operator")
    theirs = git(workspace, "rev-parse", "HEAD").decode().strip()
    landing = await repo.land()
    assert landing.reason is None
    assert landing.source == theirs
    assert git_code(workspace, "merge-base", "--is-ancestor", theirs, "HEAD") == 0
    assert ((workspace / "a").read_text(), (workspace / "b").read_text()) == ("2\n", "operator\n")
    assert git(workspace, "status", "--porcelain") == b""
    assert git(repo.facts.main, "status", "--porcelain") == b""
    git(workspace, "fsck", "--strict")
    await repo.close()


async def test_uncommitted_edits_are_left_alone_and_named_W11(tmp_path):
    workspace = init(tmp_path / "ws", BASE)
    write(workspace, {"b": "edited\n", "untracked": "u", "gone": None})
    git(workspace, "add", "b")
    before = full_state(workspace)
    _, repo = await prepared(tmp_path, change=lambda root: write(root, {"a": "2\n"}))
    assert repo.facts.dirty == ("b", "gone", "untracked")
    assert full_state(workspace) == before
    assert (await repo.land()).reason is None
    assert git(workspace, "status", "--porcelain").decode().split("\n")[:-1] == ["M  b", " D gone", "?? untracked"]
    await repo.close()


async def test_a_snapshot_of_uncommitted_edits_is_the_runs_first_commit_and_counts_as_untouched_W11(tmp_path):
    workspace = init(tmp_path / "ws", BASE)
    write(workspace, {"b": "edited\n", "untracked": "u\n", "gone": None, "c/d": "staged\n", "no.ign": "never taken"})
    git(workspace, "add", "c/d")
    before = full_state(workspace)

    def change(root):
        assert (root / "b").read_text() == "edited\n"
        assert (root / "untracked").read_text() == "u\n"
        assert not (root / "gone").exists()
        write(root, {"b": "edited\nand more\n", "a": "2\n"})

    _, repo = await prepared(tmp_path, change=change, include_dirty=True)
    assert full_state(workspace) == before
    landing = await repo.land()
    assert landing.reason is None, landing
    assert git(workspace, "status", "--porcelain") == b""
    assert (workspace / "b").read_text() == "edited\nand more\n"
    assert (workspace / "no.ign").read_text() == "never taken"
    await repo.close()


async def test_an_edit_after_the_snapshot_holds_the_landing_W11(tmp_path):
    workspace = init(tmp_path / "ws", BASE)
    write(workspace, {"b": "edited\n"})
    _, repo = await prepared(tmp_path, change=lambda root: write(root, {"a": "2\n"}), include_dirty=True)
    write(workspace, {"b": "edited again\n"})
    before = full_state(workspace)
    landing = await repo.land()
    assert (landing.reason, landing.held) == ("dirty", ("b",))
    assert full_state(workspace) == before
    await repo.close()


class Meddling(Disk):
    """Lets somebody edit a file right before the n-th write."""

    def __init__(self):
        self.left = -1
        self.act = None

    def step(self, call, path):
        if self.left == 0:
            self.act()
        self.left -= 1


async def test_an_edit_at_any_moment_of_a_landing_is_never_lost_W10(tmp_path):
    """For each write of a landing: the operator saves a file just then. Their bytes are on disk afterwards, whatever happened."""
    disk = Meddling()
    workspace, repo = await prepared(tmp_path, disk=disk)
    disk.act = lambda: (workspace / "a").write_text("saved at this very moment\n")
    backup = tmp_path / "backup"
    shutil.copytree(workspace, backup, symlinks=True)
    outcomes = set()
    for moment in range(1_000):
        shutil.rmtree(workspace)
        shutil.copytree(backup, workspace, symlinks=True)
        disk.left = moment
        landing = await repo.land()
        if disk.left >= 0:
            break
        texts = {path.read_text() for path in workspace.glob("a*")}
        assert "saved at this very moment\n" in texts, (moment, landing)
        moved = git(workspace, "rev-parse", "main").decode().strip() != repo.facts.base
        assert moved == (landing.reason is None)
        outcomes.add(landing.reason)
    assert outcomes == {None, "dirty"}
    git(workspace, "fsck", "--strict")
    await repo.close()


class Failing(Disk):
    """Refuses exactly the n-th write."""

    def __init__(self):
        self.left = -1

    def step(self, call, path):
        self.left -= 1
        if self.left == -1:
            raise OSError(28, "No space left on device", path)


async def test_a_disk_that_refuses_any_write_of_a_landing_leaves_before_or_after_W10(tmp_path):
    workspace, repo = await prepared(tmp_path, disk=(disk := Failing()))
    write(workspace, {"mine": "untracked", "b": "edited\n"})
    before = full_state(workspace)
    moment = 0
    while True:
        disk.left = moment
        landing = await repo.land()
        reached = disk.left < 0
        disk.left = -1
        if landing.reason is None:
            break
        assert reached
        assert landing.reason == "write-failed"
        assert "No space left on device" in landing.detail
        assert full_state(workspace) == before, moment
        assert not list((workspace / ".git").glob("*.lock"))
        moment += 1
    assert moment > 15
    assert git(workspace, "status", "--porcelain") == b" M b\n?? mine\n"
    await repo.close()


async def test_a_landing_killed_at_any_write_is_finished_or_undone_by_the_next_start_W10(tmp_path):
    """A child process dies at its n-th write; whoever opens the workspace next brings it to exactly before or after."""
    workspace, repo = await prepared(tmp_path)
    write(workspace, {"mine": "untracked"})
    git(workspace, "config", "gc.auto", "0")
    before = full_state(workspace)
    backup = tmp_path / "backup"
    shutil.copytree(workspace, backup, symlinks=True)
    outcomes = set()
    moment = 0
    while True:
        shutil.rmtree(workspace)
        shutil.copytree(backup, workspace, symlinks=True)
        git(workspace, "update-index", "-q", "--refresh")
        child = os.fork()
        if child == 0:
            os._exit(_land_and_die(repo, moment))
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, 9), code
        for lock in (workspace / ".git").rglob("*.lock"):
            if lock.name != "index.lock":
                lock.unlink()
        outcome = recover(find(os.fsencode(workspace)).place)
        (workspace / ".git/index.lock").unlink(missing_ok=True)
        if git(workspace, "rev-parse", "main").decode().strip() == repo.facts.base:
            assert full_state(workspace) == before, (moment, outcome)
        else:
            assert git(workspace, "status", "--porcelain") == b"?? mine\n", (moment, outcome)
            assert (workspace / "a").read_text() == "2\n"
        assert not list((workspace / ".git").glob("ggactors-move*"))
        outcomes.add(outcome)
        moment += 1
        if code == 0:
            break
    assert outcomes == {None, "undone", "finished"}
    await repo.close()


def _land_and_die(repo, moment):
    class Dying(Disk):
        left = moment

        def step(self, call, path):
            if self.left == 0:
                os._exit(9)
            self.left -= 1

    core = repo._core
    place = evolve(core.operator.place, disk=Dying())
    place.store.disk = place.disk
    core.operator = evolve(core.operator, place=place)
    return 0 if core.land().reason is None else 1
