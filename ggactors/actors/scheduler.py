"""The scheduler: turns what the board calls ready into agents, one slot each (S2, D1).

Law: it holds no truth. A nudge carries nothing; the board is asked what is ready, a ticket queues for a slot, and with the slot
in hand the board is asked again. Cancelled: no ticket holds a slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.ports import RepositoryBroken
from ggactors.protocol.agent import AgentOrder
from ggactors.protocol.board import FailDispatch, IssueAssigned, ListReady, ReadyList, StartIssue
from ggactors.protocol.events import Log
from ggactors.protocol.values import Kind, Role
from ggactors.rules.briefs import issue_brief
from ggactors.runtime.mailbox import ActorGone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ggactors.ports import Repository
    from ggactors.protocol.board import BoardAnswer, BoardLetter, ReadyIssue
    from ggactors.protocol.run import SchedulerLetter
    from ggactors.runtime.mailbox import Inbox
    from ggactors.runtime.ref import Ref
    from ggactors.runtime.slots import Seat, SlotPool


class CannotDispatch(Exception):  # noqa: N818
    """An issue's agent cannot be made at all: undeclared profile, model that does not resolve (D7)."""


@define(kw_only=True)
class SchedulerActor:
    """The actor. ``spawn`` makes the agent, which owns the seat from then on; it raises CannotDispatch."""

    board: Ref[BoardLetter, BoardAnswer]
    pool: SlotPool
    repository: Repository
    spawn: Callable[[AgentOrder, Seat, IssueAssigned], None]
    reconcile: Callable[[str, str], Awaitable[None]]
    emit: Callable[[Log], None]
    _tickets: set[str] = field(factory=set)

    async def run(self, inbox: Inbox[SchedulerLetter, None]) -> None:
        """Serve nudges until the board is gone."""
        async with trio.open_nursery() as nursery:
            try:
                while True:
                    ready = await self.board.ask(ListReady())
                    if isinstance(ready, ReadyList):
                        for issue in ready.issues:
                            if issue.id not in self._tickets:
                                self._tickets.add(issue.id)
                                nursery.start_soon(self._ticket, issue)
                    await inbox.drain()
            except ActorGone:
                nursery.cancel_scope.cancel()

    async def _ticket(self, issue: ReadyIssue) -> None:
        """Queue for a slot, ask the board again, and dispatch."""
        seat = self.pool.seat(issue.id)
        try:
            await seat.take(begun=issue.begun)
            self._tickets.discard(issue.id)
            answer = await self.board.ask(StartIssue(issue=issue.id))
            if isinstance(answer, IssueAssigned):
                await self._dispatch(answer, seat)
            else:
                seat.give_back()
        except ActorGone:
            seat.give_back()
        except BaseException:
            seat.give_back()
            raise

    async def _dispatch(self, assigned: IssueAssigned, seat: Seat) -> None:
        """Make the worktree and the agent; what stands in the way fails the issue at once, no retry spent (D7)."""
        issue = assigned.issue
        try:
            opened = await self.repository.open_worktree(issue.id)
            order = AgentOrder(
                id=assigned.agent,
                profile=issue.agent,
                kind=Kind.IMPLEMENTER,
                role=Role.STANDARD,
                brief=issue_brief(issue, assigned.last),
                workdir=opened.root,
                issue=issue.id,
                branch=opened.branch,
            )
            self.spawn(order, seat, assigned)
        except (CannotDispatch, RepositoryBroken) as error:
            reason = f"{assigned.agent} could not be dispatched: {error}"
            self.emit(Log(level="error", message=f"{issue.id}: {reason}"))
            await self.board.ask(FailDispatch(issue=issue.id, reason=reason))
            await self.reconcile(issue.id, reason)
            seat.give_back()
