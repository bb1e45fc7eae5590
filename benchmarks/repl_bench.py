"""How long a key takes to be echoed at the prompt while a run emits 5,000 events a second, on a terminal of its own.

    python benchmarks/repl_bench.py [--rate 5000] [--keys 400]

A child process opens the real prompt on a pseudo-terminal with a scripted crew, and emits events of agents beside it through
the run's own bus, so that they are stamped, written, folded, told and printed as any. Keys are single characters, each
another one; a key's time is from its write until its bytes come back. Resizes fall in between. The clock says little on a busy
machine, so the processor time of an echo, and of a print above the line that it may have to wait for, are told beside it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import random
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

CHILD = "--child"
COLUMNS, ROWS = 100, 30
TARGET_MS = 20.0


def child(crew: str, rate: int) -> int:
    """Open the prompt, and let agents that nobody waits for speak."""
    import trio

    from ggactors.crew import read_crew
    from ggactors.protocol.events import AssistantMessage
    from ggactors.repl import prompt
    from ggactors.repl.opening import Opening
    from ggactors.repl.session import Session

    class Flooded(Session):
        def begin(self, task, *, interactive):
            live = super().begin(task, interactive=interactive)
            self._nursery.start_soon(self._flood, live)
            return live

        async def _flood(self, live):
            await live.began.wait()
            emitted, began = 0, time.monotonic()
            while live.outcome is None and live.run is not None:
                due = int((time.monotonic() - began) * rate) - emitted
                for _ in range(due):
                    emitted += 1
                    text = f"event {emitted} {'x' * (emitted % 60)}"
                    live.run._staff.place.emit(AssistantMessage(agent="ISSUE-1.0i", text=text))
                await trio.sleep(0.005)

    prompt.Session = Flooded
    clock_drawing()
    reading = read_crew(Path(crew), [])
    opening = Opening(reading=reading, read=lambda _named, _overrides: reading)
    return prompt.open_prompt(opening, full=True, scripted=False, colour=True)


def clock_drawing() -> None:
    """Keep the processor time of every print above the line and of every echo, and write them down now and then."""
    from prompt_toolkit.application import Application

    from ggactors.repl.terminal import TerminalFace

    took: dict[str, list[float]] = {"print": [], "echo": []}
    drawing = False

    def clocked(name, work):
        def run(*args, **named):
            nonlocal drawing
            inside, drawing = drawing, drawing or name == "print"
            began = time.thread_time()
            try:
                return work(*args, **named)
            finally:
                drawing = inside
                if not inside:
                    took[name].append((time.thread_time() - began) * 1000)
                    if len(took["echo"]) % 20 == 0:
                        Path(os.environ["TOOK"]).write_text(json.dumps(took))

        return run

    TerminalFace._draw = clocked("print", TerminalFace._draw)
    Application._redraw = clocked("echo", Application._redraw)


class Typist:
    """The other side of the pseudo-terminal."""

    def __init__(self, crew: Path, cwd: Path, rate: int) -> None:
        self.master, slave = pty.openpty()
        self.resize(COLUMNS, ROWS)
        environ = os.environ | {
            "GGACTORS_HOME": str(cwd.parent / "state"),
            "TERM": "xterm-256color",
            "TOOK": str(cwd.parent / "took.json"),
            "PYTHONPATH": os.getcwd(),
        }
        environ.pop("NO_COLOR", None)
        command = [sys.executable, __file__, CHILD, str(crew), str(rate)]
        self.process = subprocess.Popen(
            command, cwd=cwd, env=environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self.read = 0

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, wanted: bytes, secs: float = 20.0) -> float:
        """Read until ``wanted`` comes; give the seconds it took."""
        began, seen = time.perf_counter(), b""
        while wanted not in seen:
            if time.perf_counter() - began > secs:
                raise SystemExit(f"{wanted!r} did not come; the last was {seen!r}")
            came: list[bytes] = []
            self._take(came)
            seen = seen[-200:] + b"".join(came)
        return time.perf_counter() - began

    def idle(self, secs: float) -> None:
        end = time.perf_counter() + secs
        while time.perf_counter() < end:
            self._take([])

    def _take(self, into: list[bytes]) -> None:
        ready, _, _ = select.select([self.master], [], [], 0.005)
        if ready:
            data = os.read(self.master, 65536)
            self.read += len(data)
            into.append(data)


def measure(rate: int, keys: int) -> dict[str, float]:
    """Type ``keys`` keys and give what they took, in milliseconds."""
    from ggactors.testing.crews import write_crew

    dice = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        cwd = Path(folder)
        (cwd / "work").mkdir()
        crew = write_crew(cwd / "crew", {"root": [{"text": "I listen."}, {"text": "Still here."}]})
        typist = Typist(crew, cwd / "work", rate)
        typist.until(b"/help lists")
        os.write(typist.master, b"begin\r")
        typist.until(b"I listen.")
        typist.idle(1.0)
        times, before, began = [], typist.read, time.perf_counter()
        for number in range(keys):
            key = chr(0x4E00 + number).encode()
            os.write(typist.master, key)
            times.append(typist.until(key) * 1000)
            typist.idle(dice.uniform(0.01, 0.05))
            if number % 30 == 29:
                os.write(typist.master, b"\x15")
                typist.resize(*dice.choice([(80, 24), (100, 30), (132, 40), (60, 20)]))
                typist.idle(0.2)
        drawn = (typist.read - before) / (time.perf_counter() - began)
        typist.process.kill()
        typist.process.wait()
        took = json.loads((cwd / "took.json").read_text())
        events = sum(1 for _ in next((cwd / "state" / "runs").glob("*/events.jsonl")).open("rb"))
    return {
        "rate": rate,
        "keys": keys,
        "events": events,
        "median_ms": round(statistics.median(times), 2),
        "p95_ms": round(part(times, 0.95), 2),
        "p99_ms": round(part(times, 0.99), 2),
        "worst_ms": round(max(times), 2),
        "echo_cpu_p99_ms": round(part(took["echo"], 0.99), 2),
        "print_cpu_p99_ms": round(part(took["print"], 0.99), 2),
        "drawn_kb_per_s": round(drawn / 1000, 1),
    }


def part(times: list[float], share: float) -> float:
    """Give the time that ``share`` of all stay below."""
    return sorted(times)[int(len(times) * share)] if times else 0.0


def main() -> int:
    if sys.argv[1:2] == [CHILD]:
        return child(sys.argv[2], int(sys.argv[3]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=5000, help="events a second")
    parser.add_argument("--keys", type=int, default=400)
    options = parser.parse_args()
    for rate in (0, options.rate):
        found = measure(rate, options.keys)
        print(json.dumps(found))
    busy = found["echo_cpu_p99_ms"] + found["print_cpu_p99_ms"]
    return 0 if busy <= TARGET_MS else 1


if __name__ == "__main__":
    sys.exit(main())
