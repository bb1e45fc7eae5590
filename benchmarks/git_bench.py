"""Git work against git itself: the same step on the same repository, git's process start included, best of several.

    python benchmarks/git_bench.py [--sizes 100 1000 10000 50000] [--rounds 3] [--folder DIR]

Prints one table: git's and our best time of all rounds, their ratio, and after it the ratio of the least processor times, which a
busy machine disturbs less. The targets are ratios (ours to git's). Git's side is the command, its start included; ours is the
call, with the trees and indexes at hand that a run has read before. Give a folder on the disk you care about: on tmpfs it is the
processor that decides.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attrs import evolve

from ggactors.repo import worktrees
from ggactors.repo.apply import Move, move_checkout
from ggactors.repo.baseline import commit_baseline, make_repository
from ggactors.repo.commits import write_commit
from ggactors.repo.disk import Disk
from ggactors.repo.operator import find
from ggactors.repo.pool import Pool
from ggactors.repo.scan import scan
from ggactors.repo.sealing import seal
from ggactors.repo.textmerge import Labels
from ggactors.repo.treemerge import merge_commits
from ggactors.repo.worktrees import Grounds

TARGETS = {
    "baseline": (0.6, 1.0),
    "worktree, a run's first": None,
    "worktree, fresh": (1.5, 1.5),
    "worktree, recycled": (0.4, 0.4),
    "status, clean": (2.0, 2.5),
    "stage all, commit 10 files": (1.5, 1.8),
    "clean merge": (1.0, 1.1),
    "remove a worktree": (0.05, 0.02),
}
ENV = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


class Took(NamedTuple):
    """Seconds a piece of work took: by the clock, and of a processor."""

    wall: float
    work: float

    def __add__(self, other: Took) -> Took:  # type: ignore[override]
        """Take two pieces together."""
        return Took(self.wall + other.wall, self.work + other.work)


def git(where: Path, *args: str) -> Took:
    """Run git; answer what it took."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["git", *args], cwd=where, env=ENV, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(time.perf_counter() - begin, work)


def timed(work) -> Took:
    """Do a piece of work in this process; answer what it took."""
    begin, before = time.perf_counter(), time.process_time()
    work()
    return Took(time.perf_counter() - begin, time.process_time() - before)


def fill(where: Path, count: int) -> None:
    """Write ``count`` files of about 2 KB in folders of 50."""
    for number in range(count):
        path = where / f"d{number // 50}" / f"f{number}.py"
        if not number % 50:
            path.parent.mkdir(parents=True)
        path.write_text("".join(f"line {line} of file {number}\n" for line in range(85)))


def edit(where: Path, numbers, mark: str, line: int) -> None:
    """Change one line in each of some files."""
    for number in numbers:
        path = where / f"d{number // 50}" / f"f{number}.py"
        lines = path.read_text().splitlines(keepends=True)
        lines[line] = f"{mark} changed this\n"
        path.write_text("".join(lines))


class Bench:
    """One size, one round, both sides."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count
        self.times: dict[str, tuple[Took, Took]] = {}

    def run(self) -> dict[str, tuple[Took, Took]]:
        """Measure every step; answer (git's, ours) by step."""
        theirs, ours = self.folder / "theirs", self.folder / "ours"
        for where in (theirs, ours):
            fill(where, self.count)
        self.baseline(theirs, ours)
        self.steps(theirs, ours)
        return self.times

    def baseline(self, theirs: Path, ours: Path) -> None:
        took = git(theirs, "init", "-q", "-b", "main") + git(theirs, "add", "-A") + git(theirs, "commit", "-qm", "base")

        def work() -> None:
            place = make_repository(os.fsencode(ours), Disk())
            commit_baseline(place, b"base\n")
            place.store.close()

        self.times["baseline"] = (took, timed(work))
        git(theirs, "repack", "-adq")
        git(theirs, "config", "gc.auto", "0")

    def steps(self, theirs: Path, ours: Path) -> None:
        operator = find(os.fsencode(ours)).place
        grounds = Grounds(
            common=operator.common, folder=os.fsencode(self.folder / "w"), store=operator.store,
            settings=operator.settings, disk=Disk(),
        )  # fmt: skip
        base = operator.refs.head().commit
        took = git(theirs, "worktree", "add", "-q", "-b", "first", "../t-first")
        first = timed(lambda: worktrees.add(grounds.place(b"first"), b"first", base))
        self.times["worktree, a run's first"] = (took, first)
        one = grounds.place(b"one")
        took = git(theirs, "worktree", "add", "-q", "-b", "one", "../t-one")
        self.times["worktree, fresh"] = (took, timed(lambda: worktrees.add(one, b"one", base)))
        there = self.folder / "t-one"
        here = Path(os.fsdecode(one.root))
        time.sleep(0.02)
        git(there, "status")
        self.times["status, clean"] = (
            git(there, "status", "--porcelain"),
            timed(lambda: scan(one, one.index())),
        )
        chosen = range(0, self.count, max(1, self.count // 10))[:10]
        for where in (there, here):
            edit(where, chosen, "issue", 20)
        took = git(there, "add", "-A") + git(there, "commit", "-qm", "work")
        self.times["stage all, commit 10 files"] = (
            took,
            timed(lambda: seal(one, b"one", base, b"work\n", protected=b"refs/heads/main")),
        )
        self.merge(theirs, ours, operator, one)
        pool = Pool(grounds)
        spare = grounds.place(b"spare")
        worktrees.add(spare, b"spare", base)
        took = git(theirs, "worktree", "add", "-q", "-b", "two", "../t-two", "main")
        pool.take_back(spare)
        tip = operator.refs.head().commit
        two = grounds.place(b"two")
        self.times["worktree, recycled"] = (took, timed(lambda: pool.make(two, b"two", tip)))
        took = git(theirs, "worktree", "remove", "../t-two")
        self.times["remove a worktree"] = (took, timed(lambda: worktrees.remove(two)))
        operator.store.close()

    def merge(self, theirs: Path, ours: Path, operator, one) -> None:
        main = range(5, self.count, max(1, self.count // 20))[:20]
        for where in (theirs, ours):
            edit(where, main, "main", 60)
        git(theirs, "commit", "-qam", "main")
        git(ours, "commit", "-qam", "main")
        for where in (theirs, ours):
            git(where, "status")
        took = git(theirs, "merge", "-q", "--no-edit", "one")
        place = evolve(operator)

        def work() -> None:
            store, tip = place.store, place.refs.head().commit
            issue = one.refs.read(b"refs/heads/one")
            merged = merge_commits(store, tip, issue, labels=Labels(ours=b"HEAD", theirs=b"one"))
            made = write_commit(place, merged.tree, [tip, issue], b"merge\n")
            move_checkout(
                place, Move(ref=b"refs/heads/main", old=tip, new=made, changes=merged.changes, message="merge")
            )

        self.times["clean merge"] = (took, timed(work))


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default="/dev/shm" if Path("/dev/shm").is_dir() else None)
    given = parser.parse_args()
    print(subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.strip())
    print("| step | " + " | ".join(f"{size:,} files" for size in given.sizes) + " | target |")
    print("|---|" + "---:|" * (len(given.sizes) + 1))
    cells: dict[str, list[str]] = {step: [] for step in TARGETS}
    for size in given.sizes:
        rounds = []
        for _ in range(given.rounds):
            folder = Path(tempfile.mkdtemp(prefix="git-bench-", dir=given.folder))
            try:
                rounds.append(Bench(folder, size).run())
            finally:
                shutil.rmtree(folder)
        for step in TARGETS:
            wall = [min(run[step][side].wall for run in rounds) for side in (0, 1)]
            work = [min(run[step][side].work for run in rounds) for side in (0, 1)]
            busy = work[1] / max(work[0], 0.0005)
            cells[step].append(f"{wall[0] * 1e3:.1f} / {wall[1] * 1e3:.1f} ms ({wall[1] / wall[0]:.2f}x; {busy:.2f}x)")
    for step, row in cells.items():
        goal = TARGETS[step]
        told = "" if goal is None else f"{goal[0]}x, {goal[1]}x at 50,000"
        print(f"| {step} | " + " | ".join(row) + f" | {told} |")


if __name__ == "__main__":
    main()
