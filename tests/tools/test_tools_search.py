"""Searching: a bounded answer whatever the pattern, the tree and the bytes in it."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.protocol.values import Code, Refused
from ggactors.protocol.workbench import SearchDone
from ggactors.tools import search
from ggactors.tools.searcher import SHOWN, glob_pattern, shorten
from ggactors.tools.workbench import LocalWorkbench


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for path, contents in {
        "a.py": "import os\nprint('needle')\n",
        "src/b.py": "needle = 1\r\nneedle = 2\r\n",
        "src/deep/c.js": "// needle\n",
        ".git/config": "needle\n",
        "src/.git/x": "needle\n",
        "image.png": "\0needle",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(contents.encode())
    (tmp_path / "outside.py").write_text("needle\n")
    (root / "link.py").symlink_to("../outside.py")
    (root / "linked").symlink_to("src")
    os.mkfifo(root / "pipe")
    return root


@pytest.fixture
def bench(root: Path) -> LocalWorkbench:
    return LocalWorkbench(root, scratch=root.parent / "scratch", env={})


async def found(bench: LocalWorkbench, *args: str | None) -> list[tuple[str, int, str]]:
    done = await bench.search_files(*args)
    assert isinstance(done, SearchDone), done
    return [(match.path, match.line, match.text) for match in done.matches]


async def refused(bench: LocalWorkbench, *args: str | None) -> Refused:
    answer = await bench.search_files(*args)
    assert isinstance(answer, Refused), answer
    return answer


async def test_matches_come_by_path_and_line_without_git_links_and_binaries(bench):
    assert await found(bench, "needle") == [
        ("a.py", 2, "print('needle')"),
        ("src/b.py", 1, "needle = 1"),
        ("src/b.py", 2, "needle = 2"),
        ("src/deep/c.js", 1, "// needle"),
    ]


async def test_a_path_narrows_the_search_to_a_directory_or_a_file(bench):
    assert [match[0] for match in await found(bench, "needle", "src/deep")] == ["src/deep/c.js"]
    assert [match[0] for match in await found(bench, "needle", "linked")] == ["src/b.py", "src/b.py", "src/deep/c.js"]
    assert await found(bench, "^import", "a.py") == [("a.py", 1, "import os")]
    assert [match[0] for match in await found(bench, "needle", "src/deep/../b.py")] == ["src/b.py"] * 2


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("*.py", {"a.py", "src/b.py"}),
        ("*.{py,js}", {"a.py", "src/b.py", "src/deep/c.js"}),
        ("src/*", {"src/b.py"}),
        ("src/**", {"src/b.py", "src/deep/c.js"}),
        ("**", {"a.py", "src/b.py", "src/deep/c.js"}),
        ("s**/b.py", {"src/b.py"}),
        ("**/deep/*.js", {"src/deep/c.js"}),
        ("/a.py", {"a.py"}),
        ("[!a].py", {"src/b.py"}),
        ("*.txt", set()),
    ],
)
async def test_a_glob_chooses_files(bench, glob, paths):
    assert {match[0] for match in await found(bench, "needle", ".", glob)} == paths


@pytest.mark.parametrize("pattern", ["(a", "*", "a{2,1}", "(?P<x>a)(?P<x>b)", "[z-a]"])
async def test_a_pattern_that_is_none_is_told_why(bench, pattern):
    answer = await refused(bench, pattern)
    assert answer.code is Code.INVALID_ARGUMENT
    assert "`pattern`" in answer.message


async def test_a_glob_that_is_none_is_told_so(bench):
    answer = await refused(bench, "x", ".", "[z-a]")
    assert answer.code is Code.INVALID_ARGUMENT
    assert "`glob`" in answer.message


async def test_a_pattern_that_takes_for_ever_is_stopped_and_blocks_nobody(root, bench, monkeypatch):
    monkeypatch.setattr(search, "SECONDS", 1.0)
    (root / "src" / "evil").write_text("a" * 60 + "!\n")
    ticks = 0

    async def others() -> None:
        nonlocal ticks
        while True:
            with trio.move_on_after(0.01):
                await trio.sleep_forever()
            ticks += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        answer = await refused(bench, "(a+)+$", "src/evil")
        nursery.cancel_scope.cancel()
    assert answer.code is Code.LIMIT_EXCEEDED
    assert "(a+)+" in answer.message
    assert ticks > 10


async def test_what_was_found_before_the_time_was_up_is_answered(root, bench, monkeypatch):
    monkeypatch.setattr(search, "SECONDS", 1.0)
    (root / "0first").write_text("aaa\n")
    (root / "1evil").write_text("a" * 60 + "!\n")
    done = await bench.search_files("^(a+)+$", ".", "[01]*")
    assert [match.path for match in done.matches] == ["0first"]
    assert "stopped after 1 s" in done.stopped


async def test_a_pattern_as_large_as_memory_is_an_answer(bench):
    assert (await refused(bench, "(?:" * 5000 + "a" + ")" * 5000)).code is Code.INVALID_ARGUMENT
    assert (await refused(bench, "x" * 30_000)).code is Code.INVALID_ARGUMENT


async def test_many_matches_are_bounded_and_said_to_be(root, bench):
    (root / "many").write_text("needle\n" * 1000)
    done = await bench.search_files("needle", "many")
    assert len(done.matches) == search.MOST_MATCHES
    assert "first 200" in done.stopped


async def test_long_lines_are_shortened_around_the_match_and_the_bytes_bounded(root, bench):
    (root / "long").write_text(("x" * 50_000 + "needle" + "y" * 50_000 + "\n") * 300)
    done = await bench.search_files("needle", "long")
    assert all("needle" in match.text and len(match.text) <= SHOWN + 2 for match in done.matches)
    assert sum(len(match.text) for match in done.matches) < search.MOST_BYTES + 1000
    assert done.stopped


async def test_bytes_and_names_that_are_not_utf8_are_no_trouble_H49(root, bench):
    Path(os.fsdecode(os.fsencode(str(root)) + b"/\xff")).write_bytes(b"x\xf0needle\n")
    assert await found(bench, "\ufffdneedle") == [("\udcff", 1, "x\ufffdneedle")]


async def test_what_is_missing_outside_or_no_file_is_refused(bench):
    assert (await refused(bench, "x", "nope")).code is Code.NOT_FOUND
    assert (await refused(bench, "x", "..")).code is Code.REFUSED
    assert (await refused(bench, "x", "pipe")).code is Code.REFUSED


async def test_a_cancelled_search_leaves_no_process(root, bench):
    (root / "src" / "evil").write_text("a" * 60 + "!\n")
    with trio.move_on_after(0.2) as scope:
        await bench.search_files("(a+)+$", "src/evil")
    assert scope.cancelled_caught
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@given(line=st.text("ab…", max_size=1500), start=st.integers(0, 1500), length=st.integers(0, 900))
def test_a_shortened_line_begins_with_its_match_at_least(line, start, length):
    start = min(start, len(line))
    end = min(start + length, len(line))
    shown = shorten(line, start, end)
    assert len(shown) <= SHOWN + 2
    assert line[start : min(end, start + SHOWN)] in shown


@given(glob=st.text("ab*?[]!{},/-", max_size=12), path=st.text("ab/", max_size=8))
def test_a_glob_is_always_a_pattern_or_an_error_of_one(glob, path):
    try:
        re.compile(glob_pattern(glob)).fullmatch(path)
    except re.error:
        assert "[" in glob


@settings(max_examples=200)
@given(glob=st.text("ab*?", min_size=1, max_size=6), name=st.text("abc", min_size=1, max_size=6))
def test_a_plain_glob_matches_names_as_shells_do(glob, name):
    assert (re.fullmatch(glob_pattern(glob), f"some/where/{name}") is not None) == fnmatchcase(
        name, glob.replace("**", "*")
    )
