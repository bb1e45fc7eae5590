"""The live view on a real terminal: redrawn in place, never twice on the screen, gone at the end."""

from __future__ import annotations

import os
import pty
import re
import shlex

import pytest
from cli_kit import Shell, Terminal, nothing_is_left  # noqa: F401 - a fixture

from ggactors.cli.terminal import is_lively
from ggactors.testing.crews import finish, issue, shell, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo

HEAD = re.compile(r"slots \d+/\d+")


def heads(terminal: Terminal) -> int:
    return len(HEAD.findall(terminal.text()))


def test_the_demo_shows_one_frame_at_a_time_and_leaves_only_its_report(tmp_path):
    sh = Shell(tmp_path, tmp_path / "state")
    demo = sh.terminal("demo", "--dir", "try it", columns=400, rows=40)
    most, seen = 0, set()

    def look(terminal: Terminal) -> None:
        nonlocal most
        most = max(most, heads(terminal))
        seen.update(
            word for word in ("in progress", "running", "waiting", "on TOOLS-3", "slots 2/") if word in terminal.text()
        )

    demo.watch(look)
    assert demo.end() == 0, demo.text()
    assert most == 1
    assert seen >= {"in progress", "running", "waiting", "on TOOLS-3", "slots 2/"}
    text = demo.text()
    assert heads(demo) == 0, "the frame is gone"
    assert "TOOLS-1  done" in text
    assert "completed (exit code 0)" in text
    assert demo.raw.endswith(b"\n")
    assert b"\x1b[?25l" not in demo.raw, "the cursor is never hidden, so it need not be found again"

    # The last line repeats it, here where there is no terminal.
    program, *words = shlex.split(text.rstrip().splitlines()[-1])
    assert program == "ggactors"
    again = sh(*words)
    assert again.returncode == 0, again.stderr
    once_more = sh("demo", "--dir", "try it")
    assert once_more.returncode == 2
    assert "try it" in once_more.stderr


@pytest.fixture
def slow(tmp_path):
    """A run of a second or two with three issues side by side."""
    names = ("ISSUE-1", "ISSUE-2", "ISSUE-3")
    script = {
        "root": [turn(*(issue(f"Part {name}") for name in names)), wait(*names), finish("All parts.")],
        "ISSUE-*": [turn(shell("sleep 0.2"), repeat=4), turn(write("part.txt", "same\n")), finish("A part.")],
    }
    crew = write_crew(tmp_path / "crew", script)
    make_repo(tmp_path / "repo")
    sh = Shell(tmp_path, tmp_path / "state")

    def start(**more) -> Terminal:
        return sh.terminal("run", crew, "--workspace", "repo", "--task", "x", **more)

    return start


def test_a_terminal_that_changes_its_size_keeps_one_frame(slow):
    run = slow(columns=100, rows=30)
    run.until("in progress")
    for columns, rows in ((60, 20), (30, 8), (12, 4), (120, 40)):
        run.resize(columns, rows)
        before = len(run.raw)
        while len(run.raw) == before and run._read(0.2):
            pass
    run.watch(lambda terminal: None)
    run.until("in progress")
    assert heads(run) <= 1
    assert run.end() == 0
    assert heads(run) == 0


@pytest.mark.parametrize("size", [(1, 1), (400, 3)])
def test_odd_sizes_break_nothing(slow, size):
    run = slow(columns=size[0], rows=size[1])
    assert run.end() == 0, run.raw.decode(errors="replace")


def test_no_colour_gives_plain_lines_on_a_terminal_too(slow):
    run = slow(columns=200, NO_COLOR="1")
    assert run.end() == 0
    assert b"\x1b" not in run.raw
    assert b"ISSUE-1 is done" in run.raw


def test_only_a_terminal_that_can_is_redrawn():
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as terminal, os.fdopen(master, "rb"):
        assert is_lively(terminal, {"TERM": "xterm"})
        for env in ({"TERM": "dumb"}, {}, {"TERM": "xterm", "NO_COLOR": "1"}):
            assert not is_lively(terminal, env)
        assert is_lively(terminal, {"TERM": "xterm", "NO_COLOR": ""}), "set but empty means nothing"
    assert not is_lively(terminal, {"TERM": "xterm"}), "it is closed"
    assert not is_lively(None, {"TERM": "xterm"})


def test_ctrl_c_on_the_terminal_stops_at_turn_boundaries_and_cleans_up(slow):
    run = slow()
    run.until("running")
    run.type(b"\x03")
    run.until("Stopping at the agents' next turn boundaries")
    assert run.end() == 130
    assert heads(run) == 0
    assert "canceled (exit code 130)" in run.text()
    assert "Traceback" not in run.text()


def test_ctrl_c_twice_stops_at_once(slow):
    run = slow()
    run.until("in progress")
    run.type(b"\x03")
    run.until("Ctrl-C again stops at once")
    run.type(b"\x03")
    assert run.end() == 130
    assert "Traceback" not in run.text()
