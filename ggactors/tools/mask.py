"""Keep the values of keys out of every text that is stored (O4).

Law: a value is replaced wherever it stands in clear, also as a name in an object and when it arrives cut into pieces; where two
values could match at one place the longer wins. Values shorter than six characters are left alone: masking ``on`` or ``1`` would
shred texts. Which values of a launch are keys at all, ``rules.secrets`` says.
Encoded forms of a value (base64, URL escapes) are not recognised.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import evolve, has
from attrs import fields as attrs_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

Plain = TypeVar("Plain")

SHORTEST = 6
"""The fewest characters a value must have to be masked."""


@cache
def _fields_of(record: type[Any]) -> tuple[str, ...]:
    """Name what a record of ours is made of."""
    return tuple(one.name for one in attrs_fields(record) if one.init)


class Mask:
    """Replaces each value of a mapping from variable name to value by ``[masked:NAME]``."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        kept = {value: name for name, value in (values or {}).items() if len(value) >= SHORTEST}
        ordered = sorted(kept, key=len, reverse=True)
        self._names = kept
        self._text = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        coded = {value.encode("utf-8", "surrogateescape"): name for value, name in kept.items()}
        self._coded = coded
        ordered_bytes = sorted(coded, key=len, reverse=True)
        self._bytes = re.compile(b"|".join(map(re.escape, ordered_bytes))) if ordered_bytes else None
        self._longest = max(map(len, ordered_bytes), default=0)

    @property
    def active(self) -> bool:
        """Tell whether there is anything to mask."""
        return self._text is not None

    def text(self, text: str) -> str:
        """Mask a whole text."""
        if self._text is None or self._text.search(text) is None:
            return text
        return self._text.sub(lambda found: f"[masked:{self._names[found[0]]}]", text)

    def value(self, value: Plain) -> Plain:
        """Mask every text inside a plain value or a record of ours, the names in objects included."""
        return value if self._text is None else cast("Plain", self._inside(value))

    def _inside(self, value: object) -> object:
        """Mask what is inside; what holds no value is given back as it is, not copied, since every event passes here."""
        match value:
            case None | bool() | int() | float():
                return value
            case str():
                return self.text(value)
            case dict():
                pairs = [(self._inside(key), self._inside(item)) for key, item in value.items()]
                if all(
                    key is name and new is old for (name, new), (key, old) in zip(pairs, value.items(), strict=True)
                ):
                    return value
                return dict(pairs)
            case list() | tuple():
                items = [self._inside(item) for item in value]
                if all(new is old for new, old in zip(items, value, strict=True)):
                    return value
                return items if isinstance(value, list) else tuple(items)
            case _ if has(type(value)):
                changed = {}
                for name in _fields_of(cast("Any", type(value))):
                    old = getattr(value, name)
                    new = self._inside(old)
                    if new is not old:
                        changed[name] = new
                return evolve(cast("Any", value), **changed) if changed else value
            case _:
                return value

    def stream(self) -> MaskStream:
        """Begin masking bytes that arrive in pieces."""
        return MaskStream(self._bytes, self._coded, self._longest)


class MaskStream:
    """Masks a stream of bytes. It holds back as many as could be the beginning of a value, so call ``finish`` at the end."""

    def __init__(self, pattern: re.Pattern[bytes] | None, names: Mapping[bytes, str], longest: int) -> None:
        self._pattern = pattern
        self._names = names
        self._hold = max(longest - 1, 0)
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Take a piece and give back what can be passed on."""
        if self._pattern is None:
            return piece
        return self._pass(self._held + piece, self._hold)

    def finish(self) -> bytes:
        """Give back what was held."""
        if self._pattern is None:
            return b""
        return self._pass(self._held, 0)

    def _pass(self, piece: bytes, hold: int) -> bytes:
        # A match that begins before ``safe`` is whole, and no longer value can still be arriving at its place.
        safe = len(piece) - hold
        out: list[bytes] = []
        at = 0
        assert self._pattern is not None
        for found in self._pattern.finditer(piece):
            if found.start() >= safe:
                break
            out += (piece[at : found.start()], b"[masked:%b]" % self._names[found[0]].encode())
            at = found.end()
        end = max(at, safe, 0)
        out.append(piece[at:end])
        self._held = piece[end:]
        return b"".join(out)
