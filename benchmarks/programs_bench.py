"""Programs: per second warm and cold, calls across the membrane, memory of a warm slot, cancels, other tasks' latency.

Against the figures of docs/benchmarks.md. Run: ``python benchmarks/programs_bench.py [--quick]``; it needs the extra
``code``. The first run on a machine compiles the artifacts first.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from ggactors.programs.pool import Programs, open_programs
from ggactors.programs.prepare import cache_folder
from ggactors.programs.sdk import Sdk
from ggactors.protocol.program import (
    Language,
    OperationSpec,
    ParamSpec,
    ProgramLimits,
    ProgramResult,
    ResultSpec,
    Returned,
    ValueType,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PYTHON, JAVASCRIPT, TYPESCRIPT = Language.PYTHON, Language.JAVASCRIPT, Language.TYPESCRIPT
TEXT = ValueType.TEXT
READ = OperationSpec(
    module="files",
    function="read_file",
    doc="Read a text file.",
    params=(ParamSpec(name="path", type=TEXT, doc="The file."),),
    result=ResultSpec(type=TEXT),
)
RUN = OperationSpec(
    module="shell",
    function="run",
    doc="Run a command.",
    params=(ParamSpec(name="command", type=TEXT, doc="The line."),),
)
SDKS = {language: Sdk((READ, RUN), language) for language in Language}

PROGRAM = {
    PYTHON: "from gg import files\ntext = files.read_file('README.md')\nprint(len(text), sum(range(100)))\n",
    JAVASCRIPT: "import { files } from 'gg';\nconst text = files.readFile('README.md');\nconsole.log(text.length);\n",
    TYPESCRIPT: "import { files } from 'gg';\nconst text: string = files.readFile('README.md');\nconsole.log(text.length);\n",
}
CALLS = {
    PYTHON: "for _ in range({n}): gg.files.read_file('README.md')",
    JAVASCRIPT: "for (let i = 0; i < {n}; i++) gg.files.readFile('README.md')",
}
BUSY = {
    "a loop": (PYTHON, "gg.files.read_file('x')\nwhile True: pass"),
    "a call": (PYTHON, "gg.shell.run('x')"),
    "calls without end": (PYTHON, "while True:\n    try: gg.files.read_file('x')\n    except BaseException: pass"),
    "a sleep": (PYTHON, "import time\ngg.files.read_file('x')\ntime.sleep(99)"),
    "a pattern": (PYTHON, "import re\ngg.files.read_file('x')\nre.match('(a+)+$', 'a' * 40 + 'b')"),
    "a loop in JavaScript": (JAVASCRIPT, "gg.files.readFile('x'); while (true);"),
    "a call in JavaScript": (JAVASCRIPT, "gg.shell.run('x')"),
}


async def serve(operation: str, _args: dict) -> Returned:
    """Answer at once, except for a command, which takes for ever."""
    if operation == "shell.run":
        await trio.sleep_forever()
    return Returned(value="text of a file\n")


async def ran(programs: Programs, source: str, language: Language) -> ProgramResult:
    result = await programs.run(source, sdk=SDKS[language], serve=serve, limits=ProgramLimits(timeout_secs=60))
    if result.kind not in ("ok", "limit"):
        raise SystemExit(f"{source!r}: {result}")
    return result


async def booted(programs: Programs) -> None:
    """Wait until every idle worker has its guest booted."""
    while not all(worker.ready for idle in programs._idle.values() for worker in idle):  # noqa: ASYNC110 - threads tell no event
        await trio.sleep(0.002)


class Table:
    """Prints a row as soon as it is measured."""

    def __init__(self) -> None:
        print("| measure | figure | target |")
        print("|---|--:|--:|")

    def row(self, what: str, figure: str, target: str = "") -> None:
        print(f"| {what} | {figure} | {target} |", flush=True)


async def warm(programs: Programs, language: Language, rounds: int) -> list[float]:
    """Milliseconds of one program whose slot is warm, from the call to its answer."""
    await ran(programs, PROGRAM[language], language)
    taken = []
    for _ in range(rounds):
        await booted(programs)
        begun = time.perf_counter()
        await ran(programs, PROGRAM[language], language)
        taken.append((time.perf_counter() - begun) * 1000)
    return taken


async def cold(programs: Programs, language: Language, rounds: int) -> list[float]:
    """Milliseconds of one program for which a guest has to be booted first."""
    taken = []
    for _ in range(rounds):
        await booted(programs)
        idle, programs._idle = programs._idle, {}
        begun = time.perf_counter()
        await ran(programs, PROGRAM[language], language)
        taken.append((time.perf_counter() - begun) * 1000)
        for kind, workers in idle.items():
            for worker in workers:
                programs._give_back(kind, worker)
    return taken


async def back_to_back(programs: Programs, language: Language, seconds: float) -> float:
    """Programs a second, two at a time, without a pause between them."""
    done = 0

    async def one() -> None:
        nonlocal done
        while True:
            await ran(programs, PROGRAM[language], language)
            done += 1

    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one)
            nursery.start_soon(one)
    return done / seconds


async def per_call(
    programs: Programs, language: Language, rounds: int, calls: int = 2000
) -> tuple[float, float, float]:
    """Milliseconds of one call across the membrane, of the clock and of processors, and switches between threads: the least."""
    taken, worked, switched = [], [], []
    for _ in range(rounds):
        await booted(programs)
        before, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        await ran(programs, CALLS[language].format(n=calls), language)
        taken.append((time.perf_counter() - begun) / calls * 1000)
        after = resource.getrusage(resource.RUSAGE_SELF)
        worked.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / calls * 1000)
        switched.append((after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw) / calls)
    return min(taken), min(worked), min(switched)


async def per_thread_hop(rounds: int, calls: int = 500) -> float:
    """Milliseconds of trio's own way from a thread to a task and back: what a call would cost at the least with it."""

    async def answer() -> str:
        await trio.lowlevel.checkpoint()
        return "x"

    def ask() -> None:
        for _ in range(calls):
            trio.from_thread.run(answer)

    taken = []
    for _ in range(rounds):
        begun = time.perf_counter()
        await trio.to_thread.run_sync(ask)
        taken.append((time.perf_counter() - begun) / calls * 1000)
    return min(taken)


async def cancels(programs: Programs, rounds: int) -> list[float]:
    """Milliseconds from a cancel to the return of what was cancelled, in every state."""
    taken = []
    for language, source in BUSY.values():
        for _ in range(rounds):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ran, programs, source, language)
                await trio.sleep(0.15)
                begun = time.perf_counter()
                nursery.cancel_scope.cancel()
            taken.append((time.perf_counter() - begun) * 1000)
            await ran(programs, "", language)
            await booted(programs)
    return taken


async def lateness(programs: Programs | None, seconds: float) -> list[float]:
    """Milliseconds by which another task's small turns are late while two programs spin (or none, without ``programs``)."""
    late = []

    async def turns() -> None:
        while True:
            begun = time.perf_counter()
            await trio.sleep(0.002)
            for _ in range(5):
                await trio.lowlevel.checkpoint()
            sum(range(2000))
            late.append((time.perf_counter() - begun) * 1000 - 2)

    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(turns)
            if programs is not None:
                nursery.start_soon(ran, programs, "while True: pass", PYTHON)
                nursery.start_soon(ran, programs, "while (true);", JAVASCRIPT)
    return late


def held() -> tuple[float, float]:
    """MiB of this process that nobody shares and that were written, and its share of all it holds together with others."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    found = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.endswith("kB")}
    return found["Private_Dirty"] / 1024, found["Pss"] / 1024


async def memory_of_a_slot(language: Language, slots: int = 4) -> tuple[float, float]:
    """MiB a further warm slot takes: of its own, and in proportion."""
    async with open_programs([language], cache=cache_folder(os.environ)) as programs:
        kind = ("python" if language is PYTHON else "javascript", ProgramLimits().max_memory_bytes)
        await ran(programs, "", language)
        await booted(programs)
        before = held()
        for _ in range(slots):
            programs._idle[kind].append(programs._hire(kind))
        await booted(programs)
        after = held()
    return (after[0] - before[0]) / slots, (after[1] - before[1]) / slots


def spread(taken: list[float]) -> str:
    """Least and middle of some times."""
    return f"{min(taken):.2f} / {statistics.median(taken):.2f} ms"


def p99(taken: list[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.99)]


async def measure(quick: bool) -> None:
    rounds = 5 if quick else 30
    table = Table()
    kept: Callable[[str], None] = lambda line: print(line, file=sys.stderr)  # noqa: E731 - one line, used once
    async with open_programs(list(Language), cache=cache_folder(os.environ), progress=kept) as programs:
        targets = {PYTHON: "≤ 8 ms", JAVASCRIPT: "≤ 3 ms", TYPESCRIPT: ""}
        for language in Language:
            table.row(
                f"{language} program, warm slot, least / middle",
                spread(await warm(programs, language, rounds)),
                targets[language],
            )
        for language in (PYTHON, JAVASCRIPT):
            table.row(
                f"{language} program, guest booted for it, least / middle",
                spread(await cold(programs, language, rounds // 3 + 2)),
            )
        for language in (PYTHON, JAVASCRIPT):
            table.row(
                f"{language} programs a second, two at a time",
                f"{await back_to_back(programs, language, 1.0 if quick else 4.0):.0f}",
            )
        hop = await per_thread_hop(3 if quick else 8)
        for language in (PYTHON, JAVASCRIPT):
            call, work, switches = await per_call(programs, language, 3 if quick else 8)
            table.row(
                f"{language} call across the membrane, least",
                f"{call:.3f} ms ({call / hop:.1f}x trio's thread hop)",
                "≤ 0.25 ms",
            )
            table.row(
                f"{language} call: processor time, switches of threads", f"{work:.3f} ms, {switches:.1f}", "2 switches"
            )
        taken = await cancels(programs, 1 if quick else 5)
        table.row(
            "cancel, every state, middle / worst", f"{statistics.median(taken):.2f} / {max(taken):.2f} ms", "≤ 50 ms"
        )
        await booted(programs)
        alone = await lateness(None, 1.0 if quick else 4.0)
        beside = await lateness(programs, 1.0 if quick else 4.0)
        table.row("another task's turn late, p99, alone", f"{p99(alone):.2f} ms")
        table.row("another task's turn late, p99, two programs spinning", f"{p99(beside):.2f} ms", "≤ 25 ms")
    if sys.platform == "linux":
        for language in (PYTHON, JAVASCRIPT):
            private, share = await memory_of_a_slot(language)
            target = "≤ 10 MB" if language is PYTHON else ""
            table.row(f"{language} slot, warm: its own / in proportion", f"{private:.1f} / {share:.1f} MiB", target)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    trio.run(measure, parser.parse_args(argv).quick)
    return 0


if __name__ == "__main__":
    sys.exit(main())
