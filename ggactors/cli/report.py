"""``ggactors report``: a run, live or over, as one HTML page that needs nothing else (T2)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from ggactors.cli.parsing import Parser
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.folds import RunView
    from ggactors.telemetry.reportboard import FileStat

SUMMARY = (
    "Write a run as one self-contained HTML page: agents, board, reviews, timeline, spend. Without -o it goes to stdout, "
    "or, where that is a terminal, to RUN.html."
)
EXAMPLE = "ggactors report last -o run.html\nggactors report k3f > run.html"


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", metavar="RUN", help="a run's id, a part of it that is unique, or last")
    parser.add_argument("-o", "--output", metavar="F.html", help="where to write it; - is stdout")


def run(options: argparse.Namespace) -> int:
    """Write a report."""
    from ggactors.cli.failures import Refusal
    from ggactors.cli.terminal import is_terminal
    from ggactors.store.folder import find_run, state_home
    from ggactors.telemetry.jsonl import read_events
    from ggactors.telemetry.report import report_page
    from ggactors.telemetry.reportfold import fold_report

    folder = find_run(state_home(os.environ), options.run)
    if not folder.events.is_file():
        raise Refusal(f"run {folder.id} has no events; it was never begun")
    fold = fold_report(read_events(folder.events))
    page = report_page(fold, _changes(folder, fold.view)).encode("utf-8", "replace")
    target = options.output or (f"{folder.id}.html" if is_terminal(sys.stdout) else "-")
    if target == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(page)
        sys.stdout.buffer.flush()
        return 0
    try:
        _write(Path(target), page)
    except OSError as error:
        raise Refusal(f"{target} cannot be written: {error.strerror}; name another place with -o") from error
    print(f"Wrote {target} ({len(page):,} bytes).", file=sys.stderr)
    return 0


def _changes(folder: RunFolder, view: RunView) -> Mapping[str, Sequence[FileStat]]:
    """Ask the run's repository what was changed; a report without that is a report all the same."""
    from ggactors.app.reporting import merged_changes
    from ggactors.ports import RepositoryBroken

    try:
        return merged_changes(folder, view)
    except RepositoryBroken as broken:
        print(f"ggactors report: without the changes of issues: {broken}", file=sys.stderr)
        return {}


def _write(path: Path, page: bytes) -> None:
    """Write the page whole or not at all: an old report stays until the new one stands. Devices and pipes are written to."""
    if path.exists() and not path.is_file():
        path.write_bytes(page)
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(page)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
