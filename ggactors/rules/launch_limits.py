"""Launch checks of ``limits`` (C2, C3). Law: absent is the default, ``null`` is off, anything else is kept exactly or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.crew import Limits, SpendLimits
from ggactors.rules.shape import Place, Table, nullable, number, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.rules.shape import T

KEYS = (
    "maxParallel",
    "maxTurns",
    "maxRuntimeSecs",
    "maxConsecutiveErrors",
    "maxErrorRate",
    "errorRateWindow",
    "maxCost",
    "maxTokens",
    "perIssue",
    "perEpic",
)
SPENDING = ("maxCost", "maxTokens")

DEFAULTS = Limits()


def read_limits(place: Place) -> Limits:
    """Read the ceilings; a wrong one is reported and left off."""
    table = Table(place, KEYS)
    rate, window = _error_rate(table)
    return Limits(
        max_parallel=table.read("maxParallel", whole(1)) or DEFAULTS.max_parallel,
        max_turns=_ceiling(table, "maxTurns", whole(1), DEFAULTS.max_turns),
        max_runtime_secs=_ceiling(table, "maxRuntimeSecs", number(above=0), DEFAULTS.max_runtime_secs),
        max_consecutive_errors=_ceiling(table, "maxConsecutiveErrors", whole(1), DEFAULTS.max_consecutive_errors),
        max_error_rate=rate,
        error_rate_window=window,
        max_cost=_ceiling(table, "maxCost", number(above=0), DEFAULTS.max_cost),
        max_tokens=_ceiling(table, "maxTokens", whole(1), DEFAULTS.max_tokens),
        per_issue=table.read("perIssue", nullable(read_spend_limits)),
        per_epic=table.read("perEpic", nullable(read_spend_limits)),
    )


def read_spend_limits(place: Place) -> SpendLimits | None:
    """Read what an issue, an epic or a profile may spend; None when it is no object, which is reported."""
    remedy = "write it in limits of the crew, where it holds for every agent"
    table = Table(place, SPENDING, hints=dict.fromkeys((key for key in KEYS if key not in SPENDING), remedy))
    if not table.opened:
        return None
    return SpendLimits(
        max_cost=table.read("maxCost", nullable(number(above=0))),
        max_tokens=table.read("maxTokens", nullable(whole(1))),
    )


def _ceiling(table: Table, key: str, reader: Callable[[Place], T | None], default: T | None) -> T | None:
    return table.read(key, nullable(reader)) if key in table else default


def _error_rate(table: Table) -> tuple[float | None, int | None]:
    """Read the pair: the rate may stand alone (the window is then the default), a window needs a rate, off is both off."""
    rate = table.read("maxErrorRate", nullable(number(low=0, high=1)))
    window = table.read("errorRateWindow", nullable(whole(1)))
    rate_on = table.values.get("maxErrorRate") is not None
    window_on = table.values.get("errorRateWindow") is not None
    if window_on and not rate_on:
        table.at("errorRateWindow").wrong(
            "a window without a rate", "write maxErrorRate too (0.0 to 1.0), or remove errorRateWindow"
        )
        return None, None
    if rate_on and "errorRateWindow" in table and not window_on:
        table.at("maxErrorRate").wrong(
            "a rate whose window is switched off",
            "write errorRateWindow as a whole number, or set maxErrorRate to null",
        )
        return None, None
    if not table.only(("maxErrorRate", "errorRateWindow")):
        return DEFAULTS.max_error_rate, DEFAULTS.error_rate_window
    if not rate_on:
        return None, None
    return rate, window if window_on else DEFAULTS.error_rate_window


def notes(limits: Limits, place: Place) -> tuple[str, ...]:
    """Say what is allowed in ``limits`` but can hardly be meant."""
    window = limits.error_rate_window
    written = isinstance(place.value, dict) and place.value.get("errorRateWindow") is not None
    if written and window is not None and limits.max_turns is not None and window >= limits.max_turns:
        stop = f"maxTurns ({limits.max_turns}) stops the agent before a window of {window} turns is full"
        return (f"limits.errorRateWindow: {stop}; the error rate can never fire",)
    return ()
