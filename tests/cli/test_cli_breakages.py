"""Streams that are closed or full, and signals that come late: the account and the exit code of a run stand all the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import LAUNCH, Shell, environment, nothing_is_left  # noqa: F401 - a fixture

from ggactors.testing.crews import finish, issue, shell, turn, wait, write_crew
from ggactors.testing.repos import make_repo

FULL = Path("/dev/full")
NEEDS_FULL = pytest.mark.skipif(not FULL.exists(), reason="no device here is always full")


def run_arguments(folder: Path, script=None) -> list[str]:
    repo = make_repo(folder / "repo")
    crew = write_crew(folder / "crew", script or {"root": [finish()]})
    return ["run", str(crew), "--workspace", str(repo.path), "--task", "do it"]


def redirected(folder: Path, words: list[str], redirection: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "ggactors", *words],
        cwd=folder,
        env=environment(folder / "state"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )


@pytest.mark.parametrize("closing", ["2>&-", "2>&- <&-"])
def test_with_a_closed_stderr_stdout_still_carries_one_json_object_and_nothing_else(tmp_path, closing):
    ran = redirected(tmp_path, [*run_arguments(tmp_path), "--json"], closing)
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["status"] == "completed"


def test_with_a_closed_stderr_streamed_events_are_lines_of_json_and_nothing_else(tmp_path):
    ran = redirected(tmp_path, [*run_arguments(tmp_path), "--events", "-"], "2>&-")
    assert ran.returncode == 0
    assert [json.loads(line)["type"] for line in ran.stdout.splitlines()][-1] == "session_ended"


@NEEDS_FULL
def test_a_full_disk_behind_stdout_is_told_in_a_line_and_the_runs_exit_code_stands(tmp_path):
    ran = redirected(tmp_path, [*run_arguments(tmp_path), "--json"], ">/dev/full")
    said = ran.stderr.decode()
    assert ran.returncode == 0
    assert said.count("could not write to stdout: No space left on device") == 1
    assert "defect" not in said
    assert "Traceback" not in said
    assert not (tmp_path / "state" / "crashes").exists()


@NEEDS_FULL
def test_a_full_disk_behind_another_commands_output_is_no_defect(tmp_path):
    ran = redirected(tmp_path, ["--version"], ">/dev/full")
    said = ran.stderr.decode()
    assert ran.returncode == 1
    assert "could not write its output: No space left on device" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_account_changes_nothing_about_the_exit_code(tmp_path, number):
    # The account goes to a pipe, and the process is held on its way out until the signal has come.
    held = LAUNCH.replace("sys.exit(main())", "code = main(); sys.stdin.read(); sys.exit(code)")
    assert held != LAUNCH
    process = subprocess.Popen(
        [sys.executable, "-c", held, *run_arguments(tmp_path), "--json"],
        cwd=tmp_path,
        env=environment(tmp_path / "state"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["exitCode"] == 0
        process.send_signal(number)
        process.communicate()
    assert process.returncode == 0


def test_after_a_second_interrupt_no_agent_is_said_to_be_running(tmp_path):
    pipe = tmp_path / "begun"
    os.mkfifo(pipe)
    script = {
        "root": [turn(issue("Slow")), wait("ISSUE-1"), finish()],
        "*i": [turn(shell(f"echo x > '{pipe}'; exec sleep 600"))],
    }
    here = Shell(tmp_path, tmp_path / "state")
    process = here.start(*run_arguments(tmp_path, script))
    assert pipe.read_text() == "x\n"
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    for line in process.stderr:
        if b"Ctrl-C again" in line:
            break
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    told = here("show", "last", "--agents").stdout
    assert "ISSUE-1.0i" in told
    assert "running" not in told
    assert "canceled" in told


def test_a_workspace_inside_a_git_folder_is_refused_and_nothing_is_written(tmp_path):
    words = run_arguments(tmp_path)
    repo = tmp_path / "repo"
    before = sorted(path.relative_to(repo) for path in repo.rglob("*"))
    for inside in (".git", ".git/refs"):
        at = words.index("--workspace") + 1
        ran = redirected(tmp_path, [*words[:at], str(repo / inside), *words[at + 1 :]], "")
        assert ran.returncode == 2
        assert b"lies in the git folder" in ran.stderr
    assert sorted(path.relative_to(repo) for path in repo.rglob("*")) == before
