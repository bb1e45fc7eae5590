"""The entry point: finds the command, lets it run, and turns every end into an exit code and at most a few clear lines.

Law: nothing heavier than argparse is loaded before a command needs it, and no user error ends in a traceback.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from ggactors.cli.commands import COMMANDS, LATER
from ggactors.cli.exits import CANCELLED, PIPE_CLOSED, REFUSED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ggactors.cli.parsing import Parser

STDERR = 2


class Command(Protocol):
    """What a command's module offers."""

    SUMMARY: str
    EXAMPLE: str

    def arguments(self, parser: Parser) -> None:
        """Declare the command's arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Carry the command out and give its exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``ggactors`` with these arguments (default: the process's own). Return the exit code; never raises."""
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.platform == "win32":
        print("ggactors: Windows is not supported; use WSL", file=sys.stderr)
        return REFUSED
    _fill_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal or file with a poor encoding gets escapes instead of a traceback.
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _dispatch(words)
        _flush(sys.stdout)
    except BrokenPipeError:
        from ggactors.cli.terminal import give_up

        give_up(sys.stdout)
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return CANCELLED
    except BaseExceptionGroup as group:
        from ggactors.cli.failures import interrupted, tell

        # A nursery hands an interrupt on in a group.
        return CANCELLED if interrupted(group) else tell(group, words)
    except Exception as error:  # noqa: BLE001 - the last place where an error can still be told in plain words
        from ggactors.cli.failures import cannot_write, tell

        if cannot_write(error):
            from ggactors.cli.terminal import give_up

            give_up(sys.stdout)
        return tell(error, words)
    return code


def _fill_closed_streams() -> None:
    """Point standard streams that were closed at nothing, so that no file opened later takes their place."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    # Never closed, as the streams they stand for.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123


def _dispatch(words: list[str]) -> int:
    verbose = False
    while words and words[0] in ("-v", "--verbose"):
        verbose = True
        del words[0]
    if not words:
        return _carry_out("repl", [], verbose=verbose)
    first, *rest = words
    if first == "--version":
        from ggactors import __version__

        print(f"ggactors {__version__}")
        return 0
    if first in ("-h", "--help", "help"):
        print(_help())
        return 0
    if first in LATER:
        return _later(first, rest, f"ggactors {first}")
    if first not in COMMANDS:
        return _unknown(first)
    return _carry_out(first, rest, verbose=verbose)


def _carry_out(name: str, rest: list[str], *, verbose: bool) -> int:
    from ggactors.cli.parsing import Parser, UsageError, WasHelped

    command = cast("Command", import_module(f"ggactors.cli.{COMMANDS[name][0]}"))
    parser = Parser(f"ggactors {name}", command.SUMMARY, command.EXAMPLE)
    command.arguments(parser)
    try:
        options = parser.parse_args(rest)
    except WasHelped:
        return 0
    except UsageError as error:
        print(f"ggactors {name}: {error}\nTry `ggactors {name} --help`.", file=sys.stderr)
        return REFUSED
    options.verbose = options.verbose or verbose
    return command.run(options)


def _later(name: str, rest: list[str], said: str) -> int:
    from ggactors.cli import later
    from ggactors.cli.parsing import WasHelped

    try:
        wrong = later.misuse(name, rest)
    except WasHelped:
        return 0
    if wrong is not None:
        print(f"{said}: {wrong}", file=sys.stderr)
    print(f"{said}: not in this version", file=sys.stderr)
    return REFUSED


def _unknown(word: str) -> int:
    from difflib import get_close_matches

    near = get_close_matches(word, [*COMMANDS, *LATER], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    kind = "option" if word.startswith("-") else "command"
    print(f"ggactors: there is no {kind} {word!r}{hint}\nTry `ggactors --help`.", file=sys.stderr)
    return REFUSED


def _help() -> str:
    rows = [(name, summary) for name, (_, summary) in COMMANDS.items()]
    lines = [
        "usage: ggactors [-v] [COMMAND …]",
        "",
        "A crew of LLM coding agents over one workspace. Without a command it opens a prompt.",
        "",
        "commands:",
        *(f"  {name:<8} {summary}" for name, summary in rows),
        "",
        "not in this version:",
        *(f"  {name:<8} {summary}" for name, summary in LATER.items()),
        "",
        "options:",
        "  -v, --verbose  show the log",
        "  --version      print the version",
        "  -h, --help     print this; `ggactors COMMAND --help` has each command's options and an example",
        "",
        "example:",
        "  ggactors demo",
    ]
    return "\n".join(lines)


def _flush(stream: TextIO | None) -> None:
    if stream is not None:
        stream.flush()
