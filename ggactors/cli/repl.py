"""``ggactors`` and ``ggactors repl``: the prompt in the current directory (docs/reference/cli.md)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from ggactors.cli.consent import Chosen
    from ggactors.cli.parsing import Parser
    from ggactors.crew import Reading
    from ggactors.protocol.events import Event
    from ggactors.repl.opening import Opening

SUMMARY = "Talk with a crew at a prompt: say what you want, watch it work, step in anywhere."
EXAMPLE = 'ggactors repl\nggactors repl --crew crew.toml --workspace ../project\necho "What is here?" | ggactors repl'


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--crew", metavar="F", help="the crew; default: the one found, else the built-in one")
    parser.add_argument("--workspace", metavar="DIR", default=".", help="what to work on; default: here")
    parser.add_argument("--set", metavar="PATH=VALUE", action="append", default=[], help="change one value of the crew")
    parser.add_argument("--yes", action="store_true", help="say yes beforehand to every call that is marked ask")
    parser.add_argument("--in-place", action="store_true", help="let agents work in the workspace itself")
    parser.add_argument("--include-dirty", action="store_true", help="begin with your uncommitted changes taken in")
    parser.add_argument("--large-baseline", action="store_true", help="allow a first commit of any size")
    parser.add_argument("--land", choices=("end", "each", "never"), help="when your checkout is moved forward")
    parser.add_argument("--plain", action="store_true", help="lines without a drawn prompt, also on a terminal")
    parser.add_argument(
        "--trust",
        action="store_true",
        help="run a crew that was found, or MCP servers or a check of the workspace, without asking",
    )


def run(options: argparse.Namespace) -> int:
    """Open the prompt."""
    from ggactors.cli.consent import ask_for_servers, check_for, choose_crew
    from ggactors.ports import LaunchRefused
    from ggactors.repl.opening import Opening

    chosen = choose_crew(options.crew)
    reading = chosen.read(options.set, trust=options.trust)
    if reading.crew is None:
        raise LaunchRefused(reading.problems)
    if not options.trust:
        ask_for_servers(reading, Path(options.workspace))
    check = check_for(reading, Path(options.workspace), trust=options.trust)
    opening = Opening(
        reading=reading,
        read=reader(chosen, reading, workspace=options.workspace, trust=options.trust),
        workspace=options.workspace,
        overrides=list(options.set),
        confirm=options.yes,
        verification=check,
        checkout="inPlace" if options.in_place else None,
        include_dirty=options.include_dirty,
        large_baseline=options.large_baseline,
        land=options.land,
        verbose=options.verbose,
    )
    return talk(opening, plain=options.plain)


def reader(
    chosen: Chosen, agreed: Reading, *, workspace: str, trust: bool
) -> Callable[[str | None, Sequence[str]], Reading]:
    """Make what reads the crew anew between runs, where nobody can be asked: what would need another yes is refused.

    A crew that was found and has become another since the yes, and what the workspace brings to a crew taken later.
    """
    from ggactors.cli.consent import content_mark
    from ggactors.crew import read_crew
    from ggactors.ports import LaunchRefused
    from ggactors.protocol.values import Problem

    mark = content_mark(chosen.path, agreed) if chosen.path is not None else None

    def read(named: str | None, overrides: Sequence[str]) -> Reading:
        reading = chosen.read(overrides, trust=True) if named is None else read_crew(Path(named), overrides)
        if trust:
            return reading
        if named is None and chosen.found and chosen.path is not None and content_mark(chosen.path, reading) != mark:
            remedy = "leave, and open the prompt again"
            changed = Problem(path=str(chosen.path), what="it has changed since you said yes to it", remedy=remedy)
            raise LaunchRefused([changed])
        _agreed(reading, workspace)
        return reading

    return read


def _agreed(reading: Reading, workspace: str) -> None:
    """Make sure that a yes was given to what the workspace itself would have run. Raises LaunchRefused; asks nobody."""
    from contextlib import redirect_stderr
    from io import StringIO

    from ggactors.cli.consent import ask_for_servers, check_for
    from ggactors.cli.failures import Refusal
    from ggactors.ports import LaunchRefused
    from ggactors.protocol.values import Problem

    try:
        with redirect_stderr(StringIO()):  # no terminal to ask on
            ask_for_servers(reading, Path(workspace))
            check_for(reading, Path(workspace), trust=False)
    except Refusal as refusal:
        remedy = "leave, and open the prompt with --crew to be asked"
        raise LaunchRefused([Problem(path=workspace, what=str(refusal), remedy=remedy)]) from refusal


def talk(opening: Opening, *, plain: bool = False, sink: Callable[[Event], None] | None = None) -> int:
    """Open the prompt on this process's streams, drawn or as lines. ``sink`` hears every event."""
    from ggactors.cli.terminal import DUMB, is_terminal
    from ggactors.repl.prompt import open_prompt

    both = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    full = both and not plain and os.environ.get("TERM", "") not in DUMB
    colour = not os.environ.get("NO_COLOR")
    return open_prompt(opening, full=full, scripted=not is_terminal(sys.stdin), colour=colour, sink=sink)
