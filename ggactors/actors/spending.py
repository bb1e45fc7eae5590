"""The run's purse: reserve before a model call, settle after it (C3). A thin shell over the pure ledger.

Law: a call that must wait for others to settle waits in line; settling lets the line ask again, first come, first served.
Cancelled while waiting: nothing is reserved.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.rules.spend import Ledger, Verdict, reserve, settle, total

if TYPE_CHECKING:
    from ggactors.protocol.model import Usage


@define
class Hold:
    """A reservation. Settling it twice is an error of the caller."""

    gate: SpendGate
    number: int

    def settle(self, usage: Usage | None) -> None:
        """Put the real spend in its place; None when the call came to nothing."""
        gate = self.gate
        if not gate.armed:
            gate.count(usage)
            return
        gate.ledger = settle(gate.ledger, self.number, usage)
        gate.next_in_line()


@define
class SpendGate:
    """The one purse of a run. Without a spend ceiling it only adds up."""

    ledger: Ledger = field(factory=Ledger)
    _line: deque[trio.Event] = field(factory=deque)

    @property
    def armed(self) -> bool:
        """Tell whether any spend ceiling is on."""
        return self.ledger.max_cost is not None or self.ledger.max_tokens is not None

    @property
    def spent(self) -> Usage:
        """Return what is spent for good."""
        return self.ledger.spent

    def count(self, usage: Usage | None) -> None:
        """Add up what a call spent that nothing had to be reserved for."""
        if usage is not None:
            self.ledger = Ledger(spent=total((self.ledger.spent, usage)))

    def totals(self) -> tuple[dict[str, int], float | None]:
        """Sum up tokens by class, and cost."""
        spent = self.ledger.spent
        tokens = {
            "input": spent.input,
            "cachedInput": spent.cached_input,
            "output": spent.output,
            "reasoning": spent.reasoning,
        }
        return tokens, spent.cost

    def reserve_nowait(self, bound: Usage | None) -> Hold | Verdict:
        """Reserve for a call that spends at most ``bound``, or say why not. Who comes while others wait has to wait too."""
        if not self.armed:
            return Hold(self, 0)
        return Verdict.WAIT if self._line else self._reserve(bound)

    async def reserve(self, bound: Usage | None) -> Hold | None:
        """Reserve in line; None when a ceiling is reached and no call is admitted any more."""
        while True:
            turn = trio.Event()
            self._line.append(turn)
            try:
                await turn.wait()
            except trio.Cancelled:
                if turn.is_set():
                    self.next_in_line()
                else:
                    self._line.remove(turn)
                raise
            answer = self._reserve(bound)
            if answer is Verdict.WAIT:
                continue
            self.next_in_line()
            return answer if isinstance(answer, Hold) else None

    def _reserve(self, bound: Usage | None) -> Hold | Verdict:
        answer = reserve(self.ledger, bound)
        if isinstance(answer, Verdict):
            return answer
        self.ledger, number = answer
        return Hold(self, number)

    def next_in_line(self) -> None:
        """Let the head of the line ask again."""
        if self._line:
            self._line.popleft().set()
