"""What the prompt draws with: prompt_toolkit's output, drawn in one piece. Law: nothing reaches the terminal half done.

While held, whatever is drawn is kept and then written at once, so that taking the prompt away, printing above it and drawing it
again is one step for the terminal. The row of the cursor is never asked of the terminal: its answer would be typed into the
line when it comes at the wrong moment (H52).
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.output.vt100 import Vt100_Output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_toolkit.renderer import Renderer

USUAL = Size(rows=24, columns=80)
BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"
"""Terminals that know these draw what stands between them as one frame; the others skip them."""
LEAVE = "\x1b[?2026l\x1b[?2004l\x1b[0m\x1b[?7h\x1b[?25h"
"""What makes a terminal plain again: no frame, no bracketed paste, no colour, wrapping, a cursor."""


class HeldOutput(Vt100_Output):
    """An output that can be held."""

    _held = 0
    _pasting = False

    @classmethod
    def on(cls, stream: TextIO, *, term: str | None) -> HeldOutput:
        """Draw on a terminal's stream."""

        def size() -> Size:
            return size_of(stream.fileno())

        return cls(stream, size, term=term)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold what is drawn until the block ends, then write it at once."""
        self._held += 1
        if self._held == 1:
            self.write_raw(BEGIN)
        try:
            yield
        finally:
            self._held -= 1
            if not self._held:
                self.write_raw(END)
                self.flush()

    def flush(self) -> None:
        """Write what was drawn, unless it is held."""
        if not self._held:
            super().flush()

    def enable_bracketed_paste(self) -> None:
        """Have pastes marked: once, since a paste may arrive while the prompt is being drawn anew."""
        if not self._pasting:
            self._pasting = True
            super().enable_bracketed_paste()

    def disable_bracketed_paste(self) -> None:
        """Do nothing: pastes stay marked until ``released``."""

    def released(self) -> None:
        """Have pastes marked no more, and leave the terminal plain."""
        self._held, self._pasting = 0, False
        self.write_raw(LEAVE)
        self.flush()

    def get_rows_below_cursor_position(self) -> int:
        """Say that one row is there: more are made by scrolling."""
        return 1

    @property
    def responds_to_cpr(self) -> bool:
        """Never ask where the cursor is."""
        return False


def size_of(descriptor: int) -> Size:
    """Give the size of the terminal behind a descriptor; the usual where it does not say."""
    try:
        size = os.get_terminal_size(descriptor)
    except OSError:
        return USUAL
    return Size(rows=size.lines or USUAL.rows, columns=size.columns or USUAL.columns)


def reflow(renderer: Renderer) -> bool:
    """Take note of where a terminal made narrower has put the cursor: nearly all wrap again what was wider. Tell whether it did.

    Where one cuts rows off instead, a few rows more are erased above the prompt than need be, which loses nothing of the log.
    """
    screen, before = renderer.last_rendered_screen, renderer._last_size
    columns = renderer.output.get_size().columns
    if screen is None or before is None or columns >= before.columns:
        return False
    cursor = renderer._cursor_pos
    rows = (screen.data_buffer[at] for at in range(cursor.y))
    widths = (max((x + 1 for x, cell in row.items() if cell.char.strip()), default=0) for row in rows)
    above = sum(max(1, -(-width // columns)) for width in widths)
    renderer._cursor_pos = Point(x=cursor.x % columns, y=above + cursor.x // columns)
    renderer._last_size = Size(rows=before.rows, columns=columns)
    return True


def leave_plain(descriptor: int) -> None:
    """Leave a terminal plain, whatever happened before; one that is gone is no error."""
    with suppress(OSError):
        os.write(descriptor, LEAVE.encode())
