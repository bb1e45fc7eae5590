"""``ggactors runs``: the runs of this machine, newest first."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from ggactors.cli.parsing import Parser
    from ggactors.telemetry.glance import Glance

SUMMARY = "List the runs of this machine, newest first."
EXAMPLE = "ggactors runs\nggactors runs --json"


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--json", action="store_true", help="print an array of objects")


def run(options: argparse.Namespace) -> int:
    """List the runs."""
    from ggactors.store.folder import list_runs, state_home
    from ggactors.store.lock import read_lock
    from ggactors.telemetry.glance import glance

    home = state_home(os.environ)
    found = [(folder, glance(folder.events), read_lock(folder.lock).alive) for folder in reversed(list_runs(home))]
    if options.json:
        import json

        print(
            json.dumps([_record(folder.id, str(folder.path), seen, alive) for folder, seen, alive in found], indent=2)
        )
        return 0
    if not found:
        print(f"There are no runs under {home}.", file=sys.stderr)
        return 0
    _print([(folder.id, seen, alive) for folder, seen, alive in found])
    return 0


def status_of(seen: Glance, *, alive: bool) -> str:
    """Name where a run stands: its status, ``running``, or ``interrupted`` when its process is gone without an end."""
    if seen.status is not None:
        return seen.status
    if alive:
        return "running"
    return "interrupted" if seen.started else "not begun"


def _record(run: str, folder: str, seen: Glance, alive: bool) -> dict[str, Any]:
    return {
        "run": run,
        "status": status_of(seen, alive=alive),
        "exitCode": seen.exit_code,
        "started": seen.started or None,
        "latest": seen.latest or None,
        "crew": seen.crew or None,
        "workspace": seen.workspace or None,
        "issues": seen.issues,
        "cost": seen.cost,
        "folder": folder,
    }


def _print(found: list[tuple[str, Glance, bool]]) -> None:
    from ggactors.cli.terminal import look_of, print_lines
    from ggactors.telemetry.plaintext import Cell, columns, one_line
    from ggactors.telemetry.story import local_time

    rows = []
    for run_id, seen, alive in found:
        done = sum(state == "done" for state in seen.issues.values())
        rows.append(
            [
                Cell(run_id),
                Cell(one_line(status_of(seen, alive=alive))),
                Cell(local_time(seen.started, "%Y-%m-%d %H:%M")),
                Cell(f"{done}/{len(seen.issues)} issues" if seen.issues else "-"),
                Cell(one_line(seen.crew) or "-"),
                Cell(one_line(seen.workspace) or "-"),
            ]
        )
    print_lines(columns(rows, look_of(sys.stdout, os.environ)))
