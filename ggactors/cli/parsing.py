"""Arguments: argparse that raises instead of leaving, with an example under every help."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn


class UsageError(Exception):
    """The command line is wrong; the message says how."""


class WasHelped(Exception):  # noqa: N818 - no error
    """The help was printed; there is nothing else to do."""


class Parser(argparse.ArgumentParser):
    """The parser of one command. Raises UsageError and WasHelped; options are never guessed from a beginning."""

    def __init__(self, prog: str, summary: str, example: str) -> None:
        shown = "\n".join(f"  {line}" for line in example.strip().splitlines())
        super().__init__(
            prog=prog,
            description=summary,
            epilog=f"example:\n{shown}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.add_argument("-v", "--verbose", action="store_true", help="show the log")

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:  # noqa: ARG002 - argparse's words
        """Raise WasHelped: argparse leaves by itself for its help alone."""
        raise WasHelped
