"""Worktrees torn down and made fresh, one thing at a time for each issue (W2, W3, W5, W6).

Law: an issue may be revived while the worktree of its last life is still being torn down. So whoever tears one down asks the board,
with the issue's lock in hand, whether that life is still over; and a first dispatch waits for the lock and finds nothing of it.
Cancelled while waiting for the lock: nothing was done.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.ports import RepositoryBroken
from ggactors.protocol.board import BoardPicture, IssuePicture, ReadBoard
from ggactors.protocol.events import Log, WorktreeMerged
from ggactors.protocol.values import IssueState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ggactors.ports import Repository
    from ggactors.protocol.board import BoardAnswer, BoardLetter
    from ggactors.protocol.events import Event
    from ggactors.protocol.git import OpenedWorktree
    from ggactors.runtime.ref import Ref


@define
class _Turnstile:
    """One issue's lock and how many hold or await it."""

    lock: trio.Lock = field(factory=trio.Lock)
    users: int = 0


@define(kw_only=True)
class Teardown:
    """The one way to an issue's worktree between its lives."""

    repository: Repository
    board: Ref[BoardLetter, BoardAnswer]
    emit: Callable[[Event], None]
    _turnstiles: dict[str, _Turnstile] = field(factory=dict)
    _made: dict[str, str] = field(factory=dict)
    """The branches of issues whose worktree was made: their end is told even when nothing is left on disk (W6)."""

    async def fresh(self, issue: str) -> OpenedWorktree:
        """Make the issue's worktree from main's tip for a first dispatch; what was left of an earlier life is saved and goes.

        Raises RepositoryBroken.
        """
        async with self._alone(issue):
            if self.repository.branch_of(issue) is not None:
                await self._discard(issue, "it was revived")
            opened = await self.repository.open_worktree(issue)
            self._made[issue] = opened.branch
            return opened

    async def failed(self, issue: str, reason: str) -> None:
        """Discard a failed issue's worktree, saving what is in it, and emit the one event of it (W5, W6).

        One that was revived meanwhile is left to its next dispatch.
        """
        async with self._alone(issue):
            known = issue in self._made or self.repository.branch_of(issue) is not None
            if not known or not await self._is(issue, IssueState.FAILED):
                return
            try:
                await self._discard(issue, reason)
            except RepositoryBroken as error:
                self.emit(
                    Log(level="warning", message=f"{issue}: its worktree is kept and its work not saved: {error}")
                )
                self._tell(issue, f"{reason} (its worktree is kept: {error})", None)

    async def merged(self, issue: str, *, accepted: bool) -> str | None:
        """Tear down the worktree of an issue whose merge is settled; answer the hidden ref of what is not in main."""
        async with self._alone(issue):
            if not await self._is(issue, IssueState.DONE if accepted else IssueState.FAILED):
                return None
            self._made.pop(issue, None)
            try:
                return await self.repository.discard(issue, accepted=accepted)
            except RepositoryBroken as error:
                self.emit(Log(level="warning", message=f"{issue}: its worktree could not be removed: {error}"))
                return None

    async def _discard(self, issue: str, reason: str) -> None:
        branch = self.repository.branch_of(issue)
        saved = await self.repository.discard(issue, accepted=False)
        self._tell(issue, reason, saved, branch)

    def _tell(self, issue: str, reason: str, saved: str | None, branch: str | None = None) -> None:
        made = self._made.pop(issue, None)
        self.emit(
            WorktreeMerged(
                issue=issue,
                branch=branch or self.repository.branch_of(issue) or made,
                merged=False,
                conflicts=(),
                one_sided=False,
                empty_change=False,
                reason=reason,
                saved_ref=saved,
            )
        )

    async def _is(self, issue: str, state: IssueState) -> bool:
        """Ask the board whether an issue is in a state. One that was removed from the board is still what it was."""
        match await self.board.ask(ReadBoard(issue=issue)):
            case BoardPicture(issues=(IssuePicture(state=found),)):
                return found is state
            case _:
                return True

    @asynccontextmanager
    async def _alone(self, issue: str) -> AsyncIterator[None]:
        turnstile = self._turnstiles.setdefault(issue, _Turnstile())
        turnstile.users += 1
        try:
            async with turnstile.lock:
                yield
        finally:
            turnstile.users -= 1
            if not turnstile.users:
                del self._turnstiles[issue]
