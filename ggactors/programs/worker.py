"""A thread that runs programs, one at a time, each in a guest that was booted before it came.

Law: the thread belongs to the worker for the worker's whole life and ends with it; the task that serves a program waits on a
pipe, so that a clock that stands still while the world is waited for stands still while a program runs.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol

import trio

from ggactors.programs.engine import THREAD_STACK
from ggactors.programs.execution import Asked, Broken, Execution, Letter, Order, Stopped

if TYPE_CHECKING:
    from collections.abc import Callable


class Slot(Protocol):
    """What a worker's thread runs guests on. ``live`` boots a guest and serves programs until it must be replaced."""

    def live(self, take: Callable[[], Execution]) -> None:
        """Run a guest. ``take`` waits for a program; it raises Retired when there will be none. Raises what is our failure."""

    def trap(self) -> None:
        """Have the running guest stop at its next step; from any thread."""

    def close(self) -> None:
        """Let go of the engine, when no guest runs on it."""


class Retired(Stopped):
    """No program will come any more."""


class Worker:
    """One thread and its slot. ``give`` it an order and read its letters, again and again; ``retire`` and ``close`` it at last."""

    def __init__(self, open_slot: Callable[[], Slot], name: str) -> None:
        self._open_slot = open_slot
        self._slot: Slot | None = None
        self._orders: SimpleQueue[Execution | None] = SimpleQueue()
        self._letters: deque[Letter] = deque()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._current: Execution | None = None
        self.ready = False
        """Whether a guest is booted and waits for a program."""
        self.gone = False
        """Whether the thread has ended."""
        self._thread = _deep_thread(self._run, name)

    # ------------------------------------------------------------ from trio

    def give(self, order: Order) -> Execution:
        """Hand over a program; it starts as soon as a guest is booted."""
        execution = Execution(order, tell=self._tell, trap=self._trap)
        self._orders.put(execution)
        return execution

    async def letter(self) -> Letter:
        """Wait for what the thread says next. Cancelled: nothing is lost."""
        while not self._letters:
            await trio.lowlevel.wait_readable(self._reader)
            os.read(self._reader, 4096)
        return self._letters.popleft()

    def retire(self) -> None:
        """Have the thread end once it has no program; a guest that is booting is let be until it is booted."""
        self._orders.put(None)

    def over(self) -> bool:
        """Tell whether a program that was stopped has come to its end; its letters are thrown away."""
        while self._letters:
            if not isinstance(self._letters.popleft(), Asked):
                return True
        return False

    async def ended(self) -> None:
        """Wait until the thread has come to its end; after ``retire``."""
        while not self.gone:
            await trio.lowlevel.wait_readable(self._reader)
            os.read(self._reader, 4096)

    def close(self) -> None:
        """Let go of a thread that has ended."""
        self._thread.join()
        os.close(self._reader)
        os.close(self._writer)

    # ------------------------------------------------------------ in the thread

    def _run(self) -> None:
        try:
            self._serve()
        finally:
            self._close_slot()
            self.gone = True
            os.write(self._writer, b".")

    def _serve(self) -> None:
        while True:
            try:
                if self._slot is None:
                    self._slot = self._open_slot()
                self._slot.live(self._take)
            except Retired:
                return
            except BaseException as error:  # noqa: BLE001, ASYNC103 - told to who has this program, or comes for the next
                if not self._break(error):
                    return  # noqa: ASYNC104
                self._close_slot()  # whatever state it is in: the next one starts afresh
            self._current = None

    def _break(self, error: BaseException) -> bool:
        """Tell the program that is running, or the next one that comes, that the sandbox failed. False: there is none."""
        execution = self._current
        if execution is None:
            execution = self._orders.get()
            if execution is None:
                return False
        said = f"{type(error).__name__}: {error}"
        execution.end(Broken(error=said, trace="".join(traceback.format_exception(error))))
        return True

    def _close_slot(self) -> None:
        slot, self._slot = self._slot, None
        if slot is not None:
            slot.close()

    def _take(self) -> Execution:
        self.ready = True
        execution = self._orders.get()
        self.ready = False
        if execution is None:
            raise Retired
        self._current = execution
        return execution

    def _tell(self, letter: Letter) -> None:
        self._letters.append(letter)
        os.write(self._writer, b".")

    def _trap(self) -> None:
        assert self._slot is not None
        self._slot.trap()


def _deep_thread(run: Callable[[], None], name: str) -> threading.Thread:
    """Start a thread with room for a guest's stack. A daemon, so that an interpreter that dies is not held up by it."""
    before = threading.stack_size()
    threading.stack_size(THREAD_STACK)
    try:
        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
    finally:
        threading.stack_size(before)
    return thread
