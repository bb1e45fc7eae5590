"""How much the stream is told of what one program calls: enough to follow it, and never more than so much. Law: pure.

A program can make 100,000 calls with megabytes each; agents that call tools make a handful. What is not told was carried out
all the same, and is counted.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attrs import define

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_CALLS = 500
"""Calls of one program that are told, each with its answer."""
MOST_TEXT = 32_768
"""Characters of one argument or one answer."""
MOST_ARGS = 32
MOST_TOGETHER = 4 << 20
"""Characters of all of them: when they are used up, no further call is told."""


def told_text(text: str, most: int = MOST_TEXT) -> str:
    """Give the text, or its beginning and how long it is."""
    return text if len(text) <= most else f"{text[:most]}… [{len(text)} characters in all]"


def told_args(args: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Give the arguments, what is too large of them shortened, and their characters; a list that is too large becomes a text."""
    told: dict[str, Any] = {}
    size = 0
    for name, value in args.items():
        if len(told) == MOST_ARGS:
            told["…"] = f"{len(args) - MOST_ARGS} more"
            break
        written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        short = told_text(written)
        told[told_text(name, 200)] = value if short is written else short
        size += len(short) + min(len(name), 200)
    return told, size


@define
class Allowance:
    """What is left of what one program's calls may have told."""

    calls: int = 0
    """Calls asked for."""
    untold: int = 0
    """Calls that were not told."""
    _together: int = 0

    def begins(self, args: Mapping[str, Any]) -> dict[str, Any] | None:
        """Give what is told of a call's arguments; None: the call is not told."""
        self.calls += 1
        if self.calls - self.untold > MOST_CALLS or self._together >= MOST_TOGETHER:
            self.untold += 1
            return None
        told, size = told_args(args)
        self._together += size
        return told

    def ends(self, output: str) -> str:
        """Give what is told of the answer of a call that was told."""
        told = told_text(output)
        self._together += len(told)
        return told
