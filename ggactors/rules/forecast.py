"""What a run will likely take, told from what past runs of the same crew took. Law: pure; medians and ranges, nothing guessed."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ggactors.protocol.crew import Limits

MOST_RUNS = 30
"""How many past runs are looked at, the newest."""

_NOT_COMPARED = ("limits",)
"""Keys of a crew that change what it may take, not what it does."""


@frozen(kw_only=True)
class PastRun:
    """What one run took. ``cost`` is None where no model had a price; ``secs`` is wall-clock time, ``issues`` counts those done."""

    cost: float | None
    tokens: int
    secs: float
    issues: int


@frozen(kw_only=True)
class Range:
    """The least, the median and the most."""

    low: float
    middle: float
    high: float


@frozen(kw_only=True)
class Forecast:
    """What past runs took. ``cost`` is None as long as none of them had one."""

    runs: int
    cost: Range | None
    tokens: Range
    secs: Range
    issues: Range


def same_crew(document: Mapping[str, object], other: object) -> bool:
    """Tell whether two documents are the same crew, whatever their ceilings."""
    if not isinstance(other, dict):
        return False
    mine = {key: value for key, value in document.items() if key not in _NOT_COMPARED}
    return mine == {key: value for key, value in other.items() if key not in _NOT_COMPARED}


def forecast(past: Sequence[PastRun]) -> Forecast | None:
    """Sum past runs up; None where there are none."""
    if not past:
        return None
    costs = [run.cost for run in past if run.cost is not None]
    return Forecast(
        runs=len(past),
        cost=_range(costs) if costs else None,
        tokens=_range([run.tokens for run in past]),
        secs=_range([run.secs for run in past]),
        issues=_range([run.issues for run in past]),
    )


def _range(values: Sequence[float]) -> Range:
    return Range(low=min(values), middle=median(values), high=max(values))


def foretold(known: Forecast) -> str:
    """Say a forecast in one line."""
    runs = "the last completed run" if known.runs == 1 else f"the last {known.runs} completed runs"
    parts = [
        *([] if known.cost is None else [f"cost {_span(known.cost, _money)}"]),
        f"{_span(known.tokens, _count)} tokens",
        _span(known.secs, _time),
        f"{_span(known.issues, _count)} issues done",
    ]
    return f"{runs} of this crew took {', '.join(parts)}"


def doubts(known: Forecast, limits: Limits) -> tuple[str, ...]:
    """Say which ceilings stand below what half of the past runs took, so that the run will likely not complete."""
    checks = (
        ("maxCost", limits.max_cost, None if known.cost is None else known.cost.middle, _money),
        ("maxTokens", limits.max_tokens, known.tokens.middle, _count),
        ("maxRuntimeSecs", limits.max_runtime_secs, known.secs.middle, _time),
    )
    return tuple(
        f"limits.{key} is {write(threshold)}, and half of them took {write(middle)} or more: raise it (--set limits.{key}=…), "
        "or give the run less to do"
        for key, threshold, middle, write in checks
        if threshold is not None and middle is not None and threshold < middle
    )


def _span(values: Range, write: Callable[[float], str]) -> str:
    low, middle, high = write(values.low), write(values.middle), write(values.high)
    return middle if low == high else f"{middle} ({low} to {high})"


def _money(value: float) -> str:
    return f"{value:.4g}"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _time(secs: float) -> str:
    whole = round(secs)
    if whole < 60:
        return f"{secs:.3g} s"
    minutes, left = divmod(whole, 60)
    return f"{minutes} min {left} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
