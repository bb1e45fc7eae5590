"""What a process that drives or shows a run with thousands of actors asks of Python's cyclic garbage collector.

Law: called by whoever owns the process, as the command line does; never at import, and never for a program that embeds a run.
"""

from __future__ import annotations

import gc

THRESHOLDS = (50_000, 20, 100)
"""Allocations before a young collection, young before a middle one, middle before a full one, where a run is driven.

The default walks the tasks again and again while they are made: ten thousand cost twice as much to spawn and cancel.
"""

SHOWING = (5_000, 5, 1_000)
"""The same where a run is only shown.

A collection walks what was made since the last, and under a flood of events that is many and all of it stays: a walk over the
50,000 that suit a run takes twenty milliseconds, which a person at the keys would feel.
"""


def tune_collector(thresholds: tuple[int, int, int] = THRESHOLDS) -> None:
    """Take everything loaded so far out of the collector's sight and set how often it runs. Call once, after start-up."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*thresholds)
