"""The console: a run on the whole screen, in two tabs, live or after the fact (T2). Law: it only looks; leaving it is free."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ggactors.app.diffing import IssueDiff
    from ggactors.repl.console.app import Console
    from ggactors.repl.console.sources import Source
    from ggactors.repl.console.state import Looking
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.folds import IssueView

__all__ = ["look_at", "watch"]


async def watch(
    source: Source, *, folder: RunFolder | None = None, slots: int = 0, looking: Looking | None = None
) -> None:
    """Show a run on this terminal until the person leaves: an asyncio coroutine, for the thread that owns the terminal.

    ``folder`` is the run's, for the diffs of its issues; ``slots`` is how many agents may run at once; ``looking`` keeps what
    the person looked at from one call to the next. Cancelled: the terminal is as it was.
    """
    await _console(source, folder, slots, looking).run()


def look_at(folder: RunFolder) -> None:
    """Show a run of any process out of its folder until the person leaves. Blocking, in the main thread. Raises OSError."""
    import asyncio

    from ggactors.repl.console.sources import FileSource
    from ggactors.runtime.collector import SHOWING, tune_collector
    from ggactors.store.lock import read_lock

    source = FileSource(folder.events, lambda: read_lock(folder.lock).alive)
    tune_collector(SHOWING)
    asyncio.run(_alone(_console(source, folder, slots_of(folder), None, alone=True)))


async def _alone(console: Console) -> None:
    """Run a console that has its process to itself: who ends the process finds the terminal as it was, too."""
    import asyncio
    import signal

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, console.leave)
    await console.run()


def _console(
    source: Source, folder: RunFolder | None, slots: int, looking: Looking | None, *, alone: bool = False
) -> Console:
    from ggactors.app.diffing import diff_of
    from ggactors.repl.console.app import Console

    def diff(issue: IssueView) -> IssueDiff:
        assert folder is not None
        return diff_of(folder, console.fold.view.workspace, issue)

    # Named, since ``diff`` reads it.
    console = Console(source, slots=slots, diff=diff if folder is not None else None, looking=looking, alone=alone)
    return console


def slots_of(folder: RunFolder) -> int:
    """Read how many agents may run at once out of the run's crew; 0 when it does not say."""
    import json

    from ggactors.protocol.crew import Limits

    try:
        limits = json.loads(folder.crew.read_bytes()).get("limits", {})
        slots = limits.get("maxParallel", Limits().max_parallel)
    except (OSError, ValueError, AttributeError):
        return 0
    return slots if isinstance(slots, int) else 0
