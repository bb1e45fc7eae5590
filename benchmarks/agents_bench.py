"""Agent turns: CPU per turn, memory per agent, cost at turn 200 against turn 10 (docs/benchmarks.md).

A stub model asks for one tool call a turn; everything else is the real thing: actor, slot pool, events, journal. What events and
journal cost is shown by switching them off one at a time. Beside it, as a yardstick of the machine as it is just then, a hand
loop: the same stub model and tool, called in turn with nothing around them. Run: ``python benchmarks/agents_bench.py [--quick]``.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
import tracemalloc
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from ggactors.actors.agent import AgentActor
from ggactors.actors.desk import Desk
from ggactors.actors.family import Family
from ggactors.actors.mail import Mail
from ggactors.actors.spending import SpendGate
from ggactors.actors.stations import PlainStation
from ggactors.actors.switch import Switch
from ggactors.protocol.agent import AgentFact, AgentLetter, AgentOrder
from ggactors.protocol.crew import Crew, Limits, ModelSpec, Profile
from ggactors.protocol.model import Message, ModelReply, ModelRequest, ToolCall, ToolResult, ToolSpec, Usage
from ggactors.protocol.values import Kind, Role
from ggactors.runtime.bus import EventBus
from ggactors.runtime.clock import RealClock
from ggactors.runtime.collector import tune_collector
from ggactors.runtime.slots import SlotPool
from ggactors.runtime.system import open_system
from ggactors.store.journal import open_journal
from ggactors.telemetry.sink import JsonLines
from ggactors.testing.journals import MemoryJournal
from ggactors.tools.endings import RoleEndings
from ggactors.wire import Codec, Tagged

SPEC = ToolSpec(name="look", description="Look.", schema={"type": "object"})
PROFILE = Profile(id="worker", name="Worker", model=ModelSpec(key="stub", provider="script", name="stub"))
CREW = Crew(name="bench", profiles=(PROFILE,))


class StubModel:
    """Calls the tool once a turn, then finishes."""

    label = "stub"

    def __init__(self, turns: int, stamps: list[float] | None = None) -> None:
        self.turns, self.stamps = turns, stamps

    def bound(self, request: object) -> Usage | None:
        return None

    async def reply(self, request) -> ModelReply:
        await trio.lowlevel.checkpoint()
        if self.stamps is not None:
            self.stamps.append(time.process_time())
        if request.turn >= self.turns:
            call = ToolCall(id=f"call-{request.turn}", tool="finish", args={"summary": "done"})
        else:
            # Another place each turn: the same call again and again would be ended as stuck.
            call = ToolCall(id=f"call-{request.turn}", tool="look", args={"at": f"{request.turn:040}"})
        return ModelReply(text="looking", calls=(call,), usage=Usage(input=100, output=20))


class StubToolbox:
    """One tool that answers at once."""

    specs = (SPEC,)

    def touches_tree(self, tool: str) -> bool:
        return False

    async def call(self, call: ToolCall) -> ToolResult:
        return ToolResult(call_id=call.id, tool=call.tool, ok=True, output="y" * 60)

    async def close(self) -> None:
        return None


class NoJournal(MemoryJournal):
    """Drops what it is given."""

    def append(self, stream, entries) -> None:
        return None


@asynccontextmanager
async def journal_of(kind: str, folder: Path):
    if kind == "sqlite":
        async with open_journal(folder / "journal.db") as journal:
            yield journal
    elif kind == "memory":
        yield MemoryJournal()
    else:
        yield NoJournal()


async def drive(agents: int, turns: int, *, journal: str, events: str, stamps=None, held=None) -> float:
    """Drive agents to their end and return the CPU seconds it took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bus = EventBus(run="bench", clock=RealClock().stamp)
        lines = None
        if events == "file":
            lines = JsonLines(folder / "events.jsonl")
            bus.add_sink(lines)
        emit = bus.emit if events != "off" else lambda event: None
        gone = []
        all_gone = trio.Event()

        def leave(letter) -> None:
            gone.append(letter)
            if len(gone) == agents:
                all_gone.set()

        async with journal_of(journal, folder) as kept, open_system() as system:
            pool = SlotPool(max(agents, 1))
            switch = Switch()
            desk = Desk(
                run="bench",
                mail=Mail(emit=emit),
                limits=Limits(max_turns=None),
                emit=emit,
                journal=kept,
                now=trio.current_time,
                jitter=lambda: 0.0,
                started=trio.current_time(),
                switch=switch,
                family=Family(crew=CREW, spawn=lambda order: None, wake=lambda agent: None, release=switch.release),
                spending=SpendGate(),
                gone=leave,
                board=None,
                pack=Tagged(AgentFact).pack,
                stop_run=lambda status, reason: None,
            )
            codec = Codec(AgentLetter, None)
            endings = RoleEndings(Role.STANDARD)
            before = time.process_time()
            actors = []
            for number in range(agents):
                order = AgentOrder(
                    id=f"a{number}", profile="worker", kind=Kind.ROOT, role=Role.STANDARD, brief="work", workdir="."
                )
                actor = AgentActor(
                    order=order,
                    profile=PROFILE,
                    model=StubModel(turns, stamps),
                    toolbox=StubToolbox(),
                    endings=endings,
                    seat=pool.seat(order.id),
                    station=PlainStation(),
                    desk=desk,
                    system="You are an agent.",
                    parse_wait=lambda call: "",
                )
                actors.append(actor)
                system.spawn(order.id, actor, codec)
            await all_gone.wait()
            spent = time.process_time() - before
            if held is not None:
                held.extend(actors)
        bus.close()
        if lines is not None:
            lines.close()
        return spent


def per_turn(agents: int, turns: int, **kinds) -> float:
    """Milliseconds of CPU per turn."""
    return min(trio.run(lambda: drive(agents, turns, **kinds)) for _ in range(3)) * 1000 / (agents * turns)


async def hand_loop(turns: int) -> float:
    """Call the stub model and its tool by hand and return the CPU seconds it took."""
    model, toolbox = StubModel(turns + 1), StubToolbox()
    system, messages = Message(role="system", text="You are an agent."), []
    before = time.process_time()
    for turn in range(1, turns + 1):
        request = ModelRequest(
            agent="a0", profile="worker", role=Role.STANDARD, issue=None, turn=turn, attempt=1,
            messages=(system, *messages), tools=(SPEC,),
        )  # fmt: skip
        reply = await model.reply(request)
        messages.append(Message(role="assistant", text=reply.text, calls=reply.calls))
        messages.append(Message(role="tool", results=(await toolbox.call(reply.calls[0]),)))
    return time.process_time() - before


def growth() -> float:
    """Cost of a turn around the 200th against one around the 10th, a single agent."""
    ratios = []
    for _ in range(5):
        stamps: list[float] = []
        trio.run(lambda stamps=stamps: drive(1, 230, journal="memory", events="file", stamps=stamps))
        early = (stamps[29] - stamps[4]) / 25
        late = (stamps[224] - stamps[199]) / 25
        ratios.append(late / early)
    return sorted(ratios)[2]


def memory(agents: int = 200, turns: int = 50) -> float:
    """KiB per agent with its history of 50 turns."""
    held: list[AgentActor] = []
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    trio.run(lambda: drive(agents, turns, journal="off", events="file", held=held))
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return grown / agents / 1024


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer agents")
    quick = parser.parse_args(argv).quick
    tune_collector()
    print("| measure | events file, journal sqlite | events file, journal memory | events file, no journal | neither |")
    print("|---|--:|--:|--:|--:|")
    for agents in (1, 100) if quick else (1, 100, 1000):
        cells = [
            per_turn(agents, 50, journal=journal, events=events)
            for journal, events in (("sqlite", "file"), ("memory", "file"), ("off", "file"), ("off", "off"))
        ]
        print(f"| CPU per turn, {agents} agents, ms | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")
    by_hand = min(trio.run(hand_loop, 50) for _ in range(20)) * 1000 / 50
    print(f"\nhand loop: {by_hand:.4f} ms a turn")
    print(f"cost at turn 200 against turn 10: {growth():.2f}x; memory per agent with its history: {memory():.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
