"""``ggactors check``: every reason a launch would be refused, one a line (P2)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from ggactors.cli.parsing import Parser

SUMMARY = (
    "Name every reason a launch of this crew would be refused, one a line. Exit code 0 when there is none, else 2."
)
EXAMPLE = "ggactors check crew.toml"


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("crew", metavar="CREW", help="the crew document, .toml or .json")


def run(options: argparse.Namespace) -> int:
    """Check a crew. The files its models are served from and its hooks' scripts are opened; no model is called, no hook run."""
    from ggactors.app.coding import program_problems
    from ggactors.app.exporting import telemetry_problems
    from ggactors.crew import read_crew
    from ggactors.crew.mcp import load_mcp
    from ggactors.crew.skills import load_skills
    from ggactors.hooks.pins import pin_files
    from ggactors.models.resolve import check_specs
    from ggactors.rules.launch_stuck import read_environment
    from ggactors.telemetry.plaintext import one_line

    reading = read_crew(options.crew)
    files = pin_files(reading.hooks, reading.folder).problems
    skills = load_skills(reading.skills, reading.folder).problems
    servers = load_mcp(reading.mcp, reading.folder, os.environ).problems
    sandbox = program_problems(reading.crew)
    problems = [
        *reading.problems,
        *check_specs(reading.models, reading.folder),
        *files,
        *skills,
        *servers,
        *sandbox,
        *telemetry_problems(reading.crew),
        *read_environment(os.environ)[1],
    ]
    for problem in problems:
        print(one_line(str(problem)))
    for note in reading.notes:
        print(f"note: {one_line(note)}", file=sys.stderr)
    if problems:
        return 2
    print(f"{options.crew}: no problems", file=sys.stderr)
    return 0
