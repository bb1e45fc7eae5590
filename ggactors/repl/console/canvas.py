"""The window the console draws in. Law: every cell is written once a frame, and a frame leaves nothing behind.

prompt_toolkit's own window wraps, scrolls and maps lines, which is more than a picture needs and half of a frame's time; and its
closures keep the screen they drew on alive until a full garbage collection, which at thirty frames a second is megabytes.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from prompt_toolkit.layout import Window
from prompt_toolkit.layout.controls import DummyControl
from prompt_toolkit.layout.screen import Char
from prompt_toolkit.utils import get_cwidth

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.layout.mouse_handlers import MouseHandlers
    from prompt_toolkit.layout.screen import Screen, WritePosition
    from prompt_toolkit.mouse_events import MouseEvent

    from ggactors.repl.console.painting import Line

MOST_CHARS = 20_000


class Canvas(Window):
    """A window that ``draw`` fills: given columns and rows, it answers the lines. ``mouse`` hears of the mouse."""

    def __init__(self, draw: Callable[[int, int], list[Line]], mouse: Callable[[MouseEvent], None]) -> None:
        """Draw by ``draw``."""
        super().__init__(DummyControl(), always_hide_cursor=True)
        self._draw = draw
        handlers: defaultdict[int, Callable[[MouseEvent], object]] = defaultdict(lambda: mouse)
        self._mouse: defaultdict[int, defaultdict[int, Callable[[MouseEvent], object]]] = defaultdict(lambda: handlers)
        """One handler for every cell."""
        self._chars: dict[tuple[str, str], Char] = {}
        self._wide = Char("", "")

    def write_to_screen(
        self,
        screen: Screen,
        mouse_handlers: MouseHandlers,
        write_position: WritePosition,
        parent_style: str,  # noqa: ARG002 - prompt_toolkit's signature
        erase_bg: bool,  # noqa: ARG002
        z_index: int | None,  # noqa: ARG002
    ) -> None:
        """Write a frame."""
        at = write_position
        if len(self._chars) > MOST_CHARS:
            self._chars.clear()
        for y, line in enumerate(self._draw(at.width, at.height), at.ypos):
            self._write(screen.data_buffer[y], line, at.xpos)
        screen.width = max(screen.width, at.xpos + at.width)
        screen.height = max(screen.height, at.ypos + at.height)
        screen.show_cursor = False
        screen.visible_windows_to_write_positions[self] = at
        mouse_handlers.mouse_handlers = self._mouse

    def _write(self, row: dict[int, Char], line: Line, x: int) -> None:
        known = self._chars
        for style, text in line:
            ascii_only = text.isascii()
            for character in text:
                key = (character, style)
                char = known.get(key)
                if char is None:
                    char = known[key] = Char(character, style)
                size = 1 if ascii_only else get_cwidth(character)
                if size:
                    row[x] = char
                    if size > 1:
                        row[x + 1] = self._wide
                    x += size
                elif x - 1 in row:
                    # It goes on top of what is before it, which of two cells is the first.
                    base = x - 1 if row[x - 1].char else x - 2
                    row[base] = Char(row[base].char + character, row[base].style)
