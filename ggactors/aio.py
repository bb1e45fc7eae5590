"""The same calls for asyncio programs: a run driven by trio in a thread of its own.

Law: nothing of trio is touched from the asyncio side but by asking its loop to do it. What is asked takes its turn there, so an
answer is as old as the way back. Limits: own models, tools and hooks run in the trio thread and are trio's (or plain functions);
a sink is called there too; one thread is taken for as long as the run is open.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import trio

from ggactors.app import open_run as open_trio_run
from ggactors.crew import load_crew
from ggactors.ports import LaunchRefused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from ggactors.app import Run as TrioRun
    from ggactors.app.session import AgentsSnapshot, BoardSnapshot, Receipt, Waiting
    from ggactors.protocol.attention import Answered, AttentionItem
    from ggactors.protocol.events import Event
    from ggactors.protocol.git import Landing
    from ggactors.protocol.run import Outcome

__all__ = ["EventStream", "LaunchRefused", "Run", "RunClosed", "load_crew", "open_run"]

T = TypeVar("T")


class RunClosed(RuntimeError):  # noqa: N818 - what happened, not what went wrong
    """The block of ``open_run`` was left, and with it the run."""


class _Thread:
    """The trio side: one run, and the work asked of it."""

    def __init__(self, opening: Callable[[], Any]) -> None:
        self._opening = opening
        self.loop = asyncio.get_running_loop()
        self._token: trio.lowlevel.TrioToken | None = None
        self._nursery: trio.Nursery | None = None
        self._leave = trio.Event()
        self._scope = trio.CancelScope()
        self._closing = False
        self.opened: asyncio.Future[TrioRun] = self.loop.create_future()
        self.ended: asyncio.Future[None] = self.loop.create_future()
        self._thread = threading.Thread(target=self._work, name="ggactors-trio", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _work(self) -> None:
        error: BaseException | None = None
        try:
            trio.run(self._main)
        except BaseException as caught:  # noqa: ASYNC103, BLE001 - it is carried to whoever opened the run
            error = _alone(caught)
        self._answer(self.opened, None, error or RunClosed("the run was closed"))
        self._answer(self.ended, None, error)

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            if self._closing:  # left before there was anything to tell
                return
            async with self._opening() as run, trio.open_nursery() as nursery:
                self._nursery = nursery
                self._answer(self.opened, run, None)
                await self._leave.wait()
                self._nursery = None
                nursery.cancel_scope.cancel()

    def _stop(self) -> None:
        """Leave an open run as its block is left; call a launch that is under way off."""
        if self._nursery is None:
            self._scope.cancel()
        self._leave.set()

    def _answer(self, future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        def settle() -> None:
            if future.done():
                return
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        # The asyncio loop may be gone: a program that ended without leaving its block.
        try:
            self.loop.call_soon_threadsafe(settle)
        except RuntimeError:
            return

    def post(self, work: Callable[[], object]) -> None:
        """Have something done in the trio thread, soon. Raises RunClosed when the run is closed."""
        if self._token is None:
            raise RunClosed("the run is closed")
        try:
            self._token.run_sync_soon(work)
        except trio.RunFinishedError as over:
            raise RunClosed("the run is closed") from over

    async def call(self, work: Callable[[], T]) -> T:
        """Do something there and give what it came to."""
        future: asyncio.Future[T] = self.loop.create_future()

        def do() -> None:
            try:
                self._answer(future, work(), None)
            except Exception as error:  # noqa: BLE001 - it is raised where the call was made
                self._answer(future, None, error)

        self.post(do)
        return await self._or_ended(future)

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something there that takes its time. Cancelled: it is cancelled there."""
        future: asyncio.Future[T] = self.loop.create_future()
        scope = trio.CancelScope()

        async def do() -> None:
            try:
                with scope:
                    self._answer(future, await work(), None)
            except Exception as error:  # noqa: BLE001 - it is raised where the call was made
                self._answer(future, None, error)

        def begin() -> None:
            if self._nursery is None:
                self._answer(future, None, RunClosed("the run is closed"))
            else:
                self._nursery.start_soon(do)

        self.post(begin)
        try:
            return await self._or_ended(future)
        except asyncio.CancelledError:
            self._quietly(scope.cancel)
            raise

    async def _or_ended(self, future: asyncio.Future[T]) -> T:
        """Wait for an answer, or for the end of the thread that would have given it."""
        await asyncio.wait((future, self.ended), return_when=asyncio.FIRST_COMPLETED)
        if future.done():
            return future.result()
        raise RunClosed("the run is closed")

    def _quietly(self, work: Callable[[], object]) -> None:
        try:
            self.post(work)
        except RunClosed:
            return

    async def leave(self) -> None:
        """Leave the run and wait until its thread is gone, also when cancelled meanwhile."""
        self._closing = True
        self._quietly(self._stop)
        cancelled: asyncio.CancelledError | None = None
        while not self.ended.done():
            try:
                await asyncio.shield(asyncio.wait((self.ended,)))
            except asyncio.CancelledError as error:  # noqa: ASYNC103 - raised once the thread is gone
                cancelled = error
        self._thread.join()
        if cancelled is not None:
            self.ended.exception()
            raise cancelled
        self.ended.result()


def _alone(error: BaseException) -> BaseException:
    """Take a lone error out of the groups that nurseries put around it."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


class EventStream:
    """Every event of a run from its first, as ``ggactors.Run.events`` gives them; handed over in batches."""

    def __init__(self, thread: _Thread, run: TrioRun) -> None:
        self._thread = thread
        self._run = run
        self._batch: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._pump: asyncio.Task[None] | None = None

    def __aiter__(self) -> Self:
        """Iterate."""
        return self

    async def __anext__(self) -> Event:
        """Give the next event. Cancelled: none is lost."""
        if self._pump is None:
            self._pump = asyncio.create_task(self._thread.run(self._follow))
            # Whoever stops asking before the end is not told why it ended.
            self._pump.add_done_callback(lambda pump: pump.cancelled() or pump.exception())
        while not self._batch:
            if self._pump.done():
                error = None if self._pump.cancelled() else self._pump.exception()
                if isinstance(error, Exception) and not isinstance(error, RunClosed):
                    raise error
                raise StopAsyncIteration
            self._wake.clear()
            waiter = asyncio.create_task(self._wake.wait())
            try:
                await asyncio.wait((waiter, self._pump), return_when=asyncio.FIRST_COMPLETED)
            finally:
                waiter.cancel()
        return self._batch.popleft()

    async def _follow(self) -> None:
        """Run in the trio thread: pass on what comes, waking the other side once for all that came meanwhile."""
        loop = self._thread.loop
        async for event in self._run.events():
            self._batch.append(event)
            loop.call_soon_threadsafe(self._wake.set)

    async def aclose(self) -> None:
        """Stop following."""
        if self._pump is not None and not self._pump.done():
            self._pump.cancel()
            await asyncio.wait((self._pump,))


class Run:
    """A live run, for asyncio. Each call is carried out in the run's own thread."""

    def __init__(self, thread: _Thread, run: TrioRun) -> None:
        self._thread = thread
        self._run = run

    @property
    def id(self) -> str:
        """Return the run's id."""
        return self._run.id

    @property
    def folder(self) -> Path:
        """Return the run's folder."""
        return self._run.folder

    def events(self) -> EventStream:
        """Iterate over every event of the run, from the first to the last, whenever this is called."""
        return EventStream(self._thread, self._run)

    async def add_sink(self, sink: Callable[[Event], None]) -> None:
        """Call ``sink`` in the run's thread with every event from now on. One that raises is dropped, the run goes on."""
        await self._thread.call(partial(self._run.add_sink, sink))

    async def outcome(self) -> Outcome:
        """Wait until the run has ended and give what it came to. Cancelled: the run goes on."""
        return await self._thread.run(self._run.outcome)

    async def send(self, agent_id: str, text: str, *, sender: str = "operator", queue: bool = False) -> Receipt:
        """Hand a text to a living agent, which reads it at its next turn."""
        return await self._thread.call(partial(self._run.send, agent_id, text, sender=sender, queue=queue))

    async def pending(self, agent_id: str = "root") -> tuple[Waiting, ...]:
        """List the texts that an agent's model has not been shown yet."""
        return await self._thread.call(partial(self._run.pending, agent_id))

    async def withdraw(self, message_id: str) -> bool:
        """Take a text back that was not shown to a model yet."""
        return await self._thread.call(partial(self._run.withdraw, message_id))

    async def interrupt(self, agent_id: str = "root") -> Receipt:
        """Cut the turn that an interactive agent is in, and nothing else."""
        return await self._thread.call(partial(self._run.interrupt, agent_id))

    async def go_on(self, agent_id: str = "root") -> Receipt:
        """Give the floor back to an agent with the texts that wait."""
        return await self._thread.call(partial(self._run.go_on, agent_id))

    async def close(self, agent_id: str = "root") -> Receipt:
        """Leave an interactive session."""
        return await self._thread.call(partial(self._run.close, agent_id))

    async def persons_turn(self, agent_id: str = "root") -> bool:
        """Wait until the person has an agent's floor. False when its session is over."""
        return await self._thread.run(partial(self._run.persons_turn, agent_id))

    async def attention(self) -> tuple[AttentionItem, ...]:
        """List what waits for a person, oldest first (H42)."""
        return await self._thread.call(self._run.attention)

    async def answer(self, item_id: str, choice: str, note: str = "") -> Receipt:
        """Answer what waits for a person. Raises ValueError for a choice that is none of the item's."""
        return await self._thread.call(partial(self._run.answer, item_id, choice, note))

    async def ask(
        self,
        question: str,
        *,
        options: Sequence[str] = (),
        default: str = "",
        deadline_secs: float | None = None,
        agent_id: str | None = None,
    ) -> Answered:
        """Ask the person a question and wait for the answer. Cancelled: it is withdrawn."""
        asked = partial(
            self._run.ask,
            question,
            options=options,
            default=default,
            deadline_secs=deadline_secs,
            agent_id=agent_id,
        )
        return await self._thread.run(asked)

    async def pause(self) -> Receipt:
        """Hold every agent at its next turn boundary, without its slot, and dispatch nothing."""
        return await self._thread.call(self._run.pause)

    async def unpause(self) -> Receipt:
        """Let the run go on."""
        return await self._thread.call(self._run.unpause)

    async def cancel(self) -> Receipt:
        """Ask the run to stop at its agents' next turn boundaries. It stays resumable."""
        return await self._thread.call(self._run.cancel)

    async def land(self) -> Landing | None:
        """Move the operator's checkout forward to what is merged so far (W10). Cancelled: a landing that began is completed."""
        return await self._thread.run(self._run.land)

    async def board(self) -> BoardSnapshot:
        """Take a frozen snapshot of the board."""
        return await self._thread.call(self._run.board)

    async def agents(self) -> AgentsSnapshot:
        """Take a frozen snapshot of every agent so far."""
        return await self._thread.call(self._run.agents)


@asynccontextmanager
async def open_run(crew: Any, **options: Any) -> AsyncIterator[Run]:
    """Launch a run and drive it for as long as the block lasts; takes what ``ggactors.open_run`` takes.

    Raises LaunchRefused with every problem. Leaving the block before the run ended stops it at once, resumable, and waits until
    its thread is gone; cancelling the block does the same.
    """
    thread = _Thread(partial(open_trio_run, crew, **options))
    thread.start()
    try:
        run = await asyncio.shield(thread.opened)
    except BaseException:
        await _left(thread)  # noqa: ASYNC102 - asyncio: it waits through a cancellation
        raise
    try:
        yield Run(thread, run)
    finally:
        await thread.leave()  # noqa: ASYNC102 - asyncio: it waits through a cancellation


async def _left(thread: _Thread) -> None:
    """Leave a run that was not opened; why not is raised already."""
    try:
        await thread.leave()
    except Exception:  # noqa: BLE001
        return
