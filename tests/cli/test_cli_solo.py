"""``ggactors solo`` as a person meets it: real processes, one agent in the directory itself (G4, G5, B12)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from cli_kit import Shell, lines_of, nothing_is_left  # noqa: F401 - a fixture

from ggactors.testing.crews import finish, shell, turn, write, write_crew

if TYPE_CHECKING:
    from pathlib import Path


class Place(Shell):
    """A workspace that is no repository, and a script beside it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, folder / "state")
        self.work = folder / "work"
        self.work.mkdir()

    def script(self, *replies) -> None:
        (self.cwd / "script.json").write_text(json.dumps({"agents": {"root": list(replies)}}))

    def solo(self, *args: object, **more):
        return self("solo", "--model", "script/script.json", "--workspace", self.work, *args, **more)


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path)


def test_one_agent_works_in_the_directory_itself_and_makes_no_repository_of_it_B12(place):
    place.script(turn(write("a.txt", "a\n")), finish("Wrote a.txt."))
    ran = place.solo("--task", "write it")
    assert ran.returncode == 0, ran.stderr
    assert "Wrote a.txt." in ran.stdout
    assert [path.name for path in place.work.iterdir()] == ["a.txt"]
    assert "completed" in place("runs").stdout
    shown = place("show", "last", "--agent", "root")
    assert shown.returncode == 0
    assert "write it" in shown.stdout


def test_several_tasks_queue_and_are_worked_off_in_one_session_G4(place):
    place.script(
        finish("First done."), {"text": "Second, in prose."}, turn(shell("touch third")), finish("Third done.")
    )
    ran = place.solo("--task", "one", "--task", "two", "--task", "three", "--events", "-")
    assert ran.returncode == 0, ran.stderr
    events = lines_of(ran.stdout)
    assert [event["text"] for event in events if event["type"] == "message" and event["state"] == "delivered"] == [
        "two",
        "three",
    ]
    assert [event["summary"] for event in events if event["type"] == "task_ended"] == ["First done.", "Third done."]
    assert (place.work / "third").exists()


def test_a_task_may_be_piped_in_and_json_prints_one_object(place):
    place.script(finish("Done."))
    ran = place.solo("--json", stdin="piped task")
    told = json.loads(ran.stdout)
    assert (told["status"], told["exitCode"], told["verified"], told["issues"]) == ("completed", 0, None, {})


def test_prose_alone_is_answered_and_stopped_by_a_ceiling_E2(place):
    place.script({"text": "I am done.", "repeat": 20})
    ran = place.solo("--task", "x")
    assert ran.returncode == 3
    assert "maxConsecutiveErrors" in ran.stdout


def test_verify_binds_by_itself_and_unverified_work_exits_with_4_G5(place):
    place.script(turn(write("a.txt", "a\n")), {**finish("done"), "repeat": 9})
    assert place.solo("--task", "x", "--verify", "test -e a.txt").returncode == 0
    ran = place.solo("--task", "x", "--verify", "exit 3", "--json", GGACTORS_VERIFY_COMPLETION_MAX_RETRIES="1")
    assert ran.returncode == 4, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["status"], told["verified"]) == ("completed", False)
    assert "unverified: `exit 3` failed 2 times" in told["summary"]


def test_a_check_that_the_workspace_brings_needs_one_yes_remembered_for_its_content(place):
    place.script(finish("done"))
    (place.work / ".ggactors").mkdir()
    check = place.work / ".ggactors" / "verify-completion.sh"
    check.write_text("touch ran\n")
    refused = place.solo("--task", "x")
    assert refused.returncode == 2
    assert "touch ran" in refused.stderr
    assert "--trust" in refused.stderr
    assert not (place.work / "ran").exists()
    assert place.solo("--task", "x", "--trust").returncode == 0
    assert (place.work / "ran").exists()
    asked = place.terminal("solo", "--model", "script/script.json", "--workspace", place.work, "--task", "x")
    asked.until("[y/N]")
    asked.type(b"y\r")
    asked.until("task 1: completed")
    asked.type(b"/quit\r")
    assert asked.end() == 0
    assert place.solo("--task", "x").returncode == 0
    check.write_text("touch other\n")
    assert place.solo("--task", "x").returncode == 2


def test_a_bad_number_of_the_environment_is_refused_and_named(place):
    place.script(finish("done"))
    ran = place.solo("--task", "x", "--verify", "true", GGACTORS_VERIFY_COMPLETION_TIMEOUT="soon")
    assert ran.returncode == 2
    assert "GGACTORS_VERIFY_COMPLETION_TIMEOUT" in ran.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "stdin is empty"),
        (("--task", " "), "--task is empty"),
        (("--task", "x", "--json", "--events", "-"), "both want stdout"),
        (("--task", "x", "--verify", ""), "--verify"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_line(place, args, said):
    place.script(finish("done"))
    ran = place.solo(*args)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_model_is_that_of_the_crews_root_where_none_is_named(place):
    crew = write_crew(place.cwd / "crew", {"root": [finish("The root's model.")]}, board=False)
    ran = place("solo", "--crew", crew, "--workspace", place.work, "--task", "x")
    assert ran.returncode == 0, ran.stderr
    assert "The root's model." in ran.stdout
    none = place("solo", "--workspace", place.work, "--task", "x")
    assert none.returncode == 2
    assert "ANTHROPIC_API_KEY" in none.stderr


def test_without_a_person_a_terminal_gets_the_task_worked_on_and_no_prompt(place):
    place.script(finish("Done."))
    at = ("solo", "--model", "script/script.json", "--workspace", place.work)
    terminal = place.terminal(*at, "--task", "x", "--non-interactive")
    assert terminal.end() == 0
    assert "Done." in terminal.text()
    bare = place.terminal(*at, "--non-interactive")
    assert bare.end() == 2
    assert "--task" in bare.text()


def test_ctrl_c_stops_at_a_turn_boundary_and_exits_with_130(place):
    place.script({**turn(shell("true")), "delaySecs": 0.2, "repeat": 300})
    running = place.start(
        "solo", "--model", "script/script.json", "--workspace", place.work, "--task", "x", "--events", "e.jsonl"
    )
    events = place.cwd / "e.jsonl"
    while not events.exists() or "tool_result" not in events.read_text():
        assert running.poll() is None
    running.send_signal(2)
    assert running.wait(timeout=60) == 130
    assert json.loads(events.read_text().splitlines()[-2])["status"] == "canceled"


def test_a_crew_of_a_run_may_name_the_check_and_the_workspaces_needs_a_yes(place):
    gate = {"hooks": [{"event": "agent-stop", "action": {"type": "built-in", "script": "verify-completion"}}]}
    crew = write_crew(place.cwd / "crew", {"root": [finish("done")]}, board=False, agents={"lead": gate})
    (place.work / ".gptme").mkdir()
    (place.work / ".gptme" / "verify-completion.sh").write_text("touch ran\n")
    at = ("run", crew, "--workspace", place.work, "--task", "x")
    assert place(*at).returncode == 2
    assert place(*at, "--trust").returncode == 0
    assert (place.work / "ran").exists()
