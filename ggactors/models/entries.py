"""The written replies of scripted models: one entry, read strictly. Law: pure; a wrong entry is a problem.

The same shape serves a script file and the answers of a ``python/`` callable.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelReply, ToolCall, Usage
from ggactors.rules.shape import Place, Table, each, flag, number, shown, text, whole, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SAYING = ("text", "calls", "program", "programs")
"""Keys of what a reply says."""

SPENDING = ("usage", "cost")

KEYS = (*SAYING, *SPENDING, "delaySecs", "error", "repeat")


@frozen(kw_only=True)
class WrittenFault:
    """A failure as written: an HTTP status, or None for a transport fault; how long the provider asks to wait, in seconds."""

    status: int | None
    retry_after: float | None = None

    def fault(self, label: str) -> ModelFault:
        """Make the fault to raise (C1): 429, 5xx and transport can be waited out, 401 and 403 are a refused credential."""
        if self.status is None:
            reason = "the connection failed (scripted)"
            return ModelFault(f"{label}: {reason}", reason=reason, retryable=True)
        reason = f"the provider answered {self.status} (scripted)"
        return ModelFault(
            f"{label}: {reason}",
            reason=reason,
            status=self.status,
            retryable=self.status == 429 or self.status >= 500,
            auth=self.status in (401, 403),
            retry_after=self.retry_after,
        )


@frozen(kw_only=True)
class Entry:
    """One reply as written, the answer to one provider attempt (``repeat`` to that many). Delay in seconds, before the reply."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    usage: Usage = field(factory=Usage)
    delay: float = 0.0
    fault: WrittenFault | None = None
    repeat: int = 1

    def reply(self, turn: int) -> ModelReply:
        """Make the reply of a turn; call ids are ``call-<turn>-<k>``, unique inside one agent."""
        calls = tuple(
            # A copy: what an agent does to its arguments must not reach the next one that walks this entry.
            ToolCall(id=f"call-{turn}-{k}", tool=tool, args=copy.deepcopy(dict(args)))
            for k, (tool, args) in enumerate(self.calls, start=1)
        )
        return ModelReply(text=self.text, calls=calls, usage=self.usage)


ENDED = Entry(text="(script ended)")
"""What the model answers past the end of its list, and to an agent no key matches."""


def read_entry(place: Place) -> Entry | None:
    """Read one entry; None when it is no object. What is wrong is reported."""
    table = Table(place, KEYS, hints={"tool": "write it inside calls", "delay": "write it as delaySecs"})
    if not table.opened:
        return None
    fault = table.read("error", _fault)
    if "error" in table:
        for key in table.only((*SAYING, *SPENDING)):
            table.at(key).wrong(
                "cannot stand beside error: a failed attempt says and spends nothing", f"remove {key} or error"
            )
    said = table.only(("calls", "program", "programs"))
    for key in said[1:]:
        table.at(key).wrong(f"cannot stand beside {said[0]}", "write one of calls, program and programs")
    programs = table.read("programs", each(words, noun="programs")) or ()
    program = table.read("program", words)
    calls = table.read("calls", each(_call, noun="calls")) or ()
    calls += tuple(("submit_program", {"program": source}) for source in (*((program,) if program else ()), *programs))
    usage = table.read("usage", _usage) or (0, 0)
    return Entry(
        text=table.read("text", text) or "",
        calls=calls,
        usage=Usage(input=usage[0], output=usage[1], cost=table.read("cost", number(low=0))),
        delay=table.read("delaySecs", number(low=0)) or 0.0,
        fault=fault,
        repeat=table.read("repeat", whole(1)) or 1,
    )


def _call(place: Place) -> tuple[str, Mapping[str, Any]] | None:
    table = Table(place, ("tool", "args"), hints={"arguments": "write it as args", "name": "write it as tool"})
    tool = table.need("tool", words, "name the tool to call")
    args = table.read("args", _arguments) if "args" in table else {}
    return None if tool is None or args is None else (tool, args)


def _arguments(place: Place) -> Mapping[str, Any] | None:
    if isinstance(place.value, dict):
        return place.value
    place.wrong(f"must be an object, is {shown(place.value)}", "write the arguments by name")
    return None


def _usage(place: Place) -> tuple[int, int] | None:
    table = Table(place, ("input", "output"))
    return (table.read("input", whole(0)) or 0, table.read("output", whole(0)) or 0)


def _fault(place: Place) -> WrittenFault | None:
    table = Table(place, ("status", "transport", "retryAfterSecs"))
    if not table.opened:
        return None
    if len(table.only(("status", "transport"))) != 1:
        place.wrong("says neither or both of status and transport", 'write {"status": 500} or {"transport": true}')
    status = table.read("status", _status)
    if table.read("transport", flag) is False:
        table.at("transport").wrong("is false, which is no error", "write transport: true, or remove error")
    after = table.read("retryAfterSecs", number(low=0))
    if "retryAfterSecs" in table and "transport" in table:
        table.at("retryAfterSecs").wrong("cannot stand beside transport: nobody answered", "remove it")
    return WrittenFault(status=status, retry_after=after)


def _status(place: Place) -> int | None:
    status = whole(400)(place)
    if status is not None and status > 599:
        place.wrong(f"is no HTTP error status: {status}", "write one from 400 to 599")
        return None
    return status


def read_script(place: Place) -> tuple[tuple[str, tuple[Entry, ...]], ...]:
    """Read a script document: pattern and entries, in document order."""
    table = Table(place, ("agents",), hints={"root": "write it inside agents"})
    agents = table.need("agents", _patterns, 'write {"agents": {"root": [ … ]}}')
    return agents or ()


def _patterns(place: Place) -> tuple[tuple[str, tuple[Entry, ...]], ...] | None:
    if not isinstance(place.value, dict):
        place.wrong(f"must be an object, is {shown(place.value)}", 'write {"root": [ … ]}')
        return None
    patterns: list[tuple[str, tuple[Entry, ...]]] = []
    for pattern, written in place.value.items():
        at = place.at(pattern)
        if pattern in ("", "profile:"):
            at.wrong("names no agent", "write an agent id, a pattern such as '*r', or profile:<id>")
        elif isinstance(written, dict):
            at.wrong(
                "must be a list of entries, is an object",
                'write a list; in TOML quote names with dots: [[agents."A-1.0i"]]',
            )
        else:
            patterns.append((pattern, each(read_entry, noun="entries")(at) or ()))
    return tuple(patterns)


def shorten(problems: Sequence[Any], most: int = 3) -> str:
    """Say in one line what is wrong with an answer: the first few problems."""
    said = "; ".join(str(problem) for problem in problems[:most])
    return said if len(problems) <= most else f"{said}; and {len(problems) - most} more"
