"""The way to a provider over HTTP: connections, server-sent events, and the ways both can fail. The one door to httpx2.

Law: nothing a server does takes more than a bounded number of bytes or of silent seconds, and every way it can fail is one of the
exceptions here or of ``TRANSPORT_FAILURES``; whoever asks makes a ``ModelFault`` of each.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, cast

import httpx2
import trio
from attrs import define, field, frozen

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, AsyncIterator
    from types import TracebackType

MOST_BYTES = 64 * 1024 * 1024
"""Bytes one stream may have. A token takes about 300 of them in the chattiest shape, and the longest replies have 128,000."""

MOST_REFUSAL = 1024 * 1024
"""Bytes that are read of an answer that is no stream: the rest would say no more than its status does."""

TRANSPORT_FAILURES = (httpx2.HTTPError, httpx2.StreamError, OSError)
"""What a connection raises that broke, was refused or never came to be."""

InvalidURL = httpx2.InvalidURL
"""Raised for an address that cannot be asked at all."""

_GRACE = 0.5
"""Seconds to wait for the end of a body whose last event has come, so that its connection can be used again."""


@frozen(kw_only=True)
class Patience:
    """How long a provider is waited for, in seconds, before the attempt counts as a transport fault."""

    connect: float = 20.0
    silence: float = 300.0
    """Without a single byte: reasoning models are silent for minutes."""
    event: float = 900.0
    """Without a whole event: a drip of bytes that never come to one."""

    @property
    def timeout(self) -> httpx2.Timeout:
        """Give what the HTTP client keeps by itself."""
        return httpx2.Timeout(connect=self.connect, read=self.silence, write=self.silence, pool=None)


class Broken(Exception):  # noqa: N818 - what is the matter with an answer, not an error of ours
    """An answer that cannot be used as it came: cut off, malformed, too slow. Asking again may cure it."""


class TooLarge(Exception):  # noqa: N818
    """An answer larger than any may be. Asking again does not cure it."""


class Unusable(Exception):  # noqa: N818
    """An answer of something that is no such provider. Asking again does not cure it."""


class Told(Exception):  # noqa: N818
    """An error that a provider told inside its stream: ``error`` is the object that says it."""

    def __init__(self, error: object) -> None:
        super().__init__("an error inside the stream")
        self.error = error


@define
class Pools:
    """Connections, one pool for each account, shared by everything that asks it. Opened at first use, closed by ``aclose``.

    ``verify`` says whom to trust; by default whom the machine, or else the HTTP library, trusts.
    """

    verify: ssl.SSLContext | bool = True
    _clients: dict[str, httpx2.AsyncClient] = field(factory=dict)

    def client(self, account: str, patience: Patience) -> httpx2.AsyncClient:
        """Give the account's client."""
        if account not in self._clients:
            # Redirects are not followed: they would carry the key to another host.
            self._clients[account] = httpx2.AsyncClient(
                verify=self.verify,
                timeout=patience.timeout,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=60.0),
                follow_redirects=False,
                event_hooks={"response": [_bind]},
            )
        return self._clients[account]

    async def aclose(self) -> None:
        """Close every connection. Used again later, pools open anew. Cancelled: all are closed all the same."""
        clients, self._clients = list(self._clients.values()), {}
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 2):
            for client in clients:
                await client.aclose()


async def _bind(response: httpx2.Response) -> None:
    """Bound the body of every answer, of errors too, which the providers' clients read whole."""
    streams = response.status_code < 300 and _kind(response) in STREAMS
    stream = cast("httpx2.AsyncByteStream", response.stream)
    response.stream = _Bounded(stream, MOST_BYTES) if streams else _Bounded(stream, MOST_REFUSAL, cuts=True)


STREAMS = ("", "text/event-stream")


def _kind(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


class _Bounded(httpx2.AsyncByteStream):
    """A body that grows beyond ``most`` bytes is cut there, or else raises TooLarge."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int, *, cuts: bool = False) -> None:
        self._stream = stream
        self._most = most
        self._cuts = cuts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        chunks = aiter(self._stream)
        try:
            async for chunk in chunks:
                seen += len(chunk)
                if seen > self._most:
                    if self._cuts:
                        return
                    raise _too_large()
                yield chunk
        finally:
            with trio.CancelScope(shield=True):
                await self._drop(chunks)

    async def _drop(self, chunks: AsyncIterator[bytes]) -> None:
        """Leave a body that is not at its end. Its layers do not close each other: a failed read ends them all."""
        await self.aclose()
        with suppress(Exception):
            while True:
                await anext(chunks)

    async def aclose(self) -> None:
        """Close the connection, or give it back."""
        await self._stream.aclose()


def _too_large() -> TooLarge:
    return TooLarge(f"sent a reply of more than {MOST_BYTES // 1024**2} MiB, the most that is taken")


@frozen
class Sent:
    """One server-sent event: its name, empty for none, and what it carries. ``ended``: an empty line told that it is whole."""

    event: str
    text: str
    ended: bool = True

    @property
    def record(self) -> dict[str, Any]:
        """Read the JSON object it carries. Raises Broken."""
        try:
            value = json.loads(self.text)
        except (ValueError, RecursionError) as error:
            raise Broken("sent an event that is no JSON" if self.ended else "ended inside an event") from error
        if not isinstance(value, dict):
            raise Broken("sent an event that is no JSON object")
        return value


class Events:
    """The events of one answer. An async context manager: leaving it early closes the connection, at the end gives it back."""

    def __init__(self, response: httpx2.Response, patience: Patience) -> None:
        self._response = response
        self._patience = patience
        self._chunks: AsyncGenerator[bytes, None] | None = None
        self._lines: list[bytes] = []
        self._unfinished: list[bytes] = []
        self._event = ""
        self._texts: list[bytes] = []
        self._size = 0
        self._over = False

    async def __aenter__(self) -> Self:
        """Begin to read."""
        self._chunks = self._response.aiter_bytes()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop reading."""
        if self._chunks is not None:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 2):
                await self._chunks.aclose()

    async def next(self) -> Sent | None:
        """Read the next event; None at the end of the body. Raises Broken, TooLarge, and what the HTTP client raises."""
        with trio.move_on_after(self._patience.event):
            while True:
                while self._lines:
                    sent = self._take(self._lines.pop())
                    if sent is not None:
                        return sent
                if self._over:
                    return None
                await self._read()
        raise Broken(f"sent no whole event for {self._patience.event:g} s")

    async def finish(self) -> None:
        """Read what is left after the last event of interest, for a moment, so that the connection can be used again.

        The reply is whole by then, so whatever is the matter with the rest of the body matters no more.
        """
        with trio.move_on_after(_GRACE), suppress(Broken, TooLarge, *TRANSPORT_FAILURES):
            while await self.next() is not None:
                pass

    async def _read(self) -> None:
        """Read a chunk and split it into lines, kept last first."""
        assert self._chunks is not None
        chunk = await anext(self._chunks, None)
        if chunk is None:
            # What no empty line ended is an event all the same: servers that simply close forget it.
            self._over = True
            self._lines = [b"", *([b"".join(self._unfinished)] if self._unfinished else [])]
            return
        self._size += len(chunk)
        if self._size > MOST_BYTES:  # counted here too, where what was compressed no longer is
            raise _too_large()
        first, *others = chunk.split(b"\n")
        self._unfinished.append(first)
        if others:
            whole = [b"".join(self._unfinished), *others[:-1]]
            self._unfinished = [others[-1]]
            self._lines = whole[::-1]

    def _take(self, line: bytes) -> Sent | None:
        """Take one line; give the event that an empty one ends."""
        line = line.rstrip(b"\r")
        if not line:
            text = b"\n".join(self._texts).decode("utf-8", "replace")
            sent = Sent(self._event, text, ended=not self._over) if self._texts else None
            self._event, self._texts = "", []
            return sent
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"data":
            self._texts.append(value)
        return None


async def check_stream(response: httpx2.Response) -> None:
    """Make sure that an answer is a stream of events. Raises Unusable, and Told for an error behind a status of 200."""
    kind = _kind(response)
    if kind in STREAMS:
        return
    if kind == "application/json":
        try:
            value = json.loads(await response.aread())
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and value.get("error"):
            raise Told(value)
    raise Unusable(f"answered {kind} where a stream of events was asked for")


# ---------------------------------------------------------------- reading what an event carries


def part_of(record: dict[str, Any], name: str) -> dict[str, Any]:
    """Give an object inside an event, an empty one where there is none. Raises Broken when it is something else."""
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Broken(f"sent a malformed event: {name} is no object")
    return value


def parts_of(record: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Give the objects of a list inside an event, none where there is no list. Raises Broken."""
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise Broken(f"sent a malformed event: {name} is no list of objects")
    return value


def text_of(record: dict[str, Any], name: str) -> str:
    """Give a text inside an event, an empty one where there is none. Raises Broken."""
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Broken(f"sent a malformed event: {name} is no text")
    return value


def place_of(record: dict[str, Any], name: str) -> int:
    """Give which one of several an event is about, the first where it does not say. Raises Broken."""
    value = record.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise Broken(f"sent a malformed event: {name} is no number of a place")
    return value
