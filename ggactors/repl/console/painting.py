"""Painted text as prompt_toolkit takes it: lists of a style and a text. Law: pure; widths are those prompt_toolkit will use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prompt_toolkit.utils import get_cwidth

from ggactors.telemetry.plaintext import COLOURS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ggactors.telemetry.plaintext import Cell

Piece = tuple[str, str]
Line = list[Piece]

_PAINT = re.compile(r"\x1b\[(\d+)m")
STYLES = {name: f"class:{name}" for name in COLOURS}
_BY_CODE = {str(code): STYLES[name] for name, code in COLOURS.items()} | {"0": ""}

LOOKS = {
    "red": "ansired",
    "green": "ansigreen",
    "yellow": "ansiyellow",
    "blue": "ansiblue",
    "cyan": "ansicyan",
    "dim": "ansibrightblack",
    "bold": "bold",
    "ok": "ansigreen bold",
    "bad": "ansired bold",
    "sheet": "",
    "sheet.open": "reverse bold",
    "rule": "ansibrightblack",
    "head": "ansibrightblack",
    "edge": "",
    "key": "bold",
    "note": "ansiyellow",
    "caret": "reverse",
    "chosen": "reverse",
}
"""The sixteen colours every terminal has, so that its own theme holds; without colours the attributes still tell things apart."""


def from_cells(cells: Iterable[Cell]) -> Line:
    """Take fields with the names of their colours."""
    return [(STYLES.get(cell.colour, ""), cell.text) for cell in cells if cell.text]


def from_painted(text: str) -> Line:
    """Take a line as ``Look.paint`` made it. It holds no other sequence, since what came from outside was made safe."""
    if "\x1b" not in text:
        return [("", text)] if text else []
    first, *rest = _PAINT.split(text)
    line: Line = [("", first)] if first else []
    for code, piece in zip(rest[::2], rest[1::2], strict=True):
        style = _BY_CODE.get(code, "")
        if piece:
            line.append((style, piece))
    return line


def fitted(line: Line, width: int) -> Line:
    """Cut or fill a line to exactly ``width`` cells."""
    out: Line = []
    room = width
    for style, text in line:
        size = len(text) if text.isascii() else get_cwidth(text)
        if size <= room:
            out.append((style, text))
            room -= size
            continue
        kept = _head(text, room)
        out.append((style, kept))
        room -= get_cwidth(kept)
        break
    if room > 0:
        out.append(("", " " * room))
    return out


def _head(text: str, room: int) -> str:
    """Give as many characters as fit."""
    if text.isascii():
        return text[:room]
    kept = 0
    for character in text:
        room -= get_cwidth(character)
        if room < 0:
            break
        kept += 1
    return text[:kept]
