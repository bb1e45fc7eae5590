"""Run one program to its end and leave nothing behind (O4, H49, H50).

Law: a program gets its own session and its outputs as pipes. The call answers when the program itself has ended, also when
something it left in the background still holds a pipe; by then every process it began has been killed. The same holds when
its time is up and when the caller is cancelled.
"""

from __future__ import annotations

import itertools
import os
import secrets
import signal
import subprocess
import tempfile
from contextlib import ExitStack, suppress
from typing import IO, TYPE_CHECKING

import trio
from attrs import frozen

from ggactors.protocol.process import ProcessEnded, ProcessOrder
from ggactors.protocol.values import Code, Refused
from ggactors.tools.output import Outputs, Recorder
from ggactors.tools.strays import MARK, end_strays, last_pid, no_wrap_secs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ggactors.tools.mask import Mask

_PIECE = 64 * 1024
_GRACE = 0.1
"""Seconds in which a pipe that somebody still holds may deliver what is on its way."""
_DRAINED = 1024 * 1024
"""Bytes taken off a pipe after that: as much as a pipe holds, however fast somebody goes on filling it."""
_REAP = 5.0
DECISION = 64 * 1024
"""Bytes kept of the end of a stream that a program answers on."""


class NotStarted(Exception):  # noqa: N818 - flow control between this module and those who word the refusal
    """The system would not start a program."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.reason = error.strerror or str(error)


@frozen(kw_only=True)
class Exit:
    """How a program ended: its status as the shell tells it (128 + n for signal n), or None when its time was up."""

    code: int | None
    signal: str | None = None


async def run_to_end(order: ProcessOrder, mark: str, recorder: Recorder, errors: Recorder | None = None) -> Exit:
    """Run a program and record what it prints. ``mark`` is unique to this call; ``errors`` takes the second stream apart.

    Raises NotStarted. Cancelled: no process of it is left. The recorders are closed in any case.
    """
    with ExitStack() as stack:
        stack.callback(recorder.close)
        if errors is not None:
            stack.callback(errors.close)
        since = last_pid()
        began = trio.current_time()
        process = await _start(order, mark, stack, apart=errors is not None)
        pipes = [(process.stdout, recorder), (process.stderr, errors)]
        outputs = [(pipe, taker) for pipe, taker in pipes if isinstance(pipe, trio.lowlevel.FdStream) and taker]
        timed_out = True
        try:
            with trio.move_on_after(order.seconds):
                await _follow(process, outputs)
                timed_out = False
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + _REAP):
                quick = trio.current_time() - began < no_wrap_secs()
                await end_strays(mark, process.pid, since if quick else None)
            # Reaped last: until then its id, and with it the group's, is not given away.
            with trio.CancelScope(shield=True, deadline=trio.current_time() + _REAP):
                await process.wait()
                for pipe, _ in outputs:
                    await pipe.aclose()
        return Exit(code=None) if timed_out else _exit(process.returncode)


async def _start(order: ProcessOrder, mark: str, stack: ExitStack, *, apart: bool) -> trio.Process:
    outer = order.env.get(MARK)
    env = {**order.env, MARK: f"{outer}:{mark}" if outer else mark}
    try:
        return await trio.lowlevel.open_process(
            list(order.argv),
            cwd=order.folder,
            env=env,
            stdin=_input(order.stdin, stack),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if apart else subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise NotStarted(error) from error
    except ValueError as error:  # a NUL character in an argument or the environment
        raise NotStarted(OSError(str(error))) from error


def _input(content: bytes, stack: ExitStack) -> IO[bytes] | int:
    """Give what the program reads: a nameless file, so that nobody has to feed a pipe that may never be read."""
    if not content:
        return subprocess.DEVNULL
    file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack is its context
    file.write(content)
    file.seek(0)
    return file


async def _follow(process: trio.Process, outputs: list[tuple[trio.lowlevel.FdStream, Recorder]]) -> None:
    """Record until the program has ended and its pipes are at their end, or are only held by what it left behind."""
    open_pipes = len(outputs)
    at_end = trio.Event()

    async def record(pipe: trio.lowlevel.FdStream, recorder: Recorder) -> None:
        nonlocal open_pipes
        while piece := await pipe.receive_some(_PIECE):
            recorder.feed(piece)
        open_pipes -= 1
        if not open_pipes:
            at_end.set()

    async with trio.open_nursery() as nursery:
        for pipe, recorder in outputs:
            nursery.start_soon(record, pipe, recorder)
        await _exited(process)
        with trio.move_on_after(_GRACE):
            await at_end.wait()
        nursery.cancel_scope.cancel()
    for pipe, recorder in outputs:
        _drain(pipe, recorder)


def _drain(pipe: trio.lowlevel.FdStream, recorder: Recorder) -> None:
    """Take what a pipe holds already: on a busy machine the grace may pass before its reader's turn comes."""
    taken = 0
    with suppress(BlockingIOError):
        while taken < _DRAINED and (piece := os.read(pipe.fileno(), _PIECE)):
            taken += len(piece)
            recorder.feed(piece)


async def _exited(process: trio.Process) -> None:
    """Wait until a process has ended, without reaping it where that can be had: its id must not be given away yet."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        await process.wait()
        return
    try:
        await trio.lowlevel.wait_readable(descriptor)
    finally:
        trio.lowlevel.notify_closing(descriptor)
        os.close(descriptor)


def _exit(returned: int | None) -> Exit:
    assert returned is not None
    if returned >= 0:
        return Exit(code=returned)
    try:
        name = signal.Signals(-returned).name
    except ValueError:
        name = f"signal {-returned}"
    return Exit(code=128 - returned, signal=name)


class LocalProcesses:
    """Programs run on this machine; obeys ``ports.Processes``.

    ``scratch`` is a folder outside every worktree, made when needed; outputs too long to be shown are kept there, for whoever
    may read it. ``agent`` names whose programs they are; ``arm`` is called before each.
    """

    def __init__(self, *, scratch: Path, mask: Mask, agent: str = "run", arm: Callable[[], None] | None = None) -> None:
        self._outputs = Outputs(str(scratch))
        self._mask = mask
        self._arm = arm
        self._token = f"{agent}.{secrets.token_hex(8)}"
        self._calls = itertools.count(1)

    async def run(self, order: ProcessOrder) -> ProcessEnded | Refused:
        """Run a program to its end. Cancelled, timed out or done: no process of it is left."""
        if self._arm is not None:
            self._arm()
        merged = Recorder(self._outputs, self._mask, "hook", ending=DECISION if order.apart else None)
        errors = Recorder(self._outputs, self._mask, "hook") if order.apart else None
        try:
            ended = await run_to_end(order, f"{self._token}.{next(self._calls)}", merged, errors)
        except NotStarted as error:
            return Refused(code=Code.IO_ERROR, message=f"{order.argv[0]} could not be started: {error.reason}")
        return ProcessEnded(
            exit_code=ended.code,
            signal=ended.signal,
            output=merged.text(),
            errors="" if errors is None else errors.text(),
        )
