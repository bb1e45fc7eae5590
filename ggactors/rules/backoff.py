"""How long to wait before a model is asked again (C1). Law: pure; the chance in it is handed in.

The schedule is the field's: one second, doubling, at most a minute; what the provider asks for wins when it is longer.
"""

from __future__ import annotations

import math

FIRST = 1.0
"""Seconds before the first retry."""

LONGEST = 60.0
"""Seconds the doubling stops at. A longer ``Retry-After`` is honoured all the same."""

SPREAD = 0.1
"""The most that jitter adds, as a share of the wait: agents that were refused together do not come back together."""


def wait_secs(attempt: int, *, retry_after: float | None, jitter: float) -> float:
    """Give the seconds to wait after failed attempt number ``attempt`` (from 1).

    ``jitter`` is in 0..1 and only ever lengthens, so that nobody is asked earlier than it said.
    """
    doubled = FIRST * 2.0 ** min(max(attempt - 1, 0), 16)
    wait = min(doubled, LONGEST)
    if retry_after is not None and math.isfinite(retry_after):
        wait = max(wait, retry_after)
    return wait * (1.0 + SPREAD * min(max(jitter, 0.0), 1.0))
