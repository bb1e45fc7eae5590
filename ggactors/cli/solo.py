"""``ggactors solo``: one agent, no board, in the workspace itself (G4)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from ggactors.cli.parsing import Parser
    from ggactors.crew import Reading
    from ggactors.hooks.verify import Verification

SUMMARY = "Let one agent work on tasks in a directory, without a board. Ctrl-C stops at turn boundaries, twice at once."
EXAMPLE = """
ggactors solo --task "Fix the failing test" --verify "pytest -q"
ggactors solo --model anthropic/claude-sonnet-4-5 --task "Write a README" --task "Check its links"
echo "Fix the failing test" | ggactors solo --json
"""


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--model", metavar="M", help="a key of the crew's models, or provider/name")
    parser.add_argument("--task", metavar="TEXT", action="append", help="a task; several queue; or pipe one in")
    parser.add_argument("--yes", action="store_true", help="say yes beforehand to every call of an interactive session")
    parser.add_argument("--non-interactive", action="store_true", help="work without a person, also on a terminal")
    parser.add_argument("--verify", metavar="CMD", help="a command that must pass before the session closes")
    parser.add_argument("--workspace", metavar="DIR", default=".", help="what to work on; default: here")
    parser.add_argument("--events", metavar="F", help="also stream events to a file as JSON lines; - is stdout")
    parser.add_argument("--json", action="store_true", help="print the summary as one object on stdout at the end")
    parser.add_argument("--crew", metavar="F", help="take the model of this crew's root, or its models for --model")
    parser.add_argument("--trust", action="store_true", help="run a crew or a check that was found without asking")


def run(options: argparse.Namespace) -> int:
    """Let one agent work."""
    from ggactors.app.solo import ASKED
    from ggactors.cli.consent import ask_for_check
    from ggactors.cli.failures import Refusal

    if options.json and options.events == "-":
        raise Refusal("--json and --events - both want stdout; give one of them, or a file to --events")
    interactive = _is_interactive(options)
    tasks = _tasks(options, interactive=interactive)
    found = _check_of(options)
    if found is not None and not options.trust:
        ask_for_check(found)
    asks = ASKED if interactive and not options.yes else ()
    reading = _reading(options, verified=found is not None, asks=asks)
    if interactive:
        return _talk(options, reading, tuple(tasks), found)

    from ggactors.cli.driving import Order, drive

    order = Order(
        command="solo",
        reading=reading,
        workspace=options.workspace,
        task=tasks[0],
        prompts=tuple(tasks[1:]),
        verification=found,
        events=options.events,
        json=options.json,
        verbose=options.verbose,
    )
    return drive(order)


def _is_interactive(options: argparse.Namespace) -> bool:
    """Tell whether a person is at the prompt. Raises Refusal where data and the prompt both want stdout."""
    from ggactors.cli.failures import Refusal
    from ggactors.cli.terminal import is_terminal

    if options.non_interactive or not is_terminal(sys.stdin):
        return False
    if options.json or options.events == "-":
        wants = "--json" if options.json else "--events -"
        raise Refusal(f"{wants} wants stdout, where the prompt is; add --non-interactive")
    return True


def _talk(options: argparse.Namespace, reading: Reading, tasks: tuple[str, ...], check: Verification | None) -> int:
    """Open the prompt on a session of one agent; its exit code is the session's."""
    from contextlib import ExitStack

    from ggactors.cli.eventsink import event_sink
    from ggactors.cli.repl import talk
    from ggactors.crew import reading_of
    from ggactors.ports import LaunchRefused
    from ggactors.protocol.values import Problem
    from ggactors.repl.opening import Opening

    if reading.crew is None:
        raise LaunchRefused(reading.problems)
    document = reading.crew.document

    def read(named: str | None, overrides: Sequence[str]) -> Reading:
        if named is not None:
            raise LaunchRefused(
                [Problem(path="crew", what="a solo session has none", remedy="use `ggactors repl --crew F`")]
            )
        return reading_of(document, folder=reading.folder, overrides=overrides)

    opening = Opening(
        reading=reading,
        read=read,
        workspace=options.workspace,
        tasks=tuple(task for task in tasks if task),
        confirm=options.yes,
        verification=check,
        verbose=options.verbose,
        once=True,
    )
    with ExitStack() as stack:
        sink = event_sink(options.events, stack)
        code = talk(opening, sink=sink)
    return sink.code(code)


def _tasks(options: argparse.Namespace, *, interactive: bool) -> list[str]:
    """Give the tasks, in their order. Raises Refusal when there is none where nobody could give one."""
    from ggactors.cli.task import piped_task, text_of

    if options.task:
        return [text_of(task, "--task is empty") for task in options.task]
    return [""] if interactive else [piped_task("give --task TEXT, or pipe it in")]


def _check_of(options: argparse.Namespace) -> Verification | None:
    """Look for the check of completion: the option, the environment, the workspace (G5). Raises LaunchRefused."""
    from ggactors.hooks.verify import find_verification
    from ggactors.ports import LaunchRefused

    found = find_verification(options.verify, os.environ, Path(options.workspace))
    if found.problems:
        raise LaunchRefused(found.problems)
    return found.verification


def _reading(options: argparse.Namespace, *, verified: bool, asks: tuple[str, ...]) -> Reading:
    """Make the crew of one agent: on the model that was named, else on that of the crew's root, else on one of the environment."""
    from ggactors.app.solo import solo_document
    from ggactors.cli.consent import choose_crew
    from ggactors.crew import find_crew, models_found, reading_of

    model: str | None = options.model
    models: dict[str, Any] = {}
    folder = "."
    if model is None or "/" not in model:
        if options.crew is not None or find_crew(Path(), os.environ) is not None or not models_found(os.environ):
            given = choose_crew(options.crew).read((), trust=options.trust)
            if given.crew is None:
                return given
            folder = given.folder
            model = model or given.crew.root.model.key
            models = _needed(model, given.crew.document.get("models") or {})
        elif model is None:
            found = models_found(os.environ)[0]
            model = found.reference
            print(f"ggactors solo: on {found.reference} ({found.variable} is set)", file=sys.stderr)
    return reading_of(solo_document(model, models=models, verified=verified, asks=asks), folder=folder)


def _needed(model: str, models: Mapping[str, Any]) -> dict[str, Any]:
    """Give the declarations of a model and of those it falls back on: the keys of others need not be there."""
    needed: dict[str, Any] = {}
    name: Any = model
    while name in models and name not in needed:
        needed[name] = models[name]
        name = models[name].get("fallback")
    return needed
