"""Open a WebAssembly module's table of functions to the host: the module is as it was, and exports its table, which may grow.

Law: pure, bytes to bytes. A module whose table is not the one its compiler makes (one table of functions, not exported) is
refused and never guessed at.
"""

from __future__ import annotations

TABLE = "ggactors_table"
"""The name the table is exported under."""
_HEADER = b"\0asm\x01\0\0\0"
_TABLES, _EXPORTS = 4, 7
_FUNCREF = 0x70


def with_open_table(code: bytes) -> bytes:
    """Give the module with its table exported and unbounded. Raises ValueError when it has no such table."""
    if not code.startswith(_HEADER):
        raise ValueError("is no WebAssembly module of version 1")
    made, at, seen = [_HEADER], len(_HEADER), set()
    while at < len(code):
        kind = code[at]
        size, body = _number(code, at + 1)
        at = body + size
        section = code[body:at]
        if len(section) != size:
            raise ValueError("ends within a section")
        if kind == _TABLES:
            section = _unbounded(section)
        elif kind == _EXPORTS:
            section = _exported(section)
        seen.add(kind)
        made += [bytes([kind]), _written(len(section)), section]
    if not {_TABLES, _EXPORTS} <= seen:
        raise ValueError("has no table of functions, or no exports")
    return b"".join(made)


def _unbounded(tables: bytes) -> bytes:
    """Take the maximum away from the one table of functions."""
    if tables[:2] != bytes([1, _FUNCREF]) or tables[2:3] not in (b"\0", b"\x01"):
        raise ValueError("has other tables than one of functions")
    least, _ = _number(tables, 3)
    return bytes([1, _FUNCREF, 0]) + _written(least)


def _exported(exports: bytes) -> bytes:
    """Add the table to the exports."""
    count, rest = _number(exports, 0)
    name = TABLE.encode()
    if name in exports:
        raise ValueError("is open already")
    return _written(count + 1) + _written(len(name)) + name + b"\x01\0" + exports[rest:]


def _number(code: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned LEB128 number: itself, and where what follows begins."""
    number = shift = 0
    while at < len(code) and shift < 35:
        digit = code[at]
        at += 1
        number |= (digit & 0x7F) << shift
        shift += 7
        if digit < 0x80:
            return number, at
    raise ValueError("holds a number that does not end")


def _written(number: int) -> bytes:
    digits = bytearray()
    while True:
        number, digit = number >> 7, number & 0x7F
        digits.append(digit | (0x80 if number else 0))
        if not number:
            return bytes(digits)
