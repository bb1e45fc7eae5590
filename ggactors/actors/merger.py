"""The merger: brings accepted work into main, one merge at a time, in the order of acceptance (M1).

Law: the board says what is next; main is held alone while a merge runs (M6); the board hears of it only once main holds the work
(M5). Cancelled: a merge that began in the repository is completed there first, the board may not have heard of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ggactors.ports import RepositoryBroken
from ggactors.protocol.board import MergeJob, NextMerge, SettleMerge
from ggactors.protocol.events import Log, WorktreeMerged
from ggactors.protocol.git import Merged, MergeFailed, SealBlocked, Signature
from ggactors.rules.briefs import main_message, merge_message
from ggactors.runtime.mailbox import ActorGone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ggactors.ports import Repository
    from ggactors.protocol.board import BoardAnswer, BoardLetter
    from ggactors.protocol.events import Event
    from ggactors.protocol.run import MergerLetter
    from ggactors.runtime.fairlock import FairLock
    from ggactors.runtime.mailbox import Inbox
    from ggactors.runtime.ref import Ref


@define(kw_only=True)
class MergerActor:
    """The actor. ``landed`` is called after each merge when the run lands each of them (W10)."""

    board: Ref[BoardLetter, BoardAnswer]
    repository: Repository
    tree: FairLock
    emit: Callable[[Event], None]
    main_agent: str
    landed: Callable[[], Awaitable[None]] | None = None

    async def run(self, inbox: Inbox[MergerLetter, None]) -> None:
        """Serve nudges until the board is gone."""
        try:
            while True:
                while isinstance(job := await self.board.ask(NextMerge()), MergeJob):
                    await self._merge(job)
                await inbox.drain()
        except ActorGone:
            return

    async def _merge(self, job: MergeJob) -> None:
        """Merge one issue, tell the board, tear the worktree down, say so."""
        branch = self.repository.branch_of(job.issue)
        async with self.tree.alone():
            outcome = await self._into_main(job)
        merged = isinstance(outcome, Merged)
        reason = None if isinstance(outcome, Merged) else _reason(outcome)
        await self.board.ask(
            SettleMerge(issue=job.issue, commit=outcome.commit if isinstance(outcome, Merged) else None, reason=reason)
        )
        try:
            saved = await self.repository.discard(job.issue, accepted=merged)
        except RepositoryBroken as error:
            saved = None
            self.emit(Log(level="warning", message=f"{job.issue}: its worktree could not be removed: {error}"))
        self.emit(
            WorktreeMerged(
                issue=job.issue,
                branch=branch,
                merged=merged,
                commit=outcome.commit if isinstance(outcome, Merged) else None,
                conflicts=() if isinstance(outcome, Merged) else outcome.conflicts,
                one_sided=False,
                empty_change=job.empty_change,
                reason=reason,
                saved_ref=saved,
            )
        )
        if merged and self.landed is not None:
            await self.landed()

    async def _into_main(self, job: MergeJob) -> Merged | MergeFailed:
        """Commit what main's agents changed, in their name, then merge exactly the accepted commit (M6, M1)."""
        signature = Signature(agent=job.agent, issue=job.issue, attempt=job.attempt)
        try:
            await self.repository.guard_main()
            pending = await self.repository.commit_main(Signature(agent=self.main_agent), main_message(self.main_agent))
            if isinstance(pending, SealBlocked):
                return MergeFailed(reason=f"the main workspace is not ready for a merge: {pending.reason}")
            return await self.repository.merge(job.issue, job.commit, signature, merge_message(job.issue, job.title))
        except RepositoryBroken as error:
            return MergeFailed(reason=str(error))


def _reason(failed: MergeFailed) -> str:
    if not failed.conflicts:
        return failed.reason
    return f"{failed.reason} ({', '.join(failed.conflicts[:5])}{', …' if len(failed.conflicts) > 5 else ''})"
