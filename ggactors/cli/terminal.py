"""What the streams of this process can show. Law: looks only; what takes no more is given up, nothing else changes."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

from ggactors.telemetry.plaintext import Look

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DUMB = ("", "dumb", "unknown")
USUAL = (80, 24)


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal; a closed or missing one is none."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def is_lively(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Tell whether a stream can be redrawn in place: a terminal, not a dumb one, and no ``NO_COLOR`` asked for plain lines."""
    return is_terminal(stream) and not environ.get("NO_COLOR") and environ.get("TERM", "") not in DUMB


def look_of(stream: TextIO | None, environ: Mapping[str, str]) -> Look:
    """Choose how to print on a stream: the terminal's width, or lines that are never cut where there is none."""
    if not is_terminal(stream):
        return Look(width=10_000)
    return Look(width=shutil.get_terminal_size(USUAL).columns, colour=is_lively(stream, environ))


def size_of(descriptor: int) -> tuple[int, int]:
    """Give columns and rows of the terminal behind a descriptor; the usual where it does not say."""
    try:
        size = os.get_terminal_size(descriptor)
    except OSError:
        return USUAL
    return (size.columns or USUAL[0], size.lines or USUAL[1])


def print_lines(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Print lines on stdout, or on the stream named."""
    for line in lines:
        print(line, file=stream if stream is not None else sys.stdout)


def give_up(stream: TextIO | None) -> None:
    """Point a stream that takes no more at nothing, so that the interpreter's last flush is quiet too."""
    if stream is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
