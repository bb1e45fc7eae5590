"""The membrane's text: a guest's requests read with a budget before anything is built of them, and the replies written.

Law: nothing of the guest's is trusted. JSON text cannot share structure, so its size, its depth and its number of
values bound what it becomes; all three are checked on the text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ggactors.protocol.program import Returned
from ggactors.protocol.values import Code, Refused

if TYPE_CHECKING:
    from ggactors.programs.execution import Execution
    from ggactors.protocol.program import ProgramAnswer

MOST_REQUEST = 4 << 20
"""Bytes of a request; more is refused as ``limit-exceeded``."""
MOST_DEPTH = 64
MOST_VALUES = 200_000
MOST_REPLY = 16 << 20
"""Bytes of a reply; a longer one is answered as ``limit-exceeded`` instead."""
MOST_CALLS = 100_000
"""Calls of one program."""

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"')


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number that can be passed")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


class Junk(Exception):  # noqa: N818
    """A guest sent what its SDK never sends."""


@frozen
class Call:
    """The program calls an operation."""

    operation: str
    args: dict[str, Any]


@frozen
class Doc:
    """The program reads an operation's documentation."""

    operation: str


@frozen
class Ready:
    """The guest is booted and waits for its program."""


@frozen
class Report:
    """The guest says how the program ended."""

    said: dict[str, Any]


Request = Call | Doc | Ready | Report


def read_request(line: bytes) -> Request | Refused:
    """Read one request. Raises Junk when it is none; a call that is too large, too deep or too many values is refused."""
    over = _over_budget(line)
    if over is not None:
        return Refused(code=Code.LIMIT_EXCEEDED, message=f"the arguments are {over}")
    try:
        sent = _DECODER.decode(line.decode())
    except (ValueError, RecursionError) as error:
        raise Junk(f"what it sent is not JSON ({error})") from None
    match sent:
        case {"call": str(operation), "args": dict(args)}:
            return Call(operation, args)
        case {"doc": str(operation)}:
            return Doc(operation)
        case {"ready": True}:
            return Ready()
        case {"end": str()}:
            return Report(sent)
        case _:
            raise Junk("it is none of the requests there are")


def write_reply(answer: ProgramAnswer) -> bytes:
    """Write what a call came to. Raises TypeError or ValueError when an operation gave what is no plain value."""
    match answer:
        case Returned(value=value):
            text = (
                f'{{"value": {json.dumps(value)}}}'.encode()
            )  # a bare text is written many times as fast as one in a dict
            if len(text) <= MOST_REPLY:
                return text
            what = f"the result is {len(text)} bytes, and a program can take {MOST_REPLY}; ask for less"
            return write_reply(Refused(code=Code.LIMIT_EXCEEDED, message=what))
        case Refused(code=code, message=message):
            return json.dumps({"error": {"code": code, "message": message}}).encode()


def call(execution: Execution, operation: str, args: dict[str, Any]) -> Returned | Refused:
    """Have one call of a program carried out, unless it has made too many. Raises Stopped."""
    if execution.calls >= MOST_CALLS:
        return Refused(
            code=Code.LIMIT_EXCEEDED, message=f"a program can make {MOST_CALLS} calls; this one has made them"
        )
    return execution.ask(operation, args)


def _over_budget(line: bytes) -> str | None:
    if len(line) > MOST_REQUEST:
        return f"larger than {MOST_REQUEST >> 20} MiB; pass less at a time"
    opened = line.count(b"[") + line.count(b"{")
    if opened <= MOST_DEPTH and opened + line.count(b",") <= MOST_VALUES:
        return None
    bare = _STRINGS.sub(b"", line)
    depth = 0
    for values, mark in enumerate(re.finditer(rb"[\[{\]},]", bare), 1):
        if mark[0] in b"[{":
            depth += 1
            if depth > MOST_DEPTH:
                return f"nested more than {MOST_DEPTH} deep"
        elif mark[0] in b"]}":
            depth -= 1
        if values > MOST_VALUES:
            return f"more than {MOST_VALUES} values; pass less at a time"
    return None
