"""What agents' commands break: a worktree gone, a branch gone, a lock left, files unreadable, commits dropped. No work is lost."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from repo_kit import full_state, git, init, write
from service_kit import SIGN, finish, start, work

from ggactors.ports import RepositoryBroken
from ggactors.protocol.git import ConflictLeft, Merged, Resolved, SealBlocked, Sealed
from ggactors.repo import disk, mend, stale
from ggactors.repo.faults import Malformed
from ggactors.repo.refs import head_log
from ggactors.repo.remains import find_remains
from ggactors.repo.service import open_repository

BASE = {"a": "1\n2\n3\n", "d/b": "b\n", ".gitignore": "*.o\n"}


def remove_all(root):
    shutil.rmtree(root)


def empty(root):
    remove_all(root)
    root.mkdir()


def prune(root):
    remove_all(root)
    git(root.parent.parent / "repo.git", "worktree", "prune")


@pytest.mark.parametrize("break_it", [remove_all, empty, prune])
async def test_a_worktree_that_is_gone_is_put_back_and_never_sealed_as_a_deletion_W4(place, break_it):
    init(place[0], BASE)
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    break_it(root)
    blocked = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(blocked, SealBlocked)
    assert "3 file(s) of gg-AUTH-1 were put back" in blocked.reason
    assert git(root, "status", "--porcelain") == b""
    write(root, {"new": "n"})
    sealed = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(sealed, Sealed)
    assert git(root, "diff", "--name-status", "HEAD~1", "HEAD") == b"A\tnew\n"
    await repo.close()


async def test_a_git_file_that_is_gone_or_replaced_comes_back_and_every_file_stays_W4(place):
    init(place[0], BASE)
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    (root / ".git").unlink()
    git(root, "init", "-q")
    write(root, {"a": None, "new": "n"})
    blocked = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(blocked, SealBlocked)
    assert "the files are as you left them" in blocked.reason
    assert git(root, "status", "--porcelain") == b" D a\n?? new\n"
    assert isinstance(await repo.seal("AUTH-1", SIGN, "work"), Sealed)
    await repo.close()


async def test_all_tracked_files_may_be_deleted_by_an_agent_in_a_whole_worktree_W4(place):
    init(place[0], BASE)
    repo = await start(place)
    sealed = await work(repo, "AUTH-1", {"a": None, "d/b": None, ".gitignore": None})
    assert sealed.changed == 3
    await repo.close()


async def test_an_issues_branch_that_is_gone_is_put_back_at_its_last_tip_W4(place):
    init(place[0], BASE)
    repo = await start(place)
    first = await work(repo, "AUTH-1", {"n": "1"})
    root = place[1] / "worktrees" / "AUTH-1"
    git(root, "update-ref", "-d", "HEAD")
    write(root, {"m": "2"})
    sealed = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(sealed, Sealed)
    assert git(root, "rev-parse", "HEAD~1").decode().strip() == first.commit
    await repo.close()


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(disk, "STALE_WAIT", 0.05)
    monkeypatch.setattr(disk, "LOCK_WAIT", 0.3)


async def test_locks_of_a_dead_git_go_in_the_runs_own_repository_W8(place, soon):
    init(place[0], BASE)
    repo = await start(place)
    sealed = await work(repo, "AUTH-1", {"n": "1"})
    admin = place[1] / "repo.git" / "worktrees"
    for lock in (admin / "AUTH-1/index.lock", admin / "main/index.lock", admin / "main/HEAD.lock"):
        lock.touch()
    (place[1] / "repo.git/refs/heads/main.lock").touch()
    await repo.check_out("AUTH-1", sealed.commit)
    assert isinstance(await repo.merge("AUTH-1", sealed.commit, SIGN, "Merge"), Merged)
    assert not [path for path in (place[1] / "repo.git").rglob("*.lock") if path.name != "HEAD.lock"]
    await repo.close()


async def test_a_lock_that_somebody_holds_or_of_the_operators_is_not_removed_W8(tmp_path, soon, monkeypatch):
    lock = os.fsencode(tmp_path / "index.lock")
    with open(lock, "wb"):
        assert not stale.forsaken(lock, os.fsencode(tmp_path), own=True) or not os.path.isdir(stale.PROCESSES)
    monkeypatch.setattr(stale, "PROCESSES", b"/nowhere")
    assert stale.forsaken(lock, os.fsencode(tmp_path), own=True)
    assert not stale.forsaken(lock, os.fsencode(tmp_path), own=False)


async def test_what_is_in_a_broken_worktree_of_a_failed_issue_is_saved_W5(place):
    init(place[0], BASE)
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    write(root, {"precious": "x"})
    (root / ".git").unlink()
    saved = await repo.discard("AUTH-1", accepted=False)
    assert saved is not None
    assert git(place[1] / "repo.git", "show", f"{saved}:precious") == b"x"
    assert not root.exists()
    await repo.close()


async def test_where_the_runs_repository_is_gone_the_files_stay_and_are_named_W5(place):
    init(place[0], BASE)
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    write(root, {"precious": "x"})
    shutil.rmtree(place[1] / "repo.git")
    with pytest.raises(RepositoryBroken, match="worktrees/AUTH-1"):
        await repo.discard("AUTH-1", accepted=False)
    assert (root / "precious").read_text() == "x"
    with pytest.raises(Malformed, match="files of its worktrees still lie in"):
        find_remains("r", place[1], str(place[0]))


def test_what_an_agent_made_unreadable_is_readable_to_its_owner_again_W5(tmp_path):
    write(tmp_path, {"t/d/f": "x"})
    root = tmp_path / "t"
    for path in (root / "d/f", root / "d", root):
        path.chmod(0)
    mend.make_readable(os.fsencode(root))
    assert [stat.S_IMODE(path.stat().st_mode) for path in (root, root / "d", root / "d/f")] == [0o700, 0o700, 0o400]


async def test_commits_a_command_in_main_drops_again_are_kept_M6(place):
    init(place[0], BASE)
    repo = await start(place)
    main = place[1] / "main"
    write(main, {"r": "root"})
    git(main, "add", "-A")
    git(main, "commit", "-qm", "made")
    made = git(main, "rev-parse", "HEAD")
    git(main, "reset", "-q", "--hard", "HEAD~1")
    kept = await repo.guard_main()
    assert kept is not None
    assert not kept.undone
    assert git(main, "rev-parse", kept.saved_ref) == made
    assert await repo.guard_main() is None
    await finish(repo, "AUTH-1", {"n": "1"})
    git(main, "reset", "-q", "--hard", made.decode().strip())
    git(main, "commit", "-q", "--allow-empty", "-m", "more")
    more = git(main, "rev-parse", "HEAD")
    git(main, "reset", "-q", "--hard", "HEAD~2")
    restored = await repo.guard_main()
    assert restored is not None
    assert restored.undone
    assert restored.saved_ref is not None
    assert git(main, "rev-parse", restored.saved_ref) == more
    assert (main / "n").exists()
    await repo.close()


@pytest.mark.parametrize("concluded", [False, True])
async def test_in_place_the_operators_ignored_files_outlive_a_merge_agents_clean_M4(place, concluded):
    workspace, run_dir = place
    init(workspace, BASE)
    repo = await open_repository(workspace, run_id="r", run_dir=run_dir, checkout="inPlace")
    one = await work(repo, "AUTH-1", {"a": "1\nONE\n3\n"})
    two = await work(repo, "AUTH-2", {"a": "1\nTWO\n3\n"})
    assert isinstance(await repo.merge("AUTH-1", one.commit, SIGN, "Merge"), Merged)
    write(workspace, {"secret.o": "s", "deep/own.o": "o", "mine": "m"})
    os.symlink("mine", workspace / "link.o")
    before = full_state(workspace)
    assert isinstance(await repo.begin_conflict("AUTH-2", two.commit, SIGN, "Merge"), ConflictLeft)
    git(workspace, "clean", "-qfdx")
    assert not (workspace / "secret.o").exists()
    if concluded:
        write(workspace, {"a": "1\nBOTH\n3\n"})
        git(workspace, "add", "a")
        git(workspace, "commit", "-q", "--no-edit")
        assert isinstance(await repo.resolution(), Resolved)
    else:
        await repo.abort_conflict()
        assert full_state(workspace) == before
    assert [(workspace / name).read_text() for name in ("secret.o", "deep/own.o", "mine", "link.o")] == [*"somm"]
    assert not (run_dir / "repo.git/ggactors-aside").exists()
    await repo.close()


def test_a_damaged_line_in_the_log_of_head_is_passed_over_and_no_log_is_an_empty_one(tmp_path):
    gitdir = os.fsencode(tmp_path)
    assert head_log(gitdir) == []
    one, two, three = (digit * 40 for digit in (b"1", b"2", b"3"))
    lines = [
        one + b" " + two + b" A <a> 1 +0000\tx\n",
        b"\x00" * 90 + b"\n",
        two + b" " + three + b" A <a> 2 +0000\ty\n",
    ]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "HEAD").write_bytes(b"".join(lines))
    assert head_log(gitdir) == [(one, two), (two, three)]
    assert head_log(gitdir, len(lines[0])) == [(two, three)]
