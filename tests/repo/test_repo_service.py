"""The repository a run works with, end to end on real files, real git as the judge."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repo_kit import disk_state, full_state, git, git_code, init, write
from service_kit import SIGN, finish, start, work

from ggactors.ports import RepositoryBroken
from ggactors.protocol.git import Merged, MergeFailed, SealBlocked, Sealed, Signature
from ggactors.repo.disk import Disk


async def test_a_folder_becomes_a_repository_with_one_commit_of_all_that_is_not_ignored_W1(place):
    workspace, _ = place
    write(
        workspace,
        {"a": "1", ".gitignore": "*.log\n", "x.log": "kept", "d/e": "2", "sp ace\n": "3", b"\xff\xfe": "4", "🎈": ""},
    )
    before = disk_state(workspace)
    repo = await start(place)
    assert disk_state(workspace) == before
    assert git(workspace, "status", "--porcelain") == b""
    assert git(workspace, "rev-list", "--count", "HEAD").strip() == b"1"
    names = set(git(workspace, "ls-files", "-z").split(b"\0")) - {b""}
    assert names == {b"a", b".gitignore", b"d/e", b"sp ace\n", b"\xff\xfe", "🎈".encode()}
    git(workspace, "fsck", "--strict")
    assert len(list((workspace / ".git/objects/pack").glob("*.pack"))) == 1
    await repo.close()


async def test_an_unborn_branch_gets_the_baseline_on_its_own_name_and_staged_edits_stay_staged_W1_H5(place):
    workspace, _ = place
    init(workspace, {"a": "on disk\n"}, branch="trunk", commit=False)
    write(workspace, {"a": "staged\n"})
    git(workspace, "add", "a")
    write(workspace, {"a": "on disk\n"})
    repo = await start(place)
    assert git(workspace, "show", "HEAD:a") == b"on disk\n"
    assert git(workspace, "show", ":a") == b"staged\n"
    assert repo.facts.branch == "trunk"
    await repo.close()


async def test_a_worktree_holds_every_finished_blockers_work_W2(place):
    init(place[0])
    repo = await start(place)
    await finish(repo, "AUTH-1", {"made": "by the blocker\n"})
    opened = await repo.open_worktree("AUTH-2")
    assert (Path(opened.root) / "made").read_text() == "by the blocker\n"
    assert git(opened.path, "status", "--porcelain", "--ignored") == b""
    assert git(opened.path, "symbolic-ref", "HEAD").decode().strip() == "refs/heads/" + opened.branch
    assert git(opened.path, "rev-parse", opened.base_ref).decode().strip() == opened.base
    await repo.close()


async def test_a_worktree_belongs_to_its_issue_and_goes_on_with_what_is_there_W3(place):
    init(place[0])
    repo = await start(place)
    opened = await repo.open_worktree("AUTH-1")
    write(Path(opened.root), {"half": "done"})
    again = await repo.open_worktree("AUTH-1")
    assert again == opened
    assert (Path(again.root) / "half").exists()
    assert "1 file changed" in await repo.describe("AUTH-1")
    await repo.close()


async def test_sealing_commits_new_changed_deleted_mode_and_links_and_nothing_ignored_W4(place):
    init(place[0], {"a": "1\n", "gone": "x", "run.sh": "#!/bin/sh\n", ".gitignore": "build/\n", "dir/f": "f"})
    repo = await start(place)
    opened = await repo.open_worktree("AUTH-1")
    root = Path(opened.root)
    write(
        root,
        {"a": "2\n", "gone": None, "build/out": "o", "new/deep/file": b"\x00\xff", b"\xff name\n": "odd", "empty": ""},
    )
    (root / "run.sh").chmod(0o755)
    os.symlink("/etc/passwd", root / "out")
    (root / "dir/f").unlink()
    (root / "dir").rmdir()
    os.symlink("new", root / "dir")
    sealed = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(sealed, Sealed)
    assert not sealed.empty
    assert sealed.changed == 9
    listed = git(root, "ls-tree", "-r", "-z", sealed.commit)
    assert b"120000" in listed
    assert b"100755" in listed
    assert b"build" not in listed
    assert git(root, "status", "--porcelain") == b""
    git(root, "add", "-A")
    assert git(root, "write-tree") == git(root, "rev-parse", sealed.commit + "^{tree}")
    trailers = git(root, "log", "-1", "--format=%(trailers)").decode()
    assert trailers.split() == [
        "GGActors-Run:", "261130-1405-abc", "GGActors-Issue:", "AUTH-1", "GGActors-Agent:", "AUTH-1.0i", "GGActors-Attempt:", "0",
    ]  # fmt: skip
    await repo.close()


async def test_an_empty_change_is_told_as_empty(place):
    init(place[0])
    repo = await start(place)
    sealed = await work(repo, "AUTH-1", {})
    assert sealed.empty
    assert await repo.merge("AUTH-1", sealed.commit, SIGN, "m") == Merged(commit=repo.facts.base)
    await repo.close()


async def test_agents_own_commits_count_and_work_on_another_branch_is_carried_over_W4(place):
    init(place[0])
    repo = await start(place)
    opened = await repo.open_worktree("AUTH-1")
    root = Path(opened.root)
    git(root, "checkout", "-q", "-b", "feature")
    write(root, {"b": "committed by the agent\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "mine")
    git(root, "checkout", "-q", "--detach")
    write(root, {"c": "left\n"})
    sealed = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(sealed, Sealed)
    assert sealed.changed == 2
    assert git(root, "rev-parse", opened.branch).decode().strip() == sealed.commit
    assert git(root, "symbolic-ref", "--short", "HEAD").decode().strip() == opened.branch
    assert git(root, "status", "--porcelain") == b""
    await repo.close()


@pytest.mark.parametrize(
    ("commands", "word"),
    [
        ([["checkout", "-q", "--orphan", "lost"], ["commit", "-q", "--allow-empty", "-m", "x"]], "does not contain"),
        ([["checkout", "-q", "-b", "side"], ["commit", "-q", "--allow-empty", "-m", "s"], ["checkout", "-q", "-"],
          ["commit", "-q", "--allow-empty", "-m", "m"], ["checkout", "-q", "side"]], "does not contain"),
        ([["init", "-q", "sub"], ["-C", "sub", "commit", "-q", "--allow-empty", "-m", "x"]], "sub"),
    ],
)  # fmt: skip
async def test_work_that_cannot_be_carried_over_is_handed_back_with_the_way_out_W4_H16(place, commands, word):
    init(place[0])
    repo = await start(place)
    opened = await repo.open_worktree("AUTH-1")
    for command in commands:
        git(opened.root, *command)
    before = full_state(Path(opened.root))
    blocked = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(blocked, SealBlocked)
    assert word in blocked.reason
    assert full_state(Path(opened.root)) == before
    await repo.close()


async def test_another_issues_branch_is_never_taken_for_this_ones_work_W4(place):
    init(place[0])
    repo = await start(place)
    other = await repo.open_worktree("AUTH-2")
    write(Path(other.root), {"theirs": "t"})
    sealed = await repo.seal("AUTH-2", SIGN, "work")
    opened = await repo.open_worktree("AUTH-1")
    git(opened.root, "checkout", "-q", "--ignore-other-worktrees", other.branch)
    blocked = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(blocked, SealBlocked)
    assert git(opened.root, "rev-parse", other.branch).decode().strip() == sealed.commit
    await repo.close()


async def test_a_worktree_that_cannot_be_made_leaves_nothing_behind_H11(place):
    class Failing(Disk):
        left = -1

        def step(self, call, path):
            self.left -= 1
            if self.left == -1:
                raise OSError(28, "No space left on device", path)

    disk = Failing()
    init(place[0], {f"d{n}/f": "x" for n in range(4)})
    repo = await start(place, disk=disk)
    moment = 0
    while True:
        disk.left = moment
        try:
            opened = await repo.open_worktree("AUTH-1")
        except RepositoryBroken:
            disk.left = -1
            assert git(repo.facts.repository, "worktree", "list").count(b"\n") == 2
            assert git(repo.facts.repository, "branch", "--list", "gg-*") == b""
            assert not (place[1] / "worktrees/AUTH-1").exists()
        else:
            disk.left = -1
            break
        moment += 1
    assert moment > 10
    assert git(opened.root, "status", "--porcelain") == b""
    await repo.discard("AUTH-1", accepted=False)
    again = 0
    while True:  # now out of a waiting worktree: whatever fails there, a new one is made instead
        disk.left = again
        try:
            opened = await repo.open_worktree(f"AUTH-{again + 2}")
        except RepositoryBroken:
            opened = None
        used = disk.left < 0
        disk.left = -1
        if opened is not None:
            assert git(opened.root, "status", "--porcelain", "--ignored") == b""
            await repo.discard(f"AUTH-{again + 2}", accepted=False)
        if not used:
            break
        again += 1
    assert again > 8
    await repo.close()


async def test_an_unfinished_merge_of_the_agents_is_handed_back_W4(place):
    init(place[0], {"a": "1\n"})
    repo = await start(place)
    opened = await repo.open_worktree("AUTH-1")
    root = Path(opened.root)
    git(root, "checkout", "-q", "-b", "other")
    write(root, {"a": "2\n"})
    git(root, "commit", "-qam", "2")
    git(root, "checkout", "-q", opened.branch)
    write(root, {"a": "3\n"})
    git(root, "commit", "-qam", "3")
    assert git_code(root, "merge", "other") == 1
    blocked = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(blocked, SealBlocked)
    assert "git merge --abort" in blocked.reason
    git(root, "merge", "--abort")
    assert isinstance(await repo.seal("AUTH-1", SIGN, "work"), Sealed)
    await repo.close()


async def test_two_changes_to_different_lines_merge_and_every_merge_has_two_parents_M1_M5(place):
    lines = [f"{n}\n" for n in range(20)]
    init(place[0], {"a": "".join(lines)})
    repo = await start(place)
    first = await work(repo, "AUTH-1", {"a": "".join(["first\n", *lines[1:]])})
    second = await work(repo, "AUTH-2", {"a": "".join([*lines[:-1], "last\n"])})
    for issue, sealed in (("AUTH-1", first), ("AUTH-2", second)):
        merged = await repo.merge(issue, sealed.commit, SIGN, "Merge")
        assert isinstance(merged, Merged)
        assert len(git(repo.facts.main, "log", "-1", "--format=%P", merged.commit).split()) == 2
        assert git_code(repo.facts.main, "merge-base", "--is-ancestor", sealed.commit, repo.facts.branch) == 0
    assert (Path(repo.facts.main) / "a").read_text() == "".join(["first\n", *lines[1:-1], "last\n"])
    assert git(repo.facts.main, "status", "--porcelain") == b""
    git(repo.facts.main, "fsck", "--strict")
    await repo.close()


async def test_a_conflict_leaves_main_exactly_as_it_was_M4(place):
    init(place[0], {"a": "1\n", ".gitignore": "i\n"})
    repo = await start(place)
    one, two = await work(repo, "AUTH-1", {"a": "2\n"}), await work(repo, "AUTH-2", {"a": "3\n", "b": "new"})
    await repo.merge("AUTH-1", one.commit, SIGN, "m")
    write(Path(repo.facts.main), {"i": "ignored"})
    before = full_state(Path(repo.facts.main))
    assert await repo.merge("AUTH-2", two.commit, SIGN, "m") == MergeFailed(reason="conflict", conflicts=("a",))
    assert full_state(Path(repo.facts.main)) == before
    await repo.close()


async def test_an_ignored_file_in_main_is_never_merged_over(place):
    init(place[0], {".gitignore": "*.db\n"})
    repo = await start(place)
    opened = await repo.open_worktree("AUTH-1")
    write(Path(opened.root), {"my.db": "the agent's"})
    git(opened.root, "add", "-f", "my.db")
    sealed = await repo.seal("AUTH-1", SIGN, "work")
    write(Path(repo.facts.main), {"my.db": "precious"})
    failed = await repo.merge("AUTH-1", sealed.commit, SIGN, "m")
    assert isinstance(failed, MergeFailed)
    assert "my.db" in failed.reason
    assert (Path(repo.facts.main) / "my.db").read_text() == "precious"
    await repo.close()


async def test_discarding_saves_everything_unignored_first_W5(place):
    init(place[0])
    repo = await start(place)
    opened = await repo.open_worktree("AUTH-1")
    write(Path(opened.root), {"a.txt": "changed\n", "fresh": "f", "sub/x": "inner"})
    git(opened.root, "add", "a.txt")
    git(Path(opened.root) / "sub", "init", "-q")
    ref = await repo.discard("AUTH-1", accepted=False)
    assert ref == "refs/ggactors/saved/AUTH-1/0"
    repository = repo.facts.repository
    assert git(repository, "show", ref + ":a.txt") == b"changed\n"
    assert git(repository, "show", ref + ":fresh") == b"f"
    assert git(repository, "show", ref + ":sub/x") == b"inner"
    assert not Path(opened.path).exists()
    assert git(repository, "branch", "--list", opened.branch) == b""
    assert git(repository, "worktree", "list").count(b"\n") == 2
    again = await repo.open_worktree("AUTH-1")
    assert not (Path(again.root) / "fresh").exists()
    assert await repo.discard("AUTH-1", accepted=False) is None
    assert [path for path in (place[1] / "worktrees").iterdir() if not path.name.startswith(".")] == []
    await repo.close()
    assert list((place[1] / "worktrees").iterdir()) == []


async def test_a_worktree_used_again_holds_nothing_of_the_issue_before_W2(place):
    init(place[0], {"a": "1\n", ".gitignore": "build/\n*.o\n", "d/f": "f\n"})
    repo = await start(place)
    opened = await repo.open_worktree("AUTH-1")
    root = Path(opened.root)
    inode = root.stat().st_ino
    write(root, {"build/out": "o", "x.o": "o", "a": "2\n", "left": "l", "d/g.o": "o", "d/f": None})
    git(root, "stash", "-u", "-q")
    write(root, {"build/again": "o", "d/g.o": "o", "nest/.git/HEAD": "ref: x"})
    await repo.discard("AUTH-1", accepted=False)
    assert git(repo.facts.repository, "worktree", "list").count(b"\n") == 2
    await finish(repo, "AUTH-3", {"d/f": "newer\n", "d/new": "n"})
    again = await repo.open_worktree("AUTH-2")
    second = Path(again.root)
    assert second.stat().st_ino == inode
    assert disk_state(second) == disk_state(Path(repo.facts.main))
    assert git(second, "status", "--porcelain", "--ignored") == b""
    assert git(second, "reflog").count(b"\n") == 1
    assert git_code(second, "rev-parse", "-q", "--verify", "ORIG_HEAD") != 0
    assert git(second, "symbolic-ref", "--short", "HEAD").decode().strip() == again.branch == "gg-AUTH-2"
    await repo.close()


async def test_what_the_root_changed_is_committed_in_its_name_and_a_forward_move_is_kept_M6(place):
    init(place[0])
    repo = await start(place)
    main = Path(repo.facts.main)
    root = Signature(agent="root")
    assert await repo.commit_main(root, "r") is None
    write(main, {"notes": "n"})
    sealed = await repo.commit_main(root, "r")
    assert isinstance(sealed, Sealed)
    assert b"GGActors-Agent: root" in git(main, "log", "-1", "--format=%B")
    write(main, {"more": "m"})
    git(main, "add", "-A")
    git(main, "commit", "-q", "-m", "its own")
    assert await repo.guard_main() is None
    await finish(repo, "AUTH-1", {"x": "x"})
    assert git(main, "show", "HEAD:more") == b"m"
    await repo.close()


@pytest.mark.parametrize(
    "commands",
    [
        [["reset", "-q", "--hard", "HEAD~1"]],
        [["checkout", "-q", "-b", "elsewhere"], ["commit", "-q", "--allow-empty", "-m", "e"]],
        [["checkout", "-q", "--detach", "HEAD~1"]],
        [["commit", "-q", "--amend", "-m", "other"]],
        [["checkout", "-q", "--orphan", "lost"], ["rm", "-rfq", "."]],
    ],
)
async def test_a_rewound_or_switched_main_is_put_back_and_what_it_made_is_saved_M6(place, commands):
    init(place[0])
    repo = await start(place)
    await finish(repo, "AUTH-1", {"work": "w"})
    main = Path(repo.facts.main)
    before = (git(main, "rev-parse", "HEAD"), disk_state(main))
    for command in commands:
        git(main, *command)
    restored = await repo.guard_main()
    assert restored is not None
    assert (git(main, "rev-parse", "HEAD"), disk_state(main)) == before
    assert git(main, "status", "--porcelain") == b""
    assert git(main, "symbolic-ref", "--short", "HEAD").decode().strip() == repo.facts.branch
    assert await repo.guard_main() is None
    await repo.close()


async def test_uncommitted_edits_are_saved_before_main_is_put_back_M6(place):
    init(place[0], {"a": "1\n"})
    repo = await start(place)
    await finish(repo, "AUTH-1", {"work": "w"})
    main = Path(repo.facts.main)
    write(main, {"a": "edited\n"})
    git(main, "reset", "-q", "--soft", "HEAD~1")
    restored = await repo.guard_main()
    assert restored is not None
    assert restored.saved_ref is not None
    assert git(main, "show", restored.saved_ref + ":a") == b"edited\n"
    assert git(main, "status", "--porcelain") == b""
    await repo.close()
