"""When a call goes to another model (fail-over). Law: pure; the crew names the other one, nothing is ever chosen for it.

A call stays with its model through passing trouble. It is handed over when the trouble lasts, or when the model refuses it for
good by its status; not when the request is too long for the model, which another's answer would only hide.
"""

from __future__ import annotations

import math

from ggactors.rules.congestion import LAST_FOR, PATIENCE

BARRED_FOR = 60.0
"""Seconds for which a model that was refused as such, not the one request, is not asked by those that can go elsewhere."""

LEAST_WAIT = 1.0
"""Seconds between two looks at a model, whatever it says."""

_OF_THE_MODEL = frozenset({401, 402, 403, 404, 429})
"""Statuses that, for good, say nothing of the request: the key, the name, an account without money (402, and some 429)."""


def lasts(failed: int, wait: float) -> bool:
    """Tell whether trouble lasts for a call that failed ``failed`` times in a row and would have to wait ``wait`` seconds."""
    return failed >= LAST_FOR or wait > PATIENCE


def refused_as_such(status: int | None) -> bool:
    """Tell whether a refusal for good is of the model rather than of the request, so that the next one need not try."""
    return status in _OF_THE_MODEL


def look_again_secs(opens_in: float) -> float:
    """Give how long the last of several models is waited for before one that opens in some seconds is looked at again.

    One of which that is not known, since a call to it is under way, is looked at after ``PATIENCE``.
    """
    return PATIENCE if math.isinf(opens_in) else max(opens_in, LEAST_WAIT)
