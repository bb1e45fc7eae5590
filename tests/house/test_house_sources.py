"""The sources keep the house's bounds."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from house_pages import ROOT, named, package_sources, parsed, suite_sources

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_FILE = 450


def test_no_source_file_is_longer_than_one_sitting():
    lengths = {
        named(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in [*package_sources(), *suite_sources()]
    }
    assert {path: length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_every_module_says_what_it_is_for():
    silent = [named(path) for path in package_sources() if not (ast.get_docstring(parsed(path)) or "").strip()]
    assert silent == []


def test_nothing_in_the_package_is_marked_unfinished():
    marks = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
    found = [
        f"{named(path)}:{number}"
        for path in package_sources()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if marks.search(line)
    ]
    assert found == []


def sleeps(path: Path) -> list[int]:
    """List the lines on which a module waits for real time to pass.

    ``sleep(0)`` only yields; ``trio.sleep`` inside a test that is given, or makes, a clock of its own passes no real time.
    """
    found = []
    for outer in parsed(path).body:
        virtual = re.search(r"\w+_clock\b|\w*Clock\(", ast.unparse(outer)) is not None
        for node in ast.walk(outer):
            match node:
                case ast.Call(func=ast.Attribute(attr="sleep"), args=[ast.Constant(0)]):
                    pass
                case ast.Call(func=ast.Attribute(value=ast.Name(id="trio"), attr="sleep" | "sleep_until")) if virtual:
                    pass
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="time" | "trio" | "asyncio"), attr="sleep" | "sleep_until")
                ):
                    found.append(node.lineno)
                case ast.ImportFrom(module="time" | "trio" | "asyncio", names=names) if "sleep" in {
                    each.name for each in names
                }:
                    found.append(node.lineno)
                case _:
                    pass
    return found


REAL_TIME = ("tests/programs/", "tests/simulation/")
"""Where a sleep is what is tested: a guest and its host side by side in real time; a slow disk under the virtual clock."""


def test_no_test_sleeps():
    found = {named(path): lines for path in suite_sources() if (lines := sleeps(path))}
    assert {name: lines for name, lines in found.items() if not name.startswith(REAL_TIME)} == {}


def test_no_async_function_of_the_package_takes_a_time_out():
    found = [
        f"{named(path)}:{node.lineno}"
        for path in package_sources()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.AsyncFunctionDef)
        for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if argument.arg in {"timeout", "timeout_secs", "deadline"}
    ]
    assert found == []


def test_test_files_have_names_of_their_own():
    names = [path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py"]
    assert sorted({name for name in names if names.count(name) > 1}) == []
