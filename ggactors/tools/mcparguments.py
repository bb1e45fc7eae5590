"""Hold the arguments of a call against the JSON schema a server gave of its tool, before the call is sent (B10).

Law: pure, and no more than the top level: what is required, of which type each is, what a closed schema does not know. Only what
the schema says in so many words is refused; everything deeper, null for an optional argument included, is the server's to
judge. A schema is a stranger's text: what cannot be read in it asks for nothing, and nothing is fetched or matched for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MOST_NAMED = 6
_LONGEST_NAME = 60


def misfit(schema: Mapping[str, Any], args: Mapping[str, Any]) -> str | None:
    """Say what is wrong with ``args`` and what the tool takes, in a line; None when nothing is."""
    declared = schema.get("properties")
    properties: Mapping[str, Any] = declared if isinstance(declared, Mapping) else {}
    wanted = schema.get("required")
    required = [name for name in wanted if isinstance(name, str)] if isinstance(wanted, list | tuple) else []
    faults = [f"{_quoted(name)} is missing" for name in required if name not in args]
    for name, value in args.items():
        about = properties.get(name)
        types = _types(about)
        if about is None and name not in properties and _closed(schema):
            faults.append(f"{_quoted(name)} is not known")
        elif types and not (value is None and name not in required) and not any(_is(value, one) for one in types):
            faults.append(f"{_quoted(name)} must be {' or '.join(types)}")
    if not faults:
        return None
    takes = [f"{_quoted(name)}{'' if name in required else '?'}" for name in dict.fromkeys((*required, *properties))]
    return f"{_listed(faults)}; it takes {_listed(takes) if takes else 'no arguments'}"


def _closed(schema: Mapping[str, Any]) -> bool:
    return schema.get("additionalProperties") is False and not schema.get("patternProperties")


def _types(about: object) -> tuple[str, ...]:
    """Read the types a schema names; none when it names none, or one that is not known here."""
    said = about.get("type") if isinstance(about, Mapping) else None
    types = (said,) if isinstance(said, str) else tuple(said) if isinstance(said, list | tuple) else ()
    return types if all(isinstance(one, str) and one in _TESTS for one in types) else ()


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TESTS[kind]) or (kind == "integer" and isinstance(value, float) and value.is_integer())


_TESTS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": (list, tuple),
    "object": dict,
    "null": type(None),
}


def _listed(parts: list[str]) -> str:
    more = len(parts) - _MOST_NAMED
    return ", ".join(parts[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _quoted(name: object) -> str:
    text = str(name)
    return f"`{text if len(text) <= _LONGEST_NAME else text[:_LONGEST_NAME] + '…'}`"
