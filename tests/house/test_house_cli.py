"""The command line and its page say the same."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from house_pages import REFERENCE, first_cells, sections

PAGE = REFERENCE / "cli.md"
PROMISED = (
    "repl",
    "cancel",
    "demo",
    "init",
    "check",
    "run",
    "solo",
    "runs",
    "show",
    "report",
    "land",
    "recover",
    "clean",
    "doctor",
)
LATER = ("resume",)


def ggactors(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ggactors", *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def pages() -> dict[str, str]:
    """Map each documented command to its section."""
    return {
        heading.removeprefix("ggactors "): text
        for heading, text in sections(PAGE, 2).items()
        if heading.startswith("ggactors ")
    }


def test_every_promised_command_is_documented_and_no_other():
    assert sorted(pages()) == sorted(PROMISED)


@pytest.mark.parametrize("command", PROMISED)
def test_a_command_explains_itself_with_an_example(command):
    done = ggactors(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(rf"^\s*(\$ )?ggactors {command}\b", done.stdout.split("xample", 1)[1], flags=re.MULTILINE), (
        done.stdout
    )


@pytest.mark.parametrize("command", PROMISED)
def test_a_command_has_the_options_its_page_documents(command):
    said = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", ggactors(command, "--help").stdout)) - {
        "--help",
        "--version",
        "--verbose",
    }
    assert said == set(re.findall(r"--[a-z][a-z-]*", pages()[command])) - {"--events-"}


def test_the_options_in_tables_stand_there_once():
    for text in pages().values():
        options = [name.split()[0] for name in first_cells(text)]
        assert sorted(options) == sorted(set(options))


def test_help_lists_every_command_and_asks_for_no_terminal():
    done = ggactors("--help")
    assert done.returncode == 0
    assert [command for command in PROMISED if not re.search(rf"\b{command}\b", done.stdout)] == []


@pytest.mark.parametrize("command", LATER)
def test_a_command_of_a_later_version_is_refused_by_name(command):
    done = ggactors(command)
    assert done.returncode == 2
    assert done.stdout == ""
    assert command in done.stderr
    assert "not in this version" in done.stderr
    assert f"`{command}`" in sections(PAGE, 2)["Not in this version"]


def test_an_unknown_command_is_a_usage_error_on_stderr():
    done = ggactors("frobnicate")
    assert (done.returncode, done.stdout) == (2, "")
    assert "frobnicate" in done.stderr
