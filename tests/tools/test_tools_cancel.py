"""Cancelled at any step, a call leaves no process, no descriptor and no half-written file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio

from ggactors.tools.workbench import AT_ONCE, LocalWorkbench

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MOST_STEPS = 60


class CancelAt(trio.abc.Instrument):
    """Cancels a scope when tasks have taken so many steps since the count began."""

    def __init__(self, scope: trio.CancelScope, step: int) -> None:
        self.scope = scope
        self.left = step

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if not task.name.startswith("trio."):
            self.left -= 1
            if self.left == 0:
                self.scope.cancel()


async def cancelled_at(step: int, work: Callable[[], Awaitable[object]]) -> bool:
    """Run work and cancel it at a step. Tells whether it was cut."""
    with trio.CancelScope() as scope:
        instrument = CancelAt(scope, step)
        trio.lowlevel.add_instrument(instrument)
        try:
            await work()
        finally:
            trio.lowlevel.remove_instrument(instrument)
    return scope.cancelled_caught


NAP = f"51.{os.getpid():07d}"
"""Seconds to nap, unlike those of another test run on this machine."""


def alive(word: bytes) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and word in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.fixture
def bench(tmp_path: Path) -> LocalWorkbench:
    (tmp_path / "root").mkdir()
    return LocalWorkbench(tmp_path / "root", scratch=tmp_path / "scratch", env={"PATH": os.environ["PATH"]})


async def at_every_step(work: Callable[[], Awaitable[object]], check: Callable[[], None]) -> int:
    """Cancel work at its first step, its second and so on, until it ends uncut; answer how often it was cut."""
    await work()
    before = set(os.listdir("/proc/self/fd"))
    cuts = 0
    for step in range(1, MOST_STEPS):
        cut = await cancelled_at(step, work)
        cuts += cut
        check()
        assert set(os.listdir("/proc/self/fd")) == before
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        if not cut:
            break
    return cuts


async def test_a_command_cancelled_at_any_step_leaves_no_process(bench):
    async def work() -> None:
        await bench.run(f"setsid sleep {NAP} & sleep {NAP} & head -c 40000 /dev/zero; true")

    def check() -> None:
        assert alive(NAP.encode()) == []

    assert await at_every_step(work, check) >= 4


async def test_a_search_cancelled_at_any_step_leaves_no_process(bench):
    await bench.write_file("f", "x\n" * 50)

    async def work() -> None:
        await bench.search_files(f"x|{NAP}")

    def check() -> None:
        assert alive(NAP.encode()) == []

    assert await at_every_step(work, check) >= 3


async def test_a_large_write_cancelled_at_any_step_is_whole_or_not_there(bench, tmp_path):
    old, new = "o" * (AT_ONCE * 2), "n" * (AT_ONCE * 2)

    async def work() -> None:
        await bench.write_file("f", old)
        await bench.edit_file("f", old, new)

    def check() -> None:
        assert (tmp_path / "root" / "f").read_text() in (old, new)
        assert os.listdir(tmp_path / "root") == ["f"]
        assert os.listdir(tmp_path / "scratch") == []

    assert await at_every_step(work, check) >= 2
