"""What a process that only shows a run asks of Python's cyclic garbage collector. Law: called by whoever owns the process."""

from __future__ import annotations

import gc

THRESHOLDS = (5_000, 5, 1_000)
"""Allocations before a young collection, young before a middle one, middle before a full one.

A collection walks what was made since the last, and under a flood of events that is many and all of it stays: a walk over the
50,000 that suit a run takes twenty milliseconds, which a person at the keys would feel.
"""


def keep_pauses_short() -> None:
    """Have the collector run often and briefly. Call once, after start-up."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
