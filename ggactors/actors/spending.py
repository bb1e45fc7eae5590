"""The run's purse: reserve before a model call, settle after it (C3). A thin shell over the pure ledgers.

Law: a call that must wait for others to settle waits in line; whenever one settles the line is asked again, first come, first
served among those that wait in the same budget. Cancelled while waiting: nothing is reserved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from attrs import define, evolve, field

from ggactors.rules.ceilings import judge_budget
from ggactors.rules.spend import Budget, Ledger, Verdict, reserve, reserve_all, settle, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.protocol.crew import Limits, SpendLimits
    from ggactors.protocol.model import Usage
    from ggactors.rules.ceilings import Breach

MOST_PASSES = 8
"""How many that came later a call lets go in budgets that have room, while it waits for another of its own."""
RUN = "limits"
"""Where the crew writes the run's own ceilings."""


@define(eq=False)
class Hold:
    """A reservation. Settling it twice is an error of the caller."""

    gate: SpendGate
    numbers: Mapping[str, int]

    def settle(self, usage: Usage | None) -> None:
        """Put the real spend in its place in every budget; None when the call came to nothing."""
        gate = self.gate
        if RUN_KEY not in self.numbers:
            gate.count(usage)
        for key, number in self.numbers.items():
            gate.ledgers[key] = settle(gate.ledgers[key], number, usage)
        gate.next_in_line()


@define(eq=False)
class _Queued:
    """A call that waits. ``answer`` is set with ``turn``."""

    budgets: tuple[Budget, ...]
    bound: Usage | None
    answer: Hold | Verdict | None = None
    passed: int = 0
    """How many that came later were let go first."""
    turn: trio.Event = field(factory=trio.Event)


@define(eq=False)
class SpendGate:
    """The one purse of a run. Where there is no spend ceiling it only adds up."""

    run: Budget = field(factory=lambda: Budget(where=RUN))
    per_issue: SpendLimits | None = None
    per_epic: SpendLimits | None = None
    ledgers: dict[str, Ledger] = field(factory=dict)
    """By budget: the run's, and those of every other budget that has a ceiling and in which something was asked for."""
    _line: dict[int, _Queued] = field(factory=dict)
    _queued: int = 0

    @classmethod
    def of(cls, limits: Limits) -> SpendGate:
        """Make the purse that keeps these ceilings."""
        run = Budget(where=RUN, max_cost=limits.max_cost, max_tokens=limits.max_tokens)
        return cls(run=run, per_issue=limits.per_issue, per_epic=limits.per_epic)

    def __attrs_post_init__(self) -> None:
        """Open the run's ledger."""
        self.ledgers.setdefault(self.run.key, self.run.opened)

    # ------------------------------------------------------------ what is spent

    @property
    def spent(self) -> Usage:
        """Return what the run has spent for good."""
        return self.ledgers[self.run.key].spent

    def count(self, usage: Usage | None) -> None:
        """Add up what a call spent that nothing of the run's had to be reserved for."""
        if usage is not None:
            ledger = self.ledgers[self.run.key]
            self.ledgers[self.run.key] = evolve(ledger, spent=total((ledger.spent, usage)))

    def totals(self) -> tuple[dict[str, int], float | None]:
        """Sum up tokens by class, and cost."""
        spent = self.spent
        tokens = {
            "input": spent.input,
            "cachedInput": spent.cached_input,
            "output": spent.output,
            "reasoning": spent.reasoning,
        }
        return tokens, spent.cost

    # ------------------------------------------------------------ budgets

    def budgets(self, profile: str, own: SpendLimits | None, issue: str | None, epic: str | None) -> tuple[Budget, ...]:
        """List the budgets with a ceiling in which a call spends: the run's, its issue's, its epic's, its profile's."""
        if own is None and self.per_issue is None and self.per_epic is None:
            return (self.run,) if self.run.armed else ()
        written = (
            ("limits.perIssue", issue, self.per_issue),
            ("limits.perEpic", epic, self.per_epic),
            (f"agents.{profile}.limits", profile, own),
        )
        return (
            *((self.run,) if self.run.armed else ()),
            *(
                Budget(where=where, name=name, max_cost=limits.max_cost, max_tokens=limits.max_tokens)
                for where, name, limits in written
                if name is not None and limits is not None and limits.armed
            ),
        )

    def breach(self, budgets: tuple[Budget, ...], turns: int) -> Breach | None:
        """Name the first ceiling reached of budgets smaller than the run. The run's own are ``judge_before``'s."""
        for budget in budgets:
            ledger = self.ledgers.get(budget.key)
            reached = None if budget.name is None or ledger is None else judge_budget(budget, ledger.spent, turns)
            if reached is not None:
                return reached
        return None

    # ------------------------------------------------------------ reserving

    def reserve_nowait(self, bound: Usage | None, budgets: tuple[Budget, ...]) -> Hold | Verdict:
        """Reserve for a call that spends at most ``bound``, or say why not. Others that wait go first."""
        held_up: set[str] = set()
        for queued in self._line.values():
            held_up |= self._waits_in(queued, held_up)
        if any(budget.key in held_up for budget in budgets):
            return Verdict.WAIT
        answer = self._reserve(bound, budgets)
        if isinstance(answer, Hold):
            for queued in self._line.values():
                queued.passed += 1
        return answer

    async def reserve(self, bound: Usage | None, budgets: tuple[Budget, ...]) -> Hold | None:
        """Reserve in line; None when a ceiling is reached and no call is admitted any more."""
        self._queued += 1
        number = self._queued
        queued = self._line[number] = _Queued(budgets, bound)
        self.next_in_line()
        try:
            await queued.turn.wait()
        except BaseException:
            if self._line.pop(number, None) is None and isinstance(queued.answer, Hold):
                queued.answer.settle(None)
            else:
                self.next_in_line()
            raise
        return queued.answer if isinstance(queued.answer, Hold) else None

    def _reserve(self, bound: Usage | None, budgets: tuple[Budget, ...]) -> Hold | Verdict:
        answer = reserve_all(self.ledgers, budgets, bound)
        if isinstance(answer, Verdict):
            return answer
        changed, numbers = answer
        self.ledgers.update(changed)
        return Hold(self, numbers)

    def next_in_line(self) -> None:
        """Answer whoever in the line need not wait any longer. One that goes on waiting holds up those behind it where it waits."""
        held_up: set[str] = set()
        left: list[_Queued] = []
        for number, queued in tuple(self._line.items()):
            waits = self._waits_in(queued, held_up)
            if waits:
                held_up |= waits
                left.append(queued)
                continue
            del self._line[number]
            queued.answer = self._reserve(queued.bound, queued.budgets)
            queued.turn.set()
            for passed in left:
                passed.passed += 1

    def _waits_in(self, queued: _Queued, held_up: set[str]) -> set[str]:
        """Give the budgets in which a call of the line waits: those without room for it, and those that are waited for before it.

        In the others it lets those behind it pass, some times; then it waits in all of its own. Empty: it need not wait.
        """
        keys = {budget.key for budget in queued.budgets}
        verdicts = {
            budget.key: reserve(self.ledgers.get(budget.key) or budget.opened, queued.bound)
            for budget in queued.budgets
        }
        waits = keys & held_up
        if not waits and Verdict.SPENT in verdicts.values():
            return set()
        waits |= {key for key, verdict in verdicts.items() if verdict is Verdict.WAIT}
        return keys if waits and queued.passed >= MOST_PASSES else waits


RUN_KEY = Budget(where=RUN).key
