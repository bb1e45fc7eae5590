"""The run: starts the root, knows who lives, notices when nothing is left to do, and closes the account (D9).

Law: it ends when the root has ended, no agent lives, and the board has nothing to dispatch, to merge or in flight; stalled
issues do not keep it alive. Cancelled: the account is not given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from attrs import define, field

from ggactors.protocol.board import AskOutlook, BoardPicture, Outlook, ReadBoard, StopDispatch
from ggactors.protocol.run import AgentGone, Nudge, Outcome, StopRun
from ggactors.protocol.values import IssueState, Kind, Status
from ggactors.rules.verdict import exit_code, run_status
from ggactors.runtime.mailbox import ActorGone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ggactors.actors.switch import Switch
    from ggactors.protocol.board import BoardAnswer, BoardLetter
    from ggactors.protocol.run import RunLetter
    from ggactors.runtime.mailbox import Inbox
    from ggactors.runtime.ref import Ref


@define(kw_only=True)
class RunActor:
    """The actor. ``living`` counts the agents made and not yet gone; ``finish`` lands and closes once the run is over."""

    switch: Switch
    board: Ref[BoardLetter, BoardAnswer] | None
    living: Callable[[], int]
    finish: Callable[[Outcome], Awaitable[None]]
    spend: Callable[[], tuple[dict[str, int], float | None]]
    agents: int = 0
    turns: int = 0
    errors: int = 0
    root: AgentGone | None = None
    limit: dict[str, Any] | None = None
    _issues: BoardPicture = field(factory=lambda: BoardPicture(epics=(), issues=()))

    async def run(self, inbox: Inbox[RunLetter, None]) -> None:
        """Take letters until the run is over, then give the account."""
        try:
            while not await self._over():
                for envelope in await inbox.drain():
                    await self._take(envelope.letter)
            if self.board is not None:
                match await self.board.ask(ReadBoard()):
                    case BoardPicture() as picture:
                        self._issues = picture
                    case _:
                        pass
        except ActorGone:
            self.switch.stop(Status.INTERNAL_ERROR, "the board broke down")
        await self.finish(self.account())

    async def _take(self, letter: RunLetter) -> None:
        match letter:
            case Nudge():
                pass
            case AgentGone():
                self.agents += 1
                self.turns += letter.turns
                self.errors += letter.errors
                if letter.kind is Kind.ROOT:
                    self.root = letter
                if letter.limit is not None and (
                    letter.kind is Kind.ROOT or (self.limit is None and self.switch.status)
                ):
                    self.limit = letter.limit
            case StopRun(status=status, reason=reason):
                self.switch.stop(status, reason)
                if self.board is not None:
                    defect = reason if status is Status.INTERNAL_ERROR else None
                    await self.board.ask(StopDispatch(defect=defect))
            case _ as never:
                assert_never(never)

    async def _over(self) -> bool:
        if self.root is None and self.switch.status is not Status.INTERNAL_ERROR:
            return False
        if self.living() > 0:
            return False
        if self.board is None:
            return True
        outlook = await self.board.ask(AskOutlook())
        if not isinstance(outlook, Outlook):
            return True
        busy = outlook.in_flight - outlook.parked
        return outlook.dispatchable == 0 and outlook.accepted == 0 and busy <= 0

    def account(self) -> Outcome:
        """Sum the run up."""
        root = self.root.status if self.root is not None else Status.INTERNAL_ERROR
        status = run_status(root, self.switch.status)
        states: dict[str, IssueState] = {issue.id: issue.state for issue in self._issues.issues}
        usage, cost = self.spend()
        return Outcome(
            status=status,
            exit_code=exit_code(status, states),
            summary=self.root.summary if self.root is not None else self.switch.reason,
            verified=None,
            turns=self.turns,
            errors=self.errors,
            usage=usage,
            cost=cost,
            limit_hit=self.limit,
            issues={issue: str(state) for issue, state in states.items()},
            stalled=tuple({"issue": stall.issue, "blocker": stall.blocker} for stall in self._issues.stalled),
            agents=self.agents,
            landed=None,
        )
