"""The board: edges with their cycle check, the ready set, memory, replay (docs/benchmarks.md).

A growing board: issue *i* is filed behind three of the fifty before it, and every tenth is afterwards found to block an older
one. Peers check every edge the same way on the same board; rustworkx and networkx are left out where they are not
installed. Times are of the thread's processor clock, which a busy machine disturbs least. Edges are inserted with Python's
cyclic collector off, as its pauses belong to the process and fall where they like; what they add is shown beside.
Run: ``python benchmarks/board_bench.py [--quick]``.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import random
import statistics
import sys
import time
import tracemalloc
from typing import Any

from ggactors.protocol.board import (
    BoardFact,
    Charter,
    CreateIssue,
    Filer,
    HandBack,
    SetIssueBlockedBy,
    SettleMerge,
    StartIssue,
)
from ggactors.protocol.values import Refused
from ggactors.rules.board import Board, apply, decide, replay
from ggactors.rules.dag import Dag
from ggactors.runtime.collector import tune_collector
from ggactors.wire import Tagged

CHARTER = Charter(
    max_epics=1,
    max_issues=10**9,
    max_retries=1,
    profiles=("lead", "coder"),
    filers={"lead": Filer(implementers=("coder",))},
)
NEEDED_MEAN_US, NEEDED_WORST_US, NEEDED_BYTES = 5.0, 1_000.0, 2_048
PEER_SECS = 20.0
"""A peer that takes longer is stopped, and what it managed is what counts."""

Edges = list[tuple[int, list[int]]]


def growing(issues: int) -> Edges:
    """List the changes of a growing board: an issue with the blockers it brings, or the one more that an older one gets."""
    chance = random.Random(7)
    changes: Edges = []
    for number in range(issues):
        first = max(0, number - 50)
        changes.append((number, sorted({chance.randrange(first, number) for _ in range(3)}) if number else []))
        if number % 10 == 9:
            changes.append((chance.randrange(first, number), [number]))
    return changes


# ---------------------------------------------------------------- edges


class Ours:
    """The graph of the rules."""

    name = "ggactors"

    def __init__(self) -> None:
        self.dag = Dag()

    def add(self, number: int) -> None:
        self.dag.add(f"N-{number}")

    def name_ends(self, number: int, blockers: list[int]) -> tuple[str, list[str]]:
        key = f"N-{number}"
        return key, [*self.dag.blockers(key), *(f"N-{blocker}" for blocker in blockers)]

    def insert(self, key: str, blockers: list[str]) -> bool:
        return self.dag.set_blockers(key, blockers) is None


class Rustworkx:
    """rustworkx with its own check."""

    name = "rustworkx check_cycle"

    def __init__(self) -> None:
        self.module = importlib.import_module("rustworkx")
        self.graph = self.module.PyDiGraph(check_cycle=True)

    def add(self, number: int) -> None:
        self.graph.add_node(number)

    def name_ends(self, number: int, blockers: list[int]) -> tuple[int, list[int]]:
        return number, blockers

    def insert(self, number: int, blockers: list[int]) -> bool:
        try:
            for blocker in blockers:
                self.graph.add_edge(blocker, number, None)
        except self.module.DAGWouldCycle:
            return False
        return True


class Networkx:
    """networkx, asking for a way back before each edge."""

    name = "networkx has_path"

    def __init__(self) -> None:
        self.module = importlib.import_module("networkx")
        self.graph = self.module.DiGraph()

    def add(self, number: int) -> None:
        self.graph.add_node(number)

    def name_ends(self, number: int, blockers: list[int]) -> tuple[int, list[int]]:
        return number, blockers

    def insert(self, number: int, blockers: list[int]) -> bool:
        for blocker in blockers:
            if self.module.has_path(self.graph, number, blocker):
                return False
            self.graph.add_edge(blocker, number)
        return True


def time_edges(graph: Any, changes: Edges) -> tuple[int, float, float, int]:
    """Give the edges made in time, µs an edge on average, µs of the worst change, and how many were refused.

    Nodes are stored and names made outside the clock: what is measured is inserting edges.
    """
    clock, took, worst, made, refused, seen = time.thread_time, 0.0, 0.0, 0, 0, -1
    for number, blockers in changes:
        if number > seen:
            seen = number
            graph.add(number)
        ends = graph.name_ends(number, blockers)
        began = clock()
        kept = graph.insert(*ends)
        spent = clock() - began
        took += spent
        worst = max(worst, spent)
        made += len(blockers)
        refused += not kept
        if took > PEER_SECS:
            break
    return made, took / max(made, 1) * 1e6, worst * 1e6, refused


def peers() -> list[type]:
    """List the graphs that can be measured here."""
    found: list[type] = [Ours]
    for graph, module in ((Rustworkx, "rustworkx"), (Networkx, "networkx")):
        try:
            importlib.import_module(module)
            found.append(graph)
        except ImportError:
            print(f"({module} is not installed and left out)")
    return found


def show_edge_times(issues: int, name: str, times: list[tuple[int, float, float, int]]) -> None:
    """Print one row: of several rounds the middle one counts, so that a busy moment does not."""
    made, refused = times[0][0], times[0][3]
    mean, worst = (statistics.median(row[index] for row in times) for index in (1, 2))
    print(f"| {issues:,} | {name} | {made:,} | {mean:.2f} | {worst:,.0f} | {refused:,} |")


def show_edges(sizes: tuple[int, ...], rounds: int) -> None:
    """Print the table of edges."""
    graphs = peers()
    print("| issues | graph | edges in time | µs an edge | worst change, µs | circles refused |")
    print("|--:|---|--:|--:|--:|--:|")
    for issues in sizes:
        changes = growing(issues)
        for graph in graphs:
            gc.collect()
            gc.disable()
            show_edge_times(issues, graph.name, [time_edges(graph(), changes) for _ in range(rounds)])
            gc.enable()
            if graph is Ours:
                name = f"{graph.name}, collector on"
                show_edge_times(issues, name, [time_edges(graph(), changes) for _ in range(rounds)])
    print(f"\ntarget: at most {NEEDED_MEAN_US:g} µs an edge on average, {NEEDED_WORST_US:,.0f} µs at worst\n")


# ---------------------------------------------------------------- the whole rules


def filed(board: Board, changes: Edges, entries: list[bytes] | None = None) -> float:
    """File these issues through decide and apply; give the µs of thread time a letter took."""
    pack = Tagged(BoardFact).pack
    spent, letters, seen = 0.0, 0, -1
    for number, blockers in changes:
        named = tuple([f"ISSUE-{blocker + 1}" for blocker in blockers])
        who = {"by": "root", "profile": "lead"}
        if number > seen:
            seen = number
            letter: CreateIssue | SetIssueBlockedBy = CreateIssue(
                **who,
                title=f"Make part {number} of the service answer",
                in_scope=f"src/part_{number}.py and its tests in tests/test_part_{number}.py, nothing else in the tree",
                out_of_scope=f"the wiring of part {number}, which another issue does",
                completion_criteria=f"tests/test_part_{number}.py passes and the part is documented in docs/{number}.md",
                agent="coder",
                blocked_by=named,
            )
        else:
            key = f"ISSUE-{number + 1}"
            letter = SetIssueBlockedBy(**who, issue=key, blocked_by=(*board.dag.blockers(key), *named))
        began = time.thread_time()
        for fact in decide(board, CHARTER, letter).facts:
            apply(board, fact)
            if entries is not None:
                entries.append(pack(fact))
        spent += time.thread_time() - began
        letters += 1
    return spent / letters * 1e6


def work_off(board: Board, issues: int, entries: list[bytes] | None = None) -> float:
    """Take so many ready issues from ready to done; give the µs of thread time each took."""
    pack = Tagged(BoardFact).pack
    began = time.thread_time()
    for _ in range(issues):
        key = next(iter(board.ready))
        for letter in (
            StartIssue(issue=key),
            HandBack(issue=key, agent=f"{key}.0i", commit="c" * 40, summary="did it"),
            SettleMerge(issue=key, commit="m" * 40),
        ):
            decision = decide(board, CHARTER, letter)
            assert not isinstance(decision.answer, Refused), decision.answer
            for fact in decision.facts:
                apply(board, fact)
                if entries is not None:
                    entries.append(pack(fact))
    return (time.thread_time() - began) / issues * 1e6


def show_rules(sizes: tuple[int, ...]) -> None:
    """Print what a letter costs on boards of several sizes: the ready set is kept up, never scanned for."""
    print("| issues on the board | filing or blocking one, µs | ready to done, three letters, µs |")
    print("|--:|--:|--:|")
    for issues in sizes:
        board = Board()
        filing = filed(board, growing(issues))
        print(f"| {issues:,} | {filing:.1f} | {work_off(board, min(1_000, issues // 2)):.1f} |")
    print("\ntarget: what a change costs follows the edges it touches, whatever the size of the board\n")


def show_memory(issues: int) -> None:
    """Print the bytes an issue of a full board takes, its texts of 40 to 90 characters included."""
    changes = growing(issues)
    gc.collect()
    tracemalloc.start()
    board = Board()
    filed(board, changes)
    gc.collect()
    each = tracemalloc.get_traced_memory()[0] / len(board.issues)
    tracemalloc.stop()
    print(f"a board of {issues:,} issues holds {each:,.0f} bytes an issue (target: at most {NEEDED_BYTES:,})")


def show_replay(issues: int) -> None:
    """Print how long it takes to build a board again from the packed facts of its whole life."""
    board, entries = Board(), []
    filed(board, growing(issues), entries)
    while board.ready:
        work_off(board, 1, entries)
    unpack = Tagged(BoardFact).unpack
    began = time.thread_time()
    again = replay(unpack(entry) for entry in entries)
    took = time.thread_time() - began
    assert len(again.issues) == issues
    print(f"{len(entries):,} facts of a run of {issues:,} issues are replayed in {took:.2f} s (a resume may take 2 s)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small boards: whether it runs, not how fast")
    quick = parser.parse_args().quick
    sizes = (2_000,) if quick else (2_000, 100_000)
    tune_collector()
    show_edges(sizes, 1 if quick else 3)
    show_rules(sizes)
    show_memory(sizes[-1])
    show_replay(2_000)
    return 0


if __name__ == "__main__":
    sys.exit(main())
