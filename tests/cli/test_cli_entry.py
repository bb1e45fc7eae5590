"""The entry point: help, versions, unknown words, later commands, and ends that are nobody's traceback."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from cli_kit import Shell, environment, nothing_is_left  # noqa: F401 - a fixture

from ggactors import __version__
from ggactors.cli import check
from ggactors.cli.commands import COMMANDS, LATER
from ggactors.cli.main import main
from ggactors.ports import LaunchRefused
from ggactors.protocol.values import Problem


@pytest.fixture
def sh(tmp_path) -> Shell:
    return Shell(tmp_path, tmp_path / "state")


@pytest.mark.parametrize("asked", [["--version"], ["--help"], ["run", "--help"], ["resume", "--help"], ["frobnicate"]])
def test_what_needs_nothing_heavy_loads_nothing_heavy(tmp_path, asked):
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "ggactors", *asked],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in ran.stderr.splitlines() if "|" in line}
    assert loaded & {"trio", "attr", "attrs", "cattrs", "msgpack", "dulwich", "sqlite3", "asyncio"} == set()


def test_the_version_is_said_on_stdout(sh):
    ran = sh("--version")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"ggactors {__version__}\n", "")


def test_help_names_every_command_and_what_is_not_here_yet(sh):
    ran = sh("--help")
    assert ran.returncode == 0
    now, later = ran.stdout.split("not in this version:")
    assert all(f"  {name} " in now for name in COMMANDS)
    assert all(f"  {name} " in later for name in LATER)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(sh, command):
    ran = sh(command, "-h")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"example:\n  ggactors {command}" in ran.stdout


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["resume", "last"], None),
        (["resume"], "RUN"),
        (["resume", "last", "--nope"], "--nope"),
    ],
)
def test_a_later_command_has_its_shape_checked_and_is_refused_by_name(capsys, words, wrong):
    assert main(words) == 2
    said = capsys.readouterr()
    *before, last = said.err.splitlines()
    assert last == f"ggactors {words[0]}: not in this version"
    assert said.out == ""
    assert before == [] if wrong is None else wrong in before[0]


def test_without_a_command_the_prompt_is_opened_and_wants_a_crew(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("ggactors: there is no crew, and no key for the built-in one.")


def test_an_unknown_command_is_refused_with_the_nearest_one(capsys):
    assert main(["shwo"]) == 2
    said = capsys.readouterr()
    assert "no command 'shwo'; did you mean show?" in said.err
    assert main(["--frob"]) == 2
    assert "no option '--frob'" in capsys.readouterr().err


def test_a_wrong_option_is_said_in_two_lines(capsys):
    assert main(["runs", "--jsn"]) == 2
    assert capsys.readouterr().err == ("ggactors runs: unrecognized arguments: --jsn\nTry `ggactors runs --help`.\n")


def test_windows_is_refused_by_name_1(monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "win32")
    assert main(["runs"]) == 2
    assert "use WSL" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(sh):
    for number in range(3000):
        (sh.home / "runs" / f"run-{number:04}").mkdir(parents=True)
    runs = sh.start("runs", "--json")
    runs.stdout.readline()
    runs.stdout.close()
    assert runs.stderr.read() == b""
    runs.stderr.close()
    assert runs.wait() == 141


def test_a_poor_encoding_gets_escapes_and_no_traceback(sh):
    ran = sh("--help", PYTHONIOENCODING="ascii")
    assert ran.returncode == 0
    assert "COMMAND \\u2026" in ran.stdout


# ---------------------------------------------------------------- errors


def raising(monkeypatch, error: BaseException) -> None:
    def run(_options):
        raise error

    monkeypatch.setattr(check, "run", run)


def test_a_defect_is_told_in_two_lines_and_its_traceback_kept_in_a_file(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("GGACTORS_HOME", str(tmp_path / "state"))
    raising(monkeypatch, ExceptionGroup("a", [ExceptionGroup("b", [ZeroDivisionError("by\nzero")])]))
    assert main(["check", "x"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == "ggactors check: a defect of ggactors: ZeroDivisionError: by zero"
    (kept,) = (tmp_path / "state" / "crashes").iterdir()
    assert str(kept) in second
    assert "ZeroDivisionError" in kept.read_text()
    assert "Traceback" in kept.read_text()


def test_a_defect_is_told_also_where_the_state_cannot_be_written(monkeypatch, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GGACTORS_HOME", str(tmp_path / "file" / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    raising(monkeypatch, ZeroDivisionError("x"))
    assert main(["check", "x"]) == 1
    (kept,) = tmp_path.glob("crash-*.txt")
    assert str(kept) in capsys.readouterr().err


def test_a_launch_refusal_names_every_problem_on_a_line_of_its_own_P2(monkeypatch, capsys):
    problems = [Problem(path="a.b", what="is 1\x1b[31m", remedy="make it 2"), Problem(path="c", what="no", remedy="")]
    raising(monkeypatch, ExceptionGroup("nursery", [LaunchRefused(problems)]))
    assert main(["check", "x"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "ggactors check: the launch is refused, for 2 reasons:",
        "  a.b: is 1; make it 2",
        "  c: no",
    ]


def test_a_file_that_cannot_be_had_is_named(monkeypatch, capsys, tmp_path):
    raising(monkeypatch, PermissionError(13, "Permission denied", str(tmp_path / "x")))
    assert main(["check", "x"]) == 1
    assert capsys.readouterr().err == f"ggactors check: {tmp_path / 'x'}: Permission denied\n"


def test_an_interrupt_is_quiet(monkeypatch, capsys):
    raising(monkeypatch, KeyboardInterrupt())
    assert main(["check", "x"]) == 130
    assert capsys.readouterr().err == ""


# ---------------------------------------------------------------- doctor


def test_the_doctor_names_keys_and_never_their_values(sh):
    ran = sh("doctor", ANTHROPIC_API_KEY="sk-very-secret-value")
    assert ran.returncode == 0
    assert "secret" not in ran.stdout + ran.stderr
    rows = {line.split("  ")[1].strip(): line for line in ran.stdout.splitlines()}
    assert rows["key: ANTHROPIC_API_KEY"].startswith("ok")
    assert rows["key: OPENAI_API_KEY"].startswith("no")
    assert str(sh.home) in ran.stdout
    assert rows["ggactors"].endswith(__version__)
    for package in ("trio", "dulwich", "msgpack", "git", "/bin/sh", "python"):
        assert rows[package].startswith("ok")
    assert {"extra: code, programs in python", "extra: code, programs in javascript and typescript"} <= set(rows)


def test_the_doctor_says_when_there_is_no_git_and_when_state_cannot_be_kept(sh, tmp_path):
    (tmp_path / "file").write_text("")
    ran = sh("doctor", PATH=os.path.dirname(sys.executable), GGACTORS_HOME=str(tmp_path / "file" / "x"))
    assert ran.returncode == 1
    assert "git" in ran.stdout
    assert "set GGACTORS_HOME" in ran.stdout
