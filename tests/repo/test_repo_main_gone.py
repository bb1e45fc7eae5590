"""Main, taken away by a command: it is put back, nothing that lay there committed is lost, and the run lands (M4, M6, W10)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from repo_kit import git, init, write
from service_kit import SIGN, finish, start, work

from ggactors.app.aftermath import land_run
from ggactors.protocol.git import ConflictLeft, Merged, Unresolved
from ggactors.repo.remains import find_remains
from ggactors.repo.service import open_repository
from ggactors.store.folder import RunFolder

BASE = {"a": "1\n2\n3\n", "d/b": "b\n"}


def by_git(run_dir):
    git(run_dir / "repo.git", "worktree", "remove", "-f", "-f", run_dir / "main")


def by_hand(run_dir):
    shutil.rmtree(run_dir / "main")


def and_pruned(run_dir):
    by_hand(run_dir)
    git(run_dir / "repo.git", "worktree", "prune")


def its_git_file(run_dir):
    (run_dir / "main/.git").unlink()


def its_registration(run_dir):
    shutil.rmtree(run_dir / "repo.git/worktrees/main")


WAYS = [by_git, by_hand, and_pruned, its_git_file, its_registration]


@pytest.mark.parametrize("take", WAYS)
async def test_a_main_that_a_command_took_away_is_put_back_and_merges_go_on_M6(place, take):
    init(place[0], BASE)
    repo = await start(place)
    await finish(repo, "AUTH-1", {"one": "1"})
    two = await work(repo, "AUTH-2", {"two": "2"})
    take(place[1])
    restored = await repo.restore_main()
    assert restored is not None
    assert "the main workspace or its .git file was gone" in restored.what
    main = place[1] / "main"
    assert git(main, "status", "--porcelain") == b""
    assert await repo.restore_main() is None
    take(place[1])
    assert isinstance(await repo.merge("AUTH-2", two.commit, SIGN, "Merge"), Merged)
    take(place[1])
    guarded = await repo.guard_main()
    assert guarded is not None
    assert "was gone" in guarded.what
    assert git(main, "status", "--porcelain") == b""
    assert (await repo.land()).reason is None
    assert (place[0] / "two").read_text() == "2"
    await repo.close()


@pytest.mark.parametrize("take", [by_git, by_hand])
async def test_what_lay_uncommitted_in_main_comes_back_with_it_R7(place, take):
    init(place[0], BASE)
    repo = await start(place)
    main = place[1] / "main"
    write(main, {"a": "root\n", "new": "n"})
    await repo.leave_main()
    take(place[1])
    assert await repo.restore_main() is not None
    assert [(main / name).read_text() for name in ("a", "new", "d/b")] == ["root\n", "n", "b\n"]
    await repo.close()


@pytest.mark.parametrize("take", WAYS)
async def test_a_conflict_left_in_a_main_that_is_taken_away_is_taken_back_M4(place, take):
    init(place[0], BASE)
    repo = await start(place)
    one = await work(repo, "AUTH-1", {"a": "ONE\n"})
    two = await work(repo, "AUTH-2", {"a": "TWO\n"})
    assert isinstance(await repo.merge("AUTH-1", one.commit, SIGN, "Merge"), Merged)
    assert isinstance(await repo.begin_conflict("AUTH-2", two.commit, SIGN, "Merge"), ConflictLeft)
    take(place[1])
    assert isinstance(await repo.resolution(), Unresolved)
    await repo.abort_conflict()
    main = place[1] / "main"
    assert git(main, "status", "--porcelain") == b""
    assert (main / "a").read_text() == "ONE\n"
    await repo.close()


@pytest.mark.parametrize("merged", [False, True])
async def test_a_private_run_whose_main_is_gone_is_landed_and_never_called_in_place_W10(place, merged):
    init(place[0], BASE)
    repo = await start(place)
    if merged:
        await finish(repo, "AUTH-1", {"one": "1"})
    await repo.close()
    by_git(place[1])
    report = land_run(RunFolder(place[1]), str(place[0]))
    assert (report.merged, (place[0] / "one").exists()) == (int(merged), merged)


async def test_a_run_in_place_is_still_called_so_W10(place):
    init(place[0], BASE)
    repo = await open_repository(place[0], run_id="r", run_dir=place[1], checkout="inPlace")
    await repo.close()
    remains = find_remains("r", Path(place[1]), str(place[0]))
    assert remains is not None
    assert remains.in_place
    remains.close()
