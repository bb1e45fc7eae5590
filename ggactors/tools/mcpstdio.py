"""An MCP server as a process of this machine, its messages as streams.

Law: a server has a session of its own, is rooted in its agent's directory, and is gone with everything it began when the block
is left, however that happens. What it says is bounded: a message line in length, its second stream in what is kept of it.
"""

from __future__ import annotations

import subprocess
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, field, frozen

from ggactors.tools.process import NotStarted
from ggactors.tools.strays import MARK, end_strays

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

LONGEST_LINE = 32 * 1024 * 1024
"""Bytes of one message; a server that sends a longer one is taken for broken."""
_PIECE = 64 * 1024
_LAST_WORDS = 2000
"""Bytes kept of the end of a server's second stream."""
_GRACE = 0.5
"""Seconds a server has to leave by itself once its input is closed."""
_DRAIN = 0.2
_REAP = 4.0


@frozen(kw_only=True)
class ServerOrder:
    """A server to start: its words, its environment, its folder, and a mark unique to it."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    folder: str
    mark: str


@define
class ServerProcess:
    """A running server. ``read`` and ``write`` are what a client session takes; ``gone`` is set once it speaks no more."""

    read: Any
    write: Any
    process: trio.Process
    gone: trio.Event = field(factory=trio.Event)
    silent: trio.Event = field(factory=trio.Event)
    """Set once its second stream has ended."""
    _errors: bytearray = field(factory=bytearray)

    def hear(self, piece: bytes | bytearray) -> None:
        """Keep the end of what it says on its second stream."""
        self._errors += piece
        del self._errors[:-_LAST_WORDS]

    def last_words(self) -> str:
        """Say how it ended, as far as that is known, and the end of its second stream."""
        code = self.process.returncode
        ended = "" if code is None else f"exit code {code}" if code >= 0 else f"signal {-code}"
        said = self._errors.decode("utf-8", "replace").strip()
        return ": ".join(part for part in (ended, said) if part)


@asynccontextmanager
async def running_server(order: ServerOrder) -> AsyncIterator[ServerProcess]:
    """Start a server and exchange messages with it. Raises NotStarted. Left or cancelled: no process of it is left."""
    import anyio

    process = await _start(order)
    incoming, read = anyio.create_memory_object_stream[Any](0)
    write, outgoing = anyio.create_memory_object_stream[Any](0)
    server = ServerProcess(read, write, process)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_listen, server, incoming)
            nursery.start_soon(_speak, server, outgoing)
            nursery.start_soon(_overhear, server)
            nursery.start_soon(_notice_exit, server, incoming)
            try:
                yield server
            finally:
                nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await _end(process, order.mark)
            for stream in (incoming, read, write, outgoing):
                stream.close()


async def _start(order: ServerOrder) -> trio.Process:
    outer = order.env.get(MARK)
    env = {**order.env, MARK: f"{outer}:{order.mark}" if outer else order.mark}
    try:
        return await trio.lowlevel.open_process(
            list(order.argv),
            cwd=order.folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise NotStarted(error) from error
    except ValueError as error:  # a NUL character
        raise NotStarted(OSError(str(error))) from error


async def _listen(server: ServerProcess, incoming: Any) -> None:
    """Hand on each message line. A line that is no message is passed over, as servers are known to print."""
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    stdout = server.process.stdout
    assert stdout is not None
    rest = bytearray()
    try:
        while piece := await stdout.receive_some(_PIECE):
            rest += piece
            if len(rest) > LONGEST_LINE:
                server.hear(b"\n[it sent a message of more than %d bytes]" % LONGEST_LINE)
                break
            if b"\n" not in piece:
                continue
            *lines, rest = rest.split(b"\n")
            for line in lines:
                with suppress(ValueError):
                    await incoming.send(
                        SessionMessage(jsonrpc_message_adapter.validate_json(bytes(line), by_name=False))
                    )
    except trio.BrokenResourceError:
        pass
    with trio.move_on_after(_DRAIN):  # so that whoever is told of the end is also told how it came
        await server.process.wait()
        await server.silent.wait()
    _close(server, incoming)


async def _speak(server: ServerProcess, outgoing: Any) -> None:
    stdin = server.process.stdin
    assert stdin is not None
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        async for one in outgoing:
            line = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            await stdin.send_all(line.encode("utf-8", "replace") + b"\n")


async def _overhear(server: ServerProcess) -> None:
    stderr = server.process.stderr
    assert stderr is not None
    with suppress(trio.BrokenResourceError):
        while piece := await stderr.receive_some(_PIECE):
            server.hear(piece)
    server.silent.set()


async def _notice_exit(server: ServerProcess, incoming: Any) -> None:
    """End the conversation when the server has ended, also when something it left behind still holds its pipe."""
    await server.process.wait()
    await trio.sleep(_DRAIN)
    _close(server, incoming)


def _close(server: ServerProcess, incoming: Any) -> None:
    server.gone.set()
    incoming.close()


async def _end(process: trio.Process, mark: str) -> None:
    """Let a server leave by itself for a moment, then kill it and all it began. Runs shielded, and bounded by its parts."""
    if process.stdin is not None:
        await process.stdin.aclose()
    with trio.move_on_after(_GRACE):
        await process.wait()
    with trio.move_on_after(_REAP):
        await end_strays(mark, process.pid)
    with trio.move_on_after(_REAP):
        await process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            await pipe.aclose()
