"""``ggactors clean``: remove runs that are over, and keep whatever only they hold."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from ggactors.app.cleaning import Cleaned
    from ggactors.cli.parsing import Parser
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.plaintext import Cell

SUMMARY = (
    "Remove runs: the one named, those in which nothing has happened for an age, or all that are over. A living run is never "
    "removed; one with work that was not landed or brought back is kept unless --force. Exit code 1 when the run named was kept."
)
EXAMPLE = "ggactors clean --dry-run\nggactors clean --older-than 30d\nggactors clean k3f --force"

KEPT = 1
UNITS = {"h": 3600, "d": 86400, "w": 7 * 86400}


def age(text: str) -> int:
    """Read an age such as ``12h``, ``30d`` or ``4w``; seconds."""
    found = re.fullmatch(r"([0-9]{1,6})([hdw])", text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no age; write 12h, 30d or 4w")
    return int(found[1]) * UNITS[found[2]]


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("run", metavar="RUN", nargs="?", help="a run's id, a part of it that is unique, or last")
    what.add_argument(
        "--older-than", metavar="D", type=age, help="all in which nothing has happened for so long: 12h, 30d, 4w"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.add_argument("--force", action="store_true", help="also what was not landed or brought back")


def run(options: argparse.Namespace) -> int:
    """Remove runs."""
    from ggactors.app.cleaning import clean_run, finish_interrupted
    from ggactors.cli.terminal import look_of, print_lines
    from ggactors.store.folder import state_home
    from ggactors.telemetry.plaintext import columns

    home = state_home(os.environ)
    folders = _meant(home, options)
    asked_for = options.run is not None or options.older_than is not None
    done: list[Cleaned] = []

    def tell(cleaned: Cleaned | None) -> None:
        if cleaned is not None:
            done.append(cleaned)
            # One by one, since a large run takes its time.
            print_lines(columns([_row(cleaned, width, dry=options.dry_run)], look))
            if cleaned.note:
                print(f"ggactors clean: {cleaned.run}: {cleaned.note}", file=sys.stderr)

    look = look_of(sys.stdout, os.environ)
    width = max((len(folder.id) for folder in folders), default=0)
    for finished in () if options.dry_run else finish_interrupted(home):
        tell(finished)
    for folder in folders:
        tell(clean_run(folder, asked_for=asked_for, force=options.force, dry_run=options.dry_run))
    print(_total(done, dry=options.dry_run))
    named = options.run is not None and any(not cleaned.removed for cleaned in done)
    return KEPT if named or any(cleaned.failed for cleaned in done) else 0


def _meant(home: Path, options: argparse.Namespace) -> list[RunFolder]:
    from ggactors.app.cleaning import old_enough
    from ggactors.store.folder import find_run, list_runs

    if options.run is not None:
        return [find_run(home, options.run)]
    runs = list(list_runs(home))
    if options.older_than is None:
        return runs
    return [folder for folder in runs if old_enough(folder, options.older_than)]


def _row(cleaned: Cleaned, width: int, *, dry: bool) -> list[Cell]:
    from ggactors.telemetry.plaintext import Cell, one_line

    gone = "would go" if dry else "removed"
    said = Cell(f"{gone:<8}", "green") if cleaned.removed else Cell(f"{'kept':<8}", "yellow")
    size = Cell(f"{size_text(cleaned.size):>7}")
    return [said, Cell(f"{one_line(cleaned.run):<{width}}"), size, Cell(one_line(cleaned.kept))]


def _total(done: list[Cleaned], *, dry: bool) -> str:
    gone = [cleaned for cleaned in done if cleaned.removed]
    kept = len(done) - len(gone)
    verb = "Would remove" if dry else "Removed"
    count = f"{len(gone)} run{'s' if len(gone) != 1 else ''}" if gone else "nothing"
    freed = f", {size_text(sum(cleaned.size for cleaned in gone))}" if gone else ""
    return f"{verb} {count}{freed}{f'; kept {kept}' if kept else ''}."


def size_text(size: int) -> str:
    """Write a number of bytes for a person."""
    amount, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
