"""``clean``: runs go when nothing needs them any more; a living one never, and no work that only it has unless that is forced."""

from __future__ import annotations

import os
import shutil
import time

import pytest
from after_kit import HALF, HALF_CREW, HELLO, IN_FLIGHT, Desk, in_flight, permissions_bind
from cli_kit import Shell, nothing_is_left  # noqa: F401 - a fixture

from ggactors.cli.main import main
from ggactors.repo.disk import Lock
from ggactors.store import removal
from ggactors.store.lock import take_lock
from ggactors.testing.crews import finish, issue, shell, turn, wait, write, write_crew
from ggactors.testing.repos import tree_bytes


def base_refs(desk: Desk) -> list[str]:
    return desk.repo.git("for-each-ref", "--format=%(refname)", "refs/ggactors").split()


def names(desk: Desk) -> list[str]:
    """What lies in the folder of runs, whatever it is."""
    return sorted(path.name for path in (desk.home / "runs").iterdir())


def test_without_arguments_what_is_over_and_landed_goes_and_the_rest_is_kept_with_its_reason(desk):
    desk.run(HELLO, run_id="landed")
    desk.run(HALF, run_id="saved", document=HALF_CREW)
    desk.run({"root": HELLO["root"], "ISSUE-1.*": [turn(write("more", "x")), finish()]}, run_id="held", land="never")
    before = desk.checkout()
    cleaned = desk("clean")
    assert cleaned.code == 0, cleaned
    rows = {line.split()[1]: line for line in cleaned.out.splitlines()[:-1]}
    assert rows["landed"].startswith("removed")
    assert "B" in rows["landed"], "sizes are told"
    assert rows["held"].startswith("kept")
    assert "not landed: `ggactors land held`" in rows["held"]
    assert "work of ISSUE-1 is saved and not brought back: `ggactors recover saved`" in rows["saved"]
    assert cleaned.out.splitlines()[-1].startswith("Removed 1 run, ")
    assert cleaned.out.endswith("; kept 2.\n")
    assert names(desk) == ["held", "saved"]
    assert base_refs(desk) == ["refs/ggactors/held/base", "refs/ggactors/saved/base"]
    assert desk.checkout() == before
    desk.sound()

    assert desk("land", "held").code == 0
    assert desk("recover", "saved", "ISSUE-1").code == 0
    assert "Removed 2 runs, " in desk("clean").out
    assert names(desk) == []
    assert base_refs(desk) == []
    assert desk("clean").out == "Removed nothing.\n"
    desk.repo.git("gc", "-q", "--prune=now")
    desk.sound()


def test_a_dry_run_says_it_all_and_changes_nothing(desk):
    desk.run(HELLO, run_id="landed")
    desk.run(HALF, run_id="saved", document=HALF_CREW)
    before = tree_bytes(desk.home, skip=()), desk.repo.git("for-each-ref")
    dry = desk("clean", "--dry-run")
    assert dry.code == 0
    assert [line.split()[:2] for line in dry.out.splitlines()[:-1]] == [["would", "go"], ["kept", "saved"]]
    assert dry.out.splitlines()[-1].startswith("Would remove 1 run")
    forced = desk("clean", "--dry-run", "--force")
    assert [line.split()[:2] for line in forced.out.splitlines()[:-1]] == [["would", "go"]] * 2
    assert (tree_bytes(desk.home, skip=()), desk.repo.git("for-each-ref")) == before


def test_a_run_that_is_named_and_kept_is_exit_code_1_and_force_removes_it(desk):
    desk.run(HALF, document=HALF_CREW)
    kept = desk("clean", "mine")
    assert kept.code == 1
    assert "recover mine" in kept.out
    assert names(desk) == ["mine"]
    forced = desk("clean", "mine", "--force")
    assert forced.code == 0
    assert names(desk) == []
    assert base_refs(desk) == []
    assert desk("clean", "mine").code == 2


@pytest.mark.parametrize("argument", ["mine", "", "--older-than=0d"])
def test_a_living_run_is_never_removed_not_even_by_force(desk, argument):
    desk.run(HELLO)
    with take_lock(desk.home / "runs" / "mine" / "run.lock"):
        for more in ([], ["--dry-run"]):
            kept = desk("clean", *filter(None, [argument]), "--force", *more)
            assert "driven by process" in kept.out
            assert kept.code == (1 if argument == "mine" else 0)
    assert names(desk) == ["mine"]


def test_a_real_living_run_goes_on_undisturbed(desk):
    script = {"root": [turn(shell("echo $$"), delaySecs=0.05, repeat=20), finish("Undisturbed.")]}
    process = desk.started(write_crew(desk.folder / "crew", script), "mine")
    process.stdout.readline()
    assert "driven by process" in desk("clean", "--force").out
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert b"Undisturbed." in out


def test_only_runs_of_that_age_are_looked_at(desk):
    desk.run(HELLO, run_id="old")
    desk.run({"root": [finish()]}, run_id="new")
    events = desk.home / "runs" / "old" / "events.jsonl"
    text = events.read_text()
    year = time.strftime("%Y-")
    events.write_text(text.replace(f'"time":"{year}', f'"time":"{int(year[:-1]) - 1}-'))
    assert "old" not in desk("clean", "--older-than", "600w").out
    assert desk("clean", "--older-than", "4w").code == 0
    assert names(desk) == ["new"]
    assert desk("clean", "--older-than", "12h").out == "Removed nothing.\n"
    assert desk("clean", "--older-than", "0h").code == 0
    assert names(desk) == []


@pytest.mark.parametrize("bad", ["7", "d", "7y", "-7d", "1.5d", "7 d", "", "9999999d", "7m", "\u0667d"])
def test_what_is_no_age_is_a_usage_error_and_nothing_goes(desk, bad):
    (desk.home / "runs" / "mine").mkdir(parents=True)
    refused = desk("clean", f"--older-than={bad}")
    assert refused.code == 2
    assert "write 12h, 30d or 4w" in refused.err
    assert names(desk) == ["mine"]


def test_a_run_and_an_age_together_are_refused(desk):
    assert desk("clean", "mine", "--older-than", "1d").code == 2


def test_an_interrupted_run_stays_until_it_is_named_and_its_work_is_brought_back(desk):
    desk.killed(IN_FLIGHT, in_flight)
    kept = desk("clean")
    assert kept.code == 0
    for said in ("not landed", "work of ISSUE-2 lies there unsaved", "was interrupted"):
        assert said in kept.out
    desk("land", "mine")
    desk("recover", "mine", "ISSUE-2")
    left = desk("clean")
    assert left.out.splitlines()[0].endswith("it was interrupted and could go on")
    assert desk("clean", "mine").code == 0
    assert names(desk) == []
    assert desk.repo.show("slow.txt", "ggactors-mine-ISSUE-2") == "slow"
    desk.sound()


def test_a_cancelled_run_whose_issue_could_go_on_stays_until_it_is_named(desk):
    def stop(run, event):
        if event.type == "tool_result" and event.agent == "ISSUE-1.0i":
            run.cancel()

    script = {
        "root": [turn(issue("Long")), wait("ISSUE-1"), finish()],
        "ISSUE-1.0i": [turn(shell("echo $$"), repeat=50)],
    }
    desk.run(script, during=stop)
    assert "ISSUE-1 could go on" in desk("clean").out
    assert desk("clean", "mine").code == 0


def test_an_unlanded_run_whose_repository_is_gone_is_kept_and_a_landed_one_goes(desk):
    desk.run(HELLO, run_id="landed")
    desk.run({"root": HELLO["root"], "ISSUE-1.*": [turn(write("more", "x")), finish()]}, run_id="held", land="never")
    shutil.rmtree(desk.repo.path)
    cleaned = desk("clean")
    assert cleaned.code == 0
    assert cleaned.err == ""
    assert "not landed (" in cleaned.out
    assert str(desk.repo.path) in cleaned.out
    assert names(desk) == ["held"]
    (desk.home / "runs" / "held" / "main" / "fresh").write_text("not committed")
    assert "work of main lies there unsaved" in desk("clean").out
    assert desk("clean", "held", "--force").code == 0
    assert names(desk) == []


def test_a_base_ref_that_cannot_be_removed_is_told_with_the_command_and_the_run_goes(desk, monkeypatch):
    monkeypatch.setitem(Lock.__init__.__kwdefaults__, "wait", 0.0)
    desk.run(HELLO)
    ref = desk.repo.path / ".git" / "refs" / "ggactors" / "mine" / "base"
    ref.with_name("base.lock").write_text("")
    cleaned = desk("clean", "mine")
    assert cleaned.code == 0
    assert names(desk) == []
    assert "update-ref -d refs/ggactors/mine/base" in cleaned.err
    assert ref.exists()


@pytest.mark.skipif(not permissions_bind(), reason="run as root, whom no permission stops")
def test_a_read_only_repository_is_no_reason_to_keep_a_landed_run(desk):
    desk.run(HELLO)
    folder = desk.repo.path / ".git" / "refs" / "ggactors" / "mine"
    folder.chmod(0o500)
    try:
        cleaned = desk("clean")
    finally:
        folder.chmod(0o700)
    assert cleaned.code == 0
    assert names(desk) == []
    assert "Permission denied" in cleaned.err


def test_a_base_packed_away_goes_too_and_the_refs_of_other_runs_stay(desk):
    desk.run(HELLO, run_id="one")
    desk.run({"root": [finish()]}, run_id="two", land="never")
    desk.repo.git("pack-refs", "--all")
    assert desk("clean", "one").code == 0
    assert base_refs(desk) == ["refs/ggactors/two/base"]
    desk.sound()


def test_links_are_removed_as_links_and_a_run_that_is_one_is_left_alone(desk):
    precious = desk.folder / "precious"
    precious.mkdir()
    (precious / "file").write_text("precious\n")
    desk.run(HELLO)
    run = desk.home / "runs" / "mine"
    os.symlink(precious, run / "worktrees" / "link")
    os.symlink(precious / "file", run / "file-link")
    os.link(precious / "file", run / "hard")
    os.symlink(precious, desk.home / "runs" / "linked")
    assert desk("clean", "mine").code == 0
    linked = desk("clean", "linked", "--force")
    assert linked.code == 1
    assert "link" in linked.out
    assert tree_bytes(precious) == {"file": b"precious\n"}
    assert names(desk) == ["linked"]


def test_what_agents_made_unwritable_is_removed_all_the_same(desk):
    script = {
        "root": [
            turn(shell("mkdir -p out/deep && echo x >out/deep/f.ign && chmod 500 out/deep && chmod 000 out")),
            finish(),
        ]
    }
    desk.run(script)
    assert desk("clean", "mine", "--force").code == 0
    assert names(desk) == []


def test_a_run_whose_main_workspace_somebody_deleted_is_kept_for_its_branch_and_lands(desk):
    desk.run(HELLO, land="never")
    shutil.rmtree(desk.home / "runs" / "mine" / "main")
    desk.own.git("worktree", "prune")
    assert "not landed" in desk("clean").out
    assert desk("land", "mine").code == 0
    assert desk.repo.show("hello.txt") == "hello"
    assert "removed" in desk("clean").out


def test_a_removal_cut_short_is_finished_by_the_next_clean(desk, monkeypatch):
    desk.run(HELLO)
    before = base_refs(desk)
    assert before == ["refs/ggactors/mine/base"]

    def dies(*_args, **_more):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(removal.shutil, "rmtree", dies)
        assert main(["clean", "mine"]) == 130
    assert desk("runs").out == "", "it is out of the list at once"
    assert names(desk) == [".removed"]
    again = desk("clean")
    assert again.code == 0
    assert again.out.splitlines()[0].split()[:2] == ["removed", "mine"]
    assert names(desk) == []
    assert base_refs(desk) == []


def test_the_ref_of_a_run_cut_off_before_it_was_let_go_goes_with_the_next_clean_unless_the_name_is_used_again(desk):
    for name in ("one", "two"):
        desk.run(HELLO if name == "one" else {"root": [finish()]}, run_id=name)
        removal.set_aside(removal.RunFolder(desk.home / "runs" / name))
    desk.run({"root": [finish()]}, run_id="two")
    assert desk("clean", "--dry-run").code == 0
    assert names(desk) == [".removed", "two"]
    assert desk("clean", "--older-than", "9w").code == 0
    assert base_refs(desk) == ["refs/ggactors/two/base"]
    assert names(desk) == ["two"]


def test_what_cannot_be_deleted_is_told_and_tried_again(desk, monkeypatch):
    desk.run(HELLO)

    def refuses(path, ignore_errors=False):
        if not ignore_errors:
            raise OSError(5, "Input/output error", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(removal.shutil, "rmtree", refuses)
        failed = desk("clean", "mine")
    assert failed.code == 1
    assert "could not be deleted: Input/output error" in failed.err
    assert desk("clean").code == 0
    assert names(desk) == []


def test_a_damaged_run_is_kept_with_the_reason_unless_forced(desk):
    desk.run(HELLO)
    (desk.own.path / "HEAD").unlink()
    kept = desk("clean")
    assert kept.code == 0
    assert "no readable HEAD" in kept.out
    assert desk("runs").code == 0
    assert desk("show", "mine").code == 0
    for command in ("land", "recover"):
        told = desk(command, "mine")
        assert told.code == 1
        assert len(told.err.splitlines()) == 1
    assert desk("clean", "--force").code == 0
    assert names(desk) == []


def test_a_folder_without_a_run_in_it_goes_once_it_is_no_launch(desk):
    folder = desk.home / "runs" / "empty"
    folder.mkdir(parents=True)
    assert "being launched" in desk("clean").out
    os.utime(folder, (1, 1))
    assert desk("clean").code == 0
    assert names(desk) == []


def test_runs_in_place_and_without_a_board_go_when_they_are_over(desk):
    desk.run({"root": [turn(write("a", "x\n")), finish()]}, run_id="plain", document={"board": False})
    desk.run({"root": [turn(write("b", "x\n")), finish()]}, run_id="inplace", checkout="inPlace")
    before = tree_bytes(desk.repo.path)
    assert desk("clean").code == 0
    assert names(desk) == []
    assert tree_bytes(desk.repo.path) == before
    assert base_refs(desk) == []


def test_two_cleans_at_once_remove_everything_once(desk):
    for number in range(3):
        desk.run({"root": [finish()]}, run_id=f"run-{number}")
    shells = Shell(desk.folder, desk.home)
    both = [shells.start("clean") for _ in range(2)]
    ended = [(process.communicate(timeout=60), process.returncode) for process in both]
    assert [code for _, code in ended] == [0, 0], ended
    assert desk("clean").code == 0
    assert names(desk) == []
    assert base_refs(desk) == []
    desk.sound()


def test_without_any_run_there_is_nothing_to_do(desk):
    assert desk("clean") == (0, "Removed nothing.\n", "")
