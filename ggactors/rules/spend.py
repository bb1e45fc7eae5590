"""What a run may still spend (C3). Law: pure; reserve before each call, settle after, overshoot by one call at most.

A call is admitted when what is spent, what is reserved and its own bound fit under every ceiling; or when no other call is under
way and the ceilings are not reached yet, so that a run can always go on to its ceiling and the last call alone may cross it. A call
whose bound cannot be known is admitted only alone, and nothing beside it. Without ceilings every call is admitted.

A call spends in several *budgets* at once: the run's, and where they have ceilings its issue's, its epic's and its profile's. It is
admitted when each of them admits it, and held in all of them or in none; so what holds for one ledger holds for each.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from ggactors.protocol.model import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Verdict(Enum):
    """Why a call is not admitted now."""

    WAIT = "wait"
    """Others are under way: ask again when one of them settles."""

    SPENT = "spent"
    """A ceiling is reached: no call is admitted any more. ``judge_before`` names the ceiling."""


@frozen(kw_only=True)
class Ledger:
    """A budget's account: the ceilings (None is off), what is spent for good, the bounds of calls under way by hold number."""

    max_cost: float | None = None
    max_tokens: int | None = None
    spent: Usage = field(factory=Usage)
    holds: Mapping[int, Usage | None] = field(factory=dict)
    taken: int = 0

    @property
    def armed(self) -> bool:
        """Tell whether any spend ceiling is on."""
        return self.max_cost is not None or self.max_tokens is not None


def total(usages: Iterable[Usage]) -> Usage:
    """Add usages up. The cost is None as long as none of them has one."""
    fresh = cached = output = reasoning = 0
    cost: float | None = None
    for usage in usages:
        fresh += usage.input
        cached += usage.cached_input
        output += usage.output
        reasoning += usage.reasoning
        if usage.cost is not None:
            cost = usage.cost if cost is None else cost + usage.cost
    return Usage(input=fresh, cached_input=cached, output=output, reasoning=reasoning, cost=cost)


def per_done(cost: float | None, usage: Mapping[str, int], done: int) -> tuple[float | None, float | None]:
    """Share a run's cost and tokens out over the issues that are done: what an accepted issue cost, failed ones included."""
    if not done:
        return None, None
    tokens = usage.get("input", 0) + usage.get("output", 0)
    return None if cost is None else cost / done, tokens / done


@frozen(kw_only=True)
class Budget:
    """What a ceiling on spend is for. ``where`` is the path under which the crew writes it, ``name`` what the events call it.

    The run's own budget has no name: its ceilings stop the run.
    """

    where: str
    name: str | None = None
    max_cost: float | None = None
    max_tokens: int | None = None

    @property
    def key(self) -> str:
        """Tell budgets apart."""
        return f"{self.where}:{self.name or ''}"

    @property
    def armed(self) -> bool:
        """Tell whether any of its ceilings is on."""
        return self.max_cost is not None or self.max_tokens is not None

    @property
    def opened(self) -> Ledger:
        """Make its ledger, with nothing spent."""
        return Ledger(max_cost=self.max_cost, max_tokens=self.max_tokens)


def reserve_all(
    ledgers: Mapping[str, Ledger], budgets: Iterable[Budget], bound: Usage | None
) -> tuple[dict[str, Ledger], dict[str, int]] | Verdict:
    """Reserve in every budget at once. Answers the ledgers that change with the holds' numbers by budget, or why not."""
    changed: dict[str, Ledger] = {}
    numbers: dict[str, int] = {}
    verdicts: set[Verdict] = set()
    for budget in budgets:
        answer = reserve(ledgers.get(budget.key) or budget.opened, bound)
        if isinstance(answer, Verdict):
            verdicts.add(answer)
        else:
            changed[budget.key], numbers[budget.key] = answer
    if verdicts:
        return Verdict.SPENT if Verdict.SPENT in verdicts else Verdict.WAIT
    return changed, numbers


def reserve(ledger: Ledger, bound: Usage | None) -> tuple[Ledger, int] | Verdict:
    """Reserve for a call that spends at most ``bound`` (None: not known). Answers the ledger and the hold's number, or why not."""
    if ledger.armed:
        if _is_spent(ledger):
            return Verdict.SPENT
        if ledger.holds and not _fits(ledger, bound):
            return Verdict.WAIT
    number = ledger.taken + 1
    return evolve(ledger, holds={**ledger.holds, number: bound}, taken=number), number


def settle(ledger: Ledger, hold: int, usage: Usage | None) -> Ledger:
    """Put what a call really spent in the place of its hold. ``usage`` None: it failed and spent nothing. Raises KeyError."""
    holds = dict(ledger.holds)
    del holds[hold]
    spent = ledger.spent if usage is None else total((ledger.spent, usage))
    return evolve(ledger, holds=holds, spent=spent)


def _is_spent(ledger: Ledger) -> bool:
    """Tell whether a ceiling is reached."""
    spent = ledger.spent
    cost_reached = ledger.max_cost is not None and spent.cost is not None and spent.cost >= ledger.max_cost
    return cost_reached or (ledger.max_tokens is not None and spent.tokens >= ledger.max_tokens)


def _fits(ledger: Ledger, bound: Usage | None) -> bool:
    """Tell whether a call fits beside those under way."""
    under_way = [held for held in ledger.holds.values() if held is not None]
    if bound is None or len(under_way) < len(ledger.holds):
        return False
    worst = total((ledger.spent, *under_way, bound))
    cost_fits = ledger.max_cost is None or worst.cost is None or worst.cost <= ledger.max_cost
    return cost_fits and (ledger.max_tokens is None or worst.tokens <= ledger.max_tokens)
