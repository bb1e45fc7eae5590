"""``python -m ggactors.testing.sim``: play seeds of the simulator, and see again what a seed shows.

    python -m ggactors.testing.sim --seed 17 --verbose      one seed, with every event
    python -m ggactors.testing.sim --seeds 0..2000 --jobs 2 many, told one line each when they break a law
    python -m ggactors.testing.sim --seeds 0..50 --plant wake_lost

Law: it exits 0 when no law was broken, 1 when one was, 2 for a wrong command line; what it tells of a seed replays that seed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from ggactors.telemetry.jsonl import to_line
from ggactors.testing.simplants import PLANTS
from ggactors.testing.simplay import play
from ggactors.testing.simsteadily import GIT_EVERY, play_steadily

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ggactors.testing.simplay import Played


def main(arguments: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    """Play what the command line names. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m ggactors.testing.sim", description=(__doc__ or "").splitlines()[0])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="play one seed and say what it comes to")
    which.add_argument("--seeds", type=_range, metavar="A..B", help="play the seeds from A up to, not including, B")
    parser.add_argument("--verbose", action="store_true", help="show every event; with --seeds: what each came to")
    parser.add_argument("--jobs", type=int, default=1, help="with --seeds: processes to share them out to")
    parser.add_argument("--plant", choices=sorted(PLANTS), help="play with a planted fault")
    parser.add_argument("--git", action="store_true", help=f"with --seeds: play every {GIT_EVERY}th over real git too")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        return _one(options.seed, options, say)
    return _many(options, say)


def _range(text: str) -> range:
    first, dots, last = text.partition("..")
    if not dots or not first.isdecimal() or not last.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no range; write A..B")
    return range(int(first), int(last))


def _one(seed: int, options: argparse.Namespace, say: Callable[[str], None]) -> int:
    with PLANTS[options.plant].planted() if options.plant else nullcontext():
        played = play(seed)
    if options.verbose:
        for event in played.events:
            say(to_line(event))
    if played.violations:
        say(played.report(0 if options.verbose else 40))
        return 1
    if options.git:
        differences = play_steadily(seed)
        for difference in differences:
            say(f"seed {seed}: {difference}")
        if differences:
            return 1
    say(_sum_up(played))
    return 0


def _sum_up(played: Played) -> str:
    world, outcome = played.world, played.outcome
    what = "hung" if outcome is None else f"{outcome.status}, exit {outcome.exit_code}, {outcome.issues}"
    return f"seed {world.seed}: {len(played.events)} events {played.digest()[:12]}, {what}; no law was broken; {world.faults}"


def _many(options: argparse.Namespace, say: Callable[[str], None]) -> int:
    if options.jobs > 1:
        return _shared_out(options, say)
    began = time.monotonic()
    broken = 0
    with PLANTS[options.plant].planted() if options.plant else nullcontext():
        for seed in options.seeds:
            told = _broken_by(seed, git=options.git, tell=say if options.verbose else None)
            if told:
                broken += 1
                say(told)
    secs = time.monotonic() - began
    say(f"{len(options.seeds)} seeds, {broken} broke a law, {len(options.seeds) / max(secs, 0.001):.0f} seeds/s")
    return 1 if broken else 0


def _broken_by(seed: int, *, git: bool, tell: Callable[[str], None] | None) -> str:
    """Play a seed, over real git too when it is its turn, and say what is wrong; empty when nothing is."""
    played = play(seed)
    if played.violations:
        return played.report()
    if tell is not None:
        tell(_sum_up(played))
    differences = play_steadily(seed) if git and seed % GIT_EVERY == 0 else []
    if not differences:
        return ""
    told = [f"seed {seed}: {difference}" for difference in differences]
    return "\n".join((*told, f"replay it: python -m ggactors.testing.sim --seed {seed} --git"))


def _shared_out(options: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Give each of several processes every n-th stretch of the seeds, and gather what they say."""
    seeds, jobs = options.seeds, options.jobs
    size = -(-len(seeds) // jobs)
    more = [*(("--plant", options.plant) if options.plant else ()), *(("--git",) if options.git else ())]
    parts = [(seeds[start], seeds[min(start + size, len(seeds)) - 1] + 1) for start in range(0, len(seeds), size)]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "ggactors.testing.sim", "--seeds", f"{first}..{last}", *more],
            stdout=subprocess.PIPE,
            text=True,
        )
        for first, last in parts
    ]
    codes = []
    for process in running:
        said, _ = process.communicate()
        say(said.rstrip("\n"))
        codes.append(process.returncode)
    return max(codes, default=0)


if __name__ == "__main__":
    sys.exit(main())
