"""The console under a flood: a board of 2,000 issues, 500 agents at work, 5,000 events a second.

    python benchmarks/console_bench.py [--issues N] [--agents N] [--rate N] [--secs N] [--json]

Measures, in one process: what folding an event costs; what composing a frame costs at three sizes; then a whole console on a
terminal of 120 by 40 (prompt_toolkit writes into a pipe that a thread empties) while events come at ``--rate``: frames a
second, and how long a key takes from being typed until the frame that shows it is written.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from attrs import evolve

from ggactors.protocol import events
from ggactors.repl.console.screen import Screen
from ggactors.repl.console.state import Looking, Tab
from ggactors.runtime.collector import SHOWING, tune_collector
from ggactors.telemetry.watchfold import WatchFold

RUN = "261130-1405-k3f"
STATES = ("open", "in_progress", "in_review", "done", "failed")


def board(issues: int, agents: int) -> list[events.Event]:
    """The beginning: epics, issues with blockers and reviews, agents at work."""
    out: list[events.Event] = [events.SessionStarted(crew="big", workspace="/w", version="1", resumed=False)]
    out += [
        events.BoardChanged(op="create_epic", epic={"id": f"EP{at}", "title": f"Epic {at}"}, by="root")
        for at in range(issues // 50)
    ]
    out += [changed(at, "open" if at % 7 else "failed", issues) for at in range(issues)]
    for at in range(agents):
        name = f"ISSUE-{at}.0i"
        out.append(
            events.AgentSpawned(
                agent=name, profile="coder", profile_name="Coder", role="standard", kind="implementer", issue=f"ISSUE-{at}",
                workdir="/w", brief="Do it. " * 40, tools=("finish",), operations=(),
            )
        )  # fmt: skip
        out.append(events.AgentState(agent=name, state="running"))
    return out


def changed(at: int, state: str, issues: int) -> events.BoardChanged:
    told = {
        "id": f"ISSUE-{at}", "title": f"Make part {at} of the whole do what it says", "state": state, "agent": "coder",
        "reviewers": ["critic"], "blockedBy": [f"ISSUE-{at - step}" for step in (1, 7, 20) if at >= step and at % 5 == 0],
        "epic": f"EP{at // 50}" if at < issues // 2 else None, "attempts": 1, "rounds": 0, "reason": None,
    }  # fmt: skip
    return events.BoardChanged(op="change", issue=told)


def flood(count: int, issues: int, agents: int) -> list[events.Event]:
    """What comes while the crew works: mostly turns, now and then the board."""
    out: list[events.Event] = []
    at = 0
    while len(out) < count:
        name = f"ISSUE-{at % agents}.0i"
        out += [
            events.AssistantMessage(agent=name, text="I look at the next file and change what has to be changed. " * 4),
            events.ToolCalled(agent=name, call_id="c", tool="shell", args={"command": f"make part-{at}"}),
            events.ToolAnswered(agent=name, call_id="c", ok=True, output="line of output\n" * 20),
            events.UsageSpent(
                agent=name, profile="coder", model="m", input=900, cached_input=0, output=90, reasoning=0, cost=0.01
            ),
            events.TurnOutcome(agent=name, outcome="progressed", consecutive_errors=0, turns=at // agents + 1),
        ]
        if at % 4 == 0:
            out.append(changed(at % issues, STATES[at % 5], issues))
        at += 1
    return out


def stamped(stream: list[events.Event]) -> list[events.Event]:
    return [evolve(event, seq=seq, time="2026-11-30T14:05:00.000Z", run=RUN) for seq, event in enumerate(stream, 1)]


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def folding(stream: list[events.Event]) -> tuple[WatchFold, float]:
    fold = WatchFold()
    began = time.perf_counter()
    fold.take_all(stream)
    return fold, (time.perf_counter() - began) / len(stream) * 1e6


def drawing(fold: WatchFold, more: list[events.Event]) -> dict[str, float]:
    """Compose frames, a board change or a turn between any two, at every size and on both tabs."""
    out = {}
    coming = iter(more)
    for width, height in ((40, 10), (120, 40), (200, 60)):
        for tab in Tab:
            screen = Screen(fold, Looking(tab=tab), slots=500)
            costs = []
            for at in range(40):
                for _ in range(20):
                    fold.take(next(coming))
                screen.looking.list.at, screen.looking.list.key = at * 7, None
                began = time.thread_time()
                screen.draw(width, height)
                costs.append((time.thread_time() - began) * 1e3)
            out[f"{width}x{height} {tab}"] = statistics.median(costs)
    return out


class Pump:
    """A source that gives events at a rate."""

    def __init__(self, before: list[events.Event], after: list[events.Event], rate: int) -> None:
        self._before, self._after, self._rate = before, after, rate
        self._at = 0
        self._began: float | None = None
        self.given = 0

    def take(self, most: int) -> list[events.Event]:
        if self._before:
            taken, self._before = self._before[:most], self._before[most:]
            return taken
        if self._began is None:
            self._began = time.perf_counter()
        due = min(len(self._after), int((time.perf_counter() - self._began) * self._rate))
        taken = self._after[self._at : min(due, self._at + most)]
        self._at += len(taken)
        self.given = self._at
        return taken

    def behind(self) -> int:
        return 0 if self._began is None else int((time.perf_counter() - self._began) * self._rate) - self._at

    def alive(self) -> bool:
        return True

    def progress(self) -> float:
        return 1.0

    def close(self) -> None:
        return


async def living(before: list[events.Event], after: list[events.Event], rate: int, secs: float) -> dict[str, float]:
    """Run a whole console and type at it."""
    from prompt_toolkit.data_structures import Size
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output.vt100 import Vt100_Output

    from ggactors.repl.console.app import Console

    reading, writing = os.pipe()
    written = [0]

    def empty() -> None:
        while data := os.read(reading, 1 << 16):
            written[0] += len(data)

    reader = threading.Thread(target=empty, daemon=True)
    reader.start()
    terminal = io.TextIOWrapper(os.fdopen(writing, "wb"), encoding="utf-8")
    output = Vt100_Output(terminal, lambda: Size(rows=40, columns=120), term="xterm-256color")
    with create_pipe_input() as keyboard:
        pump = Pump(before, after, rate)
        console = Console(pump, slots=500, input=keyboard, output=output)
        shown = asyncio.Event()
        console.app.after_render += lambda _: shown.set()
        running = asyncio.ensure_future(console.run())
        while pump.given == 0:
            shown.clear()
            await shown.wait()
        echoes: list[float] = []
        echo_cpu: list[float] = []
        wall_ms: list[float] = []
        cpu_ms: list[float] = []
        frames, began, cpu = console.frames, time.perf_counter(), time.process_time()
        keys = 0
        while time.perf_counter() - began < secs:
            here = console.looking_at()
            typed, worked = time.perf_counter(), time.process_time()
            # A thread types, as a terminal does: the loop may be busy just then.
            await asyncio.to_thread(keyboard.send_text, "j" if keys % 40 < 20 else "k")
            keys += 1
            while console.looking_at() == here or console.drawn_at() < typed:
                shown.clear()
                await shown.wait()
            echoes.append((console.drawn_at() - typed) * 1e3)
            echo_cpu.append((time.process_time() - worked) * 1e3)
            wall_ms.append(console.cost * 1e3)
            cpu_ms.append(console.cpu * 1e3)
            await asyncio.sleep(0.03 + 0.02 * (keys % 3))
        took = time.perf_counter() - began
        made, used, behind = console.frames - frames, time.process_time() - cpu, pump.behind()
        console.leave()
        await running
    terminal.close()
    return {
        "events_per_sec": pump.given / took,
        "behind": behind,
        "frames_per_sec": made / took,
        "frame_ms": statistics.median(wall_ms),
        "frame_cpu_ms": statistics.median(cpu_ms),
        "keys": keys,
        "echo_ms_median": statistics.median(echoes),
        "echo_ms_p99": percentile(echoes, 0.99),
        "echo_cpu_ms_median": statistics.median(echo_cpu),
        "echo_cpu_ms_p99": percentile(echo_cpu, 0.99),
        "echo_ms_worst": max(echoes),
        "cpu_share": used / took,
        "kilobytes_per_sec": written[0] / took / 1e3,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--issues", type=int, default=2000)
    parser.add_argument("--agents", type=int, default=500)
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--secs", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    before = board(given.issues, given.agents)
    after = flood(int(given.rate * (given.secs + 4)), given.issues, given.agents)
    stream = stamped(before + after)
    first, later = stream[: len(before)], stream[len(before) :]
    _, micros = folding(stream)
    fold, _ = folding(first)
    tune_collector(SHOWING)  # as `show --follow` does
    told: dict[str, object] = {"fold_us_per_event": micros, "compose_ms": drawing(fold, later)}
    told["console"] = asyncio.run(living(first, later, given.rate, given.secs))
    if given.json:
        print(json.dumps(told))
        return
    for name, value in told.items():
        rows = value.items() if isinstance(value, dict) else [("", value)]
        for what, number in rows:
            print(f"{name:<18} {what:<18} {number:10.2f}")


if __name__ == "__main__":
    main()
