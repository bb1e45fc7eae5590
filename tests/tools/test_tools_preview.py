"""What a file would hold after an edit: the same text the edit then writes, or the same refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from ggactors.protocol.values import Refused
from ggactors.tools.workbench import AT_ONCE, LocalWorkbench


@pytest.fixture
def bench(tmp_path: Path) -> LocalWorkbench:
    (tmp_path / "root").mkdir()
    return LocalWorkbench(tmp_path / "root", scratch=tmp_path / "scratch", env={})


@pytest.mark.parametrize(
    ("held", "old", "new", "every"),
    [
        ("a = 1\nb = 2\n", "b = 2", "b = 3", False),
        ("x x x", "x", "yy", True),
        ("one\r\ntwo\r\n", "one\ntwo", "1\n2", False),
        ("a" + "-" * AT_ONCE, "a", "b", False),
    ],
)
async def test_the_preview_is_what_the_edit_then_writes(bench, held, old, new, every):
    file = Path(bench.root, "a.txt")
    file.write_bytes(held.encode())
    shown = await bench.preview_edit("a.txt", old, new, every=every)
    assert file.read_bytes() == held.encode()
    await bench.edit_file("a.txt", old, new, every=every)
    assert file.read_bytes().decode() == shown


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [("none.txt", "a", "b"), ("a.txt", "absent", "b"), ("a.txt", "x", "y"), ("a.txt", "", "y"), ("../a.txt", "a", "b")],
)
async def test_an_edit_that_would_be_refused_is_refused_in_the_preview_alike(bench, path, old, new):
    Path(bench.root, "a.txt").write_text("x x")
    previewed = await bench.preview_edit(path, old, new)
    assert isinstance(previewed, Refused)
    assert previewed == await bench.edit_file(path, old, new)


async def test_a_file_that_is_not_utf8_is_previewed_with_replacement_H49(bench):
    Path(bench.root, "a.txt").write_bytes(b"a \xff b")
    assert await bench.preview_edit("a.txt", "b", "c") == "a \ufffd c"
