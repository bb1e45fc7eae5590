"""The merger: brings accepted work into main, one merge at a time, in the order of acceptance (M1).

Law: the board says what is next; main is held alone while a merge runs, with its agent's whole life (M6); the board hears of it
only once main holds the work (M5). One merge attempt per acceptance; what cannot be concluded is aborted, main as it was (M4).
Cancelled: a step that began in the repository is completed there first, the board may not have heard of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from attrs import define, frozen

from ggactors.actors.desk import CannotDispatch
from ggactors.ports import RepositoryBroken
from ggactors.protocol.agent import AgentOrder
from ggactors.protocol.board import MergeAgentAssigned, MergeJob, NextMerge, ParkMerge, SettleMerge, StartMergeAgent
from ggactors.protocol.events import Log, WorktreeMerged
from ggactors.protocol.git import ConflictLeft, Merged, MergeFailed, Resolved, SealBlocked, Signature, Unresolved
from ggactors.protocol.run import MergeAgentGone, Nudge
from ggactors.protocol.values import Kind, Role, Status
from ggactors.rules.briefs import main_message, merge_brief, merge_message
from ggactors.runtime.mailbox import ActorGone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ggactors.actors.presence import Presence
    from ggactors.actors.switch import Switch
    from ggactors.actors.teardown import Teardown
    from ggactors.ports import Repository
    from ggactors.protocol.board import BoardAnswer, BoardLetter
    from ggactors.protocol.events import Event
    from ggactors.protocol.run import MergerLetter
    from ggactors.runtime.fairlock import FairLock
    from ggactors.runtime.mailbox import Inbox
    from ggactors.runtime.ref import Ref


_PAUSES = (0.2, 1.0, 5.0)
"""Seconds after which it is tried again to put main back, where the disk refuses."""


@frozen(kw_only=True)
class _Account:
    """What a merge came to, for the event. ``outcome`` None: it is left for a later segment."""

    outcome: Merged | MergeFailed | None
    conflicts: tuple[str, ...] = ()
    merge_agent: str | None = None
    one_sided: bool = False
    struck: bool = False
    """A defect struck its merge agent: the issue fails and keeps its worktree (D8)."""


@define(kw_only=True)
class MergerActor:
    """The actor. ``landed`` is called after each merge when the run lands each of them (W10); ``spawn`` makes the merge agent."""

    board: Ref[BoardLetter, BoardAnswer]
    repository: Repository
    tree: FairLock
    teardown: Teardown
    emit: Callable[[Event], None]
    switch: Switch
    main_agent: str
    merge_profile: str
    spawn: Callable[[AgentOrder], None]
    rested: Callable[[], None]
    """Called when there is nothing to merge for now."""
    presence: Presence
    """Knows whether main's own agents were at work there, and has what others wrote put back."""
    landed: Callable[[], Awaitable[None]] | None = None
    busy: bool = False
    """Whether a merge is under way, or looked for."""
    struck: str | None = None
    """The issue that is on its way into main: what a defect of the merger strikes (D8)."""
    _left_over: bool = False
    """Whether a conflicted merge still lies in main because the disk refused to take it back."""

    async def run(self, inbox: Inbox[MergerLetter, None]) -> None:
        """Serve nudges until the board is gone."""
        try:
            while True:
                self.busy = True
                try:
                    await self._merge_all(inbox)
                finally:
                    self.busy = False
                    self.rested()
                await inbox.drain()
        except ActorGone:
            return

    async def _merge_all(self, inbox: Inbox[MergerLetter, None]) -> None:
        """Merge what is accepted, in order. After a defect no merge is begun: what is in flight keeps its state (D8)."""
        while self.switch.status is not Status.INTERNAL_ERROR:
            job = await self.board.ask(NextMerge())
            if not isinstance(job, MergeJob):
                return
            await self._merge(job, inbox)

    async def _merge(self, job: MergeJob, inbox: Inbox[MergerLetter, None]) -> None:
        """Merge one issue, tell the board, tear the worktree down, say so."""
        branch = self.repository.branch_of(job.issue)
        self.struck = job.issue
        async with self.tree.alone():
            account = await self._into_main(job, branch or "", inbox)
        self.struck = None
        match account.outcome:
            case Merged(commit=commit):
                await self.board.ask(SettleMerge(issue=job.issue, commit=commit))
                await self._say(job, branch, account, commit=commit, reason=None)
                if self.landed is not None:
                    await self.landed()
            case MergeFailed() as failed if account.struck or self.switch.status is None:
                reason = _reason(failed)
                await self.board.ask(SettleMerge(issue=job.issue, commit=None, reason=reason))
                await self._say(job, branch, account, commit=None, reason=reason)
            case MergeFailed() | None:
                # The run is stopping, and a stopped run fails nothing: it is merged by a later segment (D5).
                await self.board.ask(ParkMerge(issue=job.issue))

    async def _say(
        self, job: MergeJob, branch: str | None, account: _Account, *, commit: str | None, reason: str | None
    ) -> None:
        """Tear the worktree down, saving what is not in main, and emit the one event of the reconciliation (W5, W6)."""
        saved = None if account.struck else await self.teardown.merged(job.issue, accepted=commit is not None)
        self.emit(
            WorktreeMerged(
                issue=job.issue,
                branch=branch,
                merged=commit is not None,
                commit=commit,
                conflicts=account.conflicts,
                merge_agent=account.merge_agent,
                one_sided=account.one_sided,
                empty_change=job.empty_change,
                reason=reason,
                saved_ref=saved,
            )
        )

    async def _into_main(self, job: MergeJob, branch: str, inbox: Inbox[MergerLetter, None]) -> _Account:
        """Commit what main's agents changed, in their name, then merge exactly the accepted commit (M6, M1)."""
        signature = Signature(agent=job.agent, issue=job.issue, attempt=job.attempt)
        message = merge_message(job.issue, job.title)
        if self._left_over and (why := await self._put_back()) is not None:
            return _Account(outcome=MergeFailed(reason=f"an earlier merge still lies in the main workspace: {why}"))
        try:
            pending = await self._commit_main()
            if pending is not None:
                reason = f"the main workspace is not ready for a merge: {pending.reason}"
                return _Account(outcome=MergeFailed(reason=reason))
            outcome = await self.repository.merge(job.issue, job.commit, signature, message)
            if isinstance(outcome, Merged) or not outcome.conflicts:
                return _Account(outcome=outcome)
            if self.switch.status is not None:
                return _Account(outcome=None)
            begun = await self.repository.begin_conflict(job.issue, job.commit, signature, message)
        except RepositoryBroken as error:
            return _Account(outcome=MergeFailed(reason=str(error)))
        if not isinstance(begun, ConflictLeft):
            return _Account(outcome=begun)
        return await self._resolve(job, branch, begun.conflicts, inbox)

    async def _commit_main(self) -> SealBlocked | None:
        """Commit what main's agents changed, in their name (M6); where they were not at work main is not walked for it."""
        untouched = await self.presence.look()
        await self.repository.guard_main()
        if untouched:
            return None
        pending = await self.repository.commit_main(Signature(agent=self.main_agent), main_message(self.main_agent))
        if isinstance(pending, SealBlocked):
            return pending
        self.presence.committed()
        return None

    async def _resolve(
        self, job: MergeJob, branch: str, conflicts: tuple[str, ...], inbox: Inbox[MergerLetter, None]
    ) -> _Account:
        """Let the merge agent work, then ask git, whatever its end; abort what is not concluded (M3, M4)."""
        agent: str | None = None
        struck = unverified = False
        failure = "the merge agent did not conclude the merge"
        try:
            answer = await self.board.ask(StartMergeAgent(issue=job.issue))
            if isinstance(answer, MergeAgentAssigned):
                agent = answer.agent
                self.spawn(self._order(agent, job, branch, conflicts))
                gone = await self._until_gone(agent, inbox)
                struck, unverified = gone.broke_down, gone.unverified
            found = await self.repository.resolution()
            if unverified and isinstance(found, Resolved):
                found = Unresolved(reason=f"{agent} closed unverified")
        except CannotDispatch as error:
            failure, found = "the merge agent could not be dispatched", Unresolved(reason=str(error))
        except RepositoryBroken as error:
            failure, found = "git could not be asked whether the merge is concluded", Unresolved(reason=str(error))
        except Exception:
            # Our own defect, or the board is gone: nobody else may come upon the merge in main.
            await self._put_back()
            raise
        if isinstance(found, Resolved):
            return _Account(
                outcome=Merged(commit=found.commit), conflicts=conflicts, merge_agent=agent, one_sided=found.one_sided
            )
        why = await self._put_back(job.issue, agent)
        if why is not None:
            failure, found = "the conflicted merge could not be put back", Unresolved(reason=why)
        failed = MergeFailed(reason=f"{failure} ({found.reason})", conflicts=conflicts)
        return _Account(outcome=failed, conflicts=conflicts, merge_agent=agent, struck=struck)

    async def _put_back(self, issue: str = "", agent: str | None = None) -> str | None:
        """Take the conflicted merge out of main again (M4), trying for a while when the disk refuses. Gives why it could not be.

        Then it is tried again before the next merge.
        """
        why = None
        for pause in (*_PAUSES, None):
            try:
                saved = await self.repository.abort_conflict()
            except RepositoryBroken as error:
                why = str(error)
                self.emit(Log(level="warning", message=f"the main workspace is not put back yet: {why}"))
                if pause is not None:
                    await trio.sleep(pause)
            else:
                if saved is not None:
                    self.emit(Log(level="info", message=f"{issue}: what {agent} left in main is kept under {saved}"))
                self._left_over = False
                return None
        self._left_over = True
        return why

    def _order(self, agent: str, job: MergeJob, branch: str, conflicts: tuple[str, ...]) -> AgentOrder:
        return AgentOrder(
            id=agent,
            profile=self.merge_profile,
            kind=Kind.MERGER,
            role=Role.STANDARD,
            brief=merge_brief(job, branch, conflicts),
            workdir=self.repository.facts.main,
            issue=job.issue,
            branch=self.repository.facts.branch,
        )

    async def _until_gone(self, agent: str, inbox: Inbox[MergerLetter, None]) -> MergeAgentGone:
        """Wait for the merge agent's end; nudges that come meanwhile are answered by the next question to the board."""
        while True:
            match (await inbox.receive()).letter:
                case MergeAgentGone(agent=gone) as letter if gone == agent:
                    return letter
                case MergeAgentGone() | Nudge():
                    pass


def _reason(failed: MergeFailed) -> str:
    if not failed.conflicts:
        return failed.reason
    more = ", …" if len(failed.conflicts) > 5 else ""
    return f"{failed.reason} (conflicts in {', '.join(failed.conflicts[:5])}{more})"
