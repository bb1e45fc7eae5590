"""Where memories are kept: whole files, outside the workspace, safe from other runs at the same time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import trio
from attrs import evolve

from ggactors.protocol.memories import Memory
from ggactors.protocol.values import Code, Refused
from ggactors.store.memories import MemoryShelf

ONE = Memory(name="one", description="One.", text="1\n\u2028é", on_use={"python": "print(1)"})


def shelf_in(tmp_path: Path, **changes: str) -> MemoryShelf:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    return evolve(MemoryShelf(home=tmp_path / "state", workspace=work, profile="coder"), **changes)


async def test_what_is_kept_is_read_again_byte_for_byte(tmp_path):
    shelf = shelf_in(tmp_path)
    assert await shelf.read() == ()
    assert await shelf.change(lambda memories: (*memories, ONE)) == (ONE,)
    assert await shelf_in(tmp_path).read() == (ONE,)
    assert shelf.path.is_relative_to(tmp_path / "state")
    assert list((tmp_path / "work").iterdir()) == []
    assert shelf.path.stat().st_mode & 0o077 == 0
    assert shelf.path.parent.stat().st_mode & 0o077 == 0
    assert json.loads(shelf.path.read_text())["workspace"] == str(tmp_path / "work")


async def test_profiles_and_workspaces_have_memories_of_their_own_and_a_link_to_a_workspace_has_its(tmp_path):
    await shelf_in(tmp_path).change(lambda _: (ONE,))
    assert await shelf_in(tmp_path, profile="critic").read() == ()
    (tmp_path / "other").mkdir()
    assert await evolve(shelf_in(tmp_path), workspace=tmp_path / "other").read() == ()
    (tmp_path / "link").symlink_to(tmp_path / "work")
    assert await evolve(shelf_in(tmp_path), workspace=tmp_path / "link").read() == (ONE,)


async def test_a_refusal_writes_nothing(tmp_path):
    shelf = shelf_in(tmp_path)
    refused = Refused(code=Code.CONFLICT, message="no")
    assert await shelf.change(lambda _: refused) == refused
    assert not shelf.path.exists()


async def test_changes_at_the_same_time_lose_nothing_of_each_other(tmp_path):
    shelf = shelf_in(tmp_path)

    async def add(number: int) -> None:
        made = await shelf.change(lambda memories: (*memories, evolve(ONE, name=f"m{number}")))
        assert not isinstance(made, Refused)

    async with trio.open_nursery() as nursery:
        for number in range(12):
            nursery.start_soon(add, number)
    kept = await shelf.read()
    assert not isinstance(kept, Refused)
    assert sorted(one.name for one in kept) == sorted(f"m{number}" for number in range(12))


ADDING = """
import sys, trio
from pathlib import Path
from ggactors.protocol.memories import Memory
from ggactors.store.memories import MemoryShelf
home, work, mark = sys.argv[1:]
shelf = MemoryShelf(home=Path(home), workspace=Path(work), profile="coder")
async def main():
    for number in range(5):
        made = await shelf.change(lambda kept: (*kept, Memory(name=f"{mark}{number}", description="d", text="t")))
        assert isinstance(made, tuple), made
trio.run(main)
"""


async def test_another_process_at_the_same_time_loses_nothing_either(tmp_path):
    shelf = shelf_in(tmp_path)
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", ADDING, str(shelf.home), str(shelf.workspace), "other"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: trio.run_process(command, env={**os.environ, "PYTHONPATH": str(root)}))
        for number in range(5):
            await shelf.change(lambda kept, at=number: (*kept, evolve(ONE, name=f"own{at}")))
    kept = await shelf.read()
    assert not isinstance(kept, Refused)
    assert len({one.name for one in kept}) == 10


async def test_a_file_that_is_not_ours_is_said_to_be_so_and_left_alone(tmp_path):
    shelf = shelf_in(tmp_path)
    await shelf.change(lambda _: (ONE,))
    for damaged in (
        b"",
        b"{",
        b"[]",
        b'{"v": 2, "memories": []}',
        b'{"v": 1, "memories": [{"name": 1}]}',
        b"\xff",
        b"[" * 9999,
    ):
        shelf.path.write_bytes(damaged)
        for answer in (await shelf.read(), await shelf.change(lambda _: (ONE,))):
            assert isinstance(answer, Refused)
            assert answer.code == Code.IO_ERROR
            assert str(shelf.path) in answer.message
        assert shelf.path.read_bytes() == damaged


async def test_a_state_home_that_cannot_hold_them_is_an_answer(tmp_path):
    (tmp_path / "state").write_text("a file")
    answer = await shelf_in(tmp_path).change(lambda _: (ONE,))
    assert isinstance(answer, Refused)
    assert answer.code == Code.IO_ERROR


async def test_a_writer_that_is_killed_leaves_the_old_memories(tmp_path):
    shelf = shelf_in(tmp_path)
    await shelf.change(lambda _: (ONE,))
    dying = ADDING.replace("trio.run(main)", "import os\nos.fsync = lambda _: os._exit(9)\ntrio.run(main)")
    root = Path(__file__).resolve().parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", dying, str(shelf.home), str(shelf.workspace), "x"],
        env={**os.environ, "PYTHONPATH": str(root)},
        check=False,
    )
    assert ran.returncode == 9
    assert await shelf.read() == (ONE,)
    assert await shelf.change(lambda kept: (*kept, evolve(ONE, name="two"))) == (ONE, evolve(ONE, name="two"))
