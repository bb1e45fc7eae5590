"""The waits of one turn: each told to the board, one suspension for all, each outcome read with the slot held (Q1, Q2).

Law: a wake carries nothing, the truth is asked for each time (S5). A stop while suspended raises WindDown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ggactors.protocol.board import AskWaits, ReadWait, WaitBegan, WaitForIssue, WaitSettled, WaitsPending
from ggactors.protocol.values import Code, Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.actors.agent import AgentActor
    from ggactors.actors.desk import Desk
    from ggactors.protocol.board import BoardAnswer


@define(kw_only=True)
class Waiting:
    """One agent's way to wait."""

    agent: AgentActor
    desk: Desk

    async def begin(self, issue: str) -> WaitBegan | WaitSettled | Refused:
        """Tell the board of a wait for an issue; it may be settled at once."""
        board = self.desk.board
        if board is None:
            return Refused(code=Code.UNAVAILABLE, message="there is no board in this run")
        letter = WaitForIssue(
            by=self.agent.id,
            issue=issue,
            works_for=self.agent.order.issue,
            may_wait_unsettled=not self.desk.family.resolves_a_merge(self.agent.id),
        )
        # Before the answer is there: cut short now, the board may have begun the wait all the same.
        self.agent.waits_open = True
        match await board.ask(letter):
            case WaitBegan() as begun:
                return begun
            case answer:
                return _outcome(answer)

    def children(self, named: tuple[str, ...] | None) -> tuple[str, ...] | Refused:
        """Read which subagents are waited for, None being all; one that is none of the agent's is refused."""
        return self.desk.family.awaited(self.agent.id, named)

    async def settle(self, issues: Sequence[str], children: Sequence[str]) -> dict[str, WaitSettled | Refused]:
        """Suspend once until nothing waited for holds, and give what became of each issue, by id."""
        living = [child for child in children if self.desk.family.lives(child)]
        holding = [*dict.fromkeys((*issues, *living))]
        if holding:

            async def wait() -> None:
                await self._until_settled(living)

            await self.agent.suspend(", ".join(holding), wait)
        return await self._read(issues)

    async def _read(self, issues: Sequence[str]) -> dict[str, WaitSettled | Refused]:
        board = self.desk.board
        outcomes: dict[str, WaitSettled | Refused] = {}
        if board is None:
            return outcomes
        for issue in dict.fromkeys(issues):
            outcomes[issue] = _outcome(await board.ask(ReadWait(by=self.agent.id, issue=issue)))
        self.agent.waits_open = False
        return outcomes

    async def _until_settled(self, children: list[str]) -> None:
        board, family = self.desk.board, self.desk.family
        while True:
            open_issues: tuple[str, ...] = ()
            if board is not None:
                match await board.ask(AskWaits(by=self.agent.id)):
                    case WaitsPending(issues=issues):
                        open_issues = issues
                    case _:
                        pass
            if not open_issues and not any(family.lives(child) for child in children):
                return
            await self.agent.next_letter()


def _outcome(answer: BoardAnswer) -> WaitSettled | Refused:
    match answer:
        case WaitSettled() | Refused():
            return answer
        case other:
            raise AssertionError(f"the board answered a wait with {other!r}")
