"""The journal against a bare commit: durable facts a second by 1, 10, 100 and 1,000 writers (docs/benchmarks.md).

*Bare* is what SQLite alone costs in this very setting: WAL, synchronous=FULL, one thread, no trio, one commit after another.
Both are measured in turns, in one run on one disk, and the best round is kept. Run: ``python benchmarks/journal_bench.py``.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import trio

from ggactors.store.journal import open_journal

FACT = b"x" * 200
INSERT = "INSERT INTO entry (stream, body) VALUES (?, ?)"
WRITERS = (1, 10, 100, 1000)
NEEDED_FROM_100 = 60_000
NEEDED_OF_ONE = 2.0


def bare(folder: Path, facts: int, commits: int) -> float:
    """Give the seconds that ``commits`` transactions of ``facts`` facts each take SQLite alone."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        connection = sqlite3.connect(Path(own) / "bare.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE entry (seq INTEGER PRIMARY KEY, stream TEXT NOT NULL, body BLOB NOT NULL)")
        rows = [("board", FACT)] * facts
        began = time.perf_counter()
        for _ in range(commits):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(INSERT, rows)
            connection.execute("COMMIT")
        took = time.perf_counter() - began
        connection.close()
    return took


async def ours(folder: Path, writers: int, each: int) -> float:
    """Give the seconds that ``writers`` tasks take to commit ``each`` facts one after another."""

    async def write(number: int) -> None:
        for _ in range(each):
            await journal.commit(f"agent-{number}", [FACT])

    with tempfile.TemporaryDirectory(dir=folder) as own:
        async with open_journal(Path(own) / "journal.db") as journal:
            began = time.perf_counter()
            async with trio.open_nursery() as nursery:
                for number in range(writers):
                    nursery.start_soon(write, number)
            return time.perf_counter() - began


def measure(folder: Path, rounds: int, scale: float) -> dict[str, dict[int, float]]:
    """Give facts a second, best of the rounds: of ours by writers, of the bare one by facts a commit."""
    best: dict[str, dict[int, float]] = {"ours": {}, "bare": {}}
    for _ in range(rounds):
        for writers in WRITERS:
            each = max(5, int(scale * (2000 if writers == 1 else 20_000 / writers)))
            # Side by side, so that a busy moment of the machine meets both.
            rate = writers * each / bare(folder, writers, each)
            best["bare"][writers] = max(rate, best["bare"].get(writers, 0.0))
            rate = writers * each / trio.run(ours, folder, writers, each)
            best["ours"][writers] = max(rate, best["ours"].get(writers, 0.0))
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short round: whether it runs, not how fast")
    parser.add_argument("--dir", type=Path, default=Path.cwd(), help="a folder on the disk to measure; default: here")
    options = parser.parse_args()
    rounds, scale = (1, 0.05) if options.quick else (5, 1.0)
    best = measure(options.dir, rounds, scale)
    print("| writers | journal, facts/s | µs a commit | bare SQLite, as many a commit, facts/s | journal / bare |")
    print("|--:|--:|--:|--:|--:|")
    for writers in WRITERS:
        mine, other = best["ours"][writers], best["bare"][writers]
        print(f"| {writers:,} | {mine:,.0f} | {writers / mine * 1e6:,.0f} | {other:,.0f} | {mine / other:.2f} |")
    one, hundred = best["bare"][1] / best["ours"][1], best["ours"][100]
    print(f"\none writer takes {one:.2f} times a bare commit (target: at most {NEEDED_OF_ONE:g})")
    print(
        f"100 writers commit {hundred:,.0f} facts/s (target: at least {NEEDED_FROM_100:,}, where SQLite alone does 249,000)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
