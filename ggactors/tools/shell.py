"""The shell tool's command: one line for ``/bin/sh -c``, and what is said of how it went.

Law: a command that ran to its end is no failure, whatever its exit code; one that could not start or took too long is refused.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.process import ProcessOrder
from ggactors.protocol.values import Code, Refused
from ggactors.protocol.workbench import ShellDone
from ggactors.tools.process import NotStarted, run_to_end

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.tools.output import Recorder


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
    order = ProcessOrder(
        argv=("/bin/sh", "-c", command.line), folder=command.folder, env=command.env, seconds=command.seconds
    )
    try:
        ended = await run_to_end(order, command.mark, recorder)
    except NotStarted as error:
        return Refused(code=Code.IO_ERROR, message=_not_started(error, command))
    if ended.code is None:
        return _timed_out(command, recorder)
    return ShellDone(
        exit_code=ended.code,
        output=recorder.text(),
        truncated=recorder.truncated,
        signal=ended.signal,
        full_output=recorder.path,
    )


def _not_started(error: NotStarted, command: Command) -> str:
    if not os.path.isdir(command.folder):  # noqa: PTH112 - one question, no object
        return f"shell: the command did not start: the folder {command.folder} is not there."
    if len(command.line) > 100_000:
        return f"shell: the command did not start: {error.reason}. Write long commands to a file and run that."
    return f"shell: the command did not start: {error.reason}."


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
