"""What others than its own agents write into the main workspace does not land: it is put back, kept, and said (M6, R7)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ggactors.app.aftermath import land_run
from ggactors.store.folder import RunFolder
from ggactors.testing.crews import finish, issue, run_to_end, shell, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo

LINES = "a\nb\nc\n"
INTO_MAIN = {
    "files": "cd ../../main && echo evil > evil.txt && echo dirty >> a.txt",
    "a commit": "cd ../../main && echo evil > evil.txt && git add -A && git commit -qm evil && echo dirty >> a.txt",
    "another branch": "cd ../../main && git checkout -qb evil && echo evil > evil.txt && git add -A && git commit -qm evil",
    "a deletion": "cd ../../main && rm a.txt && echo evil > evil.txt",
}


def run_git(folder: Path | str, *args: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *args], capture_output=True, text=True, check=True).stdout


def warnings(events) -> list[str]:
    return [event.message for event in events if event.type == "log" and "wrote there" in event.message]


@pytest.mark.parametrize("what", INTO_MAIN)
async def test_what_an_implementers_shell_does_in_main_never_lands_and_is_kept_M6_R7(tmp_path, what):
    repo = make_repo(tmp_path / "repo", {"a.txt": LINES})
    script = {
        "root": [turn(issue("Work")), wait("ISSUE-1"), turn(write("mine", "root's own\n")), finish()],
        "ISSUE-1.*": [turn(write("n", "1\n"), shell(INTO_MAIN[what])), finish()],
    }
    outcome, events = await run_to_end(write_crew(tmp_path / "crew", script), repo.path, home=tmp_path / "state")
    assert outcome.issues == {"ISSUE-1": "done"}
    assert (repo.path / "n").read_text() == "1\n"
    assert (repo.path / "mine").read_text() == "root's own\n"
    assert (repo.path / "a.txt").read_text() == LINES
    assert not (repo.path / "evil.txt").exists()
    (told,) = warnings(events)
    assert "evil.txt" in told
    saved = told.rpartition("kept under ")[2]
    assert run_git(f"{outcome.folder}/repo.git", "show", f"{saved}:evil.txt") == "evil\n"


async def test_what_the_root_left_uncommitted_survives_what_a_stranger_does_to_it_M6(tmp_path):
    repo = make_repo(tmp_path / "repo", {"a.txt": LINES})
    script = {
        "root": [
            turn(write("mine", "root's own\n"), shell("echo more >> a.txt; rm -f gone; git add a.txt")),
            turn(issue("Work")),
            wait("ISSUE-1"),
            turn(shell("git status --short; cat mine a.txt")),
            finish(),
        ],
        "ISSUE-1.*": [
            turn(shell("cd ../../main && echo spoilt > mine && git checkout -q -f . && echo x > x")),
            finish(),
        ],
    }
    outcome, events = await run_to_end(write_crew(tmp_path / "crew", script), repo.path, home=tmp_path / "state")
    assert (repo.path / "mine").read_text() == "root's own\n"
    assert (repo.path / "a.txt").read_text() == LINES + "more\n"
    assert not (repo.path / "x").exists()
    (told,) = warnings(events)
    saved = told.rpartition("kept under ")[2]
    assert run_git(f"{outcome.folder}/repo.git", "show", f"{saved}:mine") == "spoilt\n"


async def test_what_hooks_and_commands_of_mains_own_agents_write_is_theirs_M6(tmp_path):
    repo = make_repo(tmp_path / "repo", {"a.txt": LINES})
    hook = {"event": "agent-stop", "action": {"type": "command", "command": "echo built > built"}}
    start = {"event": "agent-start", "action": {"type": "command", "command": "echo begun > begun"}}
    script = {
        "root": [
            turn(shell("echo one > one")),
            turn(issue("Work")),
            wait("ISSUE-1"),
            turn(shell("echo two > two; git add two; git commit -qm two; echo three > three")),
            finish(),
        ],
        "ISSUE-1.*": [turn(write("n", "1\n")), finish()],
    }
    crew = write_crew(tmp_path / "crew", script, agents={"lead": {"hooks": [hook, start]}})
    _, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert warnings(events) == []
    names = set(run_git(repo.path, "ls-files").split())
    assert names == {"a.txt", "one", "two", "three", "n", "built", "begun"}


@pytest.mark.parametrize("land", ["end", "never"])
async def test_a_main_branch_made_to_point_to_itself_is_made_plain_again_and_everything_lands_M5_M6(tmp_path, land):
    repo = make_repo(tmp_path / "repo", {"a.txt": LINES})
    loop = (
        "b=$(git -C ../../main branch --show-current); git symbolic-ref refs/heads/$b refs/heads/loop; "
        "git symbolic-ref refs/heads/loop refs/heads/$b; echo z > z"
    )
    script = {
        "root": [
            turn(issue("One"), issue("Two", blockedBy=["ISSUE-1"]), issue("Three", blockedBy=["ISSUE-2"])),
            wait("ISSUE-1", "ISSUE-2", "ISSUE-3"),
            finish(),
        ],
        "ISSUE-1.*": [turn(write("one", "1\n")), finish()],
        "ISSUE-2.*": [turn(shell(loop)), finish()],
        "ISSUE-3.*": [turn(write("three", "3\n")), finish()],
    }
    crew = write_crew(tmp_path / "crew", script)
    outcome, _ = await run_to_end(crew, repo.path, home=tmp_path / "state", land=land)
    assert set(outcome.issues.values()) == {"done"}
    folder = RunFolder(Path(outcome.folder))
    if land == "never":
        assert land_run(folder, str(repo.path)).landing.reason is None
    assert [(repo.path / name).read_text() for name in ("one", "z", "three")] == ["1\n", "z\n", "3\n"]


async def test_a_configuration_of_the_runs_repository_that_an_agent_spoilt_locks_no_work_in_W5_W10(tmp_path):
    repo = make_repo(tmp_path / "repo", {"a.txt": LINES})
    spoil = "printf '[broken\\n' >> $(git rev-parse --git-common-dir)/config"
    script = {
        "root": [turn(issue("One"), issue("Two")), wait("ISSUE-1", "ISSUE-2"), finish()],
        "ISSUE-1.*": [turn(write("one", "1\n"), shell(spoil)), finish()],
        "ISSUE-2.*": [turn(write("two", "2\n")), finish()],
    }
    crew = write_crew(tmp_path / "crew", script)
    outcome, _ = await run_to_end(crew, repo.path, home=tmp_path / "state", land="never")
    assert set(outcome.issues.values()) == {"done"}
    assert land_run(RunFolder(Path(outcome.folder)), str(repo.path)).landing.reason is None
    assert (repo.path / "one").read_text() + (repo.path / "two").read_text() == "1\n2\n"
