"""A conflicted merge left in place is git's own; what concludes it is read off git; taking it back is exact (M2-M4, R8)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from repo_kit import ENV, disk_state, full_state, git, git_code, init, write

from ggactors.ports import RepositoryBroken
from ggactors.protocol.git import ConflictLeft, FileChange, Merged, Resolved, Sealed, Signature, Unresolved
from ggactors.repo.disk import Disk
from ggactors.repo.service import open_repository

SIGN = Signature(agent="AUTH-1.0i", issue="AUTH-1", attempt=0)
LINES = [f"{n}\n" for n in range(30)]
BASE = {
    "a": "".join(LINES),
    "b": "1\n",
    "gone": "".join(LINES[:9]),
    "old": "".join(LINES),
    "bin": b"\x00\x01",
    ".gitignore": "*.o\n",
    "run": "x\n",
}


def changed(at, text):
    lines = list(LINES)
    lines[at] = text
    return "".join(lines)


CASES = {
    "content": ({"a": changed(3, "ours\n")}, {"a": changed(3, "theirs\n"), "b": "clean\n"}),
    "two hunks": ({"a": changed(3, "ours\n")[:-4] + "o\n"}, {"a": changed(3, "theirs\n")[:-4] + "t\n"}),
    "add/add": ({"new": "ours\nsame\n"}, {"new": "theirs\nsame\n"}),
    "modify/delete": ({"gone": "edited\n"}, {"gone": None}),
    "delete/modify": ({"gone": None}, {"gone": "edited\n"}),
    "binary": ({"bin": b"\x00ours"}, {"bin": b"\x00theirs"}),
    "no newline at the end": ({"b": "ours"}, {"b": "theirs"}),
    "crlf": ({"b": "ours\r\n"}, {"b": "theirs\r\n"}),
    "rename and edit": ({"old": None, "moved": changed(3, "ours\n")}, {"old": changed(3, "theirs\n")}),
    "rename/delete": ({"old": None, "moved": "".join(LINES)}, {"old": None}),
    "both renamed alike": (
        {"old": None, "moved": changed(3, "ours\n")},
        {"old": None, "moved": changed(3, "theirs\n")},
    ),
    "they renamed": ({"old": changed(3, "ours\n")}, {"old": None, "moved": changed(3, "theirs\n")}),
    "links": ({"b": ("link", "x")}, {"b": ("link", "y")}),
    "a link against an edit": ({"a": ("link", "x")}, {"a": changed(3, "theirs\n")}),
    "an edit against a link": ({"a": changed(3, "ours\n")}, {"a": ("link", "x")}),
    "a link where the other moved away": ({"old": ("link", "x")}, {"old": None, "moved": "".join(LINES)}),
    "a folder where the other has a file": ({"spot": "file\n"}, {"spot/in": "folder\n"}),
}


def edit(root, files):
    for name, content in files.items():
        path = root / name
        if isinstance(content, tuple):
            path.unlink()
            os.symlink(content[1], path)
        else:
            write(root, {name: content})


async def conflicted(tmp_path, ours, theirs, *, checkout="private", disk=None, before=None):
    """A run whose main has ``ours``, with ``theirs`` about to be merged and conflicting."""
    workspace = init(tmp_path / "ws", BASE)
    if before is not None:
        before(workspace)
    repo = await open_repository(workspace, run_id="r", run_dir=tmp_path / "state/r", checkout=checkout, disk=disk)
    for issue, files in (("AUTH-1", ours), ("AUTH-2", theirs)):
        opened = await repo.open_worktree(issue)
        edit(Path(opened.root), files)
    one, two = [await repo.seal(issue, SIGN, "work") for issue in ("AUTH-1", "AUTH-2")]
    assert isinstance(one, Sealed)
    assert isinstance(await repo.merge("AUTH-1", one.commit, SIGN, "first"), Merged)
    return repo, two.commit


def oracle(tmp_path, repo, commit):
    """Let git make the same conflict in a clone of main."""
    there = tmp_path / "oracle"
    git(tmp_path, "clone", "-q", "--no-local", repo.facts.repository, str(there))
    git(there, "checkout", "-q", repo.facts.branch)
    git(there, "fetch", "-q", repo.facts.repository, "gg-AUTH-2:gg-AUTH-2")
    done = subprocess.run(["git", "merge", "-q", "gg-AUTH-2"], cwd=there, env=ENV, capture_output=True)
    assert done.returncode == 1, done
    return there


@pytest.mark.parametrize("case", CASES)
async def test_what_is_left_in_place_is_what_git_would_have_left_M2(tmp_path, case):
    repo, commit = await conflicted(tmp_path, *CASES[case])
    main = Path(repo.facts.main)
    left = await repo.begin_conflict("AUTH-2", commit, SIGN, "Merge AUTH-2")
    assert isinstance(left, ConflictLeft)
    there = oracle(tmp_path, repo, commit)
    assert git(main, "ls-files", "-s", "-z") == git(there, "ls-files", "-s", "-z")
    assert disk_state(main) == disk_state(there)
    assert git(main, "status", "--porcelain", "-z") == git(there, "status", "--porcelain", "-z")
    assert git(main, "rev-parse", "MERGE_HEAD").decode().strip() == commit
    unmerged = {line.split(b"\t")[1].decode() for line in git(main, "ls-files", "-u", "-z").split(b"\0") if line}
    assert set(left.conflicts) >= unmerged
    git(main, "fsck", "--strict")
    git(main, "merge", "--abort")
    assert git(main, "status", "--porcelain") == b""
    await repo.close()


@pytest.mark.parametrize("case", CASES)
async def test_plain_git_concludes_it_and_the_resolution_is_accepted_M3(tmp_path, case):
    repo, commit = await conflicted(tmp_path, *CASES[case])
    main = Path(repo.facts.main)
    await repo.begin_conflict("AUTH-2", commit, SIGN, "Merge AUTH-2")
    before = git(main, "rev-parse", "HEAD").decode().strip()
    assert isinstance(await repo.resolution(), Unresolved)
    for path in {line.split(b"\t")[1] for line in git(main, "ls-files", "-u", "-z").split(b"\0") if line}:
        target = main / os.fsdecode(path)
        if target.is_file() and not target.is_symlink():
            target.write_text("resolved by hand\n")
        git(main, "add", "-A", os.fsdecode(path)) if os.path.lexists(target) else git(
            main, "rm", "-q", os.fsdecode(path)
        )
    git(main, "commit", "-q", "--no-edit")
    found = await repo.resolution()
    assert isinstance(found, Resolved), found
    assert git(main, "log", "-1", "--format=%P").decode().split() == [before, commit]
    assert isinstance(await repo.resolution(), Resolved)
    assert await repo.guard_main() is None
    assert (await repo.land()).target == found.commit
    await repo.close()


NOT_CONCLUDED = {
    "nothing done": ([], "unmerged"),
    "added but not committed": ([["add", "-A"]], "git commit"),
    "markers left": ([["add", "-A"], ["commit", "-q", "--no-edit"]], "markers"),
    "aborted": ([["merge", "--abort"]], "not merged"),
    "reset": ([["reset", "-q", "--hard", "HEAD~1"]], "contains"),
    "another branch": ([["checkout", "-q", "--ours", "a"], ["add", "-A"], ["commit", "-q", "--no-edit"],
                        ["checkout", "-q", "-b", "x"]], "HEAD is not on"),
    "squashed": ([["merge", "--abort"], ["merge", "-q", "--squash", "-X", "theirs", "gg-AUTH-2"], ["commit", "-q", "-m", "s"]],
                 "not merged"),
    "edited after": ([["checkout", "-q", "--ours", "a"], ["add", "-A"], ["commit", "-q", "--no-edit"], ["rm", "-q", "b"]],
                     "not committed"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_CONCLUDED)
async def test_what_is_not_concluded_is_told_and_taking_it_back_is_exact_M3_M4(tmp_path, case):
    commands, word = NOT_CONCLUDED[case]
    repo, commit = await conflicted(tmp_path, *CASES["content"])
    main = Path(repo.facts.main)
    write(main, {"built.o": "ignored stays"})
    before = full_state(main)[:3]
    await repo.begin_conflict("AUTH-2", commit, SIGN, "Merge AUTH-2")
    for command in commands:
        git(main, *command)
    write(main, {"scratch/notes": "left by the merge agent"})
    found = await repo.resolution()
    assert isinstance(found, Unresolved)
    assert word in found.reason
    saved = await repo.abort_conflict()
    assert saved is not None
    assert git(main, "show", saved + ":scratch/notes") == b"left by the merge agent"
    assert full_state(main)[:3] == before
    assert git(main, "status", "--porcelain") == b""
    assert git(main, "symbolic-ref", "--short", "HEAD").decode().strip() == repo.facts.branch
    assert git_code(main, "rev-parse", "-q", "--verify", "MERGE_HEAD") != 0
    assert await repo.abort_conflict() is None
    await repo.close()


async def test_keeping_one_side_whole_is_accepted_and_flagged_and_leftovers_are_saved_and_go_M3(tmp_path):
    repo, commit = await conflicted(tmp_path, *CASES["content"])
    main = Path(repo.facts.main)
    await repo.begin_conflict("AUTH-2", commit, SIGN, "Merge AUTH-2")
    git(main, "checkout", "-q", "--theirs", "a")
    git(main, "add", "a")
    git(main, "commit", "-q", "--no-edit")
    write(main, {"leftover": "l"})
    found = await repo.resolution()
    assert isinstance(found, Resolved)
    assert found.one_sided
    assert found.saved_ref is not None
    assert git(main, "show", found.saved_ref + ":leftover") == b"l"
    assert git(main, "status", "--porcelain") == b""
    await repo.close()


async def test_in_place_the_operators_own_edits_survive_an_abort_M4(tmp_path):
    def before(workspace):
        write(workspace, {"run": "edited by the operator\n", "mine": "untracked\n", "gone": "staged\n"})
        git(workspace, "add", "gone")

    repo, commit = await conflicted(tmp_path, *CASES["content"], checkout="inPlace", before=before)
    main = Path(repo.facts.main)
    state = full_state(main)
    left = await repo.begin_conflict("AUTH-2", commit, SIGN, "Merge AUTH-2")
    assert isinstance(left, ConflictLeft)
    write(main, {"run": "spoilt", "mine": None, "b": "spoilt"})
    git(main, "add", "-A")
    git(main, "commit", "-q", "-m", "wrong")
    assert isinstance(await repo.resolution(), Unresolved)
    await repo.abort_conflict()
    assert full_state(main) == state
    await repo.close()


async def test_a_conflict_a_dead_process_left_is_taken_back_by_the_next_start_M4(tmp_path):
    repo, commit = await conflicted(tmp_path, *CASES["content"])
    main = Path(repo.facts.main)
    before = full_state(main)
    await repo.begin_conflict("AUTH-2", commit, SIGN, "Merge AUTH-2")
    write(main, {"b": "half done\n"})
    await repo.close()
    again = await open_repository(tmp_path / "ws", run_id="r", run_dir=tmp_path / "state/r", checkout="private")
    assert any("taken back" in note for note in again.facts.notes)
    assert full_state(main) == before
    await again.close()


class Failing(Disk):
    """Refuses exactly the n-th write."""

    def __init__(self):
        self.left = -1

    def step(self, call, path):
        self.left -= 1
        if self.left == -1:
            raise OSError(28, "No space left on device", path)


@pytest.mark.parametrize("what", ["merge", "begin_conflict"])
async def test_a_disk_that_refuses_any_write_of_a_merge_leaves_main_as_it_was_M4(tmp_path, what):
    disk = Failing()
    theirs = {"a": changed(9, "theirs\n"), "n/ew": "n", "gone": None, "run": ("link", "a")}
    ours = {"a": changed(9, "ours\n")} if what == "begin_conflict" else {"b": "ours\n"}
    repo, commit = await conflicted(tmp_path, ours, theirs, disk=disk)
    main = Path(repo.facts.main)
    write(main, {"built.o": "ignored"})
    before = full_state(main)
    moment = 0
    while True:
        disk.left = moment
        try:
            outcome = await getattr(repo, what)("AUTH-2", commit, SIGN, "m")
        except RepositoryBroken as error:
            disk.left = -1
            assert "No space left on device" in str(error)
            assert full_state(main) == before, moment
        else:
            if disk.left >= 0:
                break
            disk.left = -1
            assert isinstance(outcome, Merged | ConflictLeft)  # a log that cannot be written stops nothing
            break
        moment += 1
    assert moment > 12
    await repo.close()


# -- what reviewers need ------------------------------------------------------------------------------------------------


async def test_a_commits_changes_are_summarised_path_by_path_R2(tmp_path):
    init(tmp_path / "ws", {**BASE, "sh": "#!\n"})
    repo = await open_repository(tmp_path / "ws", run_id="r", run_dir=tmp_path / "state/r", checkout="private")
    opened = await repo.open_worktree("AUTH-1")
    root = Path(opened.root)
    edit(root, {"a": changed(3, "x\ny\n"), "gone": None, "new": "1\n2\n", "bin": b"\x00more", "run": ("link", "a")})
    shutil.move(root / "old", root / "moved")
    (root / "sh").chmod(0o755)
    sealed = await repo.seal("AUTH-1", SIGN, "m")
    found = await repo.changes("AUTH-1", sealed.commit)
    assert (found.base, found.base_ref) == (opened.base, opened.base_ref)
    assert found.files == (
        FileChange(path="a", kind="modified", added=2, removed=1),
        FileChange(path="bin", kind="modified", added=None, removed=None),
        FileChange(path="gone", kind="deleted", added=0, removed=9),
        FileChange(path="moved", kind="renamed", added=0, removed=0, old_path="old"),
        FileChange(path="new", kind="added", added=2, removed=0),
        FileChange(path="run", kind="type", added=1, removed=1),
        FileChange(path="sh", kind="mode", added=0, removed=0),
    )
    await repo.close()


async def test_whatever_a_reviewer_changed_is_saved_and_put_back_R8(tmp_path):
    init(tmp_path / "ws", BASE)
    repo = await open_repository(tmp_path / "ws", run_id="r", run_dir=tmp_path / "state/r", checkout="private")
    opened = await repo.open_worktree("AUTH-1")
    root = Path(opened.root)
    write(root, {"b": "work\n"})
    sealed = await repo.seal("AUTH-1", SIGN, "m")
    assert await repo.check_out("AUTH-1", sealed.commit) is None
    write(root, {"b": "meddled\n", "extra": "e", "built.o": "stays"})
    git(root, "checkout", "-q", "-b", "mine")
    git(root, "commit", "-qam", "by the reviewer")
    saved = await repo.check_out("AUTH-1", sealed.commit)
    assert saved is not None
    assert git(root, "show", saved + ":b") == b"meddled\n"
    assert git(root, "show", saved + ":extra") == b"e"
    assert git(root, "rev-parse", "HEAD").decode().strip() == sealed.commit
    assert git(root, "symbolic-ref", "--short", "HEAD").decode().strip() == opened.branch
    assert git(root, "status", "--porcelain", "--ignored") == b"!! built.o\n"
    assert await repo.check_out("AUTH-1", sealed.commit) is None
    await repo.close()
