"""``--set PATH=VALUE``: changes to a document before it is checked. Law: a path that leads nowhere is a problem, not a guess.

A path is dotted: ``limits.maxParallel``, ``models.big.name``. An element of a list is named by its index (``agents[0].name``)
or, where the list's entries carry one, by its id (``agents.coder.capabilities.shell.enabled``). A key with odd characters is
quoted as in the problems' own paths: ``models["my.model"].name``. The value is JSON, or else taken as text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from ggactors.protocol.values import Problem
from ggactors.rules.document import parse_json
from ggactors.rules.shape import Plain, did_you_mean, listing

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEP = re.compile(
    r"""(?:(?:^|(?!^)\.)(?P<word>[^.\[\]"]+)|\[(?P<index>\d{1,9})\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\])"""
)


class _Astray(Exception):  # noqa: N818 - ends a walk that leads nowhere; carries what and remedy
    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def override(document: Plain, overrides: Sequence[str]) -> list[Problem]:
    """Change ``document`` in place, in order; answer a problem for each override that could not be carried out."""
    problems: list[Problem] = []
    for written in overrides:
        path, equals, value = written.partition("=")
        try:
            _assign(document, _steps(path, complete=bool(equals)), _value(value))
        except _Astray as astray:
            # The value is left out of what is said: it may be anything.
            problems.append(Problem(path=f"--set {path}", what=astray.what, remedy=astray.remedy))
    return problems


def _steps(path: str, *, complete: bool) -> list[str | int]:
    if not complete:
        raise _Astray("has no '='", "write PATH=VALUE, as in limits.maxParallel=2")
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise _Astray(f"is no path, from {path[at:]!r} on", "write it like agents[0].name or agents.coder.name")
        at = match.end()
        if match["word"] is not None:
            steps.append(match["word"].strip())
        elif match["index"] is not None:
            steps.append(int(match["index"]))
        else:
            steps.append(str(json.loads(match["quoted"])))
    if not steps:
        raise _Astray("names nothing", "write PATH=VALUE, as in limits.maxParallel=2")
    return steps


def _value(written: str) -> Plain:
    parsed = parse_json(written, "value")
    return written if parsed.problems else parsed.value


def _assign(document: Plain, steps: Sequence[str | int], value: Plain) -> None:
    here = document
    for step in steps[:-1]:
        here = _down(here, step)
    last = steps[-1]
    if isinstance(here, list):
        here[_position(here, last)] = value
    elif isinstance(here, dict) and isinstance(last, str):
        here[last] = value
    else:
        raise _nowhere(last)


def _down(here: Plain, step: str | int) -> Plain:
    if isinstance(here, list):
        return here[_position(here, step)]
    if isinstance(here, dict) and isinstance(step, str):
        # An optional object that is not written yet begins empty: limits.maxTurns=5 works without limits.
        return here.setdefault(step, {})
    raise _nowhere(step)


def _position(here: list[Plain], step: str | int) -> int:
    names = [entry.get("id", entry.get("agent")) if isinstance(entry, dict) else None for entry in here]
    if isinstance(step, str) and step in names:
        return names.index(step)
    index = int(step) if isinstance(step, int) or step.isdecimal() else None
    if index is not None and index < len(here):
        return index
    if index is not None:
        raise _Astray(f"the list has no element {index}", f"it has {len(here)}, counted from 0")
    known = [name for name in names if isinstance(name, str)]
    close = did_you_mean(str(step), known)
    remedy = (
        f"did you mean {close!r}?"
        if close
        else f"there are: {listing(known)}"
        if known
        else "name an element by its index"
    )
    raise _Astray(f"no element {step!r} in the list", remedy)


def _nowhere(step: str | int) -> _Astray:
    what = f"there is no list before [{step}]" if isinstance(step, int) else f"there is no object before {step!r}"
    return _Astray(what, "check the path against the document")
