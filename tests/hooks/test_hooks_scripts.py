"""Scripts: the decision on the last line, the interpreter on the first, and files pinned by what they held at launch."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest
from attrs import evolve
from hooks_kit import SECRET, Desk, alive, script

from ggactors.hooks.kinds import interpreter_of
from ggactors.hooks.pins import LARGEST, pin_files
from ggactors.protocol.hooks import HookOutcome

if TYPE_CHECKING:
    from pathlib import Path

PASSED = HookOutcome()
GO_ON = '{"action": "continue"}'


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def printing(*lines: object, after: str = "") -> str:
    """Write a script that prints lines, JSON where they are no text."""
    told = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return f"cat <<'END'\n{told}\nEND\n{after}\n"


# ---------------------------------------------------------------- decisions


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        ([GO_ON], PASSED),
        (["noise", "", '{"action": "block", "reason": "x"}', GO_ON, "", "  "], PASSED),
        ([{"action": "block", "reason": " three tests fail\n"}], HookOutcome(blocked="three tests fail")),
        ([{"action": "message", "message": "mind\u2028the cache"}], HookOutcome(messages=("mind\u2028the cache",))),
        ([{"action": "message", "message": "  "}], PASSED),
        ([{"action": "continue", "note": "a field more"}], PASSED),
    ],
)
async def test_the_last_line_that_is_not_empty_is_the_decision(desk, lines, outcome):
    assert await desk.fire("agent-stop", script("agent-stop", printing(*lines))) == outcome


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("exit 0", "printed no decision"),
        ("exit 4", "ended with exit code 4"),
        (printing("all is well"), "all is well"),
        (printing(GO_ON, "one more line"), "one more line"),
        (printing("[]"), "no decision"),
        (printing({"action": "proceed"}), "no decision"),
        (printing({"action": "block"}), "no decision"),
        (printing({"action": "message", "message": 5}), "no decision"),
        (printing('{"action": "block", "reason": "x", "action": "continue"}'), "written twice"),
        (printing(GO_ON[:-1]), "no decision"),
        (printing({"action": "block", "reason": "half \ud800"}), "surrogate"),
        (printing(GO_ON, after="exit 3"), "exit code 3"),
        (printing(GO_ON, after="kill -9 $$"), "killed by SIGKILL"),
        ("echo '" + GO_ON + "' >&2", "printed no decision"),
        (printing(GO_ON, after="sleep 45.001"), "took longer"),
    ],
)
async def test_anything_else_is_no_verdict_and_blocks_with_the_cause_G2(desk, source, cause):
    secs = 0.3 if "sleep" in source else 60
    outcome = await desk.fire("agent-stop", script("agent-stop", source, secs=secs))
    assert cause in outcome.blocked
    assert desk.ran[0].outcome == "blocked"
    assert alive("sleep 45.001") == []


async def test_a_block_stands_whatever_the_exit_status(desk):
    source = printing({"action": "block", "reason": "no"}, after="exit 1")
    assert await desk.fire("agent-stop", script("agent-stop", source)) == HookOutcome(blocked="no")


async def test_what_a_broken_script_said_on_its_second_stream_is_the_cause_G2(desk):
    source = f"#!{sys.executable}\nraise RuntimeError('no compiler here')\n"
    outcome = await desk.fire("agent-stop", script("agent-stop", source))
    assert "RuntimeError: no compiler here" in outcome.blocked
    assert desk.ran[0].exit_code == 1


async def test_a_decision_after_a_flood_of_output_is_read_and_an_endless_one_is_not(desk):
    flood = "head -c 3000000 /dev/zero | tr '\\0' x; echo\n"
    assert await desk.fire("agent-stop", script("agent-stop", flood + printing(GO_ON))) == PASSED
    endless = 'printf \'{"action": "block", "reason": "\'; head -c 300000 /dev/zero | tr \'\\0\' x; echo \'"}\'\n'
    outcome = await desk.fire("agent-stop", script("agent-stop", endless))
    assert "gave no verdict" in outcome.blocked
    assert len(outcome.blocked) < 17_000


async def test_bytes_that_are_no_utf8_and_keys_spelled_in_escapes_do_no_harm_H49(desk):
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in SECRET)
    source = 'printf \'{"action": "block", "reason": "a\\360b ' + escaped.replace("\\", "\\\\") + "\"}\\n'"
    outcome = await desk.fire("agent-stop", script("agent-stop", source))
    assert outcome.blocked == "a\ufffdb [masked:KEY]"


# ---------------------------------------------------------------- interpreters


@pytest.mark.parametrize(
    ("first", "program"),
    [
        (b"echo hi\n", ("/bin/sh",)),
        (b"", ("/bin/sh",)),
        (b"#!/usr/bin/env python3\nx", ("/usr/bin/env", "python3")),
        (b"#! /bin/sh -e -u \r\nx", ("/bin/sh", "-e -u")),
        (b"#!python3\nx", None),
        (b"#!\nx", None),
    ],
)
def test_the_first_line_picks_the_interpreter_by_an_absolute_path(first, program):
    assert interpreter_of(first) == program


async def test_a_script_runs_in_its_interpreter_in_the_agents_root_from_outside_it(desk):
    source = (
        f"#!{sys.executable} -I\nimport json, os, sys\n"
        "told = json.load(sys.stdin)\n"
        "inside = os.path.realpath(__file__).startswith(os.path.realpath(told['cwd']) + os.sep)\n"
        "print(json.dumps({'action': 'message', 'message': f'{os.getcwd() == told[\"cwd\"]} {inside}'}))\n"
    )
    assert (await desk.fire("agent-stop", script("agent-stop", source))).messages == ("True False",)


@pytest.mark.parametrize(
    ("first", "cause"), [("#!/no/such/program", "could not be started"), ("#!python3", "absolute path")]
)
async def test_an_interpreter_that_is_not_there_is_no_pass_G2(desk, first, cause):
    (desk.root / "python3").write_text("#!/bin/sh\necho '" + GO_ON + "'\n")
    (desk.root / "python3").chmod(0o755)
    outcome = await desk.fire("agent-stop", script("agent-stop", f"{first}\n"))
    assert cause in outcome.blocked


async def test_a_disk_that_refuses_the_script_is_no_pass_G2(desk):
    desk.scratch.write_text("a file where a folder should be")
    outcome = await desk.fire("agent-stop", script("agent-stop", printing(GO_ON)))
    assert "laid out" in outcome.blocked
    desk.scratch.unlink()


# ---------------------------------------------------------------- pinned files


@pytest.fixture
def gate(desk: Desk) -> Path:
    file = desk.crew / "checks" / "gate.sh"
    file.parent.mkdir()
    file.write_text(printing({"action": "block", "reason": "not yet"}))
    return file


async def test_a_file_of_the_crews_folder_runs_without_being_executable_under_its_own_name(desk, gate):
    gate.write_text('echo \'{"action": "message", "message": "\'${0##*/}\'"}\'')
    outcome = await desk.fire("agent-stop", script("agent-stop", file="checks/gate.sh"))
    assert outcome.messages == ("gate.sh",)


async def test_a_script_overwritten_by_an_agent_blocks_and_says_so_H39(desk, gate):
    runner = desk.runner(script("agent-stop", file="checks/gate.sh"))
    assert (await runner.fire("agent-stop")).blocked == "not yet"
    gate.write_text(f"echo '{GO_ON}'; exit 0\n")
    outcome = await runner.fire("agent-stop")
    assert "was changed after the launch" in outcome.blocked
    assert str(gate) in outcome.blocked


@pytest.mark.parametrize("change", ["remove", "pipe", "directory", "link", "truncate"])
async def test_a_script_that_is_gone_or_something_else_blocks_and_holds_nobody_up_H39(desk, gate, change):
    runner = desk.runner(script("agent-stop", file="checks/gate.sh"))
    gate.unlink()
    match change:
        case "pipe":
            os.mkfifo(gate)
        case "directory":
            gate.mkdir()
        case "link":
            gate.symlink_to("/bin/true")
        case "truncate":
            gate.touch()
        case _:
            pass
    assert "was changed after the launch" in (await runner.fire("agent-stop")).blocked


async def test_a_file_of_that_name_in_the_agents_root_is_never_what_runs_G2(desk, gate):
    (desk.root / "checks").mkdir()
    (desk.root / "checks" / "gate.sh").write_text(f"echo '{GO_ON}'\n")
    assert await desk.fire("agent-stop", script("agent-stop", file="checks/gate.sh")) == HookOutcome(blocked="not yet")


async def test_a_file_put_back_as_it_was_runs_again(desk, gate):
    runner = desk.runner(script("agent-stop", file="checks/gate.sh"))
    pinned = gate.read_bytes()
    gate.write_text("exit 0")
    assert "was changed" in (await runner.fire("agent-stop")).blocked
    gate.write_bytes(pinned)
    assert (await runner.fire("agent-stop")).blocked == "not yet"


async def test_a_script_nobody_pinned_does_not_run_G2(desk, gate):
    runner = desk.runner(script("agent-stop", file="checks/gate.sh"), pins={})
    assert "was not pinned" in (await runner.fire("agent-stop")).blocked


@pytest.mark.parametrize("what", ["missing", "directory", "pipe", "large"])
def test_a_file_that_cannot_be_pinned_is_a_problem_with_its_place_P2(desk, what):
    match what:
        case "directory":
            (desk.crew / "gate.sh").mkdir()
        case "pipe":
            os.mkfifo(desk.crew / "gate.sh")
        case "large":
            (desk.crew / "gate.sh").write_bytes(b"x" * (LARGEST + 1))
        case _:
            pass
    hooks = (script("agent-stop", "exit 0"), script("agent-stop", file="gate.sh"))
    pinned = pin_files([evolve(hook, path=f"agents[0].hooks[{at}]") for at, hook in enumerate(hooks)], str(desk.crew))
    (problem,) = pinned.problems
    assert problem.path == "agents[0].hooks[1].action.file"
    assert "gate.sh" in problem.what
    assert pinned.pins == {}
