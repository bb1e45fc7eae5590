"""From the bytes of a JSON or TOML file to plain values. Law: strict, and one problem for a text that cannot be read.

Plain values are dicts with text keys, lists, text, whole and finite numbers, true, false and null: what JSON, msgpack and every
program arm can carry unchanged. A key written twice, a date, NaN, half of a surrogate pair and bottomless nesting are problems.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from ggactors.protocol.values import Problem
from ggactors.rules.shape import Plain, join, shown

DEEPEST = 64
"""How many levels of nesting a document may have."""

LEAST_INT, GREATEST_INT = -(2**63), 2**63 - 1
"""What a whole number has to lie between to cross a mailbox."""

LARGEST = 16_000_000
"""How many bytes a document may have."""

_TOML_WHERE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@frozen
class Parsed:
    """What a text came to: plain values (None when nothing could be read) and what was wrong with them."""

    value: Plain
    problems: tuple[Problem, ...] = ()


class _Written(dict[str, Any]):
    """An object as written, with the keys that stand in it twice (their last value is the one kept)."""

    twice: tuple[str, ...] = ()


def parse(content: bytes, file_name: str) -> Parsed:
    """Read the content of a file by its ending, ``.json`` or ``.toml``. Problems of the text carry ``file:line:column``."""
    ending = file_name.rpartition(".")[2].lower()
    if ending not in ("json", "toml"):
        return _unread(file_name, "is neither JSON nor TOML by its name", "give it a name that ends in .json or .toml")
    if len(content) > LARGEST:
        return _unread(file_name, f"is larger than {LARGEST} bytes", "split it, or check that it is the right file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        return _unread(file_name, "not UTF-8", "save the file as UTF-8", line, column)
    return parse_json(text, file_name) if ending == "json" else parse_toml(text, file_name)


def parse_json(text: str, name: str) -> Parsed:
    """Read JSON. ``name`` is what problems of the text itself are filed under."""
    try:
        value = json.loads(text, object_pairs_hook=_as_written)
    except json.JSONDecodeError as error:
        return _unread(name, f"not valid JSON: {error.msg}", "repair the text there", error.lineno, error.colno)
    except (ValueError, RecursionError) as error:
        return _unread(name, f"not readable as JSON: {_cause(error)}", "shorten the numbers or the nesting")
    return plain(value)


def parse_toml(text: str, name: str) -> Parsed:
    """Read TOML. ``name`` is what problems of the text itself are filed under."""
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        where = _TOML_WHERE.search(said)
        what = said[: where.start()] if where else said
        if where and where[1]:
            return _unread(name, f"not valid TOML: {what}", "repair the text there", int(where[1]), int(where[2]))
        lines = text.split("\n")
        return _unread(name, f"not valid TOML: {what}", "repair its end", len(lines), len(lines[-1]) + 1)
    except (ValueError, RecursionError) as error:
        return _unread(name, f"not readable as TOML: {_cause(error)}", "shorten the numbers or the nesting")
    return plain(value)


def plain(value: object, path: str = "") -> Parsed:
    """Copy a value down to plain values, reporting what is none; a wrong part is None in the copy, a wrong key is left out."""
    problems: list[Problem] = []
    copied = _copy(value, path, 0, problems)
    return Parsed(copied, tuple(problems))


def _copy(value: Plain, path: str, depth: int, problems: list[Problem]) -> Plain:
    def wrong(what: str, remedy: str) -> None:
        problems.append(Problem(path=path or "document", what=what, remedy=remedy))

    if depth > DEEPEST:
        wrong(f"nests deeper than {DEEPEST} levels", "flatten it")
        return None
    match value:
        case None | bool():
            return value
        case str():
            if value.isascii() or _encodable(value):
                return str(value)
            wrong("holds half of a surrogate pair, which is no text", "write the whole character")
        case int():
            if LEAST_INT <= value <= GREATEST_INT:
                return int(value)
            wrong("is a whole number of more than 64 bits", "write a smaller one")
        case float():
            if math.isfinite(value):
                return float(value)
            wrong("is not a finite number", "write a number")
        case Mapping():
            twice = value.twice if isinstance(value, _Written) else ()
            problems.extend(
                Problem(path=join(path, key), what="is written twice", remedy="keep one of the two") for key in twice
            )
            copied: dict[str, Any] = {}
            for key, element in value.items():
                if isinstance(key, str) and _encodable(key):
                    copied[key] = _copy(element, join(path, key), depth + 1, problems)
                else:
                    wrong(f"has a key that is not text: {shown(key)}", "use text keys")
            return copied
        case list() | tuple():
            return [_copy(element, join(path, index), depth + 1, problems) for index, element in enumerate(value)]
        case _:
            wrong(
                f"is a {type(value).__name__}, which JSON cannot hold",
                "write text, a number, true, false, a list or an object",
            )
    return None


def _as_written(pairs: list[tuple[str, Any]]) -> _Written:
    table = _Written(pairs)
    if len(table) != len(pairs):
        table.twice = tuple(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return table


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _cause(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else "a number with too many digits"


def _unread(name: str, what: str, remedy: str, line: int | None = None, column: int | None = None) -> Parsed:
    if line is None:
        return Parsed(None, (Problem(path=name, what=what, remedy=remedy),))
    return Parsed(
        None, (Problem(path=f"{name}:{line}:{column}", what=f"line {line}, column {column}: {what}", remedy=remedy),)
    )
