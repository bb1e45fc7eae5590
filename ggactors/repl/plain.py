"""The prompt without a terminal, or on a dumb one: lines in, lines out, no escape codes. The same commands.

Law: piped lines are a script: each is taken up once what the one before began has come to the person's turn. The end of the
input leaves as ``/quit`` does.
"""

from __future__ import annotations

import codecs
import math
import os
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import trio

from ggactors.repl.face import CannotHere, Given, Leaving, Typed
from ggactors.telemetry.plaintext import Look, safe
from ggactors.telemetry.sink import StreamWriter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

CHUNK = 65536
PROMPT = "> "
WIDE = 10_000
"""Lines are never cut where nobody knows how wide they may be."""


class PlainFace:
    """A face that reads lines from one descriptor and writes lines to another."""

    def __init__(self, into: int, out: int, *, scripted: bool) -> None:
        self.scripted = scripted
        self.busy = False
        self.bar: tuple[tuple[str, str], ...] = ()
        self._into, self._out = into, out
        self._writer: StreamWriter | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[trio.MemoryReceiveChannel[Given]]:
        """Read for as long as the block lasts."""
        send, receive = trio.open_memory_channel[Given](math.inf)
        self._writer = StreamWriter(self._out)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read, send)
                self._prompt()
                yield receive
                nursery.cancel_scope.cancel()
        finally:
            sys.stdout.flush()
            self._writer.close()

    async def _read(self, send: trio.MemorySendChannel[Given]) -> None:
        """Hand on each whole line, and the last one without an end too."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        begun = held = ""
        while True:
            # A file is always ready, and cannot be waited for.
            with suppress(OSError):
                await trio.lowlevel.wait_readable(self._into)
            await trio.lowlevel.checkpoint()
            try:
                chunk = os.read(self._into, CHUNK)
            except BlockingIOError:
                continue
            except OSError:
                chunk = b""
            begun += decoder.decode(chunk, final=not chunk)
            *whole, begun = begun.split("\n")
            for line in whole:
                text = held + line.rstrip("\r")
                if text.endswith("\\"):  # it goes on in the next line
                    held = text[:-1] + "\n"
                    continue
                held = ""
                send.send_nowait(Typed(text))
            if not chunk:
                if (held + begun).strip():
                    send.send_nowait(Typed(held + begun))
                send.send_nowait(Leaving(gone=True))
                return

    def look(self) -> Look:
        """Lines are never cut, and never coloured."""
        return Look(width=WIDE)

    def show(self, lines: Iterable[str], *, kept: bool = True) -> None:  # noqa: ARG002 - nothing is left out here
        """Write lines."""
        if self._writer is not None:
            text = "".join(f"{safe(line)}\n" for line in lines)
            self._writer.put(text.encode(errors="replace"))

    def _prompt(self) -> None:
        if self._writer is not None and not self.scripted:
            self._writer.put(PROMPT.encode())

    def refresh(self) -> None:
        """There is no bar."""

    def resized(self) -> None:
        """Nothing depends on the size."""

    def put_back(self, text: str) -> None:
        """Show the text: there is no line to put it into."""
        self.show([text])

    def setting(self, name: str, value: str) -> str | None:  # noqa: ARG002 - the port's words
        """Refuse: there is nothing to set."""
        raise CannotHere(f"{name} has no meaning without a full terminal")

    async def instead(self, work: Callable[[], Awaitable[None]]) -> None:  # noqa: ARG002 - the port's words
        """Refuse: there is no screen to fill."""
        raise CannotHere(
            "a full screen needs a terminal that can be drawn on; /agents and /board show the same as lines"
        )
