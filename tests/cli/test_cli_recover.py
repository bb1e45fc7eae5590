"""``recover``: nothing an agent made is lost; it comes back as a branch, and the checkout is not touched (W5)."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess

import pytest
from after_kit import HALF, HALF_CREW, HELLO, IN_FLIGHT, Desk, in_flight, permissions_bind
from cli_kit import Shell, nothing_is_left  # noqa: F401 - a fixture

from ggactors.store.lock import take_lock
from ggactors.testing.crews import finish, issue, shell, turn, wait, write


@pytest.fixture
def half(desk) -> Desk:
    desk.run(HALF, document=HALF_CREW)
    return desk


TWICE = {
    "root": [
        turn(issue("Hard")),
        wait("ISSUE-1"),
        turn(("update_issue", {"issueId": "ISSUE-1", "status": "open"})),
        wait("ISSUE-1"),
        finish("Twice in vain."),
    ],
    "ISSUE-1.0i": [turn(write("first.txt", "1\n")), turn(text="a"), turn(text="b")],
    "ISSUE-1.*": [turn(write("second.txt", "2\n")), turn(text="a"), turn(text="b")],
}


def test_saved_work_is_listed_with_issue_agent_commit_size_and_ref_W5(half):
    listed = half("recover", "last")
    assert listed.code == 0
    commit = half.own.git("rev-parse", "refs/ggactors/saved/ISSUE-1/0")
    row = next(line for line in listed.out.splitlines() if commit[:10] in line)
    for said in ("ISSUE-1#0", "ISSUE-1.0i", "not brought back", "2 files changed, +2", "left of ISSUE-1"):
        assert said in row
    assert "ISSUE-1#0 is refs/ggactors/saved/ISSUE-1/0" in listed.out
    assert "ggactors recover mine NAME" in listed.out


def test_a_failed_issues_work_comes_back_as_a_branch_and_the_checkout_stays_W5(half):
    half.repo.write({"README.md": "edited\n", "half.txt": "mine, untracked\n"})
    before = half.checkout()
    back = half("recover", "mine", "ISSUE-1")
    assert back.code == 0, back
    assert half.checkout() == before
    assert half.repo.files("ggactors-mine-ISSUE-1") == [
        ".gitignore",
        "README.md",
        "deep/other.txt",
        "half.txt",
        "sub/a",
    ]
    assert half.repo.show("half.txt", "ggactors-mine-ISSUE-1") == "x"
    assert half.runs()["mine"]["saved"] == []
    assert "brought back" in half("recover", "mine").out
    half.sound()
    log, merge = (shlex.split(line) for line in back.out.splitlines() if line.startswith("  git "))
    assert "half.txt" in subprocess.run(log, check=True, capture_output=True, text=True).stdout
    (half.repo.path / "half.txt").unlink()
    half.repo.git(*merge[3:], "--no-edit")
    assert half.repo.show("half.txt") == "x"


def test_doing_it_again_changes_nothing(half):
    half("recover", "mine", "ISSUE-1")
    before = half.repo.git("for-each-ref"), half.own.git("for-each-ref")
    again = half("recover", "mine", "issue-1")
    assert again.code == 0
    assert "already" in again.out
    assert (half.repo.git("for-each-ref"), half.own.git("for-each-ref")) == before


def test_what_came_back_survives_the_removal_of_its_run_and_a_collection(half):
    half("recover", "mine", "ISSUE-1", "--to", "again")
    assert half("clean", "mine").code == 0
    half.repo.git("gc", "-q", "--prune=now")
    half.sound()
    assert half.repo.show("deep/other.txt", "again") == "y"


def test_of_several_attempts_the_newest_comes_back_and_each_can_be_named(desk):
    desk.run(TWICE, document=HALF_CREW)
    listed = desk("recover", "mine").out
    assert "ISSUE-1#0" in listed
    assert "ISSUE-1#1" in listed
    assert "ISSUE-1.1i" in listed
    assert desk("recover", "mine", "ISSUE-1").code == 0
    assert desk.repo.show("second.txt", "ggactors-mine-ISSUE-1") == "2"
    older = desk("recover", "mine", "ISSUE-1#0")
    assert older.code == 0
    assert "ggactors-mine-ISSUE-1-2" in older.out, "the first name is taken by other work"
    assert desk.repo.show("first.txt", "ggactors-mine-ISSUE-1-2") == "1"
    by_ref = desk("recover", "mine", "refs/ggactors/saved/ISSUE-1/0", "--to", "refs/heads/by-ref")
    assert by_ref.code == 0
    assert desk.repo.git("rev-parse", "by-ref") == desk.repo.git("rev-parse", "ggactors-mine-ISSUE-1-2")
    assert desk.runs()["mine"]["saved"] == []


def test_an_existing_branch_moves_forward_only_and_never_a_checked_out_one(half):
    half.repo.git("branch", "behind")
    half.repo.git("switch", "-q", "-c", "ahead")
    half.repo.commit("ahead", {"ahead": "x\n"})
    half.repo.git("switch", "-q", "main")
    base = half.repo.git("merge-base", "main", "main~")
    half.repo.git("branch", "-f", "behind", base)
    moved = half("recover", "mine", "ISSUE-1", "--to", "behind")
    assert moved.code == 0, moved
    assert f"moved forward from {base[:10]}" in moved.out
    assert half.repo.show("half.txt", "behind") == "x"
    refs = half.repo.git("for-each-ref")
    for branch, said in (
        ("ahead", "does not contain"),
        ("main", "checked out in"),
        ("behind/x", "cannot be beside behind"),
    ):
        refused = half("recover", "mine", "ISSUE-1", "--to", branch)
        assert refused.code == 2
        assert said in refused.err
        assert "--to" in refused.err
    half.repo.git("worktree", "add", "-q", "-b", "tree", str(half.folder / "tree"), base)
    assert str(half.folder / "tree") in half("recover", "mine", "ISSUE-1", "--to", "tree").err
    half.repo.git("worktree", "remove", str(half.folder / "tree"))
    half.repo.git("branch", "-D", "tree")
    assert half.repo.git("for-each-ref") == refs


def test_a_branch_with_more_on_top_of_the_work_has_it_already(half):
    half("recover", "mine", "ISSUE-1", "--to", "more")
    half.repo.git("switch", "-q", "more")
    tip = half.repo.commit("on top", {"on-top": "x\n"})
    half.repo.git("switch", "-q", "main")
    again = half("recover", "mine", "ISSUE-1", "--to", "more")
    assert (again.code, "already" in again.out) == (0, True)
    assert half.repo.git("rev-parse", "more") == tip


@pytest.mark.parametrize("name", ["-x", "a..b", "a b", "HEAD", "x.lock", "refs/heads/", "@{", "a/"])
def test_a_name_that_git_would_not_take_is_refused(half, name):
    refused = half("recover", "mine", "ISSUE-1", f"--to={name}")
    assert refused.code == 2
    assert "no name for a branch" in refused.err
    assert half.repo.git("branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["mine", "ISSUE-9"], "nothing of ISSUE-9 is kept by run mine; there is work of ISSUE-1"),
        (["mine", "ISSUE-2"], "what was merged is on its branch"),
        (["mine", "ISSUE-1#7"], "nothing of ISSUE-1#7"),
        (["mine", "refs/heads/none"], "has no ref refs/heads/none"),
        (["mine", "--to", "x"], "say what to bring back"),
        (["none"], "no run has 'none'"),
    ],
)
def test_what_is_not_there_is_said_with_what_there_is(half, args, said):
    refused = half("recover", *args)
    assert refused.code == 2
    assert said in refused.err
    assert refused.out == ""


def test_the_runs_own_branch_can_be_taken_as_a_branch_too(desk):
    desk.run(HELLO, land="never")
    assert "is not landed: ggactors land mine" in desk("recover", "mine").out
    before = desk.checkout()
    assert desk("recover", "mine", "refs/heads/main").code == 0
    assert desk.repo.show("hello.txt", "ggactors-mine") == "hello"
    assert desk.checkout() == before


def test_a_run_without_anything_left_says_so(desk):
    desk.run(HELLO)
    assert desk("recover", "mine").out == "Run mine keeps no work beside its landed branch.\n"


def test_a_run_without_a_board_has_nothing_to_bring_back(desk):
    desk.run({"root": [finish()]}, document={"board": False})
    for args in (["mine"], ["mine", "ISSUE-1"]):
        assert "had no board" in desk("recover", *args).err


def test_what_an_issue_in_flight_had_not_committed_comes_back_after_a_kill_D5(desk):
    desk.killed(IN_FLIGHT, in_flight)
    tree = desk.home / "runs" / "mine" / "worktrees" / "ISSUE-2"
    (tree / "ignored.ign").write_text("x")
    os.symlink("slow.txt", tree / "link")
    (tree / "slow.txt").chmod(0o755)
    (tree / "README.md").unlink()
    before, refs = desk.checkout(), desk.own.git("for-each-ref")
    listed = desk("recover", "mine")
    assert "Left lying" in listed.out
    assert "ISSUE-2" in listed.out
    assert "3 uncommitted paths" in listed.out
    assert desk.own.git("for-each-ref") == refs, "a list writes nothing"

    back = desk("recover", "mine", "ISSUE-2")
    assert back.code == 0, back
    branch = "ggactors-mine-ISSUE-2"
    assert set(desk.repo.files(branch)) == {".gitignore", "link", "slow.txt", "sub/a"} | (
        {"done.txt"} if "done.txt" in desk.repo.files(branch) else set()
    )
    assert desk.repo.git("ls-tree", branch, "slow.txt").startswith("100755")
    assert desk.checkout() == before
    assert (tree / "slow.txt").read_text() == "slow\n", "the worktree stays as it was, for the run to go on"

    kept = desk.own.git("for-each-ref")
    assert desk("recover", "mine", "ISSUE-2").code == 0
    assert desk.own.git("for-each-ref") == kept, "twice is once"
    assert "Left lying" not in desk("recover", "mine").out
    (tree / "more.txt").write_text("more\n")
    assert "Left lying" in desk("recover", "mine").out
    assert desk("recover", "mine", "ISSUE-2").code == 0
    assert desk.repo.show("more.txt", f"{branch}-2") == "more"
    desk.own.git("fsck", "--full")
    desk.sound()


def test_a_cancelled_runs_unfinished_work_comes_back_too_D5(desk):
    def stop(run, event):
        if event.type == "tool_result" and event.agent == "ISSUE-1.0i":
            run.cancel()

    script = {
        "root": [turn(issue("Long")), wait("ISSUE-1"), finish()],
        "ISSUE-1.0i": [turn(write("begun.txt", "x\n")), turn(shell("echo $$"), repeat=50)],
    }
    outcome, _ = desk.run(script, during=stop)
    assert outcome.status == "canceled"
    assert "Unfinished work of ISSUE-1" in desk("show", "mine").out
    assert desk("recover", "mine", "ISSUE-1").code == 0
    assert desk.repo.show("begun.txt", "ggactors-mine-ISSUE-1") == "x"


def test_what_agents_left_on_branches_and_in_the_stash_is_not_forgotten(desk):
    script = {
        "root": [turn(issue("Try out")), wait("ISSUE-1"), finish()],
        "ISSUE-1.0i": [
            turn(
                shell(
                    "git checkout -q -b trial && echo t >trial.txt && git add -A && git commit -qm trial && git checkout -q -"
                )
            ),
            turn(shell("echo s >>README.md && git stash -q")),
            turn(write("good.txt", "good\n")),
            finish(),
        ],
    }
    desk.run(script)
    listed = desk("recover", "mine").out
    assert "refs/heads/trial" in listed
    assert "refs/stash" in listed
    assert desk("recover", "mine", "refs/heads/trial").code == 0
    assert desk.repo.show("trial.txt", "ggactors-mine-trial") == "t"
    assert desk("recover", "mine", "refs/stash", "--to", "stashed").code == 0
    assert desk.repo.show("README.md", "stashed") == "hello\ns"
    desk.sound()


def test_beside_a_living_run_what_is_saved_comes_back_and_nothing_of_its_own_is_touched(desk):
    desk.run(TWICE, document=HALF_CREW)
    (desk.home / "runs" / "mine" / "main" / "more.txt").write_text("more\n")
    refs = desk.own.git("for-each-ref")
    with take_lock(desk.home / "runs" / "mine" / "run.lock"):
        assert "The run is being driven" in desk("recover", "mine").out
        assert desk("recover", "mine", "ISSUE-1").code == 0
        refused = desk("recover", "mine", "main")
    assert refused.code == 2
    assert "driven by process" in refused.err
    assert desk.own.git("for-each-ref") == refs
    assert desk("recover", "mine", "main").code == 0
    assert desk.repo.show("more.txt", "ggactors-mine-main") == "more"


def test_work_of_an_in_place_run_that_failed_comes_back_and_the_checkout_stays(desk):
    desk.run(HALF, document=HALF_CREW, checkout="inPlace")
    before = desk.checkout()
    assert desk("recover", "mine", "ISSUE-1").code == 0
    assert desk.checkout() == before
    assert desk.repo.show("half.txt", "ggactors-mine-ISSUE-1") == "x"
    desk.sound()


def test_a_repository_that_is_gone_is_told_and_breaks_no_list(half):
    shutil.rmtree(half.repo.path)
    listed = half("recover", "mine")
    assert listed.code == 0
    assert "ISSUE-1#0" in listed.out
    assert str(half.repo.path) in listed.out
    refused = half("recover", "mine", "ISSUE-1")
    assert refused.code == 2
    assert str(half.repo.path) in refused.err


def test_a_linked_worktree_that_is_gone_does_not_keep_work_from_its_repository(desk):
    linked = desk.folder / "linked"
    desk.repo.git("worktree", "add", "-q", "-b", "linked", str(linked))
    desk.run(HALF, document=HALF_CREW, workspace=linked)
    shutil.rmtree(linked)
    desk.repo.git("worktree", "prune")
    assert desk("recover", "mine", "ISSUE-1").code == 0
    assert desk.repo.show("half.txt", "ggactors-mine-ISSUE-1") == "x"
    assert desk("land", "mine").code == 2


@pytest.mark.skipif(not permissions_bind(), reason="run as root, whom no permission stops")
def test_a_repository_that_cannot_be_written_is_told(half):
    objects = half.repo.path / ".git" / "objects" / "pack"
    objects.chmod(0o500)
    try:
        refused = half("recover", "mine", "ISSUE-1")
    finally:
        objects.chmod(0o700)
    assert refused.code == 1
    assert "Permission denied" in refused.err


def test_a_full_place_for_the_branch_is_told_in_a_line(half):
    lock = half.repo.path / ".git" / "refs" / "heads"
    shutil.rmtree(half.repo.path / ".git" / "objects" / "pack")
    (half.repo.path / ".git" / "objects" / "pack").write_text("no folder")
    refused = half("recover", "mine", "ISSUE-1")
    assert refused.code == 1
    assert len(refused.err.splitlines()) == 1
    assert [path.name for path in lock.iterdir()] == ["main"]


def test_files_of_any_name_and_mode_come_back_as_they_were(desk):
    script = {
        "root": [turn(issue("Odd names")), wait("ISSUE-1"), finish()],
        "ISSUE-1.*": [
            turn(
                shell(
                    "mkdir -p d && printf x >'d/a b' && printf y >$(printf 'caf\\351') && ln -s nowhere d/l && chmod +x 'd/a b'"
                )
            ),
            turn(text="a"),
            turn(text="b"),
        ],
    }
    desk.run(script, document=HALF_CREW)
    assert desk("recover", "mine", "ISSUE-1").code == 0
    listed = desk.repo.git("ls-tree", "-r", "-z", "ggactors-mine-ISSUE-1")
    modes = {entry.partition("\t")[2]: entry[:6] for entry in listed.split("\0") if entry}
    assert modes["d/a b"] == "100755"
    assert modes["d/l"] == "120000"
    assert modes["caf\udce9"] == "100644"
    assert stat.S_ISDIR((desk.repo.path / "sub").stat().st_mode)


def test_two_recoveries_at_once_give_one_branch(half):
    shells = Shell(half.folder, half.home)
    both = [shells.start("recover", "mine", "ISSUE-1") for _ in range(2)]
    ended = [(process.communicate(timeout=60), process.returncode) for process in both]
    assert 0 in [code for _, code in ended], ended
    assert half.repo.show("half.txt", "ggactors-mine-ISSUE-1") == "x"
    assert half.repo.git("branch", "--format=%(refname:short)").split() == ["ggactors-mine-ISSUE-1", "main"]
    half.sound()
