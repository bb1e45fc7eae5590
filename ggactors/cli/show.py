"""``ggactors show``: look into one run, live or over. Everything shown is folded from its events (T2)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from ggactors.cli.parsing import Parser
    from ggactors.protocol.git import Standing
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.folds import RunView
    from ggactors.telemetry.plaintext import Look

SUMMARY = "Look into one run, live or over; without an option its summary and its board."
EXAMPLE = (
    "ggactors show last\nggactors show k3f --board\nggactors show last --agent ISSUE-1.0i\nggactors show last --follow"
)


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", metavar="RUN", help="a run's id, a part of it that is unique, or last")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--agents", action="store_true", help="the tree of agents")
    what.add_argument("--board", action="store_true", help="epics and issues")
    what.add_argument("--events", action="store_true", help="the event stream, as JSON lines")
    what.add_argument("--agent", metavar="ID", help="one agent's story")
    what.add_argument("--follow", action="store_true", help="watch it, until it ends or you leave")


def run(options: argparse.Namespace) -> int:
    """Show a run."""
    from ggactors.cli.failures import Refusal
    from ggactors.cli.terminal import look_of, print_lines
    from ggactors.store.folder import find_run, state_home

    folder = find_run(state_home(os.environ), options.run)
    if not folder.events.is_file():
        raise Refusal(f"run {folder.id} has no events; it was never begun")
    if options.follow:
        from ggactors.cli.follow import follow

        return follow(folder, verbose=options.verbose)
    look = look_of(sys.stdout, os.environ)
    if options.events:
        _copy_events(folder)
    elif options.agent is not None:
        print_lines(_story(folder, options.agent, look))
    else:
        print_lines(_picture(folder, options, look))
    return 0


def _picture(folder: RunFolder, options: argparse.Namespace, look: Look) -> list[str]:
    from ggactors.telemetry.render import agent_lines, board_lines
    from ggactors.telemetry.summary import summary_lines
    from ggactors.telemetry.whereabouts import whereabouts

    view = _fold(folder)
    if options.agents:
        return agent_lines(view, look)
    if options.board:
        return board_lines(view, look)
    repository = str(folder.repository) if folder.repository.is_dir() else None
    lines = [*summary_lines(view, look), ""]
    if view.issues or view.epics:
        lines += [*board_lines(view, look), ""]
    lines += _liveness(folder, view)
    standing = _standing(folder, view)
    return [*lines, *whereabouts(view, look, folder=str(folder.path), repository=repository, standing=standing)]


def _standing(folder: RunFolder, view: RunView) -> Standing | None:
    """Say where the work stands now, as far as the repositories can be read; what a living run has open is its own affair."""
    from ggactors.app.aftermath import standing_of
    from ggactors.ports import RepositoryBroken
    from ggactors.store.lock import read_lock

    try:
        return standing_of(folder, view.workspace, deep=not read_lock(folder.lock).alive)
    except RepositoryBroken as broken:
        print(f"ggactors show: {broken}", file=sys.stderr)
        return None


def _liveness(folder: RunFolder, view: RunView) -> list[str]:
    """Say of a run without an end whether its process lives."""
    from ggactors.store.lock import read_lock

    if view.ended:
        return []
    lock = read_lock(folder.lock)
    if lock.alive:
        return [f"It is driven by process {lock.holder.pid}." if lock.holder else "It is being driven."]
    return ["Its process is gone without an end; what was committed is kept."]


def _fold(folder: RunFolder) -> RunView:
    from ggactors.telemetry.folds import fold
    from ggactors.telemetry.jsonl import read_events

    return fold(read_events(folder.events))


def _story(folder: RunFolder, agent: str, look: Look) -> list[str]:
    from ggactors.cli.failures import Refusal
    from ggactors.telemetry.folds import RunView
    from ggactors.telemetry.jsonl import read_events
    from ggactors.telemetry.story import tell

    view = RunView()
    lines: list[str] = []
    for event in read_events(folder.events):
        view.apply(event)
        if event.agent == agent:
            lines += tell(event, look)
    if agent not in view.agents_by_id:
        names = ", ".join(list(view.agents_by_id)[:20]) or "none yet"
        raise Refusal(f"run {folder.id} has no agent {agent!r}; it has {names}")
    return lines


def _copy_events(folder: RunFolder) -> None:
    """Print the lines as they stand in the file; one that is still being written is left out."""
    sys.stdout.flush()
    with folder.events.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
