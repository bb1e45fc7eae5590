"""Text as a terminal may see it: safe, measured in cells, cut to a width, coloured or not.

Law: what a model, a repository or a command wrote can never move a cursor, change a colour, set a title or hide other text.
Pure.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor moves
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # strings: titles, links, clipboards
    r"|\x1b[ -/]*[0-~]?"  # two-character escapes, and what was cut short
    r"|\x9b[0-?]*[ -/]*[@-~]"  # the one-byte form of the first kind
)
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, and what turns the direction of others
    "\ud800-\udfff]"
)
_GAPS = re.compile(r"\s+")
_BETWEEN = 2
"""Blanks between two columns."""

COLOURS = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36, "dim": 2, "bold": 1}


def safe(text: str) -> str:
    """Strip escape sequences and characters that act on a terminal; newlines and tabs stay. Undecodable bytes become U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCES.sub("", text.replace("\r\n", "\n"))
    return _UNPRINTABLE.sub(lambda found: "\ufffd" if found[0] >= "\ud800" and found[0] <= "\udfff" else "", text)


def one_line(text: str) -> str:
    """Make text safe and fold it into one line."""
    return _GAPS.sub(" ", safe(text)).strip()


def cells(text: str) -> int:
    """Count the terminal cells that safe text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(character) for character in text)


def _cells_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut(text: str, width: int) -> str:
    """Cut safe text to ``width`` cells, an ellipsis marking the loss."""
    if cells(text) <= width:
        return text
    if width <= 0:
        return ""
    return _beginning(text, width - 1) + "…"


def _beginning(text: str, width: int) -> str:
    """Give as many characters as fit."""
    for at, character in enumerate(text):
        width -= _cells_of(character)
        if width < 0:
            return text[:at]
    return text


def shell_word(text: str) -> str:
    """Quote a word for a shell to paste: plain where it can be; else in the ``$'…'`` form, which shows every byte."""
    if text.isprintable():
        return shlex.quote(text)
    plain = (chr(byte) if 0x20 <= byte < 0x7F and byte not in b"\\'" else f"\\{byte:03o}" for byte in _bytes_of(text))
    return f"$'{''.join(plain)}'"


def _bytes_of(text: str) -> bytes:
    # A path that was no UTF-8 keeps its bytes as surrogates; other lone surrogates are nobody's bytes.
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


@frozen(kw_only=True)
class Look:
    """How to print: the width in cells, and whether colours are wanted."""

    width: int = 100
    colour: bool = False

    def paint(self, text: str, colour: str) -> str:
        """Colour text, where colours are wanted and ``colour`` is one."""
        code = COLOURS.get(colour)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code is not None and text else text


@frozen
class Cell:
    """One field of a row, and its colour."""

    text: str
    colour: str = ""


def columns(rows: Sequence[Sequence[Cell]], look: Look, *, indent: int = 0) -> list[str]:
    """Lay rows out in columns as wide as their widest cell; the last takes what is left of the width and is cut to it.

    Columns that do not fit at all are dropped from the right, the last one first. Cells must be safe, one-line text.
    """
    if not rows:
        return []
    widths = [max(cells(row[at].text) for row in rows) for at in range(len(rows[0]))]
    lines = []
    for row in rows:
        used, line = indent, " " * indent
        for at, cell in enumerate(row):
            room = look.width - used
            if room <= 0:
                break
            last = at == len(row) - 1
            width = min(room, cells(cell.text) if last else widths[at])
            text = cut(cell.text, width)
            filled = look.paint(text, cell.colour) + " " * (0 if last else width - cells(text) + _BETWEEN)
            line += filled
            used += width + _BETWEEN
        lines.append(line.rstrip(" "))
    return lines


@frozen
class Field:
    """A field of a row whose columns have widths of their own: what it says, how wide its column is (0: left out), its colour."""

    text: str
    size: int
    colour: str = ""
    right: bool = False
    """Whether it stands at the right of its column."""


def laid(fields: Iterable[Field], rest: Cell, width: int) -> list[Cell]:
    """Lay one row out: each field in its column, then ``rest`` in what is left of ``width``, cut to it."""
    row: list[Cell] = []
    for field in fields:
        if field.size:
            shown = cut(field.text, field.size)
            pad = " " * (field.size - cells(shown))
            row.append(Cell((pad + shown if field.right else shown + pad) + " " * _BETWEEN, field.colour))
            width -= field.size + _BETWEEN
    return [*row, Cell(cut(rest.text, max(0, width)), rest.colour)]


def wrapped(text: str, look: Look, *, indent: int = 0) -> list[str]:
    """Wrap text at spaces to the width, its own line breaks kept; words longer than a line are cut into pieces."""
    width = max(8, look.width - indent)
    lines = []
    for paragraph in safe(text).expandtabs(4).split("\n"):
        words = paragraph.lstrip(" ")
        # What is indented stays so, such as the lines of a program.
        line, begun = " " * min(len(paragraph) - len(words), width // 2), False
        for word in words.split(" "):
            joined = f"{line} {word}" if begun else line + word
            if cells(joined) <= width:
                line, begun = joined, True
                continue
            if begun:
                lines.append(line)
            line, begun = word if begun else joined, True
            while cells(line) > width:
                head = _beginning(line, width)
                lines.append(head)
                line = line[len(head) :]
        lines.append(line)
    return [(" " * indent + line).rstrip(" ") for line in lines]
