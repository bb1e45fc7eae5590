"""``ggactors show RUN --follow``: a run as it goes on, from any process. The console on a terminal, the story's lines elsewhere.

Law: it only reads. Leaving it, or being stopped, is nothing to the run.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ggactors.store.folder import RunFolder

POLL_SECS = 0.1


def follow(folder: RunFolder, *, verbose: bool = False) -> int:
    """Show a run until it ends, or on a terminal until the person leaves. Give the exit code."""
    from ggactors.cli.terminal import is_lively, is_terminal

    if is_terminal(sys.stdin) and is_lively(sys.stdout, os.environ):
        from ggactors.repl.console import look_at

        look_at(folder)
        return 0
    return _print(folder, verbose=verbose)


def _print(folder: RunFolder, *, verbose: bool) -> int:
    """Print a line for each noteworthy event as it comes, until the run has ended or its process is gone."""
    from ggactors.store.lock import read_lock
    from ggactors.telemetry.folds import RunView
    from ggactors.telemetry.plaintext import safe
    from ggactors.telemetry.story import headline, local_time
    from ggactors.telemetry.tail import Tail

    view = RunView()
    with Tail(folder.events) as tail:
        while True:
            # Asked before the file is read: what a process wrote until its end is then in what is read.
            alive = read_lock(folder.lock).alive
            found = tail.take(500)
            for event in found:
                view.apply(event)
                line = headline(event, view, verbose=verbose)
                if line is not None:
                    print(f"{local_time(event.time)} {safe(line)}")
            sys.stdout.flush()
            if found:
                continue
            if view.ended:
                return 0
            if not alive:
                print("Its process is gone without an end; what was committed is kept.", file=sys.stderr)
                return 0
            time.sleep(POLL_SECS)
