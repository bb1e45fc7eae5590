"""The programs of one run: warm workers per language, and the one call that runs a program.

Law: every program has a guest of its own. A cancelled call returns at once and nothing of the program happens after it; its
thread, which stops within milliseconds, is waited for by the pool. Programs have a limiter of their own (O3).
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, assert_never

import trio

from ggactors.programs.artifacts import CPYTHON, QUICKJS
from ggactors.programs.execution import CANCELLED, Asked, Broken, Ended, Execution, Order
from ggactors.programs.outcome import broken, outcome
from ggactors.programs.prepare import prepare
from ggactors.programs.python import Bootstrap
from ggactors.programs.watch import Watch
from ggactors.programs.worker import Worker
from ggactors.protocol.program import Language, ProgramLimits, Returned
from ggactors.protocol.values import Code, Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
    from pathlib import Path
    from typing import Any

    from ggactors.programs.artifacts import Artifact
    from ggactors.programs.sdk import Sdk
    from ggactors.programs.worker import Slot
    from ggactors.protocol.program import ProgramAnswer, ProgramResult

    Serve = Callable[[str, dict[str, Any]], Awaitable[ProgramAnswer]]

MOST_AT_ONCE = 64
"""Programs running at once, parked ones included; more wait for a place."""
KEPT_WARM = 4
"""Idle workers of a kind that are kept; each holds a booted guest of about 8 MB."""
_STRIP = ("strip", 192 << 20)
_STRIP_SECONDS = 10.0
_NAMES = {Language.PYTHON: "program.py", Language.JAVASCRIPT: "program.js", Language.TYPESCRIPT: "program.ts"}

Kind = tuple[str, int]
"""What workers are interchangeable by: the arm and the memory its guests may have."""


class Programs:
    """Runs programs. Open it with ``open_programs``."""

    def __init__(self, modules: Mapping[Artifact, Path], most: int) -> None:
        self._modules = modules
        self._limiter = trio.CapacityLimiter(most)
        self._idle: dict[Kind, list[Worker]] = {}
        self._stopping: list[tuple[Kind, Worker]] = []
        """Workers whose program was stopped and whose thread is not back yet."""
        self._leaving: list[Worker] = []
        """Workers that were told to end."""
        self._watch = Watch()
        self._bootstrap = Bootstrap()
        self._count = 0

    async def run(
        self,
        program: str,
        *,
        sdk: Sdk,
        serve: Serve,
        limits: ProgramLimits | None = None,
        name: str | None = None,
    ) -> ProgramResult:
        """Run one program to its end and say what it came to.

        ``serve`` carries out an operation the SDK declares, given its id and its arguments by their snake_case names, unchecked
        beyond that; what it raises ends the program and is raised here. Cancelled: the program is stopped where it is, a call
        it waits for is cancelled, and nothing of it happens any more.
        """
        limits = limits or ProgramLimits()
        order = Order(
            source=program,
            name=name or _NAMES[sdk.language],
            sdk=sdk.wire,
            doc=sdk.doc,
            seconds=limits.timeout_secs,
        )
        async with self._limiter:
            if sdk.language is Language.TYPESCRIPT:
                stripped = await self._strip(order, sdk, limits)
                if not isinstance(stripped, str):
                    return stripped
                order = Order(
                    source=stripped, name=order.name, sdk=order.sdk, doc=order.doc, seconds=order.seconds, shown=program
                )
            arm = "python" if sdk.language is Language.PYTHON else "javascript"
            execution, over = await self._carry_out((arm, limits.max_memory_bytes), order, _answering(sdk, serve))
        match over:
            case Ended():
                return outcome(over, execution, sdk, limits)
            case Broken():
                return broken(over, execution)
            case _ as never:
                assert_never(never)

    async def warm(self, language: Language, limits: ProgramLimits | None = None) -> None:
        """Have a worker booted for the first program of a language, so that it need not wait. Returns at once."""
        memory = (limits or ProgramLimits()).max_memory_bytes
        kinds = [("python" if language is Language.PYTHON else "javascript", memory)]
        if language is Language.TYPESCRIPT:
            kinds.append(_STRIP)
        for kind in kinds:
            if not self._idle.get(kind):
                self._idle.setdefault(kind, []).append(self._hire(kind))

    async def _strip(self, order: Order, sdk: Sdk, limits: ProgramLimits) -> str | ProgramResult:
        """Take the types off a program; or say why that cannot be done."""
        reading = Order(source=order.source, name=order.name, sdk="{}", doc=order.doc, seconds=_STRIP_SECONDS)
        execution, over = await self._carry_out(_STRIP, reading, _answering_nothing)
        if isinstance(over, Broken):
            return broken(over, execution)
        code = over.report.get("code") if over.report is not None else None
        if isinstance(code, str):
            return code
        return outcome(over, execution, sdk, limits)

    async def _carry_out(
        self, kind: Kind, order: Order, answer: Callable[[Asked], Awaitable[ProgramAnswer]]
    ) -> tuple[Execution, Ended | Broken]:
        worker = self._worker(kind)
        execution = worker.give(order)
        self._watch.add(execution)
        over: Ended | Broken | None = None
        try:
            while over is None:
                letter = await worker.letter()
                if isinstance(letter, Asked):
                    execution.answer(await answer(letter))
                else:
                    over = letter
        finally:
            self._watch.drop(execution)
            if over is None:
                execution.stop(CANCELLED)
                self._stopping.append((kind, worker))
            else:
                self._give_back(kind, worker)
        return execution, over

    # ------------------------------------------------------------ workers

    def _worker(self, kind: Kind) -> Worker:
        """Take an idle worker, rather one whose guest is booted already; or hire one."""
        self._reap()
        idle = self._idle.setdefault(kind, [])
        for index, worker in enumerate(idle):
            if worker.ready:
                return idle.pop(index)
        return idle.pop(0) if idle else self._hire(kind)

    def _hire(self, kind: Kind) -> Worker:
        self._count += 1
        return Worker(self._slots(*kind), f"ggactors-program-{self._count}")

    def _slots(self, arm: str, memory: int) -> Callable[[], Slot]:
        """Say how a worker of an arm makes its engine, which it does in its own thread."""

        def open_slot() -> Slot:
            if arm == "python":
                from ggactors.programs.python import PythonSlot

                return PythonSlot(self._modules[CPYTHON], memory, self._bootstrap)
            from ggactors.programs.javascript import JavaScriptSlot, StripSlot

            return (JavaScriptSlot if arm == "javascript" else StripSlot)(self._modules[QUICKJS], memory)

        return open_slot

    def _give_back(self, kind: Kind, worker: Worker) -> None:
        idle = self._idle.setdefault(kind, [])
        if len(idle) < KEPT_WARM:
            idle.append(worker)
        else:
            worker.retire()
            self._leaving.append(worker)
        self._reap()

    def _reap(self) -> None:
        """Use workers again whose stopped program is over, and let go of those that have ended."""
        stopping, self._stopping = self._stopping, []
        for kind, worker in stopping:
            if worker.over():
                self._give_back(kind, worker)
            else:
                self._stopping.append((kind, worker))
        for worker in [one for one in self._leaving if one.gone]:
            self._leaving.remove(worker)
            worker.close()

    async def _close(self) -> None:
        self._watch.close()
        workers = [worker for idle in self._idle.values() for worker in idle]
        workers += [worker for _, worker in self._stopping]
        self._idle.clear()
        self._stopping.clear()
        for worker in workers:
            worker.retire()
        for worker in (*workers, *self._leaving):
            await worker.ended()
            worker.close()
        self._leaving.clear()


@asynccontextmanager
async def open_programs(
    languages: Iterable[Language],
    *,
    cache: Path,
    progress: Callable[[str], None] = lambda _line: None,
    most: int = MOST_AT_ONCE,
) -> AsyncIterator[Programs]:
    """Open the programs of a run: make the machine ready for these languages first, as ``prepare`` does.

    ``cache`` is where compiled artifacts are kept (``prepare.cache_folder``). Raises LaunchRefused when the machine cannot serve.
    Leaving it, however that comes about, leaves no thread behind.
    """
    modules = await prepare(languages, cache, progress)
    programs = Programs(modules, most)
    try:
        yield programs
    finally:
        with trio.CancelScope(shield=True):
            await programs._close()


def _answering(sdk: Sdk, serve: Serve) -> Callable[[Asked], Awaitable[ProgramAnswer]]:
    """Carry out what a program asks, if the SDK declares it, in its language's spelling."""

    async def answer(asked: Asked) -> ProgramAnswer:
        operation = sdk.find(asked.operation)
        if operation is None:
            return Refused(code=Code.UNAVAILABLE, message=sdk.unknown(asked.operation))
        answer = await serve(operation.id, sdk.plain(operation, asked.args))
        if isinstance(answer, Refused):
            return Refused(code=answer.code, message=sdk.worded(answer.message))
        return answer

    return answer


async def _answering_nothing(_asked: Asked) -> ProgramAnswer:
    return Returned()
