"""The console on prompt_toolkit, without a terminal: every cell in its place, nothing left behind, keys and mouse arrive."""

from __future__ import annotations

import asyncio
import gc
import io

import pyte
import pytest
from console_stories import busy_run
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.layout.mouse_handlers import MouseHandlers
from prompt_toolkit.layout.screen import Screen as Cells
from prompt_toolkit.layout.screen import WritePosition
from prompt_toolkit.output.vt100 import Vt100_Output

from ggactors.repl.console import watch
from ggactors.repl.console.app import Console
from ggactors.repl.console.canvas import Canvas
from ggactors.repl.console.sources import StreamSource
from ggactors.repl.console.state import Looking, Tab

WHOLE = busy_run()


def drawn(lines) -> list[str]:
    cells = Cells()
    canvas = Canvas(lambda _width, _height: lines, lambda _event: None)
    canvas.write_to_screen(cells, MouseHandlers(), WritePosition(0, 0, 20, len(lines)), "", False, None)
    return ["".join(cells.data_buffer[y][x].char for x in range(20)).rstrip() for y in range(len(lines))]


def test_wide_and_combining_characters_stand_in_their_cells():
    assert drawn([[("", "a漢b"), ("class:red", "e\u0301x")], [("", "\u0301y")], [("", "字\u0301z")]]) == [
        "a漢be\u0301x",
        "y",
        "字\u0301z",
    ]


class Seat:
    """A console at a terminal that is a text buffer, read by an emulator."""

    def __init__(self, keyboard, stream) -> None:
        self.text = io.StringIO()
        self.output = Vt100_Output(self.text, lambda: Size(rows=24, columns=90), term="xterm-256color")
        self.source = StreamSource()
        self.keyboard = keyboard
        self.console = Console(self.source, slots=4, input=keyboard, output=self.output)
        self.shown = asyncio.Event()
        self.console.app.after_render += lambda _: self.shown.set()
        for event in stream:
            self.source.put(event)

    def screen(self) -> str:
        screen = pyte.Screen(90, 24)
        stream = pyte.Stream(screen)
        stream.feed(self.text.getvalue())
        return "\n".join(line.rstrip() for line in screen.display)

    async def until(self, said: str) -> None:
        while said not in self.screen():
            self.shown.clear()
            await self.shown.wait()


def test_keys_reach_the_picture_and_leaving_ends_it():
    async def sit() -> None:
        with create_pipe_input() as keyboard:
            seat = Seat(keyboard, WHOLE)
            running = asyncio.ensure_future(seat.console.run())
            await seat.until("slots 1/4")
            keyboard.send_text("2G")
            await seat.until("title and what it waits for")
            keyboard.send_text("/auth\r")
            await seat.until("/auth")
            assert seat.console.screen.rows()[0].key == "epic AUTH"
            keyboard.send_text("?")
            await seat.until("any key goes back")
            keyboard.send_text("xq")
            await running
            assert seat.console.screen.looking.tab is Tab.PROJECT
            assert not seat.console.screen.looking.help

    asyncio.run(sit())


def test_what_is_typed_into_the_filter_acts_on_nothing_else():
    async def sit() -> None:
        with create_pipe_input() as keyboard:
            seat = Seat(keyboard, WHOLE)
            running = asyncio.ensure_future(seat.console.run())
            await seat.until("slots 1/4")
            keyboard.send_text("/q2?gj漢\x7f")
            await seat.until("/ q2?gj")
            assert seat.console.screen.looking.tab is Tab.AGENTS
            keyboard.send_text("\r\x03")
            await running
            assert seat.console.screen.looking.filter == "q2?gj"

    asyncio.run(sit())


def test_a_frame_leaves_no_screen_behind():
    """A cycle through each screen would keep it until a full collection: megabytes a second under a flood."""

    async def sit() -> None:
        with create_pipe_input() as keyboard:
            seat = Seat(keyboard, WHOLE)
            running = asyncio.ensure_future(seat.console.run())
            await seat.until("slots 1/4")
            gc.collect()
            gc.disable()
            try:
                for _ in range(10):
                    seat.shown.clear()
                    seat.console.app.invalidate()
                    await seat.shown.wait()
                kept = sum(isinstance(one, Cells) for one in gc.get_objects())
            finally:
                gc.enable()
            seat.console.leave()
            await running
            assert kept <= 2

    asyncio.run(sit())


def test_a_console_that_is_cancelled_leaves_the_terminal_and_its_source():
    async def sit() -> None:
        with create_pipe_input() as keyboard:
            seat = Seat(keyboard, WHOLE)
            running = asyncio.ensure_future(seat.console.run())
            await seat.until("slots 1/4")
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert seat.text.getvalue().rstrip().endswith("\x1b[?25h") or "\x1b[?1049l" in seat.text.getvalue()[-200:]
            assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

    asyncio.run(sit())


def test_a_keyboard_that_is_gone_ends_the_console():
    async def sit() -> None:
        with create_pipe_input() as keyboard:
            seat = Seat(keyboard, WHOLE)
            running = asyncio.ensure_future(seat.console.run())
            await seat.until("slots 1/4")
            keyboard.close()
            await running

    asyncio.run(sit())


def test_what_a_person_looked_at_is_kept_from_one_watch_to_the_next():
    from prompt_toolkit.application import create_app_session

    async def sit() -> None:
        looking = Looking(tab=Tab.PROJECT, filter="auth")
        with create_pipe_input() as keyboard:
            for _ in range(2):
                output = Vt100_Output(io.StringIO(), lambda: Size(rows=24, columns=90), term="xterm")
                source = StreamSource()
                with create_app_session(input=keyboard, output=output):
                    keyboard.send_text("jq")
                    await watch(source, slots=1, looking=looking)
        assert (looking.tab, looking.filter) == (Tab.PROJECT, "auth")

    asyncio.run(sit())


def test_a_source_that_cannot_be_read_ends_the_console_and_is_told():
    async def sit() -> None:
        with create_pipe_input() as keyboard:
            seat = Seat(keyboard, WHOLE)
            running = asyncio.ensure_future(seat.console.run())
            await seat.until("slots 1/4")

            def broken(most: int) -> list:
                raise OSError(5, "Input/output error")

            seat.source.take = broken
            with pytest.raises(OSError, match="Input/output error"):
                await running
            assert "\x1b[?1049l" in seat.text.getvalue()[-200:]

    asyncio.run(sit())
