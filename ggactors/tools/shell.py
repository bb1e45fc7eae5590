"""Run one command and leave nothing behind (smaller decision 4, H49, H50).

Law: a command gets its own session, an empty standard input and one pipe for both its streams. The call answers when the
command itself has ended, also when something it left in the background still holds the pipe; by then every process it
began has been killed. The same holds when its time is up and when the caller is cancelled.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import trio
from attrs import frozen

from ggactors.protocol.values import Code, Refused
from ggactors.protocol.workbench import ShellDone
from ggactors.tools.strays import MARK, end_strays, last_pid, no_wrap_secs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.tools.output import Recorder

_PIECE = 64 * 1024
_GRACE = 0.1
"""Seconds in which a pipe that somebody still holds may deliver what is on its way."""
_REAP = 5.0


@frozen(kw_only=True)
class Command:
    """What is run, where, with which environment, for how long in seconds. ``mark`` is unique to this call."""

    line: str
    folder: str
    env: Mapping[str, str]
    seconds: float
    mark: str


async def run_command(command: Command, recorder: Recorder) -> ShellDone | Refused:
    """Run a command and record what it prints. Cancelled: no process of it is left."""
    since = last_pid()
    began = trio.current_time()
    outer = command.env.get(MARK)
    env = {**command.env, MARK: f"{outer}:{command.mark}" if outer else command.mark}
    try:
        process = await trio.lowlevel.open_process(
            ["/bin/sh", "-c", command.line],
            cwd=command.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        recorder.close()
        return Refused(code=Code.IO_ERROR, message=_not_started(error, command))
    timed_out = True
    try:
        with trio.move_on_after(command.seconds):
            await _follow(process, recorder)
            timed_out = False
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + _REAP):
            quick = trio.current_time() - began < no_wrap_secs()
            await end_strays(command.mark, process.pid, since if quick else None)
        # Reaped last: until then its id, and with it the group's, is not given away.
        with trio.CancelScope(shield=True, deadline=trio.current_time() + _REAP):
            await process.wait()
            if process.stdout is not None:
                await process.stdout.aclose()
        recorder.close()
    return _timed_out(command, recorder) if timed_out else _done(process.returncode, recorder)


async def _follow(process: trio.Process, recorder: Recorder) -> None:
    """Record until the command has ended and its pipe is at its end, or is only held by what it left behind."""
    pipe = process.stdout
    assert isinstance(pipe, trio.lowlevel.FdStream)
    at_end = trio.Event()

    async def record() -> None:
        while piece := await pipe.receive_some(_PIECE):
            recorder.feed(piece)
        at_end.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(record)
        await _exited(process)
        with trio.move_on_after(_GRACE):
            await at_end.wait()
        nursery.cancel_scope.cancel()


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


def _not_started(error: OSError, command: Command) -> str:
    if not os.path.isdir(command.folder):  # noqa: PTH112 - one question, no object
        return f"shell: the command did not start: the folder {command.folder} is not there."
    reason = error.strerror or str(error)
    if len(command.line) > 100_000:
        return f"shell: the command did not start: {reason}. Write long commands to a file and run that."
    return f"shell: the command did not start: {reason}."


def _timed_out(command: Command, recorder: Recorder) -> Refused:
    printed = recorder.text()
    said = f"It had printed:\n{printed}" if printed else "It had printed nothing."
    return Refused(
        code=Code.LIMIT_EXCEEDED,
        message=(
            f"shell: the command took longer than {command.seconds:g} s; it and everything it started were killed. "
            f"Send a larger timeoutSecs if it needs longer. {said}"
        ),
    )


def _done(returned: int | None, recorder: Recorder) -> ShellDone:
    assert returned is not None
    name = None
    if returned < 0:
        try:
            name = signal.Signals(-returned).name
        except ValueError:
            name = f"signal {-returned}"
    return ShellDone(
        exit_code=returned if returned >= 0 else 128 - returned,
        output=recorder.text(),
        truncated=recorder.truncated,
        signal=name,
        full_output=recorder.path,
    )
