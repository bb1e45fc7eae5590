"""Events as JSON lines and back (docs/reference/events.md): one flat object a line, camelCase names, every field there.

Law: whatever an event holds, its line is valid JSON in ASCII. A lone surrogate is escaped, a float that JSON has no word
for is null, what JSON cannot carry is its text. Reading is the inverse for every event, and forgives a torn line.
"""

from __future__ import annotations

import json
import math
from json.encoder import encode_basestring_ascii as _quote
from operator import attrgetter
from typing import TYPE_CHECKING, Any, get_args

from attrs import fields, frozen

from ggactors.protocol import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HEAD = ("seq", "time", "run", "agent")
SPELLED: dict[tuple[str, str], str] = {("checkout_moved", "source"): "from", ("checkout_moved", "target"): "to"}
"""Names that are no camelCase of the attribute's: words of the contract that Python keeps for itself."""

DEEPEST = 60
LONGEST_INT_BITS = 4096


@frozen
class _Plan:
    """How one event type is written and read."""

    make: Callable[..., events.Event]
    keys: tuple[str, ...]
    """The names of a record's values, in order."""
    leads: tuple[str, ...]
    """What stands before each value in the line."""
    values: Callable[[events.Event], tuple[Any, ...]]
    names: tuple[tuple[str, str], ...]
    """Attribute and key of everything that is given to the event again."""
    tuples: frozenset[str]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _plan(cls: type[events.Event]) -> _Plan:
    body = [attribute for attribute in fields(cls) if attribute.name not in HEAD]
    names = {attribute.name: SPELLED.get((cls.type, attribute.name), _camel(attribute.name)) for attribute in body}
    keys = (*HEAD, "type", *names.values())
    return _Plan(
        cls,
        keys,
        tuple(f'{"," if at else "{"}"{key}":' for at, key in enumerate(keys)),
        attrgetter(*HEAD, "type", *names),
        (*zip(HEAD, HEAD, strict=True), *names.items()),
        frozenset(attribute.name for attribute in body if str(attribute.type).startswith("tuple")),
    )


PLANS: dict[type[events.Event], _Plan] = {cls: _plan(cls) for cls in get_args(events.Event)}
BY_TYPE: dict[str, _Plan] = {cls.type: plan for cls, plan in PLANS.items()}

_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False, allow_nan=False).encode


def to_record(event: events.Event) -> dict[str, Any]:
    """Give the event as the flat record that is written: contract names, in the contract's order."""
    plan = PLANS[type(event)]
    return dict(zip(plan.keys, plan.values(event), strict=True))


def to_line(event: events.Event) -> str:
    """Give the event as its JSON line, without the newline. Never fails, whatever the event holds."""
    plan = PLANS[type(event)]
    pieces = []
    # Written out by hand, since every event of a run passes here: half the time of handing a dict to the encoder.
    for lead, value in zip(plan.leads, plan.values(event), strict=True):
        if value.__class__ is str:
            pieces.append(lead + _quote(value))
        elif value is None:
            pieces.append(lead + "null")
        elif value.__class__ is bool:
            pieces.append(lead + ("true" if value else "false"))
        elif value.__class__ is int:
            pieces.append(lead + _number(value))
        else:
            pieces.append(lead + _any(value))
    return "".join(pieces) + "}"


def _any(value: Any) -> str:
    try:
        return _encode(value)
    except (ValueError, TypeError, RecursionError):
        return _encode(_tame(value, 0))


def _number(value: int) -> str:
    return repr(value) if value.bit_length() <= LONGEST_INT_BITS else _quote(f"{value:#x}")


def _tame(value: Any, depth: int) -> Any:
    """Rebuild ``value`` from what JSON has: what a model sent as arguments may hold anything a parser let through."""
    match value:
        case None | bool() | str():
            return value
        case int():
            # Python refuses to write very long integers in decimal.
            return value if value.bit_length() <= LONGEST_INT_BITS else f"{value:#x}"
        case float():
            return value if math.isfinite(value) else None
        case dict() | list() | tuple() | set() | frozenset() if depth >= DEEPEST:
            return "…"
        case dict():
            return {key if isinstance(key, str) else str(key): _tame(item, depth + 1) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_tame(item, depth + 1) for item in value]
        case bytes():
            return value.decode(errors="backslashreplace")
        case _:
            return str(value)


def from_record(record: dict[str, Any]) -> events.Event | None:
    """Give the typed event of a record that was read; None for a type this version does not know.

    Unknown fields are passed over and missing ones are None, since fields may be added. Raises ValueError for a record
    that is no event.
    """
    plan = BY_TYPE.get(str(record.get("type")))
    if plan is None:
        if "type" in record and "seq" in record:
            return None
        raise ValueError("no event: 'type' or 'seq' is missing")
    given: dict[str, Any] = {}
    for name, key in plan.names:
        value = record.get(key)
        given[name] = tuple(value) if isinstance(value, list) and name in plan.tuples else value
    return plan.make(**given)


def read_events(path: Path) -> Iterator[events.Event]:
    """Iterate over the events in the file at ``path``, oldest first. Blocking. Raises OSError.

    A last line that a killed process did not finish, and lines that are no event, are passed over.
    """
    with path.open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                return
            event = parse_line(line)
            if event is not None:
                yield event


def parse_line(line: bytes | str) -> events.Event | None:
    """Give the typed event of one line; None when it is none that this version knows."""
    try:
        record = json.loads(line)
        return from_record(record) if isinstance(record, dict) else None
    except (ValueError, RecursionError):
        return None
