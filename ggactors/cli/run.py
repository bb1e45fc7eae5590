"""``ggactors run``: one run of a crew over a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from ggactors.cli.parsing import Parser

SUMMARY = "Run a crew on a task. The task may come on stdin. Ctrl-C stops at turn boundaries, twice at once."
EXAMPLE = """
ggactors run crew.toml --workspace . --task "Add a health check"
ggactors run crew.toml --task-file task.md --set limits.maxParallel=2 --events events.jsonl
echo "Add a health check" | ggactors run crew.toml --json
"""


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "crew",
        metavar="CREW",
        nargs="?",
        help="the crew document; without it ./crew.toml and the like, else a built-in one",
    )
    parser.add_argument("--crew", metavar="F", dest="crew_option", help="the same as naming CREW")
    parser.add_argument("--workspace", metavar="DIR", default=".", help="what to work on; default: here")
    parser.add_argument("--task", metavar="TEXT", help="the task; without it and --task-file it is read from stdin")
    parser.add_argument("--task-file", metavar="F", help="the task, from a file")
    parser.add_argument("--events", metavar="F", help="also stream events to a file as JSON lines; - is stdout")
    parser.add_argument("--json", action="store_true", help="print the summary as one object on stdout at the end")
    parser.add_argument("--set", metavar="PATH=VALUE", action="append", default=[], help="change one value of the crew")
    parser.add_argument("--in-place", action="store_true", help="let agents work in the workspace itself")
    parser.add_argument("--include-dirty", action="store_true", help="begin with your uncommitted changes taken in")
    parser.add_argument("--large-baseline", action="store_true", help="allow a first commit of any size")
    parser.add_argument("--land", choices=("end", "each", "never"), help="when your checkout is moved forward")
    parser.add_argument(
        "--trust",
        action="store_true",
        help="run a crew that was found, or MCP servers or a check of the workspace, without asking",
    )
    parser.add_argument("--run-id", metavar="ID", help="name the run yourself")


def run(options: argparse.Namespace) -> int:
    """Run a crew."""
    from ggactors.cli.consent import ask_for_servers, check_for, choose_crew
    from ggactors.cli.failures import Refusal
    from ggactors.cli.task import task_of

    if options.crew is not None and options.crew_option is not None:
        raise Refusal("CREW and --crew are two crews; give one of them")
    if options.json and options.events == "-":
        raise Refusal("--json and --events - both want stdout; give one of them, or a file to --events")
    chosen = choose_crew(options.crew or options.crew_option)
    task = task_of(options)
    reading = chosen.read(options.set, trust=options.trust)
    if not options.trust:
        ask_for_servers(reading, Path(options.workspace))
    check = check_for(reading, Path(options.workspace), trust=options.trust)

    from ggactors.cli.driving import Order, drive
    from ggactors.cli.forecast import print_forecast

    if reading.crew is not None:
        print_forecast(reading.crew, "ggactors run")
    order = Order(
        command="run",
        reading=reading,
        workspace=options.workspace,
        task=task,
        run_id=options.run_id,
        checkout="inPlace" if options.in_place else None,
        include_dirty=options.include_dirty,
        large_baseline=options.large_baseline,
        land=options.land,
        verification=check,
        events=options.events,
        json=options.json,
        verbose=options.verbose,
    )
    return drive(order)
