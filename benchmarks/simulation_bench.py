"""The simulation at scale: 100,000 issues and 10,000 agents at once under the virtual clock (docs/benchmarks.md).

The whole runtime in memory: board, journal, scheduler, slots, agents, merger, a repository of mappings; models are stubs whose
replies take one virtual second. One root files every issue; ``--agents`` of them can be dispatched and are worked on at the same
time, each by an agent of its own, and merged; the others stand behind one that fails, so that every filing, every stall and every
end is paid for. ``--all`` lets every issue be dispatched instead, through as many slots: then there are as many agents as issues.
Run: ``python benchmarks/simulation_bench.py [--quick] [--all] [--issues N] [--agents N]``.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import trio
import trio.testing

from ggactors.crew import crew_from_document
from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelReply, ModelRequest, ToolCall, Usage
from ggactors.runtime.collector import tune_collector
from ggactors.testing.crews import crew_document
from ggactors.testing.journals import MemoryJournal
from ggactors.testing.simulation import Simulation

NEEDED_SECS, NEEDED_MB = 120.0, 2048.0
BATCH = 500
"""Issues the root files in one reply."""
PATHS = 50
"""Files the agents write; each of them always the same, so that the tree stays small and the repository is not what is measured."""


class Forgetful(MemoryJournal):
    """Obeys the journal's port and keeps nothing: what it would take is the real journal's to show."""

    def append(self, stream, entries):
        self.commits += 1


class Nothing(list):
    """A list of events that stays empty."""

    def append(self, event):
        pass


class Lead:
    """The root: files every issue, then finishes."""

    label = "lead"

    def __init__(self, issues: int, free: int) -> None:
        self.issues, self.free, self.filed = issues, free, 0

    def bound(self, request: ModelRequest) -> Usage | None:
        return None

    async def reply(self, request: ModelRequest) -> ModelReply:
        await trio.lowlevel.checkpoint()
        if self.filed == self.issues:
            return ModelReply(calls=(ToolCall(id="end", tool="finish", args={"summary": "filed"}),))
        last = min(self.filed + BATCH, self.issues)
        calls = tuple(
            ToolCall(id=f"c{number}", tool="create_issue", args=self.issue(number))
            for number in range(self.filed, last)
        )
        self.filed = last
        return ModelReply(calls=calls)

    def issue(self, number: int) -> dict[str, object]:
        """Write issue ``number``, counted from 0. The first fails, and those past ``free`` stand behind it."""
        args = {
            "title": f"work {number}",
            "inScope": "-",
            "outOfScope": "-",
            "completionCriteria": "-",
            "agent": "coder",
        }
        return {**args, "blockedBy": ["ISSUE-1"]} if number > self.free else args


class Worker:
    """An implementer: writes a file and finishes, in one reply. The agent of ISSUE-1 is refused by its provider."""

    label = "worker"

    def __init__(self, fails: bool) -> None:
        self.fails = fails

    def bound(self, request: ModelRequest) -> Usage | None:
        return None

    async def reply(self, request: ModelRequest) -> ModelReply:
        await trio.sleep(1)
        assert request.issue is not None
        if self.fails and request.issue == "ISSUE-1":
            raise ModelFault("refused", status=400)
        path = f"f{int(request.issue.rpartition('-')[2]) % PATHS}"
        return ModelReply(
            calls=(
                ToolCall(id="write", tool="write_file", args={"path": path, "contents": f"{path}\n"}),
                ToolCall(id="end", tool="finish", args={"summary": "done"}),
            )
        )


class Models:
    """Serves the root and everybody else."""

    label = "stub"

    def __init__(self, issues: int, free: int) -> None:
        self.issues, self.free = issues, free

    def model_for(self, agent: str, profile: str) -> Lead | Worker:
        return Lead(self.issues, self.free) if agent == "root" else Worker(fails=self.free < self.issues)


def simulate(issues: int, agents: int, *, everything: bool) -> tuple[float, Simulation]:
    """Drive one run and time it. Returns the processor seconds it took and the run."""
    free = issues if everything else agents
    document = crew_document(
        limits={"maxParallel": agents, "maxTurns": None}, params={"maxIssues": issues, "maxRetries": 0}
    )
    run = Simulation(
        source=Models(issues, free),
        crew=crew_from_document(document, folder=Path.cwd()),
        journal=Forgetful(),
        events=Nothing(),
    )
    began = time.process_time()
    outcome = trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))
    secs = time.process_time() - began
    states = list(outcome.issues.values())
    done = issues if everything else free
    assert states.count("done") == done, f"{states.count('done')} done of {done}"
    assert len(states) == issues
    assert run.staff is not None and run.staff.pool.held == 0
    return secs, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--all", action="store_true", help="let every issue be dispatched")
    parser.add_argument("--issues", type=int, default=None)
    parser.add_argument("--agents", type=int, default=None)
    options = parser.parse_args()
    issues = options.issues or (10_000 if options.quick else 100_000)
    agents = options.agents or (1_000 if options.quick else 10_000)
    tune_collector()
    wall = time.monotonic()
    secs, run = simulate(issues, agents, everything=options.all)
    wall = time.monotonic() - wall
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert run.staff is not None
    sent = len(run.staff.agents)
    print(
        f"{issues} issues, {sent} agents, at most {run.staff.place.view.most_running} at once, {run.staff.place.bus.seq} events"
    )
    print(f"{secs:.1f} s of processor time ({wall:.1f} s by the wall), {memory:.0f} MB at most")
    print(f"{secs / issues * 1e3:.3f} ms an issue, {secs / sent * 1e3:.2f} ms an agent")
    share = 1.0 if options.issues is None and not options.quick else issues / 100_000
    good = secs <= NEEDED_SECS * share and memory <= NEEDED_MB
    print(f"{'within' if good else 'BEYOND'} {NEEDED_SECS * share:.0f} s and {NEEDED_MB:.0f} MB")
    return 0 if good or options.all else 1


if __name__ == "__main__":
    sys.exit(main())
