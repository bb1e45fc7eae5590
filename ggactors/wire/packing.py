"""Plain values to msgpack and back. Law: what Python's own JSON reader can produce comes back equal.

msgpack alone stops at 64-bit integers, at text that holds surrogates and at 511 or 1,024 levels of nesting. Each has a
way round it that costs nothing while it is not needed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgpack

if TYPE_CHECKING:
    from collections.abc import Callable

_BIG = 1
"""Extension type of an integer beyond 64 bits: signed, big-endian."""
_DEEP = 2
"""Extension type of a subtree below the nesting that msgpack itself allows: msgpack again."""
_LEVELS = 200
"""Every so many levels of nesting a subtree is cut out as ``_DEEP``; msgpack stops at 511 or 1,024, by version."""


def packer() -> Callable[[object], bytes]:
    """Make a function that packs plain values quickly; for what it refuses there is pack_any.

    It keeps its buffer, which is half of what packing a letter would cost. The only Python it calls is ``_extend``, which
    never comes back here, so under the GIL nothing can enter it twice.
    """
    # Without unicode_errors msgpack reads a string's own UTF-8; with it, it makes an encoded copy of each.
    pack: Callable[[object], bytes] = msgpack.Packer(default=_extend).pack
    return pack


def pack_any(plain: object) -> bytes:
    """Pack plain values whatever they hold. Raises ValueError, TypeError or OverflowError for what is no wire value."""
    pack = msgpack.Packer(default=_extend, unicode_errors="surrogatepass").pack
    return bytes(pack(_cut(plain, pack)))


def _extend(value: object) -> msgpack.ExtType:
    if isinstance(value, int):
        return msgpack.ExtType(_BIG, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    raise TypeError(f"{value.__class__.__name__} is no wire value")


def _unextend(code: int, packed: bytes) -> object:
    if code == _BIG:
        return int.from_bytes(packed, "big", signed=True)
    if code == _DEEP:
        return unpack_any(packed)
    raise ValueError(f"unknown extension type {code}")


unpack_quickly = partial(msgpack.unpackb, ext_hook=_unextend)
"""Unpack plain values; refuses text with surrogates and maps whose keys are no text. Raises all sorts of errors."""
unpack_any = partial(msgpack.unpackb, ext_hook=_unextend, unicode_errors="surrogatepass", strict_map_key=False)
"""Unpack plain values whatever they hold. Raises all sorts of errors for bytes that are no msgpack."""


def _cut(tree: object, pack: Callable[[object], bytes]) -> object:
    """Copy a tree with its deep subtrees turned into bytes of their own, so that nothing nests past what msgpack allows.

    Goes level by level: recursion would meet Python's own limit first.
    """
    top: list[Any] = [tree]
    levels: list[list[tuple[Any, Any]]] = []
    level: list[tuple[Any, Any]] = [(top, 0)]
    while level:
        levels.append(level)
        below: list[tuple[Any, Any]] = []
        for holder, key in level:
            value = holder[key]
            if isinstance(value, dict):
                holder[key] = copy = dict(value)
                below += [(copy, inner) for inner, held in copy.items() if isinstance(held, dict | list | tuple)]
            elif isinstance(value, list | tuple):
                holder[key] = row = list(value)
                below += [(row, inner) for inner, held in enumerate(row) if isinstance(held, dict | list | tuple)]
        level = below
    for depth in range((len(levels) - 1) // _LEVELS * _LEVELS, 0, -_LEVELS):
        for holder, key in levels[depth]:
            holder[key] = msgpack.ExtType(_DEEP, pack(holder[key]))
    return top[0]
