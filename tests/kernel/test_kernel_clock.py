"""Clocks, and the collector's settings."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import threading
import time

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from ggactors.runtime.clock import RealClock
from ggactors.runtime.collector import THRESHOLDS, tune_collector
from ggactors.testing.clock import PatientClock


@pytest.fixture
def patient_clock() -> PatientClock:
    return PatientClock()


async def test_stamps_are_rfc_3339_in_utc_with_milliseconds() -> None:
    stamp = RealClock().stamp()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp)
    now = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() - 5)), time.strftime("%Y-%m-%dT%H:%M", time.gmtime())
    assert stamp[:16] in now


async def test_deadlines_follow_the_run_loops_time(autojump_clock: trio.testing.MockClock) -> None:
    clock = RealClock()
    before = clock.now()
    await trio.sleep(1000)
    assert clock.now() == before + 1000


async def test_waiting_costs_no_real_time(patient_clock: PatientClock) -> None:
    begin = time.perf_counter()
    for _ in range(20):
        await trio.sleep(3600)
    with trio.move_on_after(60) as scope:
        await trio.sleep_forever()
    assert scope.cancelled_caught
    assert trio.current_time() == 20 * 3600 + 60
    assert time.perf_counter() - begin < 60


async def test_the_clock_stands_still_while_a_thread_runs(patient_clock: PatientClock) -> None:
    with trio.fail_after(0.001):
        await trio.to_thread.run_sync(time.sleep, 0.1)
    assert trio.current_time() == 0


async def test_the_clock_stands_still_while_a_process_runs(patient_clock: PatientClock) -> None:
    with trio.fail_after(0.001):
        done = await trio.run_process([sys.executable, "-c", "print('hi')"], capture_stdout=True)
    assert done.stdout == b"hi\n"
    assert trio.current_time() == 0


async def test_the_clock_stands_still_while_a_pipe_is_read(patient_clock: PatientClock) -> None:
    with subprocess.Popen(["sleep", "0.1"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with trio.fail_after(0.001):
            await trio.lowlevel.wait_readable(process.stdout)
    assert trio.current_time() == 0


def test_scenery_does_not_hold_the_clock_up() -> None:
    async def main() -> float:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(listeners[0].accept)
            await trio.sleep(100)
            nursery.cancel_scope.cancel()
        await listeners[0].aclose()
        return trio.current_time()

    assert trio.run(main, clock=PatientClock(scenery=1)) == 100


async def test_time_goes_on_after_a_thread_has_ended(patient_clock: PatientClock) -> None:
    release = threading.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, release.wait)
        with trio.CancelScope() as scope:
            nursery.start_soon(trio.sleep, 50)
            await wait_all_tasks_blocked(0.05)  # far more than the clock itself waits
            assert trio.current_time() == 0
            release.set()
        assert not scope.cancelled_caught
    assert trio.current_time() == 50


async def test_those_who_wait_for_idleness_go_before_a_jump(patient_clock: PatientClock) -> None:
    order: list[str] = []

    async def sleep() -> None:
        await trio.sleep(1)
        order.append("slept")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(sleep)
        await wait_all_tasks_blocked()
        order.append("idle")
    assert order == ["idle", "slept"]


def test_one_clock_serves_one_run_after_the_other() -> None:
    clock = PatientClock()
    for _ in range(2):
        trio.run(trio.sleep, 5, clock=clock)
    assert clock.current_time() == 10


def test_the_collector_is_told_once_the_app_says_so() -> None:
    before = gc.get_threshold()
    try:
        tune_collector()
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > 1000
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
