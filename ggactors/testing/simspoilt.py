"""What planted faults put in the place of sound code: each function spoils one of the product's, made from the sound one.

Law: only ``simplants`` uses these; each is the smallest change that makes its bug, as it might be written by mistake.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from attrs import evolve

from ggactors.actors.board import STREAM, _Batch
from ggactors.actors.teardown import Teardown
from ggactors.protocol import board as page
from ggactors.protocol.git import Merged
from ggactors.protocol.values import IssueState
from ggactors.rules import boardreview, boardruntime
from ggactors.rules.boarddecision import Decision
from ggactors.rules.boardstanding import failed
from ggactors.rules.boardstate import agent_name, picture_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ggactors.actors.board import BoardActor
    from ggactors.actors.leaving import Leaving
    from ggactors.actors.merger import MergerActor
    from ggactors.actors.reviewing import ReviewStation
    from ggactors.actors.stations import IssueStation
    from ggactors.actors.waiting import Waiting
    from ggactors.app.staff import Staff
    from ggactors.rules.board import Board, Change
    from ggactors.runtime.fairlock import FairLock
    from ggactors.runtime.slots import Seat


# ---------------------------------------------------------------- slots and waits


def leaky_leave(whole: Any) -> Any:
    """Count a slot too many when a seat leaves the queue."""

    def leave(self: Seat, cancel: Any) -> Any:
        self._pool.held += 1
        return whole(self, cancel)

    return leave


def give_back_twice(_: Any) -> Any:
    """Give back a slot that is not held any more."""

    def give_back(self: Seat) -> None:
        self.holds = False
        self._pool._hand_over()

    return give_back


def leave_slot_first(whole: Any) -> Any:
    """Hand an agent's slot on before its work is carried away."""

    async def leave(self: Leaving, end: Any) -> None:
        self.agent.seat.give_back()
        await whole(self, end)

    return leave


def deaf_to_dead_ends(whole: Any) -> Any:
    """Wake nobody whose wait became a dead end."""

    def woken(board: Board, changes: Any) -> set[str]:
        return whole(board, [evolve(change, stalled=[]) for change in changes])  # type: ignore[no-any-return]

    return woken


def impatient(_: Any) -> Any:
    """Resume at once."""

    async def until_settled(self: Waiting, children: list[str]) -> None:
        """Wait for nothing."""

    return until_settled


def hopeful(_: Any) -> Any:
    """Answer every wait with done."""

    def read_wait(board: Board, letter: page.ReadWait) -> Decision:
        facts = (
            (page.WaitEnded(by=letter.by, issue=letter.issue),)
            if letter.issue in board.waits.get(letter.by, ())
            else ()
        )
        return Decision(answer=page.WaitSettled(issue=letter.issue, state=IssueState.DONE), facts=facts)

    return read_wait


# ---------------------------------------------------------------- dispatch


def _count_more(whole: Any, more: Callable[[Board], list[str]]) -> Any:
    def ask_outlook(board: Board) -> Decision:
        outlook: page.Outlook = whole(board).answer
        extra = 0 if board.stopped else len(more(board))
        return Decision(answer=evolve(outlook, dispatchable=outlook.dispatchable + extra))

    return ask_outlook


def _start_more(whole: Any, more: Callable[[Board], list[str]]) -> Any:
    def start_next(board: Board, letter: page.StartNext) -> Decision:
        extra = [] if board.stopped or letter.begun or board.ready else more(board)
        if not extra:
            return whole(board, letter)  # type: ignore[no-any-return]
        issue = board.issues[extra[0]]
        agent = agent_name(issue.id, issue.attempts)
        return Decision(
            answer=page.IssueAssigned(issue=picture_of(board, issue), agent=agent, number=issue.attempts),
            facts=(page.IssueStarted(issue=issue.id, agent=agent, number=issue.attempts),),
        )

    return start_next


def _in_progress(board: Board) -> list[str]:
    return [issue.id for issue in board.issues.values() if board.worker(issue) is not None and issue.attempts < 3]


def _nearly_ready(board: Board) -> list[str]:
    late = (IssueState.DONE, IssueState.IN_REVIEW)
    return [
        issue.id
        for issue in board.issues.values()
        if issue.state is IssueState.OPEN
        and issue.undone
        and all(board.issues[blocker].state in late for blocker in board.dag.blockers(issue.id))
    ]


def dispatch_twice() -> Any:
    """Dispatch issues that are being worked on already."""
    return (
        (boardruntime, "ask_outlook", lambda whole: _count_more(whole, _in_progress)),
        (boardreview, "start_next", lambda whole: _start_more(whole, _in_progress)),
    )


def dispatch_early() -> Any:
    """Dispatch issues whose blockers are only in review."""
    return (
        (boardruntime, "ask_outlook", lambda whole: _count_more(whole, _nearly_ready)),
        (boardreview, "start_next", lambda whole: _start_more(whole, _nearly_ready)),
    )


def uncounted(whole: Any) -> Any:
    """Spend no retry."""

    def apply(board: Board, fact: Any) -> Change:
        change = whole(board, fact)
        if isinstance(fact, page.AttemptEnded) and not fact.parked:
            board.issues[fact.issue].retries -= 1
        return change  # type: ignore[no-any-return]

    return apply


def cascading(whole: Any) -> Any:
    """Fail with an issue what is blocked by it."""

    def decide(board: Board, charter: Any, letter: Any) -> Decision:
        decision: Decision = whole(board, charter, letter)
        more = [
            failed(board.issues[dependent], f"{fact.issue} failed")
            for fact in decision.facts
            if isinstance(fact, page.IssueFailed)
            for dependent in board.dag.dependents(fact.issue)
            if board.issues[dependent].state is IssueState.OPEN
        ]
        return evolve(decision, facts=(*decision.facts, *more))

    return decide


def never_parked(whole: Any) -> Any:
    """Settle an attempt that a stop ended like any other."""

    def end_attempt(board: Board, charter: Any, letter: page.EndAttempt) -> Decision:
        stopped, board.stopped = board.stopped, False
        try:
            return whole(board, charter, evolve(letter, parked=False))  # type: ignore[no-any-return]
        finally:
            board.stopped = stopped

    return end_attempt


# ---------------------------------------------------------------- reviews and merges


def accept_at_once(whole: Any) -> Any:
    """Accept work as soon as it is handed back."""

    def hand_back(board: Board, charter: Any, letter: page.HandBack) -> Decision:
        decision: Decision = whole(board, charter, letter)
        if any(isinstance(fact, page.IssueAccepted | page.IssueFailed) for fact in decision.facts):
            return decision
        return evolve(decision, facts=(*decision.facts, page.IssueAccepted(issue=letter.issue, commit=letter.commit)))

    return hand_back


def one_is_enough(whole: Any) -> Any:
    """Accept work that its first reviewer approved."""

    def give_verdict(board: Board, letter: page.GiveVerdict) -> Decision:
        decision: Decision = whole(board, letter)
        if not letter.approved or any(isinstance(fact, page.IssueAccepted) for fact in decision.facts):
            return decision
        accepted = page.IssueAccepted(issue=letter.issue, commit=letter.commit)
        issue = board.issues[letter.issue]
        ended = page.RoundEnded(issue=letter.issue, round=issue.present_round, outcome="approved")
        return evolve(decision, facts=(*decision.facts, ended, accepted)) if decision.facts else decision

    return give_verdict


def left_lying(whole: Any) -> Any:
    """Leave what a reviewer changed in the worktree."""

    async def ended(self: ReviewStation, end: Any) -> None:
        repository = self.repository
        self.repository = _Careless(repository)
        try:
            await whole(self, end)
        finally:
            self.repository = repository

    return ended


class _Careless:
    """A repository that puts nothing back after a review."""

    def __init__(self, repository: Any) -> None:
        self._repository = repository

    def __getattr__(self, name: str) -> Any:
        return getattr(self._repository, name)

    async def check_out(self, issue: str, commit: str) -> None:
        """Leave a reviewer's edits where they are."""


def done_first(_: Any) -> Any:
    """Call an issue done before it is merged."""

    async def merge(self: MergerActor, job: page.MergeJob, inbox: Any) -> None:
        await self.board.ask(page.SettleMerge(issue=job.issue, commit=job.commit))
        async with self.tree.alone():
            account = await self._into_main(job, "", inbox)
        if isinstance(account.outcome, Merged):
            await self._say(job, None, account, commit=account.outcome.commit, reason=None)

    return merge


def never_put_back(_: Any) -> Any:
    """Leave a conflict in main."""

    async def put_back(self: MergerActor, issue: str = "", agent: str | None = None) -> str | None:
        """Leave the conflict in main."""
        return None

    return put_back


def no_lock(whole: Any) -> Any:
    """Merge while others work in main."""

    async def take_alone(self: FairLock) -> None:
        if self.held_alone:
            await whole(self)
        else:
            self._alone = True

    return take_alone


def unguarded() -> Any:
    """Tear down and make worktrees without asking who else does."""

    @asynccontextmanager
    async def alone(self: Teardown, issue: str) -> AsyncIterator[None]:
        yield

    async def is_so(self: Teardown, issue: str, state: IssueState) -> bool:
        return True

    async def fresh(self: Teardown, issue: str) -> Any:
        return await self.repository.open_worktree(issue)

    return (
        (Teardown, "_alone", lambda _: alone),
        (Teardown, "_is", lambda _: is_so),
        (Teardown, "fresh", lambda _: fresh),
    )


# ---------------------------------------------------------------- defects and ends


def tell_first(_: Any) -> Any:
    """Answer and tell before the journal has it."""

    async def run(self: BoardActor, inbox: Any) -> None:
        while True:
            batch = _Batch()
            for envelope in await inbox.drain():
                self._decide(envelope, batch)
            self._release(batch)
            if batch.entries:
                await self._journal.commit(STREAM, batch.entries)

    return run


def strike_all(_: Any) -> Any:
    """Fail everything in progress for one defect."""

    def fail_struck(self: Staff, name: str, reason: str) -> None:
        for issue in self.place.view.issues.values():
            if self._board is not None and issue.state is IssueState.IN_PROGRESS:
                self._board.tell(page.FailDispatch(issue=issue.id, reason=reason, defect=True))

    return fail_struck


def do_nothing(_: Any) -> Any:
    """Do not do it."""

    def nothing(*_args: Any) -> None:
        """Do not do it."""

    return nothing


def say_no(_: Any) -> Any:
    """Answer no."""
    return lambda *_args: False


def see_nobody(_: Any) -> Any:
    """See nobody."""
    return lambda *_args: ()


def untold_end(whole: Any) -> Any:
    """Tell the board of no attempt that ended unfinished."""

    async def ended(self: IssueStation, end: Any) -> None:
        if end.ending is not None or end.parked:
            await whole(self, end)

    return ended
