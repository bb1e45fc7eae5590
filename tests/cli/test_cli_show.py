"""``runs`` and ``show``: looking into runs that are over, live, interrupted, or not there."""

from __future__ import annotations

import json

import pytest
from cli_kit import Shell, lines_of, nothing_is_left  # noqa: F401 - a fixture

from ggactors.cli.main import main
from ggactors.store.lock import take_lock
from ggactors.testing.crews import finish, issue, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo

SCRIPT = {
    "root": [turn(issue("Say hello"), text="One issue will do.\x1b[31m"), wait("ISSUE-1"), finish("Hello is said.")],
    "ISSUE-1.*": [turn(write("hello.txt", "hello\n"), usage={"input": 10, "output": 5}), finish("Wrote it.")],
}


@pytest.fixture(scope="module")
def sh(tmp_path_factory) -> Shell:
    """Two runs: ``first-run`` and ``second-run``."""
    folder = tmp_path_factory.mktemp("show")
    crew = write_crew(folder / "crew", SCRIPT, name="greeters")
    made = Shell(folder, folder / "state")
    for name in ("first-run", "second-run"):
        make_repo(folder / name)
        ran = made("run", crew, "--workspace", name, "--task", "greet", "--run-id", name)
        assert ran.returncode == 0, ran.stderr
    return made


def test_runs_are_listed_newest_first(sh):
    rows = [line.split() for line in sh("runs").stdout.splitlines()]
    assert [row[0] for row in rows] == ["second-run", "first-run"]
    assert all(row[1] == "completed" for row in rows)
    assert "1/1 issues" in sh("runs").stdout
    assert "greeters" in sh("runs").stdout


def test_runs_as_json_are_an_array(sh):
    told = json.loads(sh("runs", "--json").stdout)
    assert [run["run"] for run in told] == ["second-run", "first-run"]
    assert told[0] == told[0] | {
        "status": "completed",
        "exitCode": 0,
        "crew": "greeters",
        "issues": {"ISSUE-1": "done"},
    }


def test_show_gives_summary_board_and_where_the_work_is(sh):
    for name in ("last", "second-run", "second", "d-r"):
        ran = sh("show", name)
        assert ran.returncode == 0, ran.stderr
        assert "Run second-run: completed (exit code 0)" in ran.stdout
        assert "ISSUE-1  done" in ran.stdout
        assert "The work is in" in ran.stdout


def test_show_board_and_agents_are_what_the_run_itself_showed_T2(sh):
    assert (
        sh("show", "first", "--board").stdout.splitlines()[1].startswith("  ISSUE-1  done  coder  1 attempt  Say hello")
    )
    root, coder = sh("show", "first", "--agents").stdout.splitlines()
    assert root.split()[:3] == ["root", "lead", "completed"]
    assert "15 tokens" in coder
    assert "Wrote it." in coder


def test_show_events_is_the_stream_as_it_is(sh):
    ran = sh("show", "first", "--events")
    assert ran.stdout == (sh.home / "runs" / "first-run" / "events.jsonl").read_text()
    assert lines_of(ran.stdout)[0]["type"] == "session_started"


def test_show_agent_tells_its_story_safe_for_the_terminal(sh):
    ran = sh("show", "first", "--agent", "ISSUE-1.0i")
    assert "→ write_file" in ran.stdout
    assert "Wrote it." in ran.stdout
    told = sh("show", "first", "--agent", "root").stdout
    assert "One issue will do." in told
    assert "\x1b" not in told


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nothing-like-it"], "no run has 'nothing-like-it'"),
        (["run"], "2 runs have 'run' in their id: first-run, second-run"),
        (["first", "--agent", "nobody"], "no agent 'nobody'; it has root, ISSUE-1.0i"),
        (["first", "--follow", "--board"], "not allowed with"),
        (["first", "--board", "--agents"], "not allowed with"),
        ([], "RUN"),
    ],
)
def test_what_cannot_be_shown_is_said_with_what_there_is(sh, args, said, monkeypatch, capfd):
    monkeypatch.setenv("GGACTORS_HOME", str(sh.home))
    assert main(["show", *args]) == 2
    ran = capfd.readouterr()
    assert ran.out == ""
    assert said in ran.err


def test_a_run_without_an_end_is_told_running_or_interrupted(tmp_path, sh):
    other = Shell(tmp_path, tmp_path / "state")
    folder = other.home / "runs" / "cut-off"
    folder.mkdir(parents=True)
    whole = (sh.home / "runs" / "first-run" / "events.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "events.jsonl").write_bytes(b"".join(whole[:8]) + whole[8][:20])
    (folder / "run.lock").write_text("")
    assert other("runs").stdout.split()[:2] == ["cut-off", "interrupted"]
    assert "gone without an end" in other("show", "last").stdout
    assert len(other("show", "last", "--events").stdout.splitlines()) == 8
    with take_lock(folder / "run.lock"):
        assert other("runs").stdout.split()[:2] == ["cut-off", "running"]
        assert "It is driven by process" in other("show", "last").stdout


def test_without_runs_there_is_nothing_on_stdout(tmp_path):
    other = Shell(tmp_path, tmp_path / "state")
    assert other("runs").stdout == ""
    assert json.loads(other("runs", "--json").stdout) == []
    assert other("show", "last").returncode == 2
