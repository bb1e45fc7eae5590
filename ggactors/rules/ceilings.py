"""The ceilings that stop an agent or the run (C2, G7). Law: pure; judged at turn boundaries, nothing is cut in mid-turn.

``judge_after`` looks at the outcome just recorded, ``judge_before`` and ``judge_budget`` at what stands in the way of the next
call to a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from ggactors.protocol.values import Status, TurnResult

if TYPE_CHECKING:
    from ggactors.protocol.crew import Limits
    from ggactors.rules.spend import Budget


class Spending(Protocol):
    """What the run has spent so far: ``cost`` is None while no model has reported any."""

    @property
    def cost(self) -> float | None:
        """Give the sum of all reported costs."""

    @property
    def tokens(self) -> int:
        """Give input and output tokens together."""


@frozen(kw_only=True)
class Tally:
    """One agent's outcomes: turns and errors in all, errors in a row, and the window (true is an error), oldest first."""

    turns: int = 0
    errors: int = 0
    consecutive: int = 0
    window: tuple[bool, ...] = ()

    def after(self, result: TurnResult, *, window: int | None) -> Tally:
        """Count one more turn. ``window`` is how many outcomes the error rate looks back on, None for none."""
        error = result in (TurnResult.ERROR, TurnResult.FATAL)
        return Tally(
            turns=self.turns + 1,
            errors=self.errors + error,
            consecutive=self.consecutive + 1 if error else 0,
            window=(*self.window, error)[-window:] if window else (),
        )


@frozen(kw_only=True)
class Breach:
    """A ceiling that was reached: its key in ``limits``, the figures, and the status it ends with. ``window`` is the rate's.

    ``budget`` names the issue, epic or profile whose it is; ``limit`` is its path then (``perIssue.maxCost``).
    """

    limit: str
    threshold: float
    observed: float
    status: Status
    turns: int
    window: int | None = None
    budget: str | None = None

    def as_dict(self, agent: str) -> dict[str, Any]:
        """Give the record of the run summary's ``limitHit``."""
        return {
            "limit": self.limit,
            "threshold": self.threshold,
            "observed": self.observed,
            "turns": self.turns,
            "window": self.window,
            "agent": agent,
            "budget": self.budget,
        }

    def sentence(self) -> str:
        """Say it to the operator in one line."""
        whose = "" if self.budget is None else f" of {self.budget}"
        path = self.limit if self.limit.startswith("agents.") else f"limits.{self.limit}"
        over = f" over the last {self.window} turns" if self.window is not None else ""
        seen = f"{self.observed:.10g} of {self.threshold:.10g}"
        return f"stopped by {path}{whose}: {seen}{over}, after {self.turns} turns"


def judge_after(limits: Limits, tally: Tally) -> Breach | None:
    """Judge the outcome just recorded: errors in a row, then the rate, on a full window and strictly above only (C2)."""
    most = limits.max_consecutive_errors
    if most is not None and tally.consecutive >= most:
        return Breach(
            limit="maxConsecutiveErrors",
            threshold=float(most),
            observed=float(tally.consecutive),
            status=Status.LIMIT_EXCEEDED,
            turns=tally.turns,
        )
    rate, window = limits.max_error_rate, limits.error_rate_window
    if rate is None or window is None or len(tally.window) < window:
        return None
    observed = sum(tally.window) / window
    if observed <= rate:
        return None
    return Breach(
        limit="maxErrorRate",
        threshold=rate,
        observed=observed,
        status=Status.LIMIT_EXCEEDED,
        turns=tally.turns,
        window=window,
    )


def judge_before(limits: Limits, tally: Tally, *, elapsed: float, spent: Spending) -> Breach | None:
    """Judge whether the next call to a model may be made. ``elapsed`` is the run's age in seconds.

    The run's own ceilings come first: an agent they stop is parked, and must not spend its issue's retry on ``maxTurns`` (D5).
    """
    checks: tuple[tuple[str, float | None, float | None, Status], ...] = (
        ("maxRuntimeSecs", limits.max_runtime_secs, elapsed, Status.TIMED_OUT),
        ("maxCost", limits.max_cost, spent.cost, Status.LIMIT_EXCEEDED),
        ("maxTokens", limits.max_tokens, spent.tokens, Status.LIMIT_EXCEEDED),
        ("maxTurns", limits.max_turns, tally.turns, Status.EXHAUSTED),
    )
    return _first_reached(checks, tally.turns)


def judge_budget(budget: Budget, spent: Spending, turns: int) -> Breach | None:
    """Judge whether a call may still be made in a budget smaller than the run; ``turns`` are its agent's so far (C3)."""
    under = budget.where.removeprefix("limits.")
    checks = (
        (f"{under}.maxCost", budget.max_cost, spent.cost, Status.LIMIT_EXCEEDED),
        (f"{under}.maxTokens", budget.max_tokens, spent.tokens, Status.LIMIT_EXCEEDED),
    )
    return _first_reached(checks, turns, budget.name)


def _first_reached(
    checks: tuple[tuple[str, float | None, float | None, Status], ...], turns: int, budget: str | None = None
) -> Breach | None:
    """Name the first ceiling whose figure reached it. What is off or not known is no ceiling."""
    for limit, threshold, observed, status in checks:
        if threshold is not None and observed is not None and observed >= threshold:
            return Breach(
                limit=limit,
                threshold=float(threshold),
                observed=float(observed),
                status=status,
                turns=turns,
                budget=budget,
            )
    return None
