"""What it takes to import ggactors and to ask for its version (docs/benchmarks.md).

A fresh interpreter for every try, the contestants in turn; CPU time of the whole process, and the median of the rounds'
ratios. Run: ``python benchmarks/import_bench.py [--quick]``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

CONTESTANTS = {
    "python alone": ["-c", "pass"],
    "import trio": ["-c", "import trio"],
    "import ggactors": ["-c", "import ggactors"],
    "import ggactors, then load_crew and open_run": ["-c", "import ggactors; ggactors.load_crew, ggactors.open_run"],
    "python -m ggactors --version": ["-m", "ggactors", "--version"],
}
MOST = 2.1
"""Times trio's own import that ``import ggactors`` may take."""
VERSION_MS = 120.0


def main(argv: list[str] | None = None) -> int:
    """Measure and print one table; 1 when a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="five rounds")
    rounds = 5 if parser.parse_args(argv).quick else 25
    times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    for number in range(rounds + 1):
        for name, arguments in CONTESTANTS.items():
            took = _cpu_ms([sys.executable, *arguments])
            if number:  # the first round only warms the caches
                times[name].append(took)
    bare = times["python alone"]
    trio = times["import trio"]
    print("| process | ms | of it beyond python alone | against trio's import | target | |")
    print("|---|--:|--:|--:|---|---|")
    missed = False
    for name, took in times.items():
        own = statistics.median(t - b for t, b in zip(took, bare, strict=True))
        ratio = statistics.median((t - b) / (r - b) for t, b, r in zip(took, bare, trio, strict=True))
        target, met = "", True
        if name == "import ggactors":
            target, met = f"≤ {MOST} x", ratio <= MOST
        elif name.endswith("--version"):
            target, met = f"≤ {VERSION_MS:.0f} ms", statistics.median(took) <= VERSION_MS
        missed |= not met
        verdict = "" if not target else "met" if met else "MISSED"
        print(f"| {name} | {statistics.median(took):.0f} | {own:.0f} | {ratio:.2f} x | {target} | {verdict} |")
    return 1 if missed else 0


def _cpu_ms(command: list[str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1e3


if __name__ == "__main__":
    sys.exit(main())
