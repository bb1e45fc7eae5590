"""``ggactors doctor``: what this machine offers. Keys are named, their values never read out."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from ggactors.cli.parsing import Parser

SUMMARY = "Say what this machine offers: versions, git, where runs are kept, sandbox layers, extras, keys (never their values)."
EXAMPLE = "ggactors doctor"

PACKAGES = ("trio", "attrs", "cattrs", "msgpack", "dulwich", "merge3", "prompt_toolkit")
EXTRAS = {
    "openai": ("openai", "openai"),
    "anthropic": ("anthropic", "anthropic"),
    "local": ("xllamacpp", "xllamacpp"),
    "otel": ("opentelemetry.sdk", "opentelemetry-sdk"),
    "mcp": ("mcp", "mcp"),
}
"""By extra: the module that has to be there, and the distribution it comes in."""

Row = tuple[str, str, str]
"""A verdict (``ok``, ``no``, ``bad``), what was looked at, and what was found."""


def arguments(_parser: Parser) -> None:
    """Declare the command's arguments: it has none."""


def run(_options: argparse.Namespace) -> int:
    """Look around. Exit code 1 when something is missing without which nothing runs."""
    from ggactors.cli.terminal import look_of, print_lines
    from ggactors.telemetry.plaintext import Cell, columns

    rows = [*_versions(), *_programs(), _state(), *_sandbox(), *_extras(), *_code(), *_keys()]
    colours = {"ok": "green", "no": "dim", "bad": "red"}
    cells = [[Cell(verdict, colours[verdict]), Cell(what), Cell(found)] for verdict, what, found in rows]
    print_lines(columns(cells, look_of(sys.stdout, os.environ)))
    return 1 if any(verdict == "bad" for verdict, _, _ in rows) else 0


def _versions() -> list[Row]:
    from ggactors import __version__

    rows: list[Row] = [
        ("ok", "ggactors", __version__),
        (
            "ok",
            "python",
            f"{platform.python_version()} on {platform.system()} {platform.release()} {platform.machine()}",
        ),
    ]
    for name in PACKAGES:
        try:
            rows.append(("ok", name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            rows.append(("bad", name, "not installed; install ggactors again"))
    return rows


def _programs() -> list[Row]:
    git = _first_line("git", "--version")
    shell = Path("/bin/sh")
    return [
        ("ok", "git", git) if git else ("no", "git", "not found; the runtime needs none, agents' commands may"),
        ("ok", "/bin/sh", str(shell.resolve()))
        if shell.exists()
        else ("bad", "/bin/sh", "not found; agents' commands need it"),
    ]


def _state() -> Row:
    from ggactors.store.folder import state_home

    home = state_home(os.environ)
    there = home
    while not there.exists():
        there = there.parent
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return ("ok", "runs are kept in", str(home))
    return ("bad", "runs are kept in", f"{home}, which cannot be written; set GGACTORS_HOME")


def _sandbox() -> list[Row]:
    """Look for the layers a later version confines commands and programs with."""
    bwrap = _first_line("bwrap", "--version")
    lsm = _text(Path("/sys/kernel/security/lsm"))
    spaces = _text(Path("/proc/sys/user/max_user_namespaces"))
    return [
        ("ok", "sandbox: bubblewrap", bwrap) if bwrap else ("no", "sandbox: bubblewrap", "not found"),
        ("ok", "sandbox: landlock", "active") if "landlock" in lsm else ("no", "sandbox: landlock", "not seen"),
        ("ok", "sandbox: user namespaces", f"up to {spaces}")
        if spaces.isdigit() and int(spaces) > 0
        else ("no", "sandbox: user namespaces", "not seen"),
    ]


def _extras() -> list[Row]:
    rows: list[Row] = []
    for extra, (module, distribution) in EXTRAS.items():
        if _is_there(module):
            rows.append(("ok", f"extra: {extra}", f"{module} is installed, {_version(distribution)}"))
        else:
            rows.append(("no", f"extra: {extra}", f"{module} is not installed; pip install 'ggactors[{extra}]'"))
    return rows


def _is_there(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package it is in
        return False


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "of an unknown version"


def _code() -> list[Row]:
    """Say whether agents can answer with programs, language by language, and whether the first launch has to compile."""
    from ggactors.programs.prepare import cache_folder, survey

    return [
        ("ok" if fine else "no", f"extra: code, {what}", found)
        for fine, what, found in survey(cache_folder(os.environ))
    ]


def _keys() -> list[Row]:
    from ggactors.crew import models_found
    from ggactors.rules.known import KEY_VARIABLES

    found = {model.variable: model for model in models_found(os.environ)}
    rows: list[Row] = []
    for provider, name in KEY_VARIABLES.items():
        if name in found:
            rows.append(("ok", f"key: {name}", f"set; `ggactors init` would name {found[name].reference}"))
        else:
            rows.append(("no", f"key: {name}", f"not set; models of {provider} need it, or a key the crew names"))
    return rows


def _first_line(program: str, *args: str) -> str:
    if shutil.which(program) is None:
        return ""
    try:
        ran = subprocess.run([program, *args], capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        return ""
    return (ran.stdout or ran.stderr).partition("\n")[0]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
