"""The pool: a cancelled program is gone at once, faults have the right culprit, nothing is left behind."""

# ruff: noqa: E501 - a program reads best on one line, next to what it comes to

from __future__ import annotations

import os
import random
import threading
import time

import pytest
import trio
from programs_kit import CACHE, JAVASCRIPT, LANGUAGES, PYTHON, SDKS, TYPESCRIPT, World, needs_code, opened

from ggactors.programs.pool import Programs, open_programs
from ggactors.protocol.program import Language, ProgramLimits, ProgramResult, Returned
from ggactors.testing.clock import PatientClock

pytestmark = needs_code


async def ran(
    programs: Programs, source: str, language: Language = PYTHON, *, world: World | None = None, seconds: float = 30.0
) -> ProgramResult:
    serve = (world or World()).serve
    return await programs.run(
        source, sdk=SDKS[language], serve=serve, limits=ProgramLimits(timeout_secs=seconds, max_memory_bytes=64 << 20)
    )


def fds() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("ggactors-program")}


BUSY = {
    "a loop": (PYTHON, "gg.session.finish('x')\nwhile True: pass"),
    "a loop that swallows everything": (PYTHON, "gg.session.finish('x')\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass"),
    "a call": (PYTHON, "gg.session.finish('x')\ngg.shell.run('1000')"),
    "calls, and every failure swallowed": (PYTHON, "while True:\n    try:\n        gg.session.finish('x')\n    except BaseException: pass"),
    "a sleep": (PYTHON, "import time\ngg.session.finish('x')\ntime.sleep(1000)"),
    "a catastrophic pattern": (PYTHON, "import re\ngg.session.finish('x')\nre.match('(a+)+$', 'a' * 40 + 'b')"),
    "a native loop": (PYTHON, "gg.session.finish('x')\nsum(iter(int, 1))"),
    "prints": (PYTHON, "gg.session.finish('x')\nwhile True: print('x' * 1000)"),
    "memory": (PYTHON, "gg.session.finish('x')\nwhile True: bytearray(30 << 20)"),
    "a loop in JavaScript": (JAVASCRIPT, "gg.session.finish('x'); while (true);"),
    "a call in JavaScript": (JAVASCRIPT, "gg.session.finish('x'); gg.shell.run('1000')"),
    "calls in JavaScript": (JAVASCRIPT, "while (true) { try { gg.session.finish('x') } catch {} }"),
    "a timer in JavaScript": (JAVASCRIPT, "gg.session.finish('x'); await new Promise((r) => setTimeout(r, 1e6))"),
}  # fmt: skip


class Turns(trio.abc.Instrument):
    """Counts the turns of the loop, and those before which it waited for something to happen."""

    def __init__(self) -> None:
        self.turns = self.waits = 0

    def before_io_wait(self, timeout: float) -> None:
        self.turns += 1
        self.waits += timeout > 0


async def test_a_cancelled_program_returns_at_once_and_its_worker_serves_again():
    """At once: in a few turns of the loop, none of which waits for the program or its thread; a busy machine is slow, not wrong."""
    async with opened(LANGUAGES) as programs:
        for case, (language, source) in BUSY.items():
            world = World()
            turns = Turns()
            async with trio.open_nursery() as nursery:

                async def run(language=language, source=source, world=world) -> None:
                    await ran(programs, source, language, world=world)

                nursery.start_soon(run)
                await trio.to_thread.run_sync(world.began.wait, 30)
                await trio.sleep(0.03)
                trio.lowlevel.add_instrument(turns)
                nursery.cancel_scope.cancel()
            trio.lowlevel.remove_instrument(turns)
            assert (turns.turns <= 6, turns.waits) == (True, 0), f"{case}: {turns.turns} turns, {turns.waits} waits"
            asked = len(world.asked)
            assert (await ran(programs, "", language)).kind == "ok", case
            assert len(world.asked) == asked, f"{case}: something of it happened after the cancel"


async def test_a_program_cancelled_before_its_guest_is_booted_never_begins():
    async with opened(LANGUAGES) as programs:
        for language in LANGUAGES:
            world = World()
            with trio.move_on_after(0.001):
                await ran(programs, "gg.session.finish('x')", language, world=world)
            assert (await ran(programs, "", language)).kind == "ok"
            assert world.asked == []


async def test_cancelling_at_random_moments_never_misattributes_nor_hangs():
    rng = random.Random(7)
    sources = [
        (PYTHON, "for i in range(50): gg.files.list_dir()"),
        (PYTHON, "raise ValueError"),
        (JAVASCRIPT, "for (let i = 0; i < 50; i++) gg.files.listDir()"),
        (JAVASCRIPT, "throw new Error('x')"),
        (TYPESCRIPT, "const x: number = 1; gg.files.listDir()"),
        (PYTHON, "while True: pass"),
    ]
    kinds: list[str] = []

    async with opened(LANGUAGES) as programs:

        async def one() -> None:
            for _ in range(8):
                language, source = rng.choice(sources)
                with trio.move_on_after(rng.random() * 0.4):
                    result = await ran(programs, source, language, seconds=0.05)
                    kinds.append(result.kind)
                    if "while" in source:
                        assert result.kind == "limit", result
                    elif "rror" in source:
                        # 50 ms are not much where two cores are shared by many
                        assert result.kind in ("runtime_error", "limit"), result
                    else:
                        assert result.kind in ("ok", "limit"), result

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(one)
    assert "fault" not in kinds
    assert kinds


async def test_many_programs_run_at_once_and_each_has_its_own_answer():
    async with opened((PYTHON, JAVASCRIPT)) as programs:

        async def one(number: int) -> None:
            language = (PYTHON, JAVASCRIPT)[number % 2]
            word = f"file{number}"

            async def serve(operation: str, args: dict) -> Returned:
                await trio.lowlevel.checkpoint()
                return Returned(value=args["path"])

            source = (
                f"print(gg.files.read_file('{word}'))"
                if language is PYTHON
                else f"console.log(gg.files.readFile('{word}'))"
            )
            result = await programs.run(source, sdk=SDKS[language], serve=serve)
            assert result.logs == (word,), result

        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(one, number)


async def test_what_a_call_raises_on_our_side_is_raised_here_and_never_shown_to_the_program_X5():
    class OurError(Exception): ...

    async def serve(_operation: str, _args: dict) -> Returned:
        raise OurError("ours")

    async with opened((PYTHON, JAVASCRIPT)) as programs:
        for language, source in (
            (PYTHON, "try:\n    gg.files.list_dir()\nexcept BaseException: pass"),
            (JAVASCRIPT, "try { gg.files.listDir() } catch {}"),
        ):
            with pytest.raises(OurError, match="ours"):
                await programs.run(source, sdk=SDKS[language], serve=serve)
            assert (await ran(programs, "", language)).kind == "ok"


async def test_an_operation_that_gives_what_is_no_plain_value_is_our_fault_X5():
    async def serve(_operation: str, _args: dict) -> Returned:
        return Returned(value=object())

    async with opened() as programs:
        result = await programs.run(
            "try:\n    gg.files.list_dir()\nexcept BaseException: pass", sdk=SDKS[PYTHON], serve=serve
        )
        assert result.kind == "fault"
        assert "TypeError" in result.trace
        assert (await ran(programs, "print(1)")).logs == ("1",)


async def test_a_sandbox_that_cannot_start_is_our_fault_and_says_why_X5(tmp_path):
    async with opened() as programs:
        broken = tmp_path / "module.cwasm"
        broken.write_bytes(b"no module")
        elsewhere = Programs(dict.fromkeys(programs._modules, broken), 2)
        try:
            for _ in range(2):
                result = await ran(elsewhere, "print(1)")
                assert result.kind == "fault"
                assert "Traceback" in result.trace
        finally:
            await elsewhere._close()


async def test_leaving_the_pool_leaves_no_thread_and_no_descriptor_behind():
    before, others = fds(), threads()
    async with opened(LANGUAGES) as programs:
        for language in LANGUAGES:
            await ran(programs, "", language)
        await programs.warm(PYTHON)
        assert threads() - others
    assert threads() <= others
    assert fds() <= before

    with trio.move_on_after(0.5):
        async with opened((PYTHON,)) as programs, trio.open_nursery() as nursery:
            nursery.start_soon(ran, programs, "while True: pass")
            nursery.start_soon(ran, programs, "gg.shell.run('1000')")
            await trio.sleep_forever()
    assert threads() <= others
    assert fds() <= before


async def test_programs_have_a_limit_of_their_own_and_the_others_wait():
    running = most = 0
    two = trio.Event()

    async def serve(_operation: str, _args: dict) -> Returned:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            two.set()
        await two.wait()
        await trio.sleep(0.02)
        running -= 1
        return Returned()

    async with open_programs([PYTHON], cache=CACHE, most=2) as programs, trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(lambda: programs.run("gg.session.finish('x')", sdk=SDKS[PYTHON], serve=serve))
    assert most == 2


@pytest.fixture
def patient_clock() -> PatientClock:
    return PatientClock()


async def test_a_clock_that_waits_for_the_world_waits_for_a_program(patient_clock: PatientClock):
    async with opened() as programs:
        with trio.fail_after(5):  # reached at once by a clock that jumps while a program runs
            result = await ran(programs, "import time\ntime.sleep(0.2)\ngg.shell.run('3')")
        assert (result.kind, result.error) == ("ok", "")
    assert 3 <= trio.current_time() < 5


async def test_other_tasks_go_on_while_programs_spin():
    late: list[float] = []

    async def tick() -> None:
        while True:
            before = time.perf_counter()
            await trio.sleep(0.005)
            late.append(time.perf_counter() - before - 0.005)

    async with opened() as programs, trio.open_nursery() as nursery:
        nursery.start_soon(tick)
        async with trio.open_nursery() as spinning:
            for _ in range(2):
                spinning.start_soon(lambda: ran(programs, "while True: pass", seconds=1.0))
        nursery.cancel_scope.cancel()
    assert len(late) > 40
    assert sorted(late)[len(late) // 2] < 0.1
