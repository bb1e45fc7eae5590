"""What is special about the place an agent works in: its gate, what happens to its work at its end, the lock on its tree.

Law: a station never decides how a session goes; it answers whether an ending may stand and carries the work away afterwards.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol

from attrs import define, field, frozen

from ggactors.ports import RepositoryBroken
from ggactors.protocol.board import AttemptSettled, BoardPicture, EndAttempt, HandBack, IssuePicture, ReadBoard
from ggactors.protocol.events import Log
from ggactors.protocol.git import SealBlocked, Sealed, Signature
from ggactors.protocol.values import IssueState, Refused, Status
from ggactors.rules.briefs import main_message, work_message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from ggactors.actors.desk import Desk
    from ggactors.actors.presence import Presence
    from ggactors.ports import Repository
    from ggactors.protocol.agent import Ending
    from ggactors.runtime.fairlock import FairLock


@frozen(kw_only=True)
class SessionEnd:
    """How a session ended. ``ending`` is the declared one when it was completed; ``parked`` leaves the work in flight (D5).

    ``final``: another try would end the same way, since a budget is spent.
    """

    status: Status
    summary: str
    ending: Ending | None = None
    parked: bool = False
    final: bool = False
    verified: bool | None = None
    """Whether a check of completion passed; False when it was given up on, None where none is bound (G5)."""


class Station(Protocol):
    """Where an agent works."""

    tree: FairLock | None
    """The lock on the tree when it is shared with merges (M6), else None."""

    async def admit(self, ending: Ending, summary: str) -> str | None:
        """Decide whether an ending may stand: the reason it may not, or None. Called with the tree lock held, if there is one."""

    def working(self) -> AbstractAsyncContextManager[None]:
        """Mark the time in which the agent works in a tree that is not its own alone."""

    async def after_call(self, tool: str) -> str | None:
        """Look at the tree after a call that touched it; what the model must be told, or None. Called with the tree lock held."""

    async def ended(self, end: SessionEnd) -> None:
        """Carry the work away. The agent still holds its slot, its tools are closed, and the tree lock is held, if there is one."""


class Alone:
    """What holds where nobody else works: nothing is to be marked, and no call needs looking after."""

    def working(self) -> AbstractAsyncContextManager[None]:
        """Have nothing to mark."""
        return nullcontext()

    async def after_call(self, tool: str) -> str | None:  # noqa: ARG002
        """Have nothing to say."""
        return None


@define
class PlainStation(Alone):
    """The operator's directory itself, without a board: nothing is committed, nothing merges (B12)."""

    tree: FairLock | None = None

    async def admit(self, ending: Ending, summary: str) -> str | None:  # noqa: ARG002
        """Let every ending stand."""
        return None

    async def ended(self, end: SessionEnd) -> None:
        """Have nothing to carry away."""


@define(kw_only=True)
class MainStation:
    """The main workspace: tool calls share it fairly with merges, and what its agents change is committed in their name (M6)."""

    agent: str
    repository: Repository
    emit: Callable[[Log], None]
    tree: FairLock | None
    presence: Presence

    def working(self) -> AbstractAsyncContextManager[None]:
        """Mark the time in which this agent works in main, so that what else happens there is told apart."""
        return self.presence.working()

    async def admit(self, ending: Ending, summary: str) -> str | None:  # noqa: ARG002
        """Commit what the agent changed; what git will not take is the reason the ending is held back."""
        await self.presence.look()
        await self.repository.guard_main()
        sealed = await self.repository.commit_main(Signature(agent=self.agent), main_message(self.agent))
        return sealed.reason if isinstance(sealed, SealBlocked) else None

    async def after_call(self, tool: str) -> str | None:
        """Put main's branch back if the command rewound it, and say so."""
        if tool != "shell":
            return None
        try:
            restored = await self.repository.guard_main()
        except RepositoryBroken as error:
            # The world's doing and no defect (D8); it is looked at again before a merge and at the agent's end.
            self.emit(
                Log(agent=self.agent, level="warning", message=f"main could not be looked at after a call: {error}")
            )
            return None
        if restored is None:
            return None
        if not restored.undone:
            return f"The runtime looked at this: {restored.what}, and kept under {restored.saved_ref}."
        kept = f" The commits it dropped are kept under {restored.saved_ref}." if restored.saved_ref else ""
        return f"The runtime undid a part of this: {restored.what}.{kept} The main branch only moves forward."

    async def ended(self, end: SessionEnd) -> None:  # noqa: ARG002
        """Commit what is left, whatever the end was."""
        try:
            await self.presence.look()
            await self.repository.guard_main()
            sealed = await self.repository.commit_main(Signature(agent=self.agent), main_message(self.agent))
        except RepositoryBroken as error:
            self.emit(
                Log(agent=self.agent, level="error", message=f"what {self.agent} changed is not committed: {error}")
            )
            return
        if isinstance(sealed, SealBlocked):
            self.emit(Log(agent=self.agent, level="warning", message=f"not committed: {sealed.reason}"))


@define(kw_only=True)
class IssueStation(Alone):
    """An issue's worktree: finishing commits the work and hands the issue back; any other end is an unfinished attempt."""

    agent: str
    issue: str
    title: str
    attempt: int
    branch: str
    repository: Repository
    desk: Desk
    reconcile: Callable[[str, str], Awaitable[None]]
    """Discards the worktree of an issue that failed, for a reason, and says so (W5, W6)."""
    tree: FairLock | None = None
    _summary: str = field(default="", init=False)

    async def _seal(self) -> Sealed | SealBlocked:
        signature = Signature(agent=self.agent, issue=self.issue, attempt=self.attempt)
        return await self.repository.seal(self.issue, signature, work_message(self.issue, self.title, self._summary))

    async def admit(self, ending: Ending, summary: str) -> str | None:  # noqa: ARG002
        """Commit the work on the issue's branch; what cannot be committed is the reason the ending is held back (W4)."""
        self._summary = summary
        try:
            sealed = await self._seal()
        except RepositoryBroken as error:
            return f"the work could not be committed: {error}"
        return sealed.reason if isinstance(sealed, SealBlocked) else None

    async def ended(self, end: SessionEnd) -> None:
        """Tell the board; a failed issue's worktree is saved and discarded."""
        board = self.desk.board
        if board is None:
            return
        if end.status is Status.COMPLETED and end.verified is not False:
            letter = await self._hand_back(end)
        else:
            letter = EndAttempt(
                issue=self.issue,
                agent=self.agent,
                status=end.status,
                reason=end.summary,
                left=await self._left(),
                parked=end.parked,
                final=end.final,
            )
        answer = await board.ask(letter)
        match answer:
            case Refused(message=message):
                self.desk.emit(Log(agent=self.agent, level="warning", message=f"{self.issue}: {message}"))
            case AttemptSettled(state=IssueState.FAILED):
                await self.reconcile(self.issue, end.summary)
            case _ if isinstance(letter, HandBack):
                await self._failed_at_hand_back()
            case _:
                pass

    async def _hand_back(self, end: SessionEnd) -> HandBack | EndAttempt:
        """Seal once more, now that no process of the agent is left, and hand exactly that commit back."""
        try:
            sealed = await self._seal()
        except RepositoryBroken as error:
            sealed = SealBlocked(reason=f"the work could not be committed: {error}")
        if isinstance(sealed, SealBlocked):
            return EndAttempt(
                issue=self.issue,
                agent=self.agent,
                status=Status.INTERNAL_ERROR,
                reason=sealed.reason,
                left=await self._left(),
            )
        return HandBack(
            issue=self.issue,
            agent=self.agent,
            commit=sealed.commit,
            summary=end.summary,
            empty_change=sealed.empty,
        )

    async def _failed_at_hand_back(self) -> None:
        """Discard the worktree of an issue that the board failed as it came back (a review that cannot be held, R7)."""
        board = self.desk.board
        if board is None:
            return
        match await board.ask(ReadBoard(issue=self.issue)):
            case BoardPicture(issues=(IssuePicture(state=IssueState.FAILED, reason=reason),)):
                await self.reconcile(self.issue, reason or "failed")
            case _:
                pass

    async def _left(self) -> str:
        try:
            return await self.repository.describe(self.issue)
        except RepositoryBroken:
            return ""
