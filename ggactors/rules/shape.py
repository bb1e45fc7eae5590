"""Reading plain values out of a document by their shape. Law: a wrong value is a problem with its path, never an exception.

A ``Place`` is one value together with where it stands and the list its problems go to. A reader takes a place and answers the
value, or None after it has said what is wrong. A ``Table`` walks one object: unknown keys are refused once, when it is opened.
Values are quoted in messages only where no secret can stand.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from attrs import frozen

from ggactors.protocol.values import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

T = TypeVar("T")

Plain: TypeAlias = Any
"""A value as JSON has it: a dict with text keys, a list, text, a number, true, false, null."""

GREATEST_WHOLE = 2**53 - 1
"""The greatest whole number every reader of JSON keeps exactly."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
HYPHENED = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
"""Lower-case letters and digits joined by single hyphens: an agent's id, the name of a skill or a memory."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def join(path: str, key: str | int) -> str:
    """Extend a path by a key or an index: ``agents[1].capabilities[2].params``; odd keys are quoted (``agents["*r"]``)."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{_quoted(key)}]"
    return f"{path}.{key}" if path else key


def shown(value: object) -> str:
    """Quote a value for a message, shortened to what fits a line."""
    match value:
        case None:
            return "null"
        case dict():
            return "an object"
        case list():
            return "a list"
        case int() if abs(value) >= 10**30:
            return "a huge number"
        case str() | bool() | int() | float():
            quoted = _quoted(value) if isinstance(value, str) else json.dumps(value)
            return quoted if len(quoted) <= 60 else quoted[:56] + "…" + ('"' if quoted[0] == '"' else "")
        case _:
            return f"a {type(value).__name__}"


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Find the known word that ``word`` was probably meant to be, whatever its case, hyphens and underscores."""
    bare = {_bare(name): name for name in known}
    close = difflib.get_close_matches(_bare(word), list(bare), n=1, cutoff=0.7)
    return bare[close[0]] if close else None


def suggestion(word: str, known: Collection[str], noun: str) -> str:
    """Say what repairs an unknown word: the close one, or the whole list."""
    close = did_you_mean(word, known)
    if close is not None:
        return f"did you mean {close!r}?"
    return f"known {noun}: {listing(known)}" if known else f"remove it: there are no {noun} here"


def _quoted(text: str) -> str:
    """Write text as JSON has it, on one line, with nothing in it that a terminal would obey."""
    written = json.dumps(text, ensure_ascii=False)
    return written if written.isprintable() else json.dumps(text)


def listing(names: Collection[str], most: int = 24) -> str:
    """Enumerate names, so many at most."""
    first = list(names)[:most]
    return ", ".join(first) if len(names) <= most else f"{', '.join(first)} and {len(names) - most} more"


def _bare(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")


@frozen
class Place:
    """A value of a document, where it stands, and the list its problems go to."""

    value: Plain
    path: str
    found: list[Problem]

    def wrong(self, what: str, remedy: str) -> None:
        """Report this value."""
        self.found.append(Problem(path=self.path, what=what, remedy=remedy))

    def at(self, key: str | int) -> Place:
        """Step to an element, which must be there."""
        return Place(self.value[key], join(self.path, key), self.found)

    def step(self, key: str) -> Place:
        """Name a key that may be absent, to report it."""
        return Place(None, join(self.path, key), self.found)


# ---------------------------------------------------------------- readers of single values


def text(place: Place) -> str | None:
    """Read a string, the empty one included."""
    if isinstance(place.value, str):
        return place.value
    place.wrong(f"must be text, is {shown(place.value)}", "write a string in quotes")
    return None


def words(place: Place) -> str | None:
    """Read a string that says something: not blank."""
    value = text(place)
    if value is not None and not value.strip():
        place.wrong("must not be blank", "write a text")
        return None
    return value


def flag(place: Place) -> bool | None:
    """Read true or false; no number or word stands for either."""
    if isinstance(place.value, bool):
        return place.value
    place.wrong(f"must be true or false, is {shown(place.value)}", "write true or false without quotes")
    return None


def whole(minimum: int, maximum: int = GREATEST_WHOLE) -> Callable[[Place], int | None]:
    """Make the reader of a whole number from ``minimum`` up to ``maximum``. ``60.0`` is 60; true and "60" are no numbers."""

    def read(place: Place) -> int | None:
        value = place.value
        remedy = f"write a whole number, {minimum} or more"
        if isinstance(value, float) and math.isfinite(value) and value == int(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            place.wrong(f"must be a whole number, is {shown(value)}", remedy)
        elif value < minimum:
            place.wrong(f"must be at least {minimum}, is {shown(value)}", remedy)
        elif maximum < value <= GREATEST_WHOLE:
            place.wrong(f"must be at most {maximum}, is {shown(value)}", f"write at most {maximum}")
        elif value > GREATEST_WHOLE:
            place.wrong("is too great to be kept exactly", f"write at most {GREATEST_WHOLE}")
        else:
            return value
        return None

    return read


def number(
    *, above: float | None = None, low: float | None = None, high: float | None = None
) -> Callable[[Place], float | None]:
    """Make the reader of a finite number: strictly greater than ``above``, or from ``low`` up; at most ``high``."""
    bounds = [f"greater than {above:g}"] if above is not None else []
    bounds += [f"at least {low:g}"] if low is not None else []
    bounds += [f"at most {high:g}"] if high is not None else []
    wanted = f"a number {' and '.join(bounds)}".rstrip()

    def read(place: Place) -> float | None:
        value = place.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            place.wrong(f"must be a number, is {shown(value)}", f"write {wanted}")
            return None
        if isinstance(value, int) and abs(value) > GREATEST_WHOLE:
            place.wrong("is too great to be kept exactly", f"write at most {GREATEST_WHOLE}")
            return None
        outside = (
            not math.isfinite(value)
            or (above is not None and value <= above)
            or (low is not None and value < low)
            or (high is not None and value > high)
        )
        if outside:
            place.wrong(f"must be {wanted}, is {shown(value)}", f"write {wanted}")
            return None
        return float(value)

    return read


def one_of(known: Collection[str], noun: str) -> Callable[[Place], str | None]:
    """Make the reader of one word out of ``known``; ``noun`` names the words in the plural."""

    def read(place: Place) -> str | None:
        value = place.value
        if isinstance(value, str) and value in known:
            return value
        remedy = suggestion(value, known, noun) if isinstance(value, str) else f"known {noun}: {', '.join(known)}"
        place.wrong(
            f"unknown: {shown(value)}" if isinstance(value, str) else f"must be text, is {shown(value)}", remedy
        )
        return None

    return read


def identity(place: Place) -> str | None:
    """Read a profile id: lower-case letters and digits in groups joined by single hyphens."""
    value = place.value
    if isinstance(value, str) and HYPHENED.fullmatch(value):
        return value
    place.wrong(
        f"is not an id: {shown(value)}",
        "use lower-case letters and digits in groups joined by single hyphens, as in 'code-reviewer'",
    )
    return None


def variable(place: Place) -> str | None:
    """Read the name of an environment variable. What stands there instead is never quoted: it may be a secret."""
    if isinstance(place.value, str) and _VARIABLE.fullmatch(place.value):
        return place.value
    place.wrong("is not the name of an environment variable", "write the variable's name, never its value")
    return None


def nullable(reader: Callable[[Place], T | None]) -> Callable[[Place], T | None]:
    """Let ``null`` through as None, without a problem."""

    def read(place: Place) -> T | None:
        return None if place.value is None else reader(place)

    return read


def each(
    reader: Callable[[Place], T | None], *, noun: str, unique: bool = False
) -> Callable[[Place], tuple[T, ...] | None]:
    """Make the reader of a list; elements that are wrong are reported and left out. ``unique`` refuses a second equal one."""

    def read(place: Place) -> tuple[T, ...] | None:
        if not isinstance(place.value, list):
            place.wrong(f"must be a list of {noun}, is {shown(place.value)}", "write a list in [ ]")
            return None
        taken: list[T] = []
        for index in range(len(place.value)):
            element = place.at(index)
            value = reader(element)
            if value is None:
                continue
            if unique and value in taken:
                element.wrong(f"is listed twice: {shown(value)}", "remove one of the two")
                continue
            taken.append(value)
        return tuple(taken)

    return read


# ---------------------------------------------------------------- objects


class Table:
    """One object of a document, its unknown keys already reported. Reading a key that is absent answers the default."""

    def __init__(self, place: Place, known: Collection[str], *, hints: Mapping[str, str] | None = None) -> None:
        """Open the object at ``place``. ``hints`` gives better words than a guess for keys people are known to try."""
        self.place = place
        self.values: dict[str, Any] = place.value if isinstance(place.value, dict) else {}
        self.opened = isinstance(place.value, dict)
        if not self.opened:
            place.wrong(f"must be an object, is {shown(place.value)}", "write an object (a table in TOML)")
        for key in self.values:
            if key not in known:
                remedy = (hints or {}).get(key) or suggestion(key, known, "keys")
                place.at(key).wrong("unknown key", remedy)

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def at(self, key: str) -> Place:
        """Step to a key, which may be absent: its value is then None."""
        return Place(self.values.get(key), join(self.place.path, key), self.place.found)

    def read(self, key: str, reader: Callable[[Place], T | None]) -> T | None:
        """Read an optional key; None when it is absent or wrong."""
        return reader(self.at(key)) if key in self.values else None

    def need(self, key: str, reader: Callable[[Place], T | None], remedy: str, *, when: bool = True) -> T | None:
        """Read a key that has to be there (``when`` is true); ``remedy`` says what to write."""
        if key in self.values:
            return reader(self.at(key))
        if self.opened and when:
            self.at(key).wrong("is missing", remedy)
        return None

    def only(self, keys: Iterable[str]) -> list[str]:
        """List which of ``keys`` are written here."""
        return [key for key in keys if key in self.values]
