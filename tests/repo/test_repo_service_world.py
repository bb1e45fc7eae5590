"""The repository of a run in a world that interferes: agents' git, many at once, refusing disks, settings that stop commits."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest
import trio
from repo_kit import disk_state, full_state, git, git_code, init, write
from service_kit import SIGN, finish, start, work

from ggactors.ports import LaunchRefused, RepositoryBroken
from ggactors.protocol.git import Merged, SealBlocked, Sealed
from ggactors.repo.disk import Disk


async def test_agents_git_cannot_reach_the_operators_repository_W8(place):
    workspace, _ = place
    init(workspace)
    git(workspace, "branch", "theirs")
    write(workspace, {"wip": "w"})
    git(workspace, "stash", "-u", "-q")
    repo = await start(place)
    before = (full_state(workspace), git(workspace, "stash", "list"))
    opened = await repo.open_worktree("AUTH-1")
    root = Path(opened.root)
    write(root, {"x": "x"})
    git(root, "stash", "-u", "-q")
    git(root, "stash", "clear")
    git(root, "config", "user.name", "Mallory")
    assert git_code(root, "branch", "-D", "theirs") != 0
    git(root, "gc", "-q", "--prune=now")
    assert (full_state(workspace), git(workspace, "stash", "list")) == before
    assert git(workspace, "worktree", "list").count(b"\n") == 1
    await repo.close()


async def test_a_collection_of_the_operators_in_mid_run_takes_nothing_from_the_run_W8(place):
    workspace, _ = place
    init(workspace)
    blob = git(workspace, "hash-object", "-w", "--stdin", data=b"unreachable there\n").strip()
    repo = await start(place)
    sealed = await work(repo, "AUTH-1", {"same": "unreachable there\n"})
    assert git(repo.facts.repository, "cat-file", "-t", blob.decode()) == b"blob\n"
    git(workspace, "commit", "-q", "--amend", "-m", "rewritten")
    git(workspace, "reflog", "expire", "--expire=now", "--all")
    git(workspace, "gc", "-q", "--prune=now")
    assert isinstance(await repo.merge("AUTH-1", sealed.commit, SIGN, "m"), Merged)
    git(repo.facts.main, "fsck", "--strict")
    await repo.close()


async def test_a_workspace_inside_a_repository_roots_agents_at_the_same_folder_W11(tmp_path):
    init(tmp_path / "ws", {"top": "t", "pkg/app/f": "f"})
    repo = await start((tmp_path / "ws/pkg/app", tmp_path / "state/run"))
    opened = await repo.open_worktree("AUTH-1")
    assert opened.root == opened.path + "/pkg/app"
    assert (Path(opened.root) / "f").read_text() == "f"
    assert repo.facts.root == repo.facts.main + "/pkg/app"
    await repo.close()


async def test_sixteen_issues_sealed_and_merged_at_once_lose_nothing(place):
    init(place[0], {f"f{n}": f"{n}\n" for n in range(16)})
    repo = await start(place)

    async def one(number):
        issue = f"AUTH-{number}"
        sealed = await work(
            repo, issue, {f"f{number}": "changed\n", f"own/{number}": "x", "same": "identical for all\n"}
        )
        assert isinstance(await repo.merge(issue, sealed.commit, SIGN, "m"), Merged)
        await repo.discard(issue, accepted=True)

    async with trio.open_nursery() as nursery:
        for number in range(16):
            nursery.start_soon(one, number)
    main = Path(repo.facts.main)
    assert git(main, "rev-list", "--count", "--merges", "HEAD").strip() == b"16"
    assert sum(1 for n in range(16) if (main / f"f{n}").read_text() == "changed\n") == 16
    assert git(main, "status", "--porcelain") == b""
    git(main, "fsck", "--strict")
    assert git(main, "branch", "--list", "gg-*") == b""
    await repo.close()


async def test_sixteen_agents_committing_by_git_at_once_beside_an_operator_using_git_lose_nothing(place):
    """Agents commit with git while others are sealed, merged and landed, and the operator commits and collects."""
    init(place[0], {"mine": "0\n", **{f"f{n}": f"{n}\n" for n in range(16)}})
    repo = await start(place)
    landed, left = [], 16

    async def agent(number):
        nonlocal left
        issue = f"AUTH-{number}"
        root = (await repo.open_worktree(issue)).root
        for step in range(2):
            write(Path(root), {f"own/{number}-{step}": "x\n", f"f{number}": f"step {step}\n"})
            await trio.to_thread.run_sync(git, root, "add", "-A")
            await trio.to_thread.run_sync(git, root, "commit", "-qm", f"{issue} {step}")
        write(Path(root), {f"own/{number}-last": "uncommitted\n"})
        sealed = await repo.seal(issue, SIGN, "m")
        assert isinstance(sealed, Sealed), sealed
        assert isinstance(await repo.merge(issue, sealed.commit, SIGN, f"Merge {issue}"), Merged)
        await repo.discard(issue, accepted=True)
        if number % 4 == 0:
            landed.append(await repo.land())
        left -= 1

    def operate(turn):
        write(place[0], {"mine": f"{turn}\n"})
        collect = [["gc", "-q", "--prune=now"]] if turn % 4 == 0 else []
        for command in (["add", "mine"], ["commit", "-qm", f"operator {turn}"], *collect):
            tries = (
                git_code(place[0], *command) for _ in range(500)
            )  # git itself waits for no lock: a person tries again
            assert 0 in tries, command

    async def operator():
        turn = 0
        while left:
            turn += 1
            await trio.to_thread.run_sync(operate, turn)
            await trio.lowlevel.checkpoint()
        commits.append(turn)

    commits: list[int] = []
    async with repo.packing(), trio.open_nursery() as nursery:
        nursery.start_soon(operator)
        for number in range(16):
            nursery.start_soon(agent, number)
    final = await repo.land()
    assert final.reason is None, final
    for where in (place[0], Path(repo.facts.main)):
        assert git(where, "status", "--porcelain") == b""
        assert git(where, "fsck", "--strict", "--no-dangling") == b""
        assert all((where / f"f{n}").read_text() == "step 1\n" for n in range(16))
        assert sorted(path.name for path in (where / "own").iterdir()) == sorted(
            f"{n}-{step}" for n in range(16) for step in ("0", "1", "last")
        )
    log = git(place[0], "log", "--format=%s").decode().splitlines()
    assert sum(line.startswith("operator ") for line in log) == commits[0] > 1
    assert sum(line.startswith("AUTH-") for line in log) == 32
    await repo.close()


async def test_no_identity_signing_demanded_and_failing_hooks_stop_no_commit_of_the_runtime_H2_H3_H4(
    place, monkeypatch
):
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nonexistent")
    workspace, _ = place
    init(workspace)
    proof = workspace.parent / "ran"
    for hook in (
        "pre-commit",
        "commit-msg",
        "post-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ):
        path = workspace / ".git/hooks" / hook
        path.write_text(f"#!/bin/sh\necho {hook} >> {proof}\nexit 1\n")
        path.chmod(0o755)
    with (workspace / ".git/config").open("a") as config:
        config.write("[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = false\n[user]\n\tuseConfigOnly = true\n")
        config.write(
            f'[filter "x"]\n\tclean = touch {proof}\n[merge "y"]\n\tdriver = touch {proof}\n[core]\n\tfsmonitor = touch {proof}\n'
        )
    config_before = (workspace / ".git/config").read_bytes()
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    write(root, {"x": "x", ".gitattributes": "* filter=x merge=y\n"})
    assert isinstance(await repo.seal("AUTH-1", SIGN, "work"), SealBlocked)
    assert not proof.exists()
    merged = await finish(repo, "AUTH-1", {".gitattributes": "* merge=y\n"})
    landing = await repo.land()
    assert landing.target == merged.commit
    assert not proof.exists()
    assert (workspace / ".git/config").read_bytes() == config_before
    assert git(workspace, "log", "-1", "--format=%an <%ae>").decode().strip() == "ggactors <ggactors@localhost>"
    await repo.close()


async def test_a_disk_that_refuses_says_what_and_where_and_changes_nothing(place):
    init(place[0])

    class Full(Disk):
        armed = False

        def step(self, call, path):
            if self.armed:
                raise OSError(28, "No space left on device", path)

    disk = Full()
    repo = await start(place, disk=disk)
    opened = await repo.open_worktree("AUTH-1")
    write(Path(opened.root), {"x": "x"})
    before = full_state(Path(opened.root))
    disk.armed = True
    with pytest.raises(RepositoryBroken, match="committing AUTH-1 failed: No space left on device: /"):
        await repo.seal("AUTH-1", SIGN, "m")
    disk.armed = False
    assert full_state(Path(opened.root)) == before
    assert isinstance(await repo.seal("AUTH-1", SIGN, "m"), Sealed)
    await repo.close()


async def test_a_full_disk_is_told_and_loses_nothing(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", small], capture_output=True).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    try:
        init(tmp_path / "ws", {"a": "1\n"})
        repo = await start((tmp_path / "ws", small / "run"))
        opened = await repo.open_worktree("AUTH-1")
        root = Path(opened.root)
        write(root, {"big": os.urandom(700_000), "small": "s"})
        (small / "filler").write_bytes(b"x" * (os.statvfs(small).f_bavail * 4096 - 200_000))
        before = disk_state(root)
        with pytest.raises(RepositoryBroken, match="No space left on device"):
            await repo.seal("AUTH-1", SIGN, "m")
        assert disk_state(root) == before
        assert git(root, "rev-parse", "HEAD").decode().strip() == opened.base
        git(root, "fsck", "--strict")
        (small / "filler").unlink()
        sealed = await repo.seal("AUTH-1", SIGN, "m")
        assert isinstance(await repo.merge("AUTH-1", sealed.commit, SIGN, "m"), Merged)
        await repo.close()
    finally:
        subprocess.run(["umount", "-l", small], check=True)


async def test_a_landing_on_a_full_disk_is_held_and_moves_nothing_W10(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", small], capture_output=True).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    try:
        workspace = init(small / "ws", {"a": "1\n"})
        repo = await start((workspace, tmp_path / "run"))
        await finish(repo, "AUTH-1", {"big": os.urandom(700_000), "a": "2\n"})
        (small / "filler").write_bytes(b"x" * (os.statvfs(small).f_bavail * 4096 - 300_000))
        before = full_state(workspace)
        held = await repo.land()
        assert held.reason == "write-failed"
        assert "No space left on device" in held.detail
        assert full_state(workspace) == before
        assert not list((workspace / ".git").rglob("*.lock")) + list((workspace / ".git").rglob("tmp_*"))
        (small / "filler").unlink()
        assert (await repo.land()).reason is None
        assert (workspace / "a").read_text() == "2\n"
        await repo.close()
    finally:
        subprocess.run(["umount", "-l", small], check=True)


async def test_opening_twice_goes_on_where_the_run_was(place):
    init(place[0])
    repo = await start(place)
    opened = await repo.open_worktree("AUTH-1")
    write(Path(opened.root), {"half": "h"})
    merged = await finish(repo, "AUTH-2", {"two": "2"})
    await repo.close()
    (place[1] / "repo.git/worktrees/AUTH-1/index.lock").write_text("")
    (place[1] / "repo.git/refs/heads/main.lock").write_text("")
    again = await start(place)
    assert again.facts.base == repo.facts.base
    assert (Path((await again.open_worktree("AUTH-1")).root) / "half").exists()
    sealed = await again.seal("AUTH-1", SIGN, "m")
    assert isinstance(await again.merge("AUTH-1", sealed.commit, SIGN, "m"), Merged)
    assert git_code(again.facts.main, "merge-base", "--is-ancestor", merged.commit, "main") == 0
    await again.close()


async def test_a_run_opened_again_belongs_to_the_branch_it_began_on_wherever_the_operator_is_now_W10(place):
    init(place[0])
    repo = await start(place)
    await finish(repo, "AUTH-1", {"one": "1"})
    await repo.close()
    git(place[0], "switch", "-qc", "other")
    again = await start(place)
    assert again.facts.branch == "main"
    held = await again.land()
    assert held.reason is not None
    assert git(place[0], "status", "--porcelain") == b""
    assert not (place[0] / "one").exists()
    git(place[0], "switch", "-q", "main")
    await finish(again, "AUTH-2", {"two": "2"})
    assert (await again.land()).reason is None
    assert (place[0] / "one").read_text() + (place[0] / "two").read_text() == "12"
    await again.close()


async def test_leaving_the_repository_leaves_no_thread_holding_it(place):
    init(place[0])
    before = set(threading.enumerate())
    repo = await start(place)
    await repo.close()
    # Threads that trio keeps for later work bear its own name; one at work bears that of its work.
    left = [thread.name for thread in set(threading.enumerate()) - before]
    assert [name for name in left if not name.startswith("Trio thread")] == []


async def test_a_workspace_that_is_not_there_is_refused_by_name_P2(place):
    with pytest.raises(LaunchRefused, match="does not exist"):
        await start(place)
