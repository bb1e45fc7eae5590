"""``ggactors runs``: the runs of this machine, newest first."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from ggactors.cli.parsing import Parser
    from ggactors.protocol.git import Standing
    from ggactors.store.folder import RunFolder
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
    found = []
    for folder in reversed(list_runs(home)):
        seen = glance(folder.events)
        found.append((folder, seen, read_lock(folder.lock).alive, _standing(folder, seen)))
    if options.json:
        import json

        records = [
            _record(folder.id, str(folder.path), seen, alive=alive, standing=standing)
            for folder, seen, alive, standing in found
        ]
        print(json.dumps(records, indent=2))
        return 0
    if not found:
        print(f"There are no runs under {home}.", file=sys.stderr)
        return 0
    _print([(folder.id, seen, alive, standing) for folder, seen, alive, standing in found])
    return 0


def _standing(folder: RunFolder, seen: Glance) -> Standing | None:
    """Say where a run's work stands now, as far as its repository can be read."""
    from ggactors.ports import RepositoryBroken

    if not folder.repository.is_dir():
        return None
    from ggactors.app.aftermath import standing_of

    try:
        return standing_of(folder, seen.workspace)
    except RepositoryBroken as broken:
        print(f"ggactors runs: {broken}", file=sys.stderr)
        return None


def _work_text(standing: Standing | None) -> str:
    """Say in a word or two what still asks for a hand: work that was not landed, or saved and not brought back."""
    if standing is None:
        return "-"
    said = (
        ["not landed"] if standing.unlanded else ["landed"] if standing.landed else ["held"] if standing.merged else []
    )
    saved = len(standing.unrecovered)
    return ", ".join([*said, *([f"{saved} saved"] if saved else [])]) or "-"


def status_of(seen: Glance, *, alive: bool) -> str:
    """Name where a run stands: its status, ``running``, or ``interrupted`` when its process is gone without an end."""
    if seen.status is not None:
        return seen.status
    if alive:
        return "running"
    return "interrupted" if seen.started else "not begun"


def _record(run: str, folder: str, seen: Glance, *, alive: bool, standing: Standing | None) -> dict[str, Any]:
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
        "landed": standing.landed if standing is not None and standing.merged else None,
        "saved": [work.name for work in standing.unrecovered] if standing is not None else [],
        "folder": folder,
    }


def _print(found: list[tuple[str, Glance, bool, Standing | None]]) -> None:
    from ggactors.cli.terminal import look_of, print_lines
    from ggactors.telemetry.plaintext import Cell, columns, one_line
    from ggactors.telemetry.story import local_time

    rows = []
    for run_id, seen, alive, standing in found:
        done = sum(state == "done" for state in seen.issues.values())
        rows.append(
            [
                Cell(run_id),
                Cell(one_line(status_of(seen, alive=alive))),
                Cell(local_time(seen.started, "%Y-%m-%d %H:%M")),
                Cell(f"{done}/{len(seen.issues)} issues" if seen.issues else "-"),
                Cell(_work_text(standing)),
                Cell(one_line(seen.crew) or "-"),
                Cell(one_line(seen.workspace) or "-"),
            ]
        )
    print_lines(columns(rows, look_of(sys.stdout, os.environ)))
