"""What a process with thousands of actors asks of Python's cyclic garbage collector.

Law: called by whoever owns the process, as the command line does; never at import, and never for a program that embeds a run.
"""

from __future__ import annotations

import gc

THRESHOLDS = (50_000, 20, 100)
"""Allocations before a young collection, young before a middle one, middle before a full one.

The default walks the tasks again and again while they are made: ten thousand cost twice as much to spawn and cancel.
"""


def tune_collector() -> None:
    """Take everything loaded so far out of the collector's sight and let it run less often. Call once, after start-up."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
