"""One program on its way through the sandbox: what its thread and the task that serves it share.

Law: the thread asks and waits, the task answers; there is one question at a time. Whoever stops a program sets the reason
before the guest is trapped, and nobody stops one that has ended, since the next guest of that engine would be hit.
"""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ggactors.programs.logs import LogTail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ggactors.protocol.program import ProgramAnswer


@frozen(kw_only=True)
class Order:
    """What a worker is to run: the program, the name its lines are told under, and the operations its SDK declares."""

    source: str
    name: str
    sdk: str
    """The operations as the guest's SDK reads them (``Sdk.wire``)."""
    doc: Callable[[str], str]
    """Gives an operation's documentation."""
    seconds: float
    shown: str | None = None
    """The program as it was sent, where ``source`` was made of it; lines are the same."""


@frozen(kw_only=True)
class Asked:
    """The program calls an operation. ``args`` is a mapping of names to plain values; nothing else of it is checked."""

    operation: str
    args: Mapping[str, Any]


@frozen(kw_only=True)
class Ended:
    """The guest is over. ``report`` is what it says of itself, unchecked; the rest is what was seen from outside.

    ``stopped`` is why it was stopped; ``exited`` the status it ended itself with; ``trap`` the engine's word for how it broke.
    """

    report: Mapping[str, Any] | None = None
    stopped: str | None = None
    exited: int | None = None
    trap: str | None = None


@frozen(kw_only=True)
class Broken:
    """The sandbox itself failed (X5). ``trace`` is the traceback, for the defect's file."""

    error: str
    trace: str


Letter = Asked | Ended | Broken
"""What a program's thread tells the task that serves it."""

TIME = "time"
CANCELLED = "cancelled"


class Stopped(Exception):  # noqa: N818
    """The program is being stopped: whatever its thread waited for does not come. Never leaves a host function."""


class Execution:
    """One program's running. Methods say which side calls them."""

    def __init__(self, order: Order, *, tell: Callable[[Letter], None], trap: Callable[[], None]) -> None:
        """``tell`` hands the task a letter, from the thread; ``trap`` has the guest stop at its next step."""
        self.order = order
        self.log = LogTail()
        self.calls = 0
        self.stopped: str | None = None
        self._tell = tell
        self._trap = trap
        self._answers: SimpleQueue[ProgramAnswer | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._begun = self._ended = False
        self._spent = 0.0
        self._since: float | None = None

    # ------------------------------------------------------------ in the thread

    def begin(self) -> None:
        """Start the program's time. Raises Stopped when it was stopped before it began."""
        with self._lock:
            if self.stopped is not None:
                raise Stopped
            self._begun = True
            self._go_on()

    def ask(self, operation: str, args: Mapping[str, Any]) -> ProgramAnswer:
        """Have an operation carried out; the program's time stands still meanwhile. Raises Stopped."""
        self.calls += 1
        self._pause()
        self._tell(Asked(operation=operation, args=args))
        answer = self._answers.get()
        self._go_on()
        if answer is None:
            raise Stopped
        return answer

    def sleep(self, seconds: float) -> None:
        """Wait; it is the program's own time. Raises Stopped when it is stopped meanwhile."""
        try:
            self._answers.get(timeout=min(max(seconds, 0.0), 1e6))
        except Empty:
            return
        raise Stopped

    def end(self, letter: Ended | Broken) -> None:
        """Say how it ended, the first time. After this it cannot be stopped any more."""
        with self._lock:
            ended, self._ended = self._ended, True
            self._pause()
        if not ended:
            self._tell(letter)

    def _pause(self) -> None:
        since, self._since = self._since, None  # in this order, so that `spent` may read too little and never too much
        if since is not None:
            self._spent += time.perf_counter() - since

    def _go_on(self) -> None:
        self._since = time.perf_counter()

    # ------------------------------------------------------------ from outside

    def answer(self, answer: ProgramAnswer) -> None:
        """Answer the question the program waits for."""
        self._answers.put(answer)

    def stop(self, reason: str) -> None:
        """Stop the program, wherever it is; the first reason counts. One that has ended is left alone."""
        with self._lock:
            if self._ended or self.stopped is not None:
                return
            self.stopped = reason
            if self._begun:
                self._answers.put(None)
                self._trap()

    def spent(self) -> float:
        """Give the seconds of its own that the program has run."""
        spent = self._spent
        since = self._since
        return spent + (time.perf_counter() - since if since is not None else 0.0)
