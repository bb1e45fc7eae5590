"""A clock for tests with real parts: threads, processes and files run in real time, waiting costs none.

trio's own autojump clock jumps ahead whenever all tasks are blocked, and a task is blocked while its thread call runs: every
deadline passes before the thread has done anything. Law of this one: it stands still while a thread call is open or a task
waits on the operating system (a process, a pipe, a socket), and jumps to the next deadline only when nothing but time is
waited for.

With pytest-trio a fixture that returns one is enough::

    @pytest.fixture
    def patient_clock() -> PatientClock:
        return PatientClock()
"""

from __future__ import annotations

import math

from trio.abc import Clock
from trio.lowlevel import current_statistics, spawn_system_task
from trio.testing import active_thread_count, wait_all_tasks_blocked

_CUSHION = 0.002
"""Real seconds all tasks must have been blocked before a jump, so that who waits for idleness, usually 0, goes first."""
_OWN_WAITS = 1
"""Waits on a descriptor that trio's loop itself always has open: the socket it is woken through."""


class PatientClock(Clock):
    """Starts at 0 and moves by jumps alone. ``scenery`` is how many waits on descriptors do not hold it up: a server that waits
    for connections, the pipe of an idle worker.

    A deadline set for something that never comes from outside is never reached: the clock stands still for as long as the
    wait is open. Use real time, and a short deadline, for a test of that.
    """

    def __init__(self, scenery: int = 0) -> None:
        self._now = 0.0
        self._about_to_jump = False
        self._scenery = scenery

    def start_clock(self) -> None:
        """Begin a run: part of trio's clock protocol."""
        self._about_to_jump = False

    def current_time(self) -> float:
        """Give the virtual time in seconds."""
        return self._now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Tell the loop, which has nothing to do, how long it may sleep; part of trio's clock protocol.

        While something outside is waited for that is for ever: what it waits for wakes the loop, which then asks again.
        """
        if deadline <= self._now:
            return 0
        if deadline < math.inf and not self._about_to_jump and not self._busy_outside():
            self._about_to_jump = True
            spawn_system_task(self._jump)
            return 0
        return 999_999_999

    async def _jump(self) -> None:
        """Go to the next deadline, if there is still nothing else to wait for after a moment."""
        try:
            await wait_all_tasks_blocked(_CUSHION)
            ahead = current_statistics().seconds_to_next_deadline
            if 0 < ahead < math.inf and not self._busy_outside():
                self._now += ahead
        finally:
            self._about_to_jump = False

    def _busy_outside(self) -> bool:
        waits = current_statistics().io_statistics
        if hasattr(waits, "tasks_waiting_read"):  # epoll
            waiting = waits.tasks_waiting_read + waits.tasks_waiting_write
        else:  # kqueue
            waiting = getattr(waits, "tasks_waiting", 0)
        return active_thread_count() > 0 or waiting > _OWN_WAITS + self._scenery
