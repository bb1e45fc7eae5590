"""The place on this machine where one agent's tools act: a root directory, files, a shell.

Law: every argument and result fits on a wire; what the caller did wrong and what the world refuses are answers, never
exceptions; nothing is left half-written and no process outlives its call. Small file work is done at once, since a thread
costs more than it saves; what may take long runs in a thread of the run's lanes.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import trio
from attrs import frozen
from trio.lowlevel import RunVar

from ggactors.protocol.values import Code, Refused
from ggactors.tools import reading, writing
from ggactors.tools.guard import held_back
from ggactors.tools.mask import Mask
from ggactors.tools.output import Outputs, Recorder
from ggactors.tools.paths import Declined, Ground, shown
from ggactors.tools.search import search_files
from ggactors.tools.shell import Command, run_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ggactors.protocol.workbench import DirListed, FileEdited, FileRead, FileWritten, SearchDone, ShellDone

Answer = TypeVar("Answer")

AT_ONCE = 256 * 1024
"""Files up to this many bytes are read, written and edited without a thread."""


@frozen
class Lanes:
    """How much of the machine all agents of a run take together for file work and for searching."""

    files: trio.CapacityLimiter
    searches: trio.CapacityLimiter

    @classmethod
    def here(cls) -> Lanes:
        """Give the lanes of the present trio run, made at their first use."""
        try:
            return _LANES.get()
        except LookupError:
            lanes = cls(trio.CapacityLimiter(8), trio.CapacityLimiter(4))
            _LANES.set(lanes)
            return lanes


_LANES: RunVar[Lanes] = RunVar("lanes")


class LocalWorkbench:
    """One agent's workbench in a directory of this machine; obeys ``ports.Workbench``.

    ``scratch`` is a folder of the agent's own outside ``root``, made when needed and removed by ``close``; long outputs are
    kept there, where the agent may read them. ``env`` is the whole environment of its commands; ``arm`` is called before each.
    """

    def __init__(
        self,
        root: Path,
        *,
        scratch: Path,
        env: Mapping[str, str],
        mask: Mask | None = None,
        agent: str = "agent",
        arm: Callable[[], None] | None = None,
    ) -> None:
        self.root = os.path.abspath(root)  # noqa: PTH100 - links in it stay as they are spelled
        self._scratch = os.path.abspath(scratch)  # noqa: PTH100
        self._env = dict(env)
        self._mask = mask or Mask()
        self._ground = Ground(self.root, (self._scratch,))
        self._outputs = Outputs(self._scratch)
        self._token = f"{agent}.{secrets.token_hex(8)}"
        self._calls = 0
        self._arm = arm

    async def read_file(self, path: str, offset: int | None = None, limit: int | None = None) -> FileRead | Refused:
        """Read a file, or ``limit`` lines of it from line ``offset`` on. A binary file is described."""
        return await self._files("read_file", partial(reading.read_file, self._ground, path, offset, limit))

    async def write_file(self, path: str, contents: str) -> FileWritten | Refused:
        """Make a file hold exactly ``contents``. Cancelled: it holds its old bytes or the new ones."""
        return await self._files("write_file", partial(writing.write_file, self._ground, self._scratch, path, contents))

    async def edit_file(self, path: str, old: str, new: str, *, every: bool = False) -> FileEdited | Refused:
        """Replace a text that stands exactly once, or everywhere. Cancelled: as for ``write_file``."""
        work = partial(writing.edit_file, self._ground, self._scratch, path, old, new, every=every)
        return await self._files("edit_file", work)

    async def preview_edit(self, path: str, old: str, new: str, *, every: bool = False) -> str | Refused:
        """Give the whole text the file would hold after that edit, or the refusal ``edit_file`` would answer."""
        work = partial(writing.preview_edit, self._ground, path, old, new, every=every)
        return await self._files("edit_file", work)

    async def list_dir(self, path: str = ".") -> DirListed | Refused:
        """List a directory."""
        return await self._files("list_dir", partial(reading.list_dir, self._ground, path))

    async def search_files(self, pattern: str, path: str = ".", glob: str | None = None) -> SearchDone | Refused:
        """Find the lines a regular expression matches. Cancelled: the searching process is killed."""
        async with Lanes.here().searches:
            try:
                return await search_files(self._ground, pattern, path, glob)
            except Declined as declined:
                return declined.refused
            except OSError as error:
                return _io_error("search_files", error)

    async def run(self, command: str, seconds: float = 120.0) -> ShellDone | Refused:
        """Run a command in the root. Cancelled, timed out or done: no process of it is left."""
        refused = held_back(command)
        if refused is not None:
            return refused
        if self._arm is not None:
            self._arm()
        self._calls += 1
        order = Command(
            line=command, folder=self.root, env=self._env, seconds=seconds, mark=f"{self._token}.{self._calls}"
        )
        return await run_command(order, Recorder(self._outputs, self._mask))

    def keep(self, label: str, text: str) -> str | None:
        """Keep a text that is too long to be shown; the path under which the agent reads it, or None."""
        return self._outputs.keep(label, self._mask.text(text))

    async def close(self) -> None:
        """Remove the agent's scratch folder. Cancelled: it is removed all the same."""
        try:
            os.rmdir(self._scratch)  # noqa: PTH106 - most agents keep nothing, and then no thread is needed
        except FileNotFoundError:
            return
        except OSError:
            pass
        else:
            return
        with trio.CancelScope(shield=True):
            work = partial(shutil.rmtree, self._scratch, ignore_errors=True)
            await trio.to_thread.run_sync(work, limiter=Lanes.here().files)

    async def _files(self, operation: str, work: Callable[..., Answer]) -> Answer | Refused:
        """Do file work at once while it is small, else in a thread; then a cancelled caller waits until it is done.

        ``work`` takes ``most`` and raises TooLarge, having done nothing, when there is more than that of it.
        """
        try:
            try:
                return work(most=AT_ONCE)
            except reading.TooLarge:
                return await trio.to_thread.run_sync(work, limiter=Lanes.here().files)
        except Declined as declined:
            return declined.refused
        except OSError as error:
            return _io_error(operation, error)


def _io_error(operation: str, error: OSError) -> Refused:
    where = f" {shown(error.filename)}" if isinstance(error.filename, str) else ""
    reason = error.strerror or type(error).__name__
    match error.errno:
        case errno.ENAMETOOLONG:
            return Refused(code=Code.INVALID_ARGUMENT, message=f"{operation}: the path is too long.")
        case errno.ELOOP:
            return Refused(code=Code.REFUSED, message=f"{operation}: a link took the place of{where}; try again.")
        case errno.ENOENT:
            return Refused(code=Code.NOT_FOUND, message=f"{operation}: {reason}{where}.")
        case _:
            return Refused(code=Code.IO_ERROR, message=f"{operation}: {reason}{where}.")
