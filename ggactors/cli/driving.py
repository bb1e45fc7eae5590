"""Driving one run from the command line: what is shown, what is streamed, and what Ctrl-C does.

Law: the first Ctrl-C asks the agents to stop at their next turn boundaries, the second stops at once; either way the run's last
events are still shown and streamed, and the exit code is the run's (docs/reference/cli.md).
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, TextIO

import trio
from attrs import define, field, frozen

from ggactors.app import open_run
from ggactors.cli.eventsink import event_sink, say
from ggactors.cli.exits import CANCELLED, FAILED, REFUSED
from ggactors.cli.failures import refusal_lines
from ggactors.cli.progress import progress_on_stderr
from ggactors.cli.terminal import give_up, look_of, print_lines
from ggactors.ports import LaunchRefused
from ggactors.runtime.collector import tune_collector
from ggactors.telemetry.folds import RunView

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from ggactors.app import Run
    from ggactors.cli.progress import Progress
    from ggactors.crew import Reading
    from ggactors.hooks.verify import Verification
    from ggactors.protocol.events import Event

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@frozen(kw_only=True)
class Order:
    """One run as the command line asks for it. ``events`` is a file, ``-`` for stdout, or None."""

    command: str
    reading: Reading
    workspace: str
    task: str
    run_id: str | None = None
    checkout: str | None = None
    include_dirty: bool = False
    large_baseline: bool = False
    land: str | None = None
    prompts: tuple[str, ...] = ()
    """Tasks that queue behind the first."""
    verification: Verification | None = None
    """The check of completion, for the hooks that name it."""
    events: str | None = None
    json: bool = False
    verbose: bool = False


@define(kw_only=True)
class _Driven:
    """What is known of a run while it is driven."""

    view: RunView = field(factory=RunView)
    run: Run | None = None
    refused: LaunchRefused | None = None
    presses: int = 0


def drive(order: Order, *, after: Sequence[str] = ()) -> int:
    """Launch a run, show it, and print what it came to, then the lines of ``after``. Return the exit code."""
    crew = order.reading.crew
    driven = _Driven()
    with ExitStack() as stack:
        sink = event_sink(order.events, stack)
        progress = progress_on_stderr(driven.view, slots=crew.limits.max_parallel if crew else 0, verbose=order.verbose)
        stack.callback(progress.close)
        # Here and not in ``open_run``: the collector of a program that embeds a run is that program's to set.
        tune_collector()
        trio.run(_drive, order, driven, progress, sink)
    if driven.refused is not None:
        print_lines(refusal_lines(f"ggactors {order.command}", driven.refused.problems), sys.stderr)
        return REFUSED
    if driven.run is None:
        print(f"ggactors {order.command}: stopped before the run began", file=sys.stderr)
        return CANCELLED
    told = _report(order, driven.view, driven.run.folder, after)
    summary = driven.view.summary
    code = summary.exit_code if summary is not None else CANCELLED
    return sink.code(code) if told else code or FAILED


# ---------------------------------------------------------------- while it goes on


async def _drive(order: Order, driven: _Driven, progress: Progress, sink: Callable[[Event], None]) -> None:
    at_once = trio.CancelScope()
    # What whoever started us had ignored (nohup, a background job of a script) stays ignored.
    wanted = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    # SIGCONT stands for none at all: the receiver needs one, and a stopped process is woken by it all the same.
    with trio.open_signal_receiver(*(wanted or [signal.SIGCONT])) as signals:
        async with trio.open_nursery() as background:
            background.start_soon(_heed, signals, driven, progress, at_once)
            background.start_soon(progress.keep_fresh)
            # The follower stands outside the scope that stops the run, so that it hears the run's last events.
            async with trio.open_nursery() as follower:
                with at_once:
                    await _live(order, driven, progress, sink, follower)
            background.cancel_scope.cancel()


async def _live(
    order: Order, driven: _Driven, progress: Progress, sink: Callable[[Event], None], follower: trio.Nursery
) -> None:
    token = trio.lowlevel.current_trio_token()

    def note(text: str) -> None:
        # Told from whatever thread does the work.
        token.run_sync_soon(progress.say, text)

    try:
        async with open_run(
            order.reading,
            workspace=order.workspace,
            task=order.task,
            run_id=order.run_id,
            checkout=order.checkout,
            include_dirty=order.include_dirty,
            large_baseline=order.large_baseline,
            land=order.land,
            prompts=order.prompts,
            verify=order.verification,
            note=note,
        ) as run:
            driven.run = run
            if driven.presses:
                run.cancel()
            follower.start_soon(_follow, run, driven.view, progress, sink)
            await run.outcome()
    except LaunchRefused as refused:
        driven.refused = refused


async def _follow(run: Run, view: RunView, progress: Progress, sink: Callable[[Event], None]) -> None:
    """Hand every event on, from the first, until the run is closed."""
    async for event in run.events():
        view.apply(event)
        progress.take(event)
        sink(event)


async def _heed(signals: AsyncIterator[int], driven: _Driven, progress: Progress, at_once: trio.CancelScope) -> None:
    async for number in signals:
        if number not in STOPPING:
            continue
        driven.presses += 1
        if number == signal.SIGINT and driven.presses == 1 and driven.run is not None:
            progress.say("Stopping at the agents' next turn boundaries; Ctrl-C again stops at once.")
            driven.run.cancel()
        else:
            progress.say("Stopping at once.")
            at_once.cancel()


# ---------------------------------------------------------------- after it


def _report(order: Order, view: RunView, folder: Path, after: Sequence[str]) -> bool:
    """Print the board, the summary and where the work lies: on stdout, unless that carries data.

    Tell whether the data that was asked for could be written. What a person reads is no data: the run's folder has it all.
    """
    from ggactors.telemetry.render import board_lines
    from ggactors.telemetry.summary import summary_lines
    from ggactors.telemetry.whereabouts import whereabouts

    data = order.json or order.events == "-"
    stream = sys.stderr if data else sys.stdout
    look = look_of(stream, os.environ)
    own = folder / "repo.git"
    lines = [*board_lines(view, look), ""] if view.issues or view.epics else []
    lines += [*summary_lines(view, look), ""]
    lines += whereabouts(view, look, folder=str(folder), repository=str(own) if own.is_dir() else None)
    if not data:
        _outlive_signals()
    _tell(order, stream, [*lines, *after])
    _outlive_signals()
    if order.json:
        return _tell(order, sys.stdout, [summary_json(view, folder)])
    return True


def _tell(order: Order, stream: TextIO, lines: Sequence[str]) -> bool:
    """Print on a stream. False for one that takes no more, which is said; a reader that is gone has had what it wanted."""
    try:
        print_lines(lines, stream)
        stream.flush()
    except BrokenPipeError:
        give_up(stream)
    except OSError as error:
        give_up(stream)
        name = "stdout" if stream is sys.stdout else "stderr"
        say(f"ggactors {order.command}: could not write to {name}: {error.strerror}")
        return False
    return True


def _outlive_signals() -> None:
    """Stop heeding what asks us to stop: the run is over, and its exit code stands."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def summary_json(view: RunView, folder: Path) -> str:
    """Give the run's account as one JSON object: the fields of ``session_summary``, the run, and its folder."""
    import json

    from ggactors.telemetry.jsonl import to_line

    if view.summary is None:
        return json.dumps({"run": view.run, "status": view.status, "folder": str(folder)})
    record = json.loads(to_line(view.summary))
    for key in ("seq", "agent", "type"):
        record.pop(key)
    return json.dumps(record | {"folder": str(folder)})
