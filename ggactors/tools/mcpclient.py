"""One agent's line to one MCP server: opened at the first call, opened anew once when it breaks, closed with the agent.

Law: a call is sent once. When the line breaks under it, nobody knows whether the server carried it out, so it is answered as
failed and the model decides; the next call finds a new line, the second break is the last. Cancelled: no process is left.
"""

from __future__ import annotations

import itertools
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, field

from ggactors.protocol.values import Code, Refused
from ggactors.tools.mcpstdio import ServerOrder, running_server
from ggactors.tools.process import NotStarted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from ggactors.protocol.mcp import McpServer

RESTARTS = 1
"""How often a line that broke is opened anew."""
_PING_SECS = 3.0
"""Seconds in which a server that let a call run out must show that it lives."""
_LEAVE_SECS = 6.0
_INVALID_REQUEST = -32600
_INVALID_PARAMS = -32602
_METHOD_NOT_FOUND = -32601
_CONNECTION_CLOSED = -32000
_REQUEST_TIMEOUT = -32001
_MOST_PAGES = 100
_numbers = itertools.count(1)


class CannotConnect(Exception):  # noqa: N818 - flow control between this module and those who word the refusal
    """A server could not be reached or started; the message says why."""


@asynccontextmanager
async def session_with(
    server: McpServer, *, env: Mapping[str, str], folder: str, start_secs: float, version: str
) -> AsyncIterator[Conversation]:
    """Open a session with a server. Raises CannotConnect. Left or cancelled: no process and no connection of it is left."""
    # What the transports raise comes in groups of groups; whoever reads the message wants the one reason.
    opened = False
    talk: Conversation | None = None
    try:
        async with _streams(server, env, folder) as talk:
            from mcp import ClientSession
            from mcp.types import Implementation

            async with ClientSession(
                talk.read, talk.write, client_info=Implementation(name="ggactors", version=version)
            ) as session:
                talk.session = session
                with trio.move_on_after(start_secs) as patience:
                    await session.initialize()
                if patience.cancelled_caught:
                    raise CannotConnect(  # noqa: TRY301 - worded like the others, below
                        _with(f"gave no answer within {start_secs:g} s", talk.last_words())
                    )
                opened = True
                yield talk
    except NotStarted as error:
        raise CannotConnect(f"could not be started: {error.reason}") from error
    except Exception as error:
        if opened:
            raise
        found = _innermost(error)
        if isinstance(found, CannotConnect):
            raise found from error
        if talk is not None and talk.gone.is_set():
            raise CannotConnect(_with("ended before it could be asked anything", talk.last_words())) from error
        raise CannotConnect(str(found) or type(found).__name__) from error


@define(eq=False)
class Conversation:
    """An open session and what is known of its other end."""

    read: Any
    write: Any
    gone: trio.Event
    last_words: Callable[[], str]
    session: Any = None


@asynccontextmanager
async def _streams(server: McpServer, env: Mapping[str, str], folder: str) -> AsyncIterator[Conversation]:
    if server.local:
        order = ServerOrder(
            argv=(server.command, *server.args),
            env={**env, **server.env},
            folder=folder,
            mark=f"mcp.{server.name}.{next(_numbers)}.{trio.current_time():.6f}",
        )
        async with running_server(order) as process:
            yield Conversation(process.read, process.write, process.gone, process.last_words)
        return
    if server.kind == "sse":
        from mcp.client.sse import sse_client

        async with sse_client(server.url, headers=dict(server.headers), sse_read_timeout=86_400) as (read, write):
            yield Conversation(read, write, trio.Event(), str)
        return
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    timeout = httpx2.Timeout(30.0, read=86_400.0)  # a call's own time-out is what bounds it
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout) as client,
        streamable_http_client(server.url, http_client=client) as (read, write),
    ):
        yield Conversation(read, write, trio.Event(), str)


async def tools_of(conversation: Conversation) -> list[Any]:
    """List every tool a server has, page by page."""
    from mcp.types import PaginatedRequestParams

    tools: list[Any] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await conversation.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tools


@define(kw_only=True, eq=False)
class Line:
    """One agent's line to one server. ``nursery`` is where it lives, since whoever calls comes and goes."""

    server: McpServer
    env: Mapping[str, str]
    folder: str
    nursery: trio.Nursery
    start_secs: float
    timeout_secs: float
    version: str
    """Ours, which servers are told."""
    _lock: trio.Lock = field(factory=trio.Lock)
    _talk: Conversation | None = None
    _leave: trio.Event = field(factory=trio.Event)
    _left: trio.Event | None = None
    _breaks: int = 0
    _closed: bool = False
    _why: str = ""

    async def call(self, tool: str, args: dict[str, Any]) -> Any | Refused:
        """Send a call and give the server's result. Cancelled: the line is closed, and no process of it is left."""
        talk = await self._open()
        if isinstance(talk, Refused):
            return talk
        answer: Any | Refused | None = None
        try:
            with trio.move_on_after(self.timeout_secs):
                answer = await self._ask(talk, tool, args)
        except BaseException:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + _LEAVE_SECS):
                await self._hang_up()
            raise
        return await self._ran_out(talk) if answer is None else answer

    async def close(self) -> None:
        """Close the line for good. Cancelled: it is closed all the same."""
        self._closed = True
        with trio.CancelScope(shield=True, deadline=trio.current_time() + _LEAVE_SECS):
            await self._hang_up()

    async def _open(self) -> Conversation | Refused:
        async with self._lock:
            if self._talk is not None and self._talk.gone.is_set():
                await self._broke(self._talk)
            if self._talk is not None:
                return self._talk
            if self._closed or self._breaks > RESTARTS:
                why = _with(f"the MCP server {self.server.name} is gone for this session", self._why)
                return Refused(code=Code.UNAVAILABLE, message=f"{why}. Go on without its tools.")
            self._leave, self._left = trio.Event(), trio.Event()
            try:
                self._talk = await self.nursery.start(self._live, self._leave, self._left)
            except CannotConnect as error:
                self._breaks += 1
                self._why = str(error)
                return Refused(code=Code.IO_ERROR, message=f"the MCP server {self.server.name}: {error}")
            return self._talk

    async def _live(self, leave: trio.Event, left: trio.Event, *, task_status: trio.TaskStatus[Conversation]) -> None:
        """Hold the line open until it is to be left. What breaks it afterwards is noticed by its calls."""
        talk: Conversation | None = None
        try:
            opened = session_with(
                self.server, env=self.env, folder=self.folder, start_secs=self.start_secs, version=self.version
            )
            async with opened as talk:
                task_status.started(talk)
                await leave.wait()
        except Exception as error:
            if talk is None:
                raise
            self._why = self._why or str(_innermost(error))
            talk.gone.set()
        finally:
            left.set()

    async def _hang_up(self) -> None:
        talk, self._talk = self._talk, None
        self._leave.set()
        if talk is not None and self._left is not None:
            await self._left.wait()

    async def _broke(self, talk: Conversation) -> None:
        """Take note of a broken line, once however many calls were on it."""
        if self._talk is talk:
            self._breaks += 1
            await self._hang_up()
            self._why = talk.last_words() or self._why

    async def _ask(self, talk: Conversation, tool: str, args: dict[str, Any]) -> Any | Refused:
        from mcp import MCPError

        try:
            return await talk.session.call_tool(tool, args)
        except MCPError as error:
            if error.error.code == _CONNECTION_CLOSED or talk.gone.is_set():
                return await self._lost(talk)
            if error.error.code == _INVALID_REQUEST and not await self._answers(talk):
                return await self._lost(talk)  # a server that was restarted does not know the session any more
            return Refused(code=_code(error.error.code), message=f"{self.server.name}: {error.error.message}")
        except Exception as error:  # noqa: BLE001 - the other end's doing: an answer that cannot be read, a stream closed
            if talk.gone.is_set() or type(error).__name__ in ("ClosedResourceError", "BrokenResourceError"):
                return await self._lost(talk)
            return Refused(code=Code.IO_ERROR, message=f"{self.server.name}: {_innermost(error)}")

    async def _lost(self, talk: Conversation) -> Refused:
        async with self._lock:
            await self._broke(talk)
        text = _with(f"the MCP server {self.server.name} went away under the call", self._why)
        after = "your next call starts it anew" if self._breaks <= RESTARTS else "it is not started again"
        return Refused(code=Code.IO_ERROR, message=f"{text}. Whether it carried the call out is not known; {after}.")

    async def _answers(self, talk: Conversation) -> bool:
        """Tell whether the other end answers a ping."""
        with trio.move_on_after(_PING_SECS):
            try:
                await talk.session.send_ping()
            except Exception:  # noqa: BLE001 - whatever it is, it does not answer
                return False
            return True
        return False

    async def _ran_out(self, talk: Conversation) -> Refused:
        """Answer a call whose time is up. A server that is dead to a ping as well is given up as broken."""
        alive = await self._answers(talk)
        if not alive:
            async with self._lock:
                await self._broke(talk)
        text = f"{self.server.name} gave no answer within {self.timeout_secs:g} s, and was told to stop"
        more = "" if alive else "; it does not answer at all, so it was ended"
        return Refused(code=Code.LIMIT_EXCEEDED, message=f"{text}{more}.")


def _code(number: int) -> Code:
    codes = {_INVALID_PARAMS: Code.INVALID_ARGUMENT, _METHOD_NOT_FOUND: Code.UNAVAILABLE}
    return codes.get(number, Code.LIMIT_EXCEEDED if number == _REQUEST_TIMEOUT else Code.IO_ERROR)


def _with(text: str, more: str) -> str:
    return f"{text} ({more})" if more else text


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error
