"""The commands of later versions: their shape is checked, then they are refused by name. Law: nothing of them runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.cli.commands import LATER
from ggactors.cli.parsing import Parser, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def misuse(name: str, words: Sequence[str]) -> str | None:
    """Say what is wrong with the arguments of a later command, or None. Raises WasHelped when its help was asked for."""
    summary = f"{LATER[name]} (not in this version)"
    parser = Parser(f"ggactors {name}", summary[0].upper() + summary[1:], EXAMPLES[name])
    SHAPES[name](parser)
    try:
        parser.parse_args(words)
    except UsageError as error:
        return str(error)
    return None


def _resume(parser: Parser) -> None:
    _run_id(parser)
    parser.add_argument("--events", metavar="F", help="also stream events to a file; - is stdout")
    parser.add_argument("--json", action="store_true", help="print the summary object")


def _run_id(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run's id, a part of it, or last")


SHAPES: dict[str, Callable[[Parser], None]] = {
    "resume": _resume,
}
EXAMPLES = {
    "resume": "ggactors resume last",
}
