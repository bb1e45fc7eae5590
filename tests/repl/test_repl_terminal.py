"""The prompt on a real terminal: what is typed stays whole, what is told stays above it, and the terminal is left as it was."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys

import pytest
from cli_kit import LAUNCH, environment, nothing_is_left  # noqa: F401 - a fixture
from repl_kit import Room, is_left_as_found, line_of, said_to_root, wait_line

from ggactors.testing.crews import finish, shell, turn


@pytest.fixture
def room(tmp_path) -> Room:
    return Room(tmp_path)


def test_a_person_talks_with_a_crew_and_leaves_and_the_terminal_is_as_it_was(room):
    room.crew({"root": [{"text": "First line.\nSecond line."}, finish("All is said.")]}, board=False)
    at = room.prompt()
    at.type(b"hello\r")
    at.until("  Second line.")
    at.until("your turn")
    rows = [row.rstrip() for row in at.screen.display if row.strip()]
    begins = next(number for number, row in enumerate(rows) if row.endswith(" hello"))
    assert "run " in rows[begins + 1]
    assert rows[begins + 2 : begins + 4] == ["● First line.", "  Second line."]
    assert line_of(at) == ""
    at.type(b"go on\r")
    at.until("All is said.")
    at.type(b"\x04")
    assert at.end() == 0
    assert "completed (exit code 0)" in at.text()
    assert is_left_as_found(at)


def test_ctrl_c_stops_the_turn_not_the_terminal_and_keeps_what_stands_in_the_line_H45(room):
    room.crew({"root": [turn(shell("sleep 60"), text="Working."), {"text": "Back."}]}, board=False)
    at = room.prompt()
    at.type(b"not this\x03")
    wait_line(at, "")
    at.type(b"go\r")
    at.until("→ shell")
    at.type(b"half a thou")
    wait_line(at, "half a thou")
    at.type(b"\x03")
    at.until("Interrupted; Ctrl-C again cancels the run.")
    at.until("your turn")
    wait_line(at, "half a thou")
    at.type(b"ght\r")
    at.until("Back.")
    assert said_to_root(room) == ["half a thought"]
    at.process.send_signal(signal.SIGINT)
    at.until("No turn of yours is under way. Ctrl-C again cancels the run.")
    at.process.send_signal(signal.SIGINT)
    at.until("canceled (exit code 130)")
    at.type(b"still here")
    wait_line(at, "still here")
    at.type(b"\x15\x04")
    assert at.end() == 0
    assert is_left_as_found(at)


def test_a_signal_that_ends_the_prompt_ends_the_run_and_restores_the_terminal(room):
    room.crew({"root": [turn(shell("sleep 60"), text="Working.")]}, board=False)
    at = room.prompt()
    at.type(b"go\r")
    at.until("→ shell")
    at.process.send_signal(signal.SIGTERM)
    assert at.end() == 130
    assert "stopped at once" in at.text()
    assert is_left_as_found(at)


CRASH = """
import sys
from ggactors.repl import session
def broken(self, live, event):
    if event.type == "assistant_message":
        raise ZeroDivisionError("planted")
session.Session._hear = broken
from ggactors.cli.main import main
sys.exit(main(["repl", "--crew", sys.argv[1]]))
"""


def test_a_defect_restores_the_terminal_and_is_told_in_two_lines(room):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    at = room.python(CRASH, room.path)
    at.type(b"go\r")
    assert at.end() == 1
    assert "a defect of ggactors: ZeroDivisionError" in at.text().replace("\n", "")
    assert is_left_as_found(at)


def test_lines_are_continued_by_alt_enter_a_backslash_and_pastes(room):
    room.crew({"root": [{"text": "One."}, {"text": "Two."}, {"text": "Three."}]}, board=False)
    at = room.prompt()
    at.type(b"a\x1b\rb\\\rc")
    wait_line(at, "a\nb\nc")
    at.type(b"\r")
    at.until("One.")
    at.until("your turn")
    at.type(b"\x1b[200~pasted\nlines\n\x1b[201~end")
    wait_line(at, "pasted\nlines\nend")
    at.type(b"\r")
    at.until("Two.")
    (events,) = (room.home / "runs").glob("*/events.jsonl")
    briefs = [json.loads(line)["brief"] for line in events.read_text().splitlines() if '"agent_spawned"' in line]
    assert "a\nb\nc" in briefs[0]
    assert said_to_root(room) == ["pasted\nlines\nend"]


def test_commands_complete_and_history_is_found_again_at_the_next_prompt_with_secrets_masked(room):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    (room.work / "notes.md").write_text("")
    at = room.prompt(OBVIOUS_TOKEN="fake-0a1b2c3d4e5f6a7b")
    at.type(b"/ap")
    at.until("say yes to N, or mark it as seen")
    at.type(b"\t")
    wait_line(at, "/approve")
    at.type(b"\x15see @no")
    at.until("notes.md")
    at.type(b"\t")
    wait_line(at, "see @notes.md")
    at.type(b"\x15/help waiting fake-0a1b2c3d4e5f6a7b\r/help export\r")
    at.until("/export FILE: ")
    at.type(b"\x04")
    assert at.end() == 0
    kept = (room.home / "history.jsonl").read_text()
    assert "fake-0a1b2c3d4e5f6a7b" not in kept
    assert "[masked:OBVIOUS_TOKEN]" in kept
    again = room.prompt()
    again.type(b"\x12wait")
    again.until("/help waiting [masked:OBVIOUS_TOKEN]")
    again.type(b"\r")
    again.type(b"\x05\x15\x1b[A")
    again.until("/help")
    again.type(b"\x05\x15\x04")
    assert again.end() == 0


def test_vi_keys_can_be_set_and_are_kept(room):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    config = str(room.folder / "config")
    at = room.prompt(XDG_CONFIG_HOME=config)
    at.type(b"/set editing vi\r")
    at.until("editing is vi now.")
    at.type(b"hello world\x1b")
    at._read(0.7)
    at.type(b"bDA")
    wait_line(at, "hello")
    at.type(b"\x15\x04")
    assert at.end() == 0
    again = room.prompt(XDG_CONFIG_HOME=config)
    again.type(b"one two\x1b")
    again._read(0.7)
    again.type(b"0dw")
    wait_line(again, "two")


def test_no_color_draws_without_colours(room):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    at = room.prompt(NO_COLOR="1")
    at.type(b"hi\r")
    at.until("Hello.")
    at.until("your turn")
    codes = {code for found in re.findall(rb"\x1b\[([\d;]*)m", at.raw) for code in found.split(b";")}
    assert codes <= {b"", b"0", b"1", b"2", b"4", b"7"}


def test_a_dumb_terminal_gets_lines_and_no_escapes(room):
    room.crew({"root": [{"text": "Hello."}, finish("Bye.")]}, board=False)
    at = room.prompt(TERM="dumb")
    at.type(b"hi\n")
    at.until("● Hello.")
    at.type(b"/agents\n")
    at.until("waiting")
    at.type(b"\x04")
    assert at.end() == 0
    assert b"\x1b" not in at.raw


def piped(room: Room, text: str) -> subprocess.CompletedProcess[str]:
    return room.shell("repl", "--crew", room.path, stdin=text)


def test_piped_lines_are_a_script_each_waits_for_what_the_one_before_began(room):
    room.crew({"root": [turn(shell("sleep 0.2"), text="Look."), {"text": "Hello."}, finish("Bye.")]}, board=False)
    done = piped(room, "hi\nand\\\nthis\n/agents\n/nonsense")
    assert (done.returncode, done.stderr) == (0, "")
    order = [
        done.stdout.index(said)
        for said in ("● Look.", "● Hello.", "Bye.", "on you", "There is no /nonsense.", "completed (exit")
    ]
    assert order == sorted(order)
    assert "\x1b" not in done.stdout
    assert said_to_root(room) == ["and\nthis"]


def test_a_found_crew_is_not_run_without_a_yes_and_nobody_to_give_it(room):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    (room.work / "crew.json").write_text(room.path.read_text())
    (room.work / "script.json").write_text((room.path.parent / "script.json").read_text())
    refused = room.shell(stdin="hello\n")
    assert refused.returncode == 2
    assert "It would execute:" in refused.stderr
    trusted = room.shell("repl", "--trust", stdin="hello\n")
    assert trusted.returncode == 0
    assert "● Hello." in trusted.stdout


def test_a_solo_session_has_the_same_prompt_and_its_exit_code_is_the_sessions_G4(room):
    room.crew({"root": [turn(shell("echo hi"), text="May I?"), finish("First."), finish("Second.")]}, board=False)
    model = f"script/{room.path.parent / 'script.json'}"
    at = room.shell.terminal("solo", "--model", model, "--task", "one", "--task", "two")
    at.until("/approve 1, /approve 1 always, or /reject 1 WHY; it waits")
    at.type(b"/reject 1 rather not\r")
    at.until("✓ task 2: completed")
    at.type(b"/quit\r")
    assert at.end() == 0
    mixed = room.shell.terminal("solo", "--model", model, "--json")
    assert mixed.end() == 2
    assert "--json wants stdout, where the prompt is; add --non-interactive" in mixed.text()


def test_leaving_while_a_run_lives_is_asked_about_and_done_the_second_time(room):
    room.crew({"root": [turn(shell("sleep 1"), text="Working."), finish("never")]}, board=False)
    at = room.prompt()
    at.type(b"go\r")
    at.until("→ shell")
    at.type(b"\x04")
    at.until("/quit again stops it and leaves; anything else stays.")
    at.type(b"/quit\r")
    assert at.end() == 0
    assert "canceled (exit code 130)" in at.text()


def test_what_libraries_print_comes_as_lines_above_the_prompt_and_a_dead_terminal_ends_the_run(room):
    printing = LAUNCH.replace(
        "sys.exit(main())",
        "import warnings, threading\n"
        "threading.Timer(1.5, lambda: (print('printed'), warnings.warn('warned', stacklevel=1))).start()\n"
        "sys.exit(main())",
    )
    room.crew({"root": [turn(shell("sleep 60"), text="Working.")]}, board=False)
    at = room.python(printing, "repl", "--crew", room.path)
    at.type(b"go\r")
    at.until("→ shell")
    at.type(b"typed")
    at.until("warned")
    assert "printed" in at.text()
    wait_line(at, "typed")
    os.close(at._master)
    os.close(at._slave) if at._slave >= 0 else None
    at._master = at._slave = -1
    assert at.process.wait(20) is not None
    (events,) = (room.home / "runs").glob("*/events.jsonl")
    assert '"session_ended"' in events.read_text().splitlines()[-1]


def test_the_prompt_loads_no_drawing_where_there_is_no_terminal(room):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    code = (
        "import sys\nfrom ggactors.cli.main import main\ncode = main(['repl', '--crew', sys.argv[1]])\n"
        "print(code, [name for name in sys.modules if name.startswith(('prompt_toolkit', 'asyncio'))][:1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(room.path)],
        cwd=room.work,
        env=environment(room.home),
        input="/quit\n",
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "0 []", done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_terminal_that_wraps_again_what_stood_there_is_left_with_one_prompt_H52(room):
    """Most terminals do when they are made narrower; tmux is one of them."""
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    socket = str(room.folder / "tmux")
    env = environment(room.home, TERM="xterm-256color")

    def tmux(*words: str) -> str:
        return subprocess.run(
            ["tmux", "-S", socket, "-f", "/dev/null", *words], env=env, capture_output=True, text=True
        ).stdout

    def until(wanted) -> str:
        for _ in range(100):
            shown = tmux("capture-pane", "-p")
            if wanted(shown):
                return shown
            select.select([], [], [], 0.1)
        raise AssertionError(shown)

    prompt = [sys.executable, "-m", "ggactors", "repl", "--crew", str(room.path)]
    tmux("new-session", "-d", "-x", "100", "-y", "24", "-c", str(room.work), shlex.join(prompt))
    try:
        until(lambda shown: "ready" in shown)
        text = "the quick brown fox jumps over the lazy dog and more words follow until the line is full"
        squeezed = text.replace(" ", "")
        tmux("send-keys", "-l", text)
        until(lambda shown: "is full" in shown)
        for columns in (70, 40, 55, 100):
            tmux("resize-window", "-x", str(columns), "-y", "24")
            shown = until(lambda shown: squeezed in "".join(shown.split()) and shown.count("ready") == 1)
        shown = until(lambda shown: f" {text}\n" in shown)
        assert shown.count("the quick brown") == 1, shown
    finally:
        tmux("kill-server")


def test_watch_has_the_screen_and_gives_it_back_with_the_line_as_it_stood_T2(room):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    at = room.prompt()
    at.type(b"go\r")
    at.until("your turn")
    at.type(b"/watch\r")
    at.until("q leave")
    assert b"\x1b[?1049h" in at.raw
    at.type(b"q")
    at.until("your turn")
    at.type(b"typed after it")
    wait_line(at, "typed after it")
    at.type(b"\x1a")
    at.until("/pause holds them")
    at.type(b"\x15/watch\r")
    at.until("q leave")
    at.process.send_signal(signal.SIGTERM)
    assert at.end() == 130
    assert is_left_as_found(at)


def test_a_crew_that_changed_since_the_yes_is_not_read_again(room):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    document = json.loads(room.path.read_text())
    (room.work / "crew.json").write_text(json.dumps(document))
    (room.work / "script.json").write_text((room.path.parent / "script.json").read_text())
    at = room.shell.terminal("repl")
    at.until("[y/N]")
    at.type(b"y\r")
    at.until("/help lists")
    at.type(b"/budget 3\r")
    at.until("limits.maxCost is 3.")
    (room.work / "crew.json").write_text(json.dumps(document | {"name": "another"}))
    at.type(b"/budget 4\r")
    at.until("it has changed since you said yes to it")
    at.type(b"\x04")
    assert at.end() == 0
