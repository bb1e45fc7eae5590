"""The stations of a review and of a conflicted merge: what a verdict is bound to, and whose word counts (R8, M3).

Law: a reviewer's edits never reach what merges, and a merge agent's word is never taken: git is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ggactors.actors.stations import Alone, SessionEnd
from ggactors.ports import RepositoryBroken
from ggactors.protocol.agent import Approved, ChangesRequested, Finished
from ggactors.protocol.board import BoardPicture, EndReview, GiveVerdict, IssuePicture, ReadBoard
from ggactors.protocol.events import Log
from ggactors.protocol.git import Unresolved
from ggactors.protocol.values import IssueState, Refused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ggactors.actors.desk import Desk
    from ggactors.ports import Repository
    from ggactors.protocol.agent import Ending
    from ggactors.protocol.board import ReviewAssigned
    from ggactors.runtime.fairlock import FairLock


@define(kw_only=True)
class ReviewStation(Alone):
    """An issue's worktree while it is reviewed: whatever the reviewer changes there is saved and put back (R8)."""

    assigned: ReviewAssigned
    repository: Repository
    desk: Desk
    reconcile: Callable[[str, str], Awaitable[None]]
    tree: FairLock | None = None

    async def admit(self, ending: Ending, summary: str) -> str | None:  # noqa: ARG002
        """Let every verdict stand: it is the reviewer's to give."""
        return None

    async def ended(self, end: SessionEnd) -> None:
        """Put the worktree back, then tell the board the verdict, read off the declared ending (E7)."""
        board, issue, agent = self.desk.board, self.assigned.issue.id, self.assigned.agent
        if board is None:
            return
        letter: GiveVerdict | EndReview
        commit = self.assigned.commit
        match end.ending:
            case Approved() if end.verified is not False:
                letter = GiveVerdict(issue=issue, agent=agent, commit=commit, approved=True)
            case ChangesRequested(items=items):
                letter = GiveVerdict(issue=issue, agent=agent, commit=commit, approved=False, items=items)
            case Approved() | Finished() | None:
                reason = f"{agent} ended without a verdict ({end.status}): {end.summary}"
                letter = EndReview(issue=issue, agent=agent, reason=reason, parked=end.parked)
        try:
            saved = await self.repository.check_out(issue, commit)
        except RepositoryBroken as error:
            letter = EndReview(issue=issue, agent=agent, reason=f"the reviewed commit could not be put back: {error}")
        else:
            if saved is not None:
                message = f"what {agent} changed in the worktree of {issue} is put back and kept under {saved}"
                self.desk.emit(Log(agent=agent, level="info", message=message))
        answer = await board.ask(letter)
        if isinstance(answer, Refused):
            self.desk.emit(Log(agent=agent, level="warning", message=f"{issue}: {answer.message}"))
            return
        match await board.ask(ReadBoard(issue=issue)):
            case BoardPicture(issues=(IssuePicture(state=IssueState.FAILED, reason=why),)):
                await self.reconcile(issue, why or "failed")
            case _:
                pass


@define(kw_only=True)
class MergeStation(Alone):
    """The main workspace with a conflicted merge in place; the merger holds its lock for the agent's whole life (M6)."""

    repository: Repository
    tree: FairLock | None = None

    async def admit(self, ending: Ending, summary: str) -> str | None:  # noqa: ARG002
        """Ask git whether the merge is concluded; what it still says is the reason the ending is held back (M3)."""
        match await self.repository.resolution():
            case Unresolved(reason=reason):
                return reason
            case _:
                return None

    async def ended(self, end: SessionEnd) -> None:
        """Have nothing to tell: the merger asks git once more, whatever the end was."""
