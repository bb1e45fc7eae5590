"""A prompt to test: on a terminal of its own with an emulator for a screen, or in this process with a face that is a list."""

from __future__ import annotations

import json
import math
import sys
import termios
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import trio
from cli_kit import Shell, Terminal

from ggactors.crew import read_crew
from ggactors.repl.face import CannotHere, Given, Leaving, Pressed, Typed
from ggactors.repl.opening import Opening
from ggactors.repl.session import Session
from ggactors.telemetry.plaintext import Look
from ggactors.testing.crews import write_crew

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

READY = "/help lists the commands"
MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"


class Room:
    """A workspace, a crew beside it, and a state home."""

    def __init__(self, folder: Path) -> None:
        self.work, self.home, self.folder = folder / "work", folder / "state", folder
        self.work.mkdir()
        self.shell = Shell(self.work, self.home)

    def crew(self, script: dict, **document: object) -> Path:
        self.path = write_crew(self.folder / "crew", script, **document)
        return self.path

    def prompt(self, *more: object, columns: int = 90, rows: int = 24, **env: str) -> Terminal:
        """Open the prompt on a terminal, and wait until it is there."""
        terminal = self.shell.terminal("repl", "--crew", self.path, *more, columns=columns, rows=rows, **env)
        return _met(terminal)

    def python(self, code: str, *args: object, columns: int = 90, rows: int = 24, **env: str) -> Terminal:
        """Run a program that opens the prompt on a terminal, and wait until it is there."""
        return _met(Terminal([sys.executable, "-c", code, *map(str, args)], self.shell, columns, rows, env))

    def opening(self, **more: object) -> Opening:
        reading = read_crew(self.path, [])
        assert reading.crew is not None, reading.problems

        def read(named, overrides):
            return read_crew(Path(named) if named else self.path, overrides)

        return Opening(reading=reading, read=read, workspace=str(self.work), **more)


def _met(terminal: Terminal) -> Terminal:
    terminal.found = termios.tcgetattr(terminal._master)
    terminal.until(READY)
    return terminal


def resize(terminal: Terminal, columns: int, rows: int) -> None:
    """Resize as terminals do: the cursor moves up with its line when rows go at the top. The emulator leaves it."""
    lost = max(0, terminal.screen.lines - rows)
    terminal.resize(columns, rows)
    terminal.screen.cursor.y = max(0, terminal.screen.cursor.y - lost)


def line_of(terminal: Terminal) -> str:
    """Give what stands in the line: from the last mark on, without marks, continuation and bar."""
    rows = [row.rstrip() for row in terminal.screen.display]
    begins = max((at for at, row in enumerate(rows) if row.startswith(MARK)), default=None)
    if begins is None:
        return ""  # in the middle of a frame
    more = [row for row in rows[begins + 1 :] if row[:2] in ("· ", "  ") and row[2:3] != " " and row.strip()]
    own = [rows[begins], *more]
    return "\n".join(row[2:] for row in own)


def wait_line(terminal: Terminal, wanted: str, secs: float = 20.0) -> None:
    """Read until the line is ``wanted``."""
    for _ in range(int(secs / 0.1)):
        if line_of(terminal) == wanted:
            return
        assert terminal._read(0.1), terminal.text()
    raise AssertionError(f"the line is {line_of(terminal)!r}, not {wanted!r}:\n{terminal.text()}")


def is_left_as_found(terminal: Terminal) -> bool:
    """Tell whether the terminal's modes are those from before, and nothing that was switched on was left on."""
    modes = termios.tcgetattr(terminal._master) == terminal.found
    switched = [
        terminal.raw.rfind(f"\x1b[?{mode}h".encode()) > terminal.raw.rfind(f"\x1b[?{mode}l".encode())
        for mode in (2004, 1049, 2026)
    ]
    shown = terminal.raw.rfind(b"\x1b[?25h") > terminal.raw.rfind(b"\x1b[?25l")
    return modes and shown and not any(switched)


def said_to_root(room: Room) -> list[str]:
    """List the texts the root was given, from the journaled events."""
    (events,) = (room.home / "runs").glob("*/events.jsonl")
    records = map(json.loads, events.read_text().splitlines())
    return [one["text"] for one in records if one["type"] == "message" and one["state"] == "delivered"]


class ListFace:
    """A face without a terminal: what is shown is kept, what is done is called."""

    def __init__(self, *, scripted: bool = False) -> None:
        self.scripted = scripted
        self.busy = False
        self.bar: tuple[tuple[str, str], ...] = ()
        self.lines: list[str] = []
        self.line = ""
        self.settings: dict[str, str] = {}
        self._news = trio.Event()
        self._send: trio.MemorySendChannel[Given] | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[trio.MemoryReceiveChannel[Given]]:
        self._send, receive = trio.open_memory_channel[Given](math.inf)
        yield receive

    def type(self, *lines: str) -> None:
        for line in lines:
            self._send.send_nowait(Typed(line))

    def press(self) -> None:
        self._send.send_nowait(Pressed())

    def leave(self, *, gone: bool = False) -> None:
        self._send.send_nowait(Leaving(gone=gone))

    def look(self) -> Look:
        return Look(width=100)

    def show(self, lines, *, kept: bool = True) -> None:
        self.lines += list(lines)
        self._stir()

    def refresh(self) -> None:
        self._stir()

    def _stir(self) -> None:
        self._news.set()
        self._news = trio.Event()

    def resized(self) -> None: ...

    def put_back(self, text: str) -> None:
        self.line = text

    def setting(self, name: str, value: str) -> str | None:
        self.settings[name] = value
        return None

    async def instead(self, work: Callable[[], object]) -> None:
        raise CannotHere("no screen")

    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def bar_text(self) -> str:
        return "".join(text for _, text in self.bar)

    async def until(self, said: str, *, after: int = 0) -> int:
        """Wait until ``said`` was shown behind the first ``after`` lines; give how many there are by then."""
        with trio.fail_after(30):
            while not any(said in line for line in self.lines[after:]):
                await self._news.wait()
        return len(self.lines)

    async def until_bar(self, said: str) -> None:
        with trio.fail_after(30):
            while said not in self.bar_text:
                await self._news.wait()


@asynccontextmanager
async def talking(
    room: Room, *, face: ListFace | None = None, monkeypatch=None, **more: object
) -> AsyncIterator[tuple[ListFace, Session]]:
    """Talk in this process; what is left when the block ends is stopped."""
    face = face or ListFace()
    session = Session(room.opening(**more), face)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.converse)
        await face.until("ggactors")
        yield face, session
        nursery.cancel_scope.cancel()
