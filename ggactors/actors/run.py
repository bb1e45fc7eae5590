"""The run: starts the root, knows who lives, notices when nothing is left to do, and closes the account (D9).

Law: it ends when the root has ended, no agent lives, and the board has nothing to dispatch, to merge or in flight; stalled
issues do not keep it alive. Cancelled: the account is not given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from attrs import define

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
    """The actor. ``living`` counts the agents made and not yet gone, ``busy`` tells whether a dispatch or a merge is under way;
    ``finish`` lands and closes once the run is over.
    """

    switch: Switch
    board: Ref[BoardLetter, BoardAnswer] | None
    living: Callable[[], int]
    busy: Callable[[], bool]
    finish: Callable[[Outcome], Awaitable[None]]
    spend: Callable[[], tuple[dict[str, int], float | None]]
    last_seen: Callable[[], BoardPicture]
    """The board as its events told it, for a run whose board is gone or that never had one."""
    agents: int = 0
    turns: int = 0
    errors: int = 0
    root: AgentGone | None = None
    limit: dict[str, Any] | None = None

    async def run(self, inbox: Inbox[RunLetter, None]) -> None:
        """Take letters until the run is over, then give the account. A board that is gone does not end it before its agents."""
        while not await self._over():
            for envelope in await inbox.drain():
                await self._take(envelope.letter)
        match await self._ask(ReadBoard()):
            case BoardPicture() as picture:
                await self.finish(self._account(picture))
            case _:
                await self.finish(self._account(self.last_seen()))

    async def _ask(self, letter: BoardLetter) -> BoardAnswer | None:
        """Ask the board; None without one, or once it broke down."""
        if self.board is None:
            return None
        try:
            return await self.board.ask(letter)
        except ActorGone:
            self.board = None
            self.switch.stop(Status.INTERNAL_ERROR, "the board broke down")
            return None

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
                await self._ask(StopDispatch(defect=reason if status is Status.INTERNAL_ERROR else None))
            case _ as never:
                assert_never(never)

    async def _over(self) -> bool:
        if self.living() > 0 or self.busy():
            return False
        if self.switch.status is Status.INTERNAL_ERROR:
            return True
        if self.root is None:
            return False
        match await self._ask(AskOutlook()):
            case Outlook() as outlook:
                busy = outlook.in_flight - outlook.parked
                return outlook.dispatchable == 0 and outlook.accepted == 0 and busy <= 0
            case _:
                return True

    def _account(self, picture: BoardPicture) -> Outcome:
        """Sum the run up."""
        root = self.root.status if self.root is not None else Status.INTERNAL_ERROR
        status = run_status(root, self.switch.status)
        states: dict[str, IssueState] = {issue.id: issue.state for issue in picture.issues}
        usage, cost = self.spend()
        verified = None if self.root is None else self.root.verified
        return Outcome(
            status=status,
            exit_code=exit_code(status, states, verified=verified),
            summary=self.root.summary if self.root is not None else self.switch.reason,
            verified=verified,
            turns=self.turns,
            errors=self.errors,
            usage=usage,
            cost=cost,
            limit_hit=self.limit,
            issues={issue: str(state) for issue, state in states.items()},
            stalled=tuple({"issue": stall.issue, "blocker": stall.blocker} for stall in picture.stalled),
            agents=self.agents,
            landed=None,
        )
