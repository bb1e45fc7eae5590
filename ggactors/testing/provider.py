"""A provider on loopback for tests: a small HTTP/1.1 server that speaks the wire shapes of real ones and breaks them on request.

Law: everything is real but the replies: sockets, chunks, headers, half-closed connections. It belongs to the run that opened it
and leaves neither task nor socket behind.

::

    async with open_provider(lambda asked: whole(asked, Said(text="hello"))) as provider:
        ...  # provider.url is the address, provider.asked what came in
"""

from __future__ import annotations

import json
import socket
import struct
from contextlib import asynccontextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, field, frozen

from ggactors.testing.wireshapes import CUT_AT, Said, event_stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from ggactors.models.entries import Entry
    from ggactors.models.script import Script

_MOST_HEAD = 64 * 1024


@frozen(kw_only=True)
class Asked:
    """One request as it came in; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def record(self) -> dict[str, Any]:
        """Read the body."""
        record: dict[str, Any] = json.loads(self.body)
        return record

    @property
    def agent(self) -> str:
        """Return which agent asks."""
        return self.headers.get("x-ggactors-agent", "")


class End(Enum):
    """How an answer ends."""

    WHOLE = "whole"
    CUT = "cut"
    """The connection is closed without the end of the body."""
    HALF = "half"
    """The server's side is closed without the end of the body, the client's is left open."""
    RESET = "reset"
    """The connection is reset."""
    SILENCE = "silence"
    """Nothing more is sent, and nothing is closed, until the client goes."""


@frozen(kw_only=True)
class Answer:
    """What goes over the wire. ``pieces`` are chunks of the body; ``pause`` the seconds between two of them."""

    status: int = 200
    headers: Mapping[str, str] = field(factory=lambda: {"content-type": "text/event-stream"})
    pieces: tuple[bytes, ...] | Iterator[bytes] = ()
    end: End = End.WHOLE
    pause: float = 0.0


def whole(asked: Asked, said: Said, **headers: str) -> Answer:
    """Answer with a whole reply, in the shape of the address that was asked. Underscores in header names stand for hyphens."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    pieces = tuple(event_stream(asked.path, said))
    return Answer(headers={"content-type": "text/event-stream; charset=utf-8", **told}, pieces=pieces)


def cut(asked: Asked, said: Said, *, end: End = End.CUT) -> Answer:
    """Answer with the beginning of a reply, broken off inside an event."""
    events = event_stream(asked.path, said)
    at = CUT_AT[asked.path]
    return Answer(pieces=(*events[:at], events[at][: len(events[at]) // 2]), end=end)


def drip(asked: Asked, said: Said, pause: float) -> Answer:
    """Answer byte by byte."""
    content = b"".join(event_stream(asked.path, said))
    return Answer(pieces=tuple(content[k : k + 1] for k in range(len(content))), pause=pause)


def refused(status: int, body: object = None, **headers: str) -> Answer:
    """Answer with a status and an error's body: a JSON value, or a text, which is sent as a page of HTML."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    if isinstance(body, str):
        return Answer(status=status, headers={"content-type": "text/html", **told}, pieces=(body.encode(),))
    content = json.dumps(body if body is not None else {"error": {"message": "as the test wants it"}}).encode()
    return Answer(status=status, headers={"content-type": "application/json", **told}, pieces=(content,))


@define
class Scripted:
    """Answers as a script says, each agent walking its own list. ``spoil`` may give another answer to one request."""

    script: Script
    spoil: Callable[[Asked, int], Answer | None] = field(default=lambda _asked, _number: None)
    _walks: dict[str, tuple[tuple[Entry, ...], int]] = field(factory=dict)
    _number: int = 0

    def __call__(self, asked: Asked) -> Answer:
        """Answer one request; a spoilt one takes no step."""
        self._number += 1
        spoilt = self.spoil(asked, self._number)
        if spoilt is not None:
            return spoilt
        entries, at = self._walks.get(asked.agent) or (self.script.entries_for(asked.agent, ""), 0)
        self._walks[asked.agent] = (entries, at + 1)
        if at >= len(entries):
            return whole(asked, Said(text="(script ended)"))
        entry = entries[at]
        calls = tuple((f"id-{at}-{k}", tool, dict(args)) for k, (tool, args) in enumerate(entry.calls))
        return whole(asked, Said(text=entry.text, calls=calls))


@define
class Provider:
    """The server. ``answer`` may be exchanged at any time."""

    answer: Callable[[Asked], Answer | Awaitable[Answer]]
    url: str = ""
    asked: list[Asked] = field(factory=list)
    connections: int = 0
    """How many connections were made so far."""
    live: int = 0
    """How many connections are open."""
    _gone: trio.Event = field(factory=trio.Event)

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve one connection until the client goes or an answer ends it."""
        self.connections += 1
        self.live += 1
        try:
            async with stream:
                rest = b""
                while True:
                    asked, rest = await self._read(stream, rest)
                    if asked is None or not await self._reply(stream, asked):
                        return
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return
        finally:
            self.live -= 1
            self._gone.set()
            self._gone = trio.Event()

    async def _read(self, stream: trio.SocketStream, content: bytes) -> tuple[Asked | None, bytes]:
        while b"\r\n\r\n" not in content:
            piece = await stream.receive_some()
            if not piece or len(content) > _MOST_HEAD:
                return None, b""
            content += piece
        head, _, rest = content.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        body = bytearray(rest)
        while len(body) < length:
            piece = await stream.receive_some()
            if not piece:
                return None, b""
            body += piece
        asked = Asked(method=method, path=path, headers=headers, body=bytes(body[:length]))
        return asked, bytes(body[length:])

    async def _reply(self, stream: trio.SocketStream, asked: Asked) -> bool:
        """Send an answer; tell whether the connection can be used again."""
        self.asked.append(asked)
        answer = self.answer(asked)
        if not isinstance(answer, Answer):
            answer = await answer
        lines = [f"HTTP/1.1 {answer.status} Told", "transfer-encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        await stream.send_all("\r\n".join([*lines, "", ""]).encode("latin-1"))
        for piece in answer.pieces:
            if answer.pause:
                await trio.sleep(answer.pause)
            await stream.send_all(b"%x\r\n%b\r\n" % (len(piece), piece))
        match answer.end:
            case End.WHOLE:
                await stream.send_all(b"0\r\n\r\n")
                return True
            case End.CUT:
                return False
            case End.HALF:
                await stream.send_eof()
                await _until_gone(stream)
                return False
            case End.RESET:
                stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            case End.SILENCE:
                await _until_gone(stream)
                return False

    async def settled(self) -> None:
        """Wait until no connection is open."""
        while self.live:
            await self._gone.wait()


async def _until_gone(stream: trio.SocketStream) -> None:
    while await stream.receive_some():
        pass


@asynccontextmanager
async def open_provider(answer: Callable[[Asked], Answer | Awaitable[Answer]]) -> AsyncIterator[Provider]:
    """Open a server on a free port of loopback for as long as the block lasts."""
    provider = Provider(answer)
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        provider.url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
        await nursery.start(trio.serve_listeners, provider.serve, [listener])
        try:
            yield provider
        except Exception as error:  # noqa: BLE001 - raised below, as it is: inside it would come in a group
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
