"""``cancel``, and ``land`` of a run that lives: asked through the run's own socket."""

from __future__ import annotations

import json
import signal
import socket

import pytest
from after_kit import HELLO, IN_FLIGHT, in_flight
from cli_kit import Shell, nothing_is_left  # noqa: F401 - a fixture

from ggactors.store.control import NotReached, address_of, ask_run
from ggactors.store.folder import RunFolder
from ggactors.testing.crews import shell, turn, write_crew

BUSY = {"root": [{**turn(shell("true")), "repeat": 100_000}]}


ENDLESS = {"limits": {"maxTurns": None}, "stuckDetection": {"enabled": False}}


def lives(desk, script, when, **document):
    """Start a run as a process of its own and read its events until ``when`` holds of them."""
    process = desk.started(write_crew(desk.folder / "crew-mine", script, **document), "mine")
    seen = []
    for line in process.stdout:
        seen.append(json.loads(line))
        if when(seen):
            return process, seen
    raise AssertionError(process.stderr.read().decode())


def rest(process, seen):
    seen += [json.loads(line) for line in process.stdout]
    process.wait()
    return seen


def turned(seen):
    return seen[-1]["type"] == "turn_outcome"


def test_a_living_run_is_cancelled_from_another_process_and_ends_as_cancelled(desk):
    process, seen = lives(desk, BUSY, turned, **ENDLESS)
    asked = desk("cancel", "last")
    assert (asked.code, asked.out) == (0, "Run mine stops at its agents' next turn boundaries.\n")
    assert rest(process, seen)[-1]["status"] == "canceled"
    assert process.returncode == 130
    assert not (desk.home / "runs" / "mine" / "run.sock").exists()


def test_a_run_that_is_over_and_one_that_is_unknown_are_refused_by_name(desk):
    desk.run(HELLO)
    over = desk("cancel", "mine")
    assert (over.code, over.out) == (2, "")
    assert "run mine is not running (completed)" in over.err
    assert desk("cancel", "nothing").code == 2


def test_a_killed_runs_socket_deceives_nobody(desk):
    desk.killed(BUSY, turned, document=ENDLESS)
    assert (desk.home / "runs" / "mine" / "run.sock").exists()
    assert "run mine is not running (interrupted)" in desk("cancel", "mine").err


def test_an_agents_command_cannot_steer_its_own_run(desk):
    script = {"root": [turn(shell("python3 -m ggactors cancel last", timeoutSecs=60)), *BUSY["root"]]}
    document = {**ENDLESS, "agents": {"lead": {"capabilities": [
        {"id": "files"}, {"id": "shell", "params": {"env": ["PYTHONPATH", "GGACTORS_HOME"]}}]}}, "board": False}  # fmt: skip
    process, seen = lives(desk, script, lambda seen: sum(one["type"] == "turn_outcome" for one in seen) > 3, **document)
    (first, *_) = [one for one in seen if one["type"] == "tool_result"]
    assert "an agent's command does not steer its own run" in first["output"]
    desk("cancel", "mine")
    assert rest(process, seen)[-1]["status"] == "canceled"


def test_a_living_run_lands_what_it_has_merged_and_goes_on_W10(desk):
    process, seen = lives(desk, IN_FLIGHT, in_flight)
    landed = desk("land", "mine")
    assert landed.code == 0, landed
    assert "Your checkout moved from" in landed.out
    assert desk.repo.show("done.txt") == "done"
    assert "Nothing to land" in desk("land", "mine").out
    (desk.repo.path / "slow.txt").write_text("in the way\n")
    desk("cancel", "mine")
    process.kill()
    rest(process, seen)
    assert [one["reason"] for one in seen if one["type"] == "checkout_moved"] == [None]
    desk.sound()


def test_what_is_held_is_told_with_its_paths_while_the_run_lives_W10(desk):
    (desk.repo.path / "done.txt").write_text("mine\n")
    process, _ = lives(desk, IN_FLIGHT, in_flight)
    held = desk("land", "mine")
    assert held.code == 1
    assert "not moved (dirty)" in held.out
    assert "  done.txt" in held.out.splitlines()
    assert (desk.repo.path / "done.txt").read_text() == "mine\n"
    process.kill()


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"nonsense\n", b"[]\n", b'{"ask": 5}\n', b'{"ask": "answer"}\n', b"x" * 70_000]
)
def test_garbage_on_the_socket_is_answered_and_harms_nothing(desk, line):
    process, seen = lives(desk, BUSY, turned, **ENDLESS)
    folder = RunFolder(desk.home / "runs" / "mine")
    with address_of(folder) as address, socket.socket(socket.AF_UNIX) as peer:
        peer.connect(address)
        peer.sendall(line)
        peer.shutdown(socket.SHUT_WR)
        assert json.loads(peer.makefile().read() or '{"ok": false}')["ok"] is False
    assert ask_run(folder, {"ask": "cancel"}) == {"ok": True}
    assert rest(process, seen)[-1]["status"] == "canceled"


def test_a_socket_is_reached_however_long_its_path_is(desk, monkeypatch):
    deep = desk.home.joinpath(*["a-long-name-for-a-folder"] * 6)
    monkeypatch.setenv("GGACTORS_HOME", str(deep))
    desk.home = deep
    process, seen = lives(desk, BUSY, turned, **ENDLESS)
    assert desk("cancel", "mine").code == 0
    assert rest(process, seen)[-1]["status"] == "canceled"


def test_nobody_there_is_said_at_once(tmp_path):
    with pytest.raises(NotReached, match="nobody listens there"):
        ask_run(RunFolder(tmp_path), {"ask": "cancel"})


def test_ctrl_c_while_a_model_is_silent_says_what_is_waited_for_and_a_second_one_stops_at_once(tmp_path):
    asked = "print('asked', file=sys.stderr, flush=True)"
    source = f"import sys, trio\nasync def x(request):\n    {asked}\n    await trio.sleep_forever()\n"
    (tmp_path / "m.py").write_text(source)
    (tmp_path / "work").mkdir()
    words = ("solo", "--model", "python/m.py:x", "--task", "x", "--workspace", "work")
    process = Shell(tmp_path, tmp_path / "state").start(*words)
    said = read_until(process.stderr, "asked")
    process.send_signal(signal.SIGINT)
    said += read_until(process.stderr, "waiting for python/m.py:x's reply to root")
    process.send_signal(signal.SIGINT)
    said += process.stderr.read().decode()
    assert process.wait() == 130
    assert said.count("waiting for") == 1
    assert "Ctrl-C again stops at once" in said


def read_until(stream, said):
    read = ""
    for line in stream:
        read += line.decode()
        if said in read:
            return read
    raise AssertionError(read)
