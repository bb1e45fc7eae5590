"""``ggactors recover``: list a run's saved and unfinished work, or bring a piece of it back as a branch (W5)."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from ggactors.cli.parsing import Parser
    from ggactors.protocol.git import BroughtBack, OpenWork, SavedWork, Standing
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.plaintext import Look

SUMMARY = (
    "List the work of failed, discarded and unfinished attempts of a run, or bring one piece of it back as a branch of your "
    "repository. Your checkout is not touched."
)
EXAMPLE = "ggactors recover last\nggactors recover last AUTH-1\nggactors recover last AUTH-1#0 --to again"


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", metavar="RUN", help="a run's id, a part of it that is unique, or last")
    parser.add_argument(
        "issue",
        metavar="ISSUE",
        nargs="?",
        help="what to bring back: an issue (its newest work), ISSUE#N as listed, main, or a ref; without it all is listed",
    )
    parser.add_argument("--to", metavar="BRANCH", help="the branch to bring it back as; default: ggactors-RUN-ISSUE")


def run(options: argparse.Namespace) -> int:
    """List the work of a run, or bring a piece of it back."""
    from ggactors.app.aftermath import AftermathRefused, recover_work, recoverable
    from ggactors.cli.failures import Refusal
    from ggactors.cli.terminal import look_of, print_lines
    from ggactors.store.folder import find_run, state_home
    from ggactors.telemetry.folds import fold
    from ggactors.telemetry.glance import glance
    from ggactors.telemetry.jsonl import read_events

    folder = find_run(state_home(os.environ), options.run)
    if options.to is not None and options.issue is None:
        raise Refusal(f"--to {options.to}: say what to bring back; `ggactors recover {folder.id}` lists it")
    try:
        if options.issue is not None:
            workspace = glance(folder.events).workspace
            print_lines(_brought(folder, options.issue, recover_work(folder, workspace, options.issue, options.to)))
            return 0
        view = fold(read_events(folder.events) if folder.events.is_file() else ())
        print_lines(_listed(folder, recoverable(folder, view), look_of(sys.stdout, os.environ)))
    except AftermathRefused as refused:
        raise Refusal(str(refused)) from refused
    return 0


def _brought(folder: RunFolder, which: str, back: BroughtBack) -> list[str]:
    from ggactors.telemetry.plaintext import one_line, safe, shell_word

    def command(*words: str) -> str:
        return "  " + " ".join(map(shell_word, ("git", "-C", back.repository, *words)))

    branch, size = one_line(back.branch), f" ({one_line(back.size)})" if back.size else ""
    if not back.moved:
        first = f"{one_line(which)} of run {folder.id} is on {branch} of {safe(back.repository)} already{size}."
    else:
        moved = f", moved forward from {back.before[:10]}" if back.before else ""
        first = f"{one_line(which)} of run {folder.id} is back on {branch} of {safe(back.repository)}{moved}{size}."
    return [
        f"{first} Your checkout was not touched.",
        "Look at it with",
        command("log", "--stat", f"HEAD..{back.branch}"),
        "and take it over with",
        command("merge", back.branch),
    ]


# ---------------------------------------------------------------- the list


def _listed(folder: RunFolder, found: Standing, look: Look) -> list[str]:
    from ggactors.telemetry.plaintext import one_line, safe

    lines = [*_saved(folder, found, look), *_open(found, look)]
    if found.unlanded:
        branch = one_line(found.branch or "")
        where = f" (its commit {found.commit[:10]})" if found.commit else ""
        lines.append(f"The run's own branch {branch}{where} is not landed: ggactors land {folder.id}")
    if found.trouble:
        lines.append(f"The repository to bring work back to was not found: {safe(found.trouble)}")
    if found.open is None:
        lines.append("The run is being driven; what lies in its worktrees is not listed.")
    if found.unrecovered or found.open:
        lines.append(f"Bring a piece back with: ggactors recover {folder.id} NAME [--to BRANCH]")
    return lines or [f"Run {folder.id} keeps no work beside its landed branch."]


def _saved(folder: RunFolder, found: Standing, look: Look) -> list[str]:
    from ggactors.telemetry.plaintext import Cell, columns, one_line, safe

    if not found.saved:
        return []
    return [
        f"Saved by run {folder.id} in {safe(found.repository)}:",
        *columns(
            [
                [
                    Cell(one_line(work.name)),
                    Cell(one_line(work.agent or "-")),
                    Cell(work.commit[:10]),
                    Cell(_when(work)),
                    Cell(
                        "brought back" if work.recovered else "not brought back",
                        "green" if work.recovered else "yellow",
                    ),
                    Cell(one_line(work.size)),
                    Cell(one_line(work.subject)),
                ]
                for work in found.saved
            ],
            look,
            indent=2,
        ),
        *(f"  {one_line(work.name)} is {one_line(work.ref)}" for work in found.saved),
    ]


def _open(found: Standing, look: Look) -> list[str]:
    from ggactors.telemetry.plaintext import Cell, columns, one_line

    def row(work: OpenWork) -> list[Cell]:
        return [Cell(one_line(work.name)), Cell(one_line(work.size)), Cell(one_line(work.where))]

    if not found.open:
        return []
    return ["Left lying, not saved yet:", *columns([row(work) for work in found.open], look, indent=2)]


def _when(work: SavedWork) -> str:
    try:
        return datetime.fromtimestamp(work.when, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "-"
