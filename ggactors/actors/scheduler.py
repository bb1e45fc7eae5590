"""The scheduler: turns what the board calls ready into agents, one slot each (S2, D1).

Law: it holds no truth. A nudge carries nothing; the board is asked how much waits for an agent, and as many tickets queue for
slots, each for its class, none for an issue. With the slot in hand the board is asked what is next in line, so that nothing is
dispatched out of turn and nothing is ever listed. Cancelled: no ticket holds a slot.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.actors.desk import CannotDispatch
from ggactors.actors.switch import WindDown
from ggactors.ports import RepositoryBroken
from ggactors.protocol.agent import AgentOrder
from ggactors.protocol.board import (
    AskOutlook,
    AttemptSettled,
    EndAttempt,
    EndReview,
    FailDispatch,
    IssueAssigned,
    Outlook,
    ReviewAssigned,
    StartNext,
)
from ggactors.protocol.events import Log
from ggactors.protocol.values import IssueState, Kind, Role, Status
from ggactors.rules.backoff import wait_secs
from ggactors.rules.briefs import issue_brief, review_brief
from ggactors.runtime.mailbox import ActorGone

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.actors.switch import Switch
    from ggactors.actors.teardown import Teardown
    from ggactors.ports import Repository
    from ggactors.protocol.board import BoardAnswer, BoardLetter
    from ggactors.protocol.git import OpenedWorktree
    from ggactors.protocol.run import SchedulerLetter
    from ggactors.runtime.mailbox import Inbox
    from ggactors.runtime.ref import Ref
    from ggactors.runtime.slots import Seat, SlotPool


WORLD = 5.0
"""How much longer than a provider's first trouble a disk's is waited out: it is rarely over in a second."""


@define(kw_only=True)
class SchedulerActor:
    """The actor. ``spawn`` makes the agent, which owns the seat from then on; it raises CannotDispatch."""

    board: Ref[BoardLetter, BoardAnswer]
    pool: SlotPool
    repository: Repository
    spawn: Callable[[AgentOrder, Seat, IssueAssigned | ReviewAssigned], None]
    teardown: Teardown
    emit: Callable[[Log], None]
    switch: Switch
    rested: Callable[[], None]
    """Called when a dispatch has come to its end, whatever that was."""
    dispatching: int = 0
    """Tickets with a slot in hand: what they are about to spawn does not live yet."""
    struck: set[str] = field(factory=set)
    """Issues in the middle of whose dispatch a defect was raised (D8)."""
    _tickets: dict[bool, int] = field(factory=lambda: {True: 0, False: 0})
    """Tickets that queue for a slot: for work begun, and for first dispatches."""
    _unmade: dict[str, int] = field(factory=dict)
    """Issues whose worktree the disk refused to make, with how often in a row; what lies there is no agent's of theirs."""
    _more: bool = False
    """Whether more first dispatches wait than have a ticket: no more are made than there are slots."""

    async def run(self, inbox: Inbox[SchedulerLetter, None]) -> None:
        """Serve nudges until the board is gone."""
        async with trio.open_nursery() as nursery:
            try:
                while True:
                    await self._look(nursery)
                    await inbox.drain()
            except ActorGone:
                nursery.cancel_scope.cancel()

    async def _look(self, nursery: trio.Nursery) -> None:
        """Let as many tickets queue as there is work for."""
        outlook = await self.board.ask(AskOutlook())
        if not isinstance(outlook, Outlook):
            return
        fresh = outlook.dispatchable - outlook.begun
        self._more = fresh > self.pool.width
        for begun, wanted in ((True, outlook.begun), (False, min(fresh, self.pool.width))):
            while self._tickets[begun] < wanted:
                self._tickets[begun] += 1
                nursery.start_soon(self._ticket, nursery, begun)

    async def _ticket(self, nursery: trio.Nursery, begun: bool) -> None:
        """Queue for a slot, ask the board what is next, and dispatch it."""
        seat = self.pool.seat("work begun" if begun else "a first dispatch")
        try:
            await self._take(seat, begun)
            self._tickets[begun] -= 1
            self.dispatching += 1
            try:
                await self._dispatch(nursery, begun, seat)
            finally:
                self.dispatching -= 1
                self.rested()
        except ActorGone:
            seat.give_back()
        except BaseException:
            seat.give_back()
            raise

    async def _take(self, seat: Seat, begun: bool) -> None:
        """Take a slot at a time when the run is not paused."""
        while True:
            await self.switch.unpaused()
            await seat.take(begun=begun)
            if not self.switch.paused:
                return
            seat.give_back()

    async def _dispatch(self, nursery: trio.Nursery, begun: bool, seat: Seat) -> None:
        if self.switch.status is not None:
            # The board may not have heard of the stop yet: what waits for an agent now stays where it is (D5, D8).
            seat.give_back()
            return
        assigned = await self.board.ask(StartNext(begun=begun))
        if self._more:
            await self._look(nursery)
        try:
            match assigned:
                case IssueAssigned():
                    await self._implement(assigned, seat)
                case ReviewAssigned():
                    await self._review(assigned, seat)
                case _:
                    seat.give_back()
        except ActorGone:
            raise
        except Exception:
            if isinstance(assigned, IssueAssigned | ReviewAssigned):
                self.struck.add(assigned.issue.id)
            raise

    async def _implement(self, assigned: IssueAssigned, seat: Seat) -> None:
        """Make the worktree and the agent.

        A disk that refuses is an attempt that was not finished (D5, D8); what is wrong with the crew fails the issue at once, no
        retry spent (D7).
        """
        issue = assigned.issue
        try:
            opened = await self._worktree(assigned)
        except RepositoryBroken as error:
            await self._unfinished(assigned, f"{assigned.agent} could not be dispatched: {error}", seat)
            return
        try:
            order = AgentOrder(
                id=assigned.agent,
                profile=issue.agent,
                kind=Kind.IMPLEMENTER,
                role=Role.STANDARD,
                brief=issue_brief(issue, assigned.last, assigned.verdicts),
                workdir=opened.root,
                issue=issue.id,
                branch=opened.branch,
            )
            self.spawn(order, seat, assigned)
        except CannotDispatch as error:
            reason = f"{assigned.agent} could not be dispatched: {error}"
            await self._failed(FailDispatch(issue=issue.id, reason=reason), reason, seat)

    async def _worktree(self, assigned: IssueAssigned) -> OpenedWorktree:
        """Make the worktree, fresh for the first agent that gets one; later ones go on in it. Raises RepositoryBroken."""
        issue = assigned.issue.id
        if issue not in self._unmade and (assigned.last is not None or assigned.verdicts):
            return await self.repository.open_worktree(issue)
        self._unmade[issue] = self._unmade.get(issue, 0) + 1
        opened = await self.teardown.fresh(issue)
        del self._unmade[issue]
        return opened

    async def _unfinished(self, assigned: IssueAssigned, reason: str, seat: Seat) -> None:
        """Give the world a moment, without the slot, and end the attempt; a stop of the run cuts the moment short."""
        issue = assigned.issue.id
        self.emit(Log(level="error", message=f"{issue}: {reason}"))
        seat.give_back()
        wait = WORLD * wait_secs(self._unmade.get(issue, 1), retry_after=None, jitter=0.0)
        with suppress(WindDown), self.switch.interruptible(assigned.agent):
            await trio.sleep(wait)
        letter = EndAttempt(
            issue=issue,
            agent=assigned.agent,
            status=Status.INTERNAL_ERROR,
            reason=reason,
            # The board may not have heard of a stop yet, and a run that stops spends no retry and fails nothing (D5).
            parked=self.switch.status is not None,
        )
        match await self.board.ask(letter):
            case AttemptSettled(state=IssueState.FAILED):
                self._unmade.pop(issue, None)
                await self.teardown.failed(issue, reason)
            case _:
                pass

    async def _review(self, assigned: ReviewAssigned, seat: Seat) -> None:
        """Put exactly the commit to be reviewed into the worktree and make the reviewer; else the review is not held (R7)."""
        issue = assigned.issue
        try:
            await self.repository.check_out(issue.id, assigned.commit)
            opened = await self.repository.open_worktree(issue.id)
            changes = await self.repository.changes(issue.id, assigned.commit)
            order = AgentOrder(
                id=assigned.agent,
                profile=assigned.profile,
                kind=Kind.REVIEWER,
                role=Role.REVIEW,
                brief=review_brief(
                    issue,
                    changes,
                    assigned.verdicts,
                    implementer=assigned.implementer,
                    empty=assigned.empty_change,
                ),
                workdir=opened.root,
                issue=issue.id,
                branch=opened.branch,
            )
            self.spawn(order, seat, assigned)
        except (CannotDispatch, RepositoryBroken) as error:
            reason = f"{assigned.agent} could not be dispatched: {error}"
            await self._failed(EndReview(issue=issue.id, agent=assigned.agent, reason=reason), reason, seat)

    async def _failed(self, letter: FailDispatch | EndReview, reason: str, seat: Seat) -> None:
        """Tell the board; if it fails the issue of it, its worktree goes. A run that is stopping keeps both (D5)."""
        self.emit(Log(level="error", message=f"{letter.issue}: {reason}"))
        await self.board.ask(letter)
        await self.teardown.failed(letter.issue, reason)
        seat.give_back()
