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
@pytest.mark.parametrize(
    ("replies", "code"), [([finish()], 1), ([{"error": {"status": 401}}], 1), ([turn()] * 6, 3)], ids=["0", "1", "3"]
)
def test_a_full_disk_behind_json_is_told_in_a_line_and_never_exit_code_0(tmp_path, replies, code):
    ran = redirected(tmp_path, [*run_arguments(tmp_path, {"root": replies}), "--json"], ">/dev/full")
    said = ran.stderr.decode()
    assert ran.returncode == code
    assert said.count("could not write to stdout: No space left on device") == 1
    assert "defect" not in said
    assert "Traceback" not in said
    assert not (tmp_path / "state" / "crashes").exists()


@NEEDS_FULL
def test_an_account_for_a_person_that_could_not_be_printed_is_told_and_the_runs_exit_code_stands(tmp_path):
    ran = redirected(tmp_path, run_arguments(tmp_path), ">/dev/full")
    assert ran.returncode == 0
    assert ran.stderr.decode().count("could not write to stdout: No space left on device") == 1


@NEEDS_FULL
@pytest.mark.parametrize(
    ("words", "redirection", "name"),
    [
        (["--events", "/dev/full"], ">/dev/null", "/dev/full"),
        (["--events", "-"], ">/dev/full", "stdout"),
        (["--events", "/dev/full", "--json"], ">/dev/full", "/dev/full"),
    ],
)
def test_events_that_could_not_be_streamed_are_told_once_and_are_never_exit_code_0(tmp_path, words, redirection, name):
    ran = redirected(tmp_path, [*run_arguments(tmp_path), *words], redirection)
    assert ran.returncode == 1
    assert ran.stderr.decode().count(f"events are missing, {name} takes no more: No space left on device") == 1
    assert "completed" in ran.stderr.decode() or redirection == ">/dev/null"


def test_events_that_did_not_fit_into_a_file_are_told_and_are_never_exit_code_0(tmp_path):
    replies = [*(turn(shell(f"echo {'x' * size}")) for size in (500, 1000, 1500)), finish()]
    words = [*run_arguments(tmp_path, {"root": replies}), "--events", "some.jsonl"]
    # A limit on the size of files would hit the journal too.
    program = (
        "import os\nreal = os.write\n"
        "def write(descriptor, data):\n"
        "    if os.readlink(f'/proc/self/fd/{descriptor}').endswith('some.jsonl') and os.fstat(descriptor).st_size > 4000:\n"
        "        raise OSError(28, 'No space left on device')\n"
        "    return real(descriptor, data)\n"
        "os.write = write\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program + LAUNCH, *words],
        cwd=tmp_path, env=environment(tmp_path / "state"), stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    said = ran.stderr.decode()
    assert ran.returncode == 1, said
    assert "events cannot be written to some.jsonl: No space left on device; the run goes on" in said
    assert "events are missing, some.jsonl takes no more: No space left on device" in said


@pytest.mark.parametrize("words", [["--events", "-"], ["--json"]])
def test_a_reader_that_goes_away_is_no_loss(tmp_path, words):
    line = 'trap "" PIPE; "$@" | true; exit "${PIPESTATUS[0]}"'
    ran = subprocess.run(
        ["bash", "-c", line, "bash", sys.executable, "-m", "ggactors", *run_arguments(tmp_path), *words],
        cwd=tmp_path, env=environment(tmp_path / "state"), stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    assert ran.returncode == 0
    assert "missing" not in ran.stderr.decode()


@pytest.mark.parametrize("where", ["in the answer", "on loading"])
def test_an_interrupt_that_a_python_model_raises_itself_ends_without_a_traceback(tmp_path, where):
    answers = "def answer(request):\n    raise KeyboardInterrupt\n"
    (tmp_path / "m.py").write_text(answers if where == "in the answer" else "raise KeyboardInterrupt\n")
    make_repo(tmp_path / "repo")
    words = ["solo", "--model", "python/m.py:answer", "--task", "x", "--workspace", "repo", "--json"]
    ran = redirected(tmp_path, words, "")
    said = ran.stderr.decode()
    assert "Traceback" not in said
    assert ran.returncode == (1 if where == "in the answer" else 130), said
    if where == "in the answer":
        assert json.loads(ran.stdout)["status"] == "model_error"
        assert "python/m.py:answer raised KeyboardInterrupt (line 2 of answer)" in said


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
