"""Ends agents' commands when the runtime itself is killed at once (H50). Law: it acts only on a death without farewell.

A killed runtime ends nothing itself, and what its agents' commands go on to write would reach worktrees that a resumed run works
in. So a small process of its own session waits on a pipe that only the runtime holds open. It finds what it kills in ``/proc``;
elsewhere there is none, and commands of a killed runtime run to their end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

from attrs import define, field

from ggactors.tools.strays import MARK

_SCRIPT = os.path.join(os.path.dirname(__file__), "watchdog_process.py")  # noqa: PTH118, PTH120
_FAREWELL_SECS = 5.0


@define
class Watchdog:
    """One run's watchdog. ``token`` is a part of the mark that every command of the run carries."""

    token: str
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)

    def arm(self) -> None:
        """Start it, unless it runs. It takes some milliseconds, so this is done before the first command and not earlier."""
        if self._process is not None or self._closed or not os.path.isdir("/proc/self"):  # noqa: PTH112
            return
        # A machine that starts no process will refuse the command itself, and say so.
        with suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", _SCRIPT, MARK, self.token],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )

    def close(self) -> None:
        """Say farewell and wait until it is gone."""
        process, self._process = self._process, None
        self._closed = True
        if process is None or process.stdin is None:
            return
        with process.stdin, suppress(BrokenPipeError):
            process.stdin.write(b".")
        try:
            process.wait(_FAREWELL_SECS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
