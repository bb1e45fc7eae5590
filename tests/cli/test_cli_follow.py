"""``show --follow``: a living run or one that is over, on a terminal as the console and elsewhere as lines. Leaving is free."""

from __future__ import annotations

import os
import signal
import termios

import pytest
from cli_kit import Shell, nothing_is_left  # noqa: F401 - a fixture

from ggactors.testing.crews import finish, issue, shell, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo

REVIEWED = {
    "root": [
        turn(issue("Say hello", reviewers=["critic"]), issue("Say bye", blockedBy=["ISSUE-1"])),
        wait("ISSUE-2"),
        finish("Said."),
    ],
    "ISSUE-1.0i": [turn(write("hello.txt", "helo\n"), text="\x1b]0;stolen\x07漢字 first"), finish("Wrote it.")],
    "ISSUE-1.0i.0r": [turn(("request_changes", {"items": ["Spell it right."]}))],
    "ISSUE-1.1i": [turn(write("hello.txt", "hello\n")), finish("Mended.")],
    "ISSUE-1.1i.0r": [turn(("approve", {}))],
    "ISSUE-2.*": [turn(write("bye.txt", "bye\n"), usage={"input": 1000, "output": 5}), finish("Wrote bye.")],
}


@pytest.fixture(scope="module")
def over(tmp_path_factory) -> Shell:
    """A run that is over."""
    folder = tmp_path_factory.mktemp("follow")
    crew = write_crew(folder / "crew", REVIEWED, name="greeters", limits={"maxParallel": 2})
    made = Shell(folder, folder / "state")
    make_repo(folder / "repo")
    ran = made("run", crew, "--workspace", "repo", "--task", "greet", "--run-id", "over")
    assert ran.returncode == 0, ran.stderr
    return made


class Gated:
    """A run that goes on until it is let go."""

    def __init__(self, folder) -> None:
        self.gate = folder / "gate"
        begun = folder / "begun"
        os.mkfifo(begun)
        held = f"echo > {begun}; until [ -e {self.gate} ]; do sleep 0.05; done; echo through"
        script = {"root": [turn(shell(held), text="I wait here."), finish("Through.")]}
        crew = write_crew(folder / "crew", script, name="gated")
        make_repo(folder / "repo")
        self.sh = Shell(folder, folder / "state")
        self.run = self.sh.start("run", crew, "--workspace", "repo", "--task", "wait", "--run-id", "gated")
        begun.read_bytes()  # comes when the command runs

    def let_go(self) -> None:
        self.gate.touch()

    def ended(self) -> int:
        return self.run.wait(60)


@pytest.fixture
def gated(tmp_path) -> Gated:
    return Gated(tmp_path)


# ---------------------------------------------------------------- lines


def test_without_a_terminal_the_story_of_a_run_that_is_over_is_printed_and_ends(over):
    told = over("show", "over", "--follow")
    assert told.returncode == 0
    assert told.stderr == ""
    lines = [line[9:] for line in told.stdout.splitlines()]
    assert lines[0].startswith("run over begins: crew greeters in ")
    assert "ISSUE-1: review 1: 1 changes requested" in lines
    assert "ISSUE-2 is done (Say bye)" in lines
    assert lines[-1] == "run over ended: completed"
    assert "\x1b" not in told.stdout


def test_no_colour_gives_lines_on_a_terminal_too(over):
    shown = over.terminal("show", "over", "--follow", columns=200, NO_COLOR="1")
    assert shown.end() == 0
    assert b"\x1b" not in shown.raw
    assert b"run over ended: completed" in shown.raw


def test_lines_come_while_a_run_lives_and_end_with_it(gated):
    follower = gated.sh.start("show", "gated", "--follow")
    first = follower.stdout.readline()
    assert b"run gated begins: crew gated" in first, "it is there before the run has ended"
    gated.let_go()
    rest = follower.stdout.read().decode()
    assert follower.wait(60) == 0
    assert rest.endswith("run gated ended: completed\n")
    assert gated.ended() == 0


def test_a_run_whose_process_is_killed_is_followed_to_there(gated):
    follower = gated.sh.start("show", "gated", "--follow")
    assert b"begins" in follower.stdout.readline()
    gated.run.send_signal(signal.SIGKILL)
    gated.ended()
    told, said = follower.communicate(timeout=60)
    assert follower.returncode == 0
    assert b"ended" not in told
    assert said == b"Its process is gone without an end; what was committed is kept.\n"
    gated.let_go()


# ---------------------------------------------------------------- the console


def settings_of(terminal) -> list:
    return termios.tcgetattr(terminal._master)


def test_a_person_moves_through_a_run_that_is_over_and_leaves_the_terminal_as_it_was_T2(over):
    shown = over.terminal("show", "over", "--follow", columns=110, rows=36)
    before = settings_of(shown)
    shown.until("2 done")
    text = shown.text()
    assert " 1 Agents 6  2 Project 2 " in text
    assert "slots 0/2 · 2 done · 1,005 tokens" in text
    assert "ISSUE-1.0i.0r  Critic" in text or "ISSUE-1.0i.0r  critic" in text

    shown.type(b"j\r")  # the first implementer's transcript
    shown.until("漢字 first")
    shown.until("esc back")
    shown.type(b"\x1b2jj")  # the board: past ISSUE-1 and its first review, to the second
    shown.until("Review 2  approved")
    shown.type(b"k")
    shown.until("- Spell it right.")
    shown.type(b"kd")
    shown.until("+hello")
    assert "Diff  merge" in shown.text()

    shown.resize(40, 10)
    shown.until("esc back")
    assert max(len(line.rstrip()) for line in shown.screen.display) <= 40
    shown.type(b"\x1b")
    shown.until("issue    state")
    shown.resize(200, 60)
    shown.until("│ ISSUE-1  Say hello")
    shown.until("+hello")

    shown.type(b"/bye")
    shown.until("/ bye")
    assert "ISSUE-1 " not in "".join(line[:90] for line in shown.screen.display)
    shown.type(b"\x1b?")
    shown.until("The console shows a run and changes nothing of it")
    shown.type(b"xq")
    assert shown.end() == 0
    assert b"stolen" not in shown.raw
    assert settings_of(shown) == before
    for left in (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?2004l", b"\x1b[?25h"):
        assert left in shown.raw[-200:], left


def test_the_mouse_reaches_the_console(over):
    shown = over.terminal("show", "over", "--follow", columns=100, rows=30)
    shown.until("2 done")
    shown.type(b"\x1b[<0;16;1M\x1b[<0;16;1m")  # the second tab
    shown.until("title and what it waits for")
    shown.type(b"\x1b[<0;20;3M\x1b[<0;20;3m")
    shown.until("Attempts  2")
    shown.type(b"q")
    assert shown.end() == 0


def test_the_console_shows_what_comes_and_ctrl_c_leaves_the_run_alone(gated):
    shown = gated.sh.terminal("show", "gated", "--follow", columns=100, rows=30)
    shown.until("I wait here.")
    assert " running " in shown.text().splitlines()[0]
    gated.let_go()
    shown.until("ended completed")
    shown.until("  completed  ")
    shown.type(b"\x03")
    assert shown.end() == 0
    assert gated.ended() == 0


@pytest.mark.parametrize("leave", [b"\x03", signal.SIGTERM, signal.SIGHUP])
def test_however_the_console_is_left_the_run_goes_on(gated, leave):
    shown = gated.sh.terminal("show", "gated", "--follow", columns=80, rows=24)
    before = settings_of(shown)
    shown.until("I wait here.")
    if isinstance(leave, bytes):
        shown.type(leave)
    else:
        shown.process.send_signal(leave)
    assert shown.end() == 0
    assert b"\x1b[?1049l" in shown.raw[-200:]
    assert settings_of(shown) == before
    assert gated.run.poll() is None
    gated.let_go()
    assert gated.ended() == 0


def test_a_run_that_was_never_begun_cannot_be_followed(over):
    (over.home / "runs" / "empty").mkdir()
    told = over("show", "empty", "--follow")
    assert told.returncode == 2
    assert "never begun" in told.stderr
