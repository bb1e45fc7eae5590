"""The actor kernel against a raw trio memory channel (BASE) and pykka (docs/benchmarks.md).

Ratios count, not times: in every round each contestant does the same work, one after the other, and the median of the rounds'
ratios is kept. Times are CPU seconds of the whole process; payloads are about 100 bytes; ``letters`` are typed records packed
by the sender and rebuilt by the receiver, ``bytes`` go through the same mailboxes as they are.

Run: ``python benchmarks/kernel_bench.py [--quick] [measure …]``. For the peer install ``requirements-peers.txt`` by hand.
"""

from __future__ import annotations

import argparse
import gc
import resource
import statistics
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kernel_base
import kernel_ours
import trio
from attrs import frozen

from ggactors.runtime.collector import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LETTERS, BYTES, TUNED = "letters", "bytes", "collector tuned"


@frozen(kw_only=True)
class Measure:
    """One row's work: ``n`` times, ``rounds`` rounds, what each contestant must reach against BASE."""

    name: str
    work: str
    n: int
    rounds: int
    targets: dict[str, float]


MEASURES = (
    Measure(name="ask, round trips/s", work="ask", n=500, rounds=60, targets={LETTERS: 1.0, BYTES: 1.4}),
    Measure(name="tell/s", work="tell", n=2000, rounds=40, targets={LETTERS: 2.0, BYTES: 5.0}),
    Measure(name="fan-in from 100/s", work="fan_in", n=2000, rounds=40, targets={LETTERS: 2.0}),
    Measure(name="spawn 10,000, /s", work="spawn", n=10_000, rounds=21, targets={LETTERS: 1.0, TUNED: 2.0}),
    Measure(name="ring of 1,000, hops/s", work="ring", n=3000, rounds=25, targets={LETTERS: 1.2}),
    Measure(name="10,000 suspended waiters woken, /s", work="wake", n=10_000, rounds=15, targets={LETTERS: 0.5}),
)
HEAVIEST_ACTOR = 3_600


def main(argv: list[str] | None = None) -> int:
    """Measure and print one table; 1 when a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "measures", nargs="*", help=f"out of {', '.join(measure.work for measure in MEASURES)}, weight, extras"
    )
    parser.add_argument("--quick", action="store_true", help="a quarter of the rounds")
    parser.add_argument("--weigh", metavar="WHO", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.weigh:
        print(_weigh(options.weigh))
        return 0
    wanted = set(options.measures)
    rows = [_row(measure, options.quick) for measure in MEASURES if not wanted or measure.work in wanted]
    if not wanted or "weight" in wanted:
        rows.append(_weight_row())
    print("| measure | BASE | ggactors, letters | bytes | collector tuned | pykka | target | |")
    print("|---|--:|--:|--:|--:|--:|---|---|")
    for cells, _ in rows:
        print("| " + " | ".join(cells) + " |")
    if not wanted or "extras" in wanted:
        print()
        _print_extras(options.quick)
    if not _pykka_installed():
        print("\npeer not installed: pykka (benchmarks/requirements-peers.txt)")
    return 0 if all(met for _, met in rows) else 1


# ---------------------------------------------------------------- speed


def _row(measure: Measure, quick: bool) -> tuple[list[str], bool]:
    contestants = _contestants(measure.work)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(max(3, measure.rounds // 4) if quick else measure.rounds):
        for name, work in contestants.items():
            gc.collect()
            times[name].append(work(measure.n) / measure.n)
    if _pykka_installed() and measure.work != "wake":
        times["pykka"] = _pykka_times(measure, quick)
    base = times["BASE"]
    ratios = {
        name: statistics.median(b / t for b, t in zip(base, took, strict=False))
        for name, took in times.items()
        if name != "BASE"
    }
    met = all(ratios[name] >= target for name, target in measure.targets.items())
    cells = [measure.name, _rate(base)]
    cells += [
        f"{_rate(times[name])} (**{ratios[name]:.2f}x**)" if name in ratios else "-"
        for name in (LETTERS, BYTES, TUNED, "pykka")
    ]
    cells += [
        ", ".join(f"≥ {target:g}x {name}" for name, target in measure.targets.items()),
        "met" if met else "MISSED",
    ]
    return cells, met


def _contestants(work: str) -> dict[str, Callable[[int], float]]:
    base, ours = getattr(kernel_base, work), getattr(kernel_ours, work)
    found: dict[str, Callable[[int], float]] = {"BASE": partial(trio.run, base), LETTERS: partial(trio.run, ours)}
    if work in ("ask", "tell", "fan_in", "ring"):
        found[BYTES] = lambda n: float(trio.run(ours, n, kernel_ours.RAW))
    if work == "spawn":
        found[TUNED] = partial(_tuned, ours)
    return found


def _tuned(work: Callable[..., Any], n: int) -> float:
    with _collector_tuned():
        return float(trio.run(work, n))


@contextmanager
def _collector_tuned() -> Iterator[None]:
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _pykka_installed() -> bool:
    return find_spec("pykka") is not None


def _pykka_times(measure: Measure, quick: bool) -> list[float]:
    import kernel_pykka

    work: Callable[[int], float] = getattr(kernel_pykka, measure.work)
    n = min(measure.n, 2000)  # a thread an actor: ten thousand of them are not everybody's
    return [work(n) / n for _ in range(3 if quick else 7)]


def _rate(took: list[float]) -> str:
    return f"{1e-3 / statistics.median(took):.1f} k"


# ---------------------------------------------------------------- weight


def _weight_row() -> tuple[list[str], bool]:
    weights = {who: _weight_of(who) for who in ("base", "ours", "pykka") if who != "pykka" or _pykka_installed()}
    met = weights["ours"] <= HEAVIEST_ACTOR
    pykka = f"{weights['pykka']:,}" if "pykka" in weights else "-"
    cells = ["bytes per idle actor", f"{weights['base']:,}", f"**{weights['ours']:,}**", "-", "-", pykka]
    return [*cells, f"≤ {HEAVIEST_ACTOR:,}", "met" if met else "MISSED"], met


def _weight_of(who: str) -> int:
    """Weigh in a fresh process: memory once taken is not given back."""
    done = subprocess.run([sys.executable, __file__, "--weigh", who], capture_output=True, text=True, check=True)
    return int(done.stdout)


def _weigh(who: str) -> int:
    """Give what one idle actor adds to the process's memory, in bytes."""
    n = 2_000 if who == "pykka" else 20_000
    after = 0

    def look() -> None:
        nonlocal after
        after = _resident()

    if who == "pykka":
        import kernel_pykka

        before = _resident()
        held = kernel_pykka.fleet(n)
        look()
        for actor in held:
            actor.stop(block=False)
    else:
        fleet = kernel_base.fleet if who == "base" else kernel_ours.fleet
        trio.run(fleet, 100, look)  # what is made once is not the actors' weight
        before = _resident()
        trio.run(fleet, n, look)
    return (after - before) // n


def _resident() -> int:
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # the peak, in bytes on macOS


# ---------------------------------------------------------------- what safety costs


def _print_extras(quick: bool) -> None:
    """Say what deadlines and stopping a fleet cost: part of the kernel, and never dropped to win."""
    rounds, n = (5, 500) if quick else (20, 500)
    plain, timed = [], []
    for _ in range(rounds):
        plain.append(trio.run(kernel_ours.ask, n) / n)
        timed.append(trio.run(kernel_ours.ask_with_deadline, n) / n)
    cost = statistics.median(t - p for p, t in zip(plain, timed, strict=True)) / statistics.median(plain)
    print(f"- a deadline of its own (`trio.fail_after`) makes an ask {cost:+.0%} dearer")
    for tuned in (False, True):
        with _collector_tuned() if tuned else _as_it_is():
            base = statistics.median(trio.run(kernel_base.stop, 10_000) for _ in range(3)) * 1e3
            ours = statistics.median(trio.run(kernel_ours.stop, 10_000) for _ in range(3)) * 1e3
        state = "tuned" if tuned else "as it comes"
        print(
            f"- stopping 10,000: nobody runs for {ours:.0f} ms at most, {base:.0f} ms if in one call (collector {state})"
        )


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield


if __name__ == "__main__":
    sys.exit(main())
