"""``land``: a held landing made good later, by the same rules and reasons as at the end of a run (W10)."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest
from after_kit import HALF, HALF_CREW, HELLO, IN_FLIGHT, in_flight
from cli_kit import Shell, nothing_is_left  # noqa: F401 - a fixture

from ggactors.store.lock import take_lock
from ggactors.testing.crews import finish, issue, turn, wait, write
from ggactors.testing.repos import make_repo


def test_what_was_held_lands_when_the_way_is_free_and_the_rest_is_left_alone_W10(desk):
    desk.repo.write({"hello.txt": "mine\n", "README.md": "edited\n", "x.ign": "ignored\n"})
    desk.run(HELLO)
    before = desk.checkout()
    held = desk("land", "last")
    assert held.code == 1
    assert "not moved (dirty)" in held.out
    assert "  hello.txt" in held.out.splitlines()
    assert "`ggactors land mine` again" in held.out
    assert desk.checkout() == before
    assert desk.runs()["mine"]["landed"] is False
    assert "not landed" in desk("runs").out

    (desk.repo.path / "hello.txt").unlink()
    old = desk.repo.head()
    landed = desk("land", "mine")
    assert landed.code == 0, landed
    assert f"moved from {old[:10]} to {desk.repo.head()[:10]}" in landed.out
    assert desk.repo.show("hello.txt") == "hello"
    assert desk.repo.status() == " M README.md"
    assert (desk.repo.path / "x.ign").read_text() == "ignored\n"
    assert desk.runs()["mine"]["landed"] is True
    assert "not landed" not in desk("show", "mine").out
    assert f"The work is in {desk.repo.path}" in desk("show", "mine").out
    desk.sound()

    again = desk("land", "mine")
    assert (again.code, "Nothing to land" in again.out) == (0, True)


def test_the_commands_it_prints_when_held_take_the_work_by_hand(desk):
    desk.run(HELLO, land="never")
    desk.repo.git("checkout", "-q", "-b", "elsewhere")
    held = desk("land", "mine")
    assert held.code == 1
    fetch, merge = (shlex.split(line) for line in held.out.splitlines() if line.startswith("  git "))
    subprocess.run(fetch, check=True, capture_output=True)
    subprocess.run(merge, check=True, capture_output=True)
    assert desk.repo.show("hello.txt") == "hello"
    assert desk.runs()["mine"]["landed"] is True, "who took it by hand has landed it"


def test_work_that_was_only_fetched_is_held_by_that_branch_and_not_landed(desk):
    desk.run(HELLO, land="never")
    desk.repo.git("fetch", "-q", str(desk.own.path), "refs/heads/main:refs/heads/taken")
    assert desk.runs()["mine"]["landed"] is False
    assert "held" in desk("runs").out
    assert "not landed, but taken of" in desk("show", "mine").out


def test_landed_work_that_was_reset_away_is_told_as_not_landed(desk):
    desk.run(HELLO)
    desk.repo.git("reset", "-q", "--hard", "HEAD~")
    shown = desk("show", "mine").out
    assert "no branch of yours holds it any more" in shown
    assert "ggactors land mine" in shown
    assert desk("land", "mine").code == 0
    assert desk.repo.show("hello.txt") == "hello"


def elsewhere(desk):
    desk.repo.git("checkout", "-q", "-b", "other")


def detached(desk):
    desk.repo.git("checkout", "-q", "--detach")


def merging(desk):
    desk.repo.git("checkout", "-q", "-b", "side")
    desk.repo.commit("side", {"README.md": "side\n"})
    desk.repo.git("checkout", "-q", "main")
    desk.repo.commit("main", {"README.md": "main\n"})
    desk.repo.git("merge", "side", check=False)


def diverged(desk):
    desk.repo.commit("mine", {"hello.txt": "another hello\n"})


@pytest.mark.parametrize(
    ("way", "reason", "said"),
    [
        (elsewhere, "branch-elsewhere", "the run began on main"),
        (detached, "detached", "`git switch`"),
        (merging, "operation-in-progress", "git merge --abort"),
        (diverged, "diverged", "merge the run's branch by hand"),
    ],
)
def test_it_is_held_for_the_reasons_of_a_runs_end_and_nothing_moves_W10(desk, way, reason, said):
    desk.run(HELLO, land="never")
    way(desk)
    before = desk.checkout()
    held = desk("land", "mine")
    assert held.code == 1
    assert f"({reason})" in held.out
    assert said in held.out
    assert desk.checkout() == before
    desk.repo.git("fsck", "--strict")


def test_commits_of_the_operator_made_since_are_merged_first_W10(desk):
    desk.run(HELLO, land="never")
    mine = desk.repo.commit("mine", {"sub/b": "mine\n"})
    assert desk("land", "mine").code == 0
    assert desk.repo.git("merge-base", "--is-ancestor", mine, "HEAD") == ""
    assert desk.repo.status() == ""
    assert {"hello.txt", "sub/b"} <= set(desk.repo.files())
    desk.sound()


def test_a_run_that_is_being_driven_is_not_landed_and_who_drives_it_is_said(desk):
    desk.run(HELLO, land="never")
    before = desk.checkout()
    with take_lock(desk.home / "runs" / "mine" / "run.lock"):
        refused = desk("land", "mine")
    assert refused.code == 2
    assert "driven by process " in refused.err
    assert refused.out == ""
    assert desk.checkout() == before
    assert desk("land", "mine").code == 0


@pytest.mark.parametrize("how", [{"checkout": "inPlace"}, {"document": {"board": False}}])
def test_a_run_in_the_workspace_itself_has_nothing_to_land(desk, how):
    script = {"root": [turn(write("made.txt", "x\n")), finish()]}
    desk.run(script, **how)
    refused = desk("land", "mine")
    assert refused.code == 2
    assert "nothing to land" in refused.err
    assert str(desk.repo.path) in refused.err


def test_a_run_that_merged_nothing_has_nothing_to_land(desk):
    desk.run({"root": [finish("nothing to do")]})
    assert desk("land", "mine").out == "Nothing to land: run mine merged nothing.\n"
    assert desk.runs()["mine"]["landed"] is None


def test_a_workspace_that_is_gone_is_told(desk):
    desk.run(HELLO, land="never")
    shutil.rmtree(desk.repo.path)
    gone = desk("land", "mine")
    assert gone.code == 2
    assert str(desk.repo.path) in gone.err
    assert "No such file" in gone.err
    assert desk("show", "mine").code == 0
    assert desk("runs").code == 0


def another(desk):
    desk.repo.path.rename(desk.folder / "moved")
    make_repo(desk.repo.path, {"stranger": "x\n"})


def one_around_it(desk):
    (desk.repo.path / ".git").rename(desk.folder / "moved")
    make_repo(desk.folder, {"stranger": "x\n"})


@pytest.mark.parametrize("put", [another, one_around_it])
def test_another_repository_in_the_workspaces_place_is_not_touched(desk, put):
    desk.run(HELLO, land="never")
    put(desk)
    before = desk.checkout()
    for asked in (["land", "mine"], ["recover", "mine", "ISSUE-1"]):
        refused = desk(*asked)
        assert refused.code == 2
        assert "another repository" in refused.err
    assert desk.checkout() == before
    assert desk("clean").out.startswith("kept")


def test_what_a_killed_run_had_merged_is_landed_and_what_was_in_flight_is_not_in_it(desk):
    desk.killed(IN_FLIGHT, in_flight)
    assert desk.runs()["mine"]["status"] == "interrupted"
    landed = desk("land", "mine")
    assert landed.code == 0, landed
    assert desk.repo.show("done.txt") == "done"
    assert "slow.txt" not in desk.repo.files()
    assert desk.repo.status() == ""
    desk.sound()


def test_a_conflict_that_a_killed_run_left_in_its_main_is_taken_back_first_M4(desk):
    script = {
        "root": [turn(issue("One"), issue("Two")), wait("ISSUE-1", "ISSUE-2"), finish()],
        "ISSUE-1.0i": [turn(write("README.md", "one\n")), finish()],
        "ISSUE-2.0i": [turn(write("README.md", "two\n")), finish()],
        "*m": [turn(write("README.md", "half\n")), turn(text="hm", delaySecs=600)],
    }
    desk.killed(script, lambda seen: any(e["type"] == "tool_result" and (e["agent"] or "").endswith("m") for e in seen))
    assert desk("land", "mine").code == 0
    assert (desk.repo.path / "README.md").read_text() in ("one\n", "two\n")
    assert desk.repo.status() == ""
    assert "<<<<" not in (desk.home / "runs" / "mine" / "main" / "README.md").read_text()
    listed = desk("recover", "mine").out
    assert "main#0" in listed, "what the merge agent had made of it is kept"
    desk.sound()


def test_two_landings_at_once_land_once_and_leave_all_sound(desk):
    desk.run(HELLO, land="never")
    shell = Shell(desk.folder, desk.home)
    both = [shell.start("land", "mine") for _ in range(2)]
    ended = [(process.communicate(timeout=60), process.returncode) for process in both]
    codes = sorted(code for _, code in ended)
    assert codes in ([0, 0], [0, 2]), ended
    assert desk.repo.show("hello.txt") == "hello"
    assert desk.repo.status() == ""
    assert not (desk.repo.path / ".git" / "index.lock").exists()
    desk.sound()


def test_a_subdirectory_as_workspace_lands_at_the_repositorys_top(desk):
    desk.run(HELLO, workspace=desk.repo.path / "sub", land="never")
    assert desk("land", "mine").code == 0
    assert desk.repo.show("sub/hello.txt") == "hello"


def test_work_the_operator_had_not_committed_lands_with_the_runs_when_it_was_taken_in_W11(desk):
    desk.repo.write({"README.md": "edited\n"})
    desk.run(HELLO, land="never", include_dirty=True)
    assert desk("land", "mine").code == 0
    assert desk.repo.status() == ""
    assert desk.repo.show("README.md") == "edited"


def test_the_done_half_of_a_run_lands_and_the_failed_half_stays_to_be_recovered(desk):
    desk.run(HALF, document=HALF_CREW, land="never")
    assert desk("land", "last").code == 0
    assert "half.txt" not in desk.repo.files()
    assert desk.runs()["mine"]["saved"] == ["ISSUE-1#0"]


def test_a_run_ended_before_it_had_a_repository_is_not_called_one_without_a_board(desk):
    desk.run(HELLO, land="never")
    shutil.rmtree(desk.home / "runs" / "mine" / "repo.git")
    shutil.rmtree(desk.home / "runs" / "mine" / "worktrees", ignore_errors=True)
    for command in ("land", "recover"):
        refused = desk(command, "mine")
        assert refused.code == 2
        assert "run mine was ended before its repository was made" in refused.err
