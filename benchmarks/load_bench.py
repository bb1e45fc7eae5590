"""Load: scripted issues over real worktrees, commits and merges (docs/benchmarks.md).

Every issue's agent writes two files and finishes; the root files all issues in one go and waits for the last. Prints issues a
minute and the growth per issue. Run: ``python benchmarks/load_bench.py [--issues N] [--slots N] [--files N] [--model-secs S]``.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import trio

from ggactors.app import open_run
from ggactors.runtime.collector import tune_collector
from ggactors.testing.crews import crew_document, finish, issue, turn, wait, write
from ggactors.testing.repos import make_repo


def script(issues: int, delay: float) -> dict:
    more = {"delaySecs": delay} if delay else {}
    filed = [issue(f"Work {number}") for number in range(1, issues + 1)]
    return {
        "root": [turn(*filed), wait(*(f"ISSUE-{number}" for number in range(1, issues + 1))), finish("all in")],
        **{
            f"ISSUE-{number}.*": [
                turn(write(f"work/{number % 40}/{number}.txt", f"{number}\n" * 20), **more),
                turn(write(f"notes/{number}.md", f"# {number}\n"), **more),
                {**finish(), **more},
            ]
            for number in range(1, issues + 1)
        },
    }


async def load(folder: Path, issues: int, slots: int, files: int, delay: float) -> dict:
    repo = make_repo(folder / "repo", {f"src/d{n % 20}/f{n}.py": f"x = {n}\n" * 50 for n in range(files)})
    (folder / "script.json").write_text(json.dumps({"agents": script(issues, delay)}))
    crew = folder / "crew.json"
    params = {"maxIssues": issues + 10}
    crew.write_text(json.dumps(crew_document(limits={"maxParallel": slots, "maxTurns": None}, params=params)))
    done: list[float] = []
    busy = 0.0
    last = time.perf_counter()
    cpu = time.process_time()
    begun = time.perf_counter()
    async with open_run(crew, workspace=repo.path, home=folder / "home", task="load") as run:

        def see(event) -> None:
            if event.type == "board_changed" and event.op == "done":
                done.append(time.perf_counter() - begun)

        run.add_sink(see)
        async with trio.open_nursery() as nursery:

            async def sample() -> None:
                nonlocal busy, last
                while True:
                    await trio.sleep(0.05)
                    busy += sum(agent.state == "running" for agent in run._staff.place.view.agents_by_id.values())
                    samples.append(1)

            samples: list[int] = []
            nursery.start_soon(sample)
            outcome = await run.outcome()
            nursery.cancel_scope.cancel()
    wall = time.perf_counter() - begun
    if outcome.exit_code != 0:
        raise SystemExit(f"the load run failed: {outcome.status} {outcome.summary}")
    fifth = max(len(done) // 5, 1)
    return {
        "issues/min": 60 * issues / (done[-1] - 0),
        "wall s": wall,
        "cpu s": time.process_time() - cpu,
        "first fifth, s/issue": done[fifth - 1] / fifth,
        "last fifth, s/issue": (done[-1] - done[-fifth - 1]) / fifth if len(done) > fifth else 0.0,
        "slots busy, mean": busy / max(len(samples), 1),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--issues", type=int, default=200)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--model-secs", type=float, default=0.0)
    options = parser.parse_args(argv)
    tune_collector()
    with tempfile.TemporaryDirectory() as name:
        figures = trio.run(load, Path(name), options.issues, options.slots, options.files, options.model_secs)
    print("| issues | slots | files | " + " | ".join(figures) + " |")
    print("|" + "--:|" * (3 + len(figures)))
    cells = " | ".join(f"{value:.3g}" for value in figures.values())
    print(f"| {options.issues} | {options.slots} | {options.files} | {cells} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
