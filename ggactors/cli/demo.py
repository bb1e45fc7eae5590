"""``ggactors demo``: a small repository, a scripted crew, and a real run of it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from ggactors.cli.parsing import Parser

SUMMARY = (
    "Write a small repository, a crew and its script, and run them. Needs no model and no key; everything else is real."
)
EXAMPLE = "ggactors demo\nggactors demo --dir try-it"


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--dir", metavar="DIR", help="where to write; default: a fresh temporary folder, which is printed"
    )


def run(options: argparse.Namespace) -> int:
    """Write the demonstration and run it."""
    import tempfile

    from ggactors.app import write_demo
    from ggactors.cli.driving import Order, drive
    from ggactors.cli.failures import Refusal
    from ggactors.crew import read_crew

    folder = Path(options.dir) if options.dir is not None else Path(tempfile.mkdtemp(prefix="ggactors-demo-"))
    try:
        files = write_demo(folder)
    except FileExistsError as error:
        raise Refusal(str(error)) from error
    print(f"The demo is in {folder}", file=sys.stderr)
    again = ["ggactors", "run", str(files.crew), "--workspace", str(files.repo), "--task", files.task]
    order = Order(
        command="demo",
        reading=read_crew(files.crew),
        workspace=str(files.repo),
        task=files.task,
        verbose=options.verbose,
    )
    return drive(order, after=["", "Once more:", f"  {shlex.join(again)}"])
