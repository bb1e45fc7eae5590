"""What a living run can be asked from another process of the operator's: to stop, and to land (O3).

Law: nothing that an agent could use is offered. The socket answers no gate and no question, and a command of the run's own
agents is turned away.
"""

from __future__ import annotations

import errno
import json
import os
import struct
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import trio

from ggactors.protocol.events import Log
from ggactors.store.control import LONGEST, address_of
from ggactors.tools.strays import marks_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ggactors.app.session import Run
    from ggactors.protocol.events import Event
    from ggactors.store.folder import RunFolder

PATIENCE_SECS = 10.0
"""How long a caller may take to say what it wants."""
PEERS = 8
"""How many callers are heard at once."""


@asynccontextmanager
async def listening(
    folder: RunFolder, *, emit: Callable[[Event], None]
) -> AsyncIterator[trio.socket.SocketType | None]:
    """Listen on the run's socket for as long as the block lasts. Where that cannot be, the run goes on without, and says so."""
    with trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_STREAM) as listener:
        try:
            await _bind(listener, folder)
        except OSError as error:
            why = error.strerror or str(error)
            emit(Log(level="warning", message=f"this run cannot be reached from outside, by `ggactors cancel`: {why}"))
            yield None
            return
        try:
            yield listener
        finally:
            with suppress(OSError):
                folder.socket.unlink()


@asynccontextmanager
async def serving(listener: trio.socket.SocketType | None, run: Run, *, token: str) -> AsyncIterator[None]:
    """Answer whoever calls, for as long as the block lasts."""
    async with trio.open_nursery() as nursery:
        if listener is not None:
            nursery.start_soon(_listen, listener, run, token)
        yield
        nursery.cancel_scope.cancel()


async def _bind(listener: trio.socket.SocketType, folder: RunFolder) -> None:
    # The run's lock is held, so a socket that lies there is a dead run's.
    folder.socket.unlink(missing_ok=True)
    with address_of(folder) as address:
        await listener.bind(address)
    folder.socket.chmod(0o600)
    listener.listen(PEERS)


async def _listen(listener: trio.socket.SocketType, run: Run, token: str) -> None:
    places = trio.Semaphore(PEERS)
    async with trio.open_nursery() as nursery:
        while True:
            await places.acquire()
            try:
                peer, _ = await listener.accept()
            except OSError as error:
                places.release()
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ECONNABORTED):
                    raise
                await trio.sleep(0.1)  # out of descriptors for the moment
                continue
            nursery.start_soon(_hear, trio.SocketStream(peer), run, token, places)


async def _hear(peer: trio.SocketStream, run: Run, token: str, places: trio.Semaphore) -> None:
    try:
        async with peer:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                answer = await _answer(peer, run, token)
                await peer.send_all(json.dumps(answer).encode() + b"\n")
                await _drain(peer)
    finally:
        places.release()


async def _drain(peer: trio.SocketStream) -> None:
    """Take what was not read: closing on it would take the answer away from the caller."""
    left = 16 * LONGEST
    with trio.move_on_after(1):
        while left > 0 and (piece := await peer.receive_some(LONGEST)):
            left -= len(piece)


async def _answer(peer: trio.SocketStream, run: Run, token: str) -> dict[str, Any]:
    why = _turned_away(peer, token)
    if why is not None:
        return {"ok": False, "reason": why}
    text = b""
    with trio.move_on_after(PATIENCE_SECS):
        while not text.endswith(b"\n") and len(text) < LONGEST:
            piece = await peer.receive_some(4096)
            if not piece:
                break
            text += piece
    try:
        asked = json.loads(text)
        wanted = asked["ask"]
    except (ValueError, KeyError, TypeError):
        return {"ok": False, "reason": "what was asked cannot be read"}
    match wanted:
        case "cancel":
            run.cancel()
            return {"ok": True}
        case "land":
            return await _land(run)
        case _:
            return {"ok": False, "reason": f"this run cannot be asked to {wanted!r}"}


async def _land(run: Run) -> dict[str, Any]:
    landing = await run.land()
    if landing is None:
        return {"ok": False, "reason": "it has no board, so its agents work in the workspace itself"}
    return {
        "ok": True,
        "from": landing.source,
        "to": landing.target,
        "held": list(landing.held),
        "reason": landing.reason,
        "detail": landing.detail,
    }


def _turned_away(peer: trio.SocketStream, token: str) -> str | None:
    """Say why a caller is not heard: another user's process, or a command of this run's agents."""
    option = getattr(trio.socket, "SO_PEERCRED", None)
    if option is None:
        return None
    pid, uid, _ = struct.unpack("3i", peer.socket.getsockopt(trio.socket.SOL_SOCKET, option, 12))
    if uid != os.getuid():
        return "it is another user's run"
    if token.encode() in marks_of(pid):
        return "an agent's command does not steer its own run"
    return None
