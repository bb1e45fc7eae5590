"""Facts applied to the board: the only code that changes one.

Law: total over ``BoardFact`` and deterministic. Applying the journaled facts in order to an empty board gives the board that
was, to the byte (``boardstate.dump``). Nothing is refused here: what must not happen is decided before it becomes a fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from attrs import define, field

from ggactors.protocol.board import (
    AttemptEnded,
    BlockersSet,
    DispatchStopped,
    EpicCreated,
    EpicPicture,
    EpicRemoved,
    IssueAccepted,
    IssueFailed,
    IssueFiled,
    IssueHandedBack,
    IssueMerged,
    IssuePicture,
    IssueRemoved,
    IssueRevised,
    IssueRevived,
    IssueStarted,
    LastAttempt,
    MergeAgentDispatched,
    MergeParked,
    ReviewerAssigned,
    ReviewParked,
    RoundEnded,
    VerdictGiven,
    WaitBegan,
    WaitEnded,
)
from ggactors.protocol.values import IssueState
from ggactors.rules.boardstate import Board, Epic, Issue, Ordered, picture_of, picture_of_epic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ggactors.protocol.board import BoardFact

APPROVED = "approved"
CHANGES_REQUESTED = "changes_requested"
NOT_HELD = "not_held"
"""What a review round comes to (R9)."""

_FLYING = frozenset({IssueState.IN_PROGRESS, IssueState.IN_REVIEW})


@define
class Change:
    """What one fact did: ``was`` the issue's state before it (``queued`` if it was accepted then), ``stalled`` the issues that
    newly are, ``beside`` the issues that lost a blocker or their epic by it, ``gone`` a last picture of what it removed.
    """

    fact: BoardFact
    was: IssueState | None = None
    queued: bool = False
    stalled: list[str] = field(factory=list)
    beside: tuple[str, ...] = ()
    gone: IssuePicture | EpicPicture | None = None


def apply(board: Board, fact: BoardFact) -> Change:
    """Apply one fact and tell what it did. The number of steps follows the edges touched, never the size of the board."""
    change = Change(fact)
    match fact:
        case (
            EpicCreated()
            | EpicRemoved()
            | IssueFiled()
            | IssueRevised()
            | IssueRevived()
            | BlockersSet()
            | IssueRemoved()
        ):
            _apply_edit(board, fact, change)
        case IssueStarted() | AttemptEnded() | IssueHandedBack() | IssueAccepted() | IssueMerged() | IssueFailed():
            _apply_step(board, fact, change)
        case (
            ReviewerAssigned() | VerdictGiven() | RoundEnded() | ReviewParked() | MergeAgentDispatched() | MergeParked()
        ):
            _apply_review(board, fact, change)
        case WaitBegan():
            board.waits.setdefault(fact.by, {})[fact.issue] = fact.works_for
            board.waiters.setdefault(fact.issue, {})[fact.by] = None
            if fact.works_for is not None and fact.works_for in board.dag:
                circle = board.dag.add_wait(fact.works_for, fact.issue)
                assert circle is None, circle
        case WaitEnded():
            _end_wait(board, fact)
        case DispatchStopped():
            board.stopped = True
            board.defect = fact.defect if board.defect is None else board.defect
            for members in (board.retrying, board.reviewing):
                board.parked.update(members)
                members.clear()
        case _:
            assert_never(fact)
    return change


def replay(facts: Iterable[BoardFact]) -> Board:
    """Build the board that these facts made."""
    board = Board()
    for fact in facts:
        apply(board, fact)
    return board


def woken(board: Board, changes: Iterable[Change]) -> set[str]:
    """Name the agents to wake after these changes: every issue they wait for is over, and for one of them that is new.

    Looks at the waiters of issues that settled, stalled or were removed, and at all of them after a defect (Q1, Q3, Q5).
    An agent with several waits is woken when the last of them is over, as it is suspended until all are (Q1).
    """
    candidates: set[str] = set()
    for change in changes:
        match change.fact:
            case IssueMerged(issue=issue_id) | IssueFailed(issue=issue_id) | IssueRemoved(issue=issue_id):
                candidates.update(board.waiters.get(issue_id, ()))
            case DispatchStopped(defect=str()):
                candidates.update(board.waits)
            case _:
                pass
        for issue_id in change.stalled:
            candidates.update(board.waiters.get(issue_id, ()))
    return {agent for agent in candidates if all(board.wait_is_over(issue_id) for issue_id in board.waits[agent])}


# ---------------------------------------------------------------- the facts


_Edit = EpicCreated | EpicRemoved | IssueFiled | IssueRevised | IssueRevived | BlockersSet | IssueRemoved
_Review = ReviewerAssigned | VerdictGiven | RoundEnded | ReviewParked | MergeAgentDispatched | MergeParked
_Step = IssueStarted | AttemptEnded | IssueHandedBack | IssueAccepted | IssueMerged | IssueFailed


def _apply_edit(board: Board, fact: _Edit, change: Change) -> None:
    match fact:
        case EpicCreated():
            board.epics[fact.epic] = Epic(id=fact.epic, title=fact.title, description=fact.description)
        case EpicRemoved():
            epic = board.epics.pop(fact.epic)
            change.gone, change.beside = picture_of_epic(epic), tuple(epic.members)
            for issue_id in epic.members:
                board.issues[issue_id].epic = None
        case IssueFiled():
            _file(board, fact, change)
        case IssueRevised():
            issue = board.issues[fact.issue]
            issue.title, issue.description = fact.title, fact.description
            issue.in_scope, issue.out_of_scope = fact.in_scope, fact.out_of_scope
            issue.completion_criteria = fact.completion_criteria
            _regroup(board, issue, fact.epic)
        case IssueRevived():
            issue = board.issues[fact.issue]
            issue.retries, issue.last, issue.reason, issue.commit, issue.empty_change = 0, None, None, None, False
            issue.verdicts = ()
            _move(board, issue, IssueState.OPEN, change)
        case BlockersSet():
            issue = board.issues[fact.issue]
            circle = board.dag.set_blockers(issue.id, fact.blocked_by)
            assert circle is None, circle
            before = issue.hopeless
            _count_blockers(board, issue)
            _placed(board, issue, change)
            _spread(board, issue, before, change)
        case IssueRemoved():
            _remove(board, board.issues[fact.issue], change)
        case _:
            assert_never(fact)


def _apply_step(board: Board, fact: _Step, change: Change) -> None:
    issue = board.issues[fact.issue]
    change.was, change.queued = issue.state, issue.id in board.accepted
    match fact:
        case IssueStarted():
            board.retrying.pop(issue.id, None)
            board.parked.pop(issue.id, None)
            issue.attempts, issue.last, issue.reviewers_sent = fact.number + 1, None, 0
            _move(board, issue, IssueState.IN_PROGRESS, change)
        case AttemptEnded():
            issue.last = LastAttempt(agent=fact.agent, status=fact.status, reason=fact.reason, left=fact.left)
            if fact.parked:
                board.parked[issue.id] = None
            else:
                issue.retries += 1
                board.retrying[issue.id] = None
        case IssueHandedBack():
            issue.commit, issue.empty_change = fact.commit, fact.empty_change
            _move(board, issue, IssueState.IN_REVIEW, change)
            if issue.reviewers:
                _await_agent(board, issue, board.reviewing)
        case IssueAccepted():
            issue.commit = fact.commit
            board.accepted[issue.id] = None
        case IssueMerged():
            board.accepted.pop(issue.id, None)
            issue.commit = fact.commit
            _move(board, issue, IssueState.DONE, change)
        case IssueFailed():
            issue.reviewer = None
            for members in (board.accepted, board.retrying, board.reviewing, board.parked):
                members.pop(issue.id, None)
            issue.reason = fact.reason
            _move(board, issue, IssueState.FAILED, change)
        case _:
            assert_never(fact)


def _apply_review(board: Board, fact: _Review, change: Change) -> None:
    issue = board.issues[fact.issue]
    change.was, change.queued = issue.state, issue.id in board.accepted
    match fact:
        case ReviewerAssigned():
            board.reviewing.pop(issue.id, None)
            board.parked.pop(issue.id, None)
            issue.reviewer, issue.rounds, issue.round_open = fact.agent, fact.round, True
            issue.reviewers_sent += 1
        case VerdictGiven():
            issue.verdicts, issue.reviewer = (*issue.verdicts, fact.verdict), None
            if fact.verdict.approved and len(issue.approvals) < len(issue.reviewers):
                _await_agent(board, issue, board.reviewing)
        case RoundEnded():
            issue.rounds, issue.round_open, issue.reviewer = fact.round, False, None
            board.reviewing.pop(issue.id, None)
            if fact.outcome == CHANGES_REQUESTED:
                _move(board, issue, IssueState.IN_PROGRESS, change)
                _await_agent(board, issue, board.retrying)
        case ReviewParked():
            issue.reviewer = None
            board.parked[issue.id] = None
        case MergeAgentDispatched():
            issue.merge_agents = fact.number + 1
        case MergeParked():
            board.accepted.pop(issue.id, None)
            board.parked[issue.id] = None
        case _:
            assert_never(fact)


def _await_agent(board: Board, issue: Issue, line: Ordered) -> None:
    """Let an issue wait for its next agent; once dispatch has stopped, until the run is resumed."""
    (board.parked if board.stopped else line)[issue.id] = None


def _file(board: Board, fact: IssueFiled, change: Change) -> None:
    prefix, _, number = fact.issue.rpartition("-")
    board.counters[prefix] = max(board.counters.get(prefix, 0), int(number))
    issue = Issue(
        id=fact.issue,
        title=fact.title,
        description=fact.description,
        in_scope=fact.in_scope,
        out_of_scope=fact.out_of_scope,
        completion_criteria=fact.completion_criteria,
        agent=fact.agent,
        reviewers=fact.reviewers,
        epic=None,
    )
    board.issues[issue.id] = issue
    board.dag.add(issue.id, fact.blocked_by)
    _regroup(board, issue, fact.epic)
    _count_blockers(board, issue)
    _placed(board, issue, change)


def _remove(board: Board, issue: Issue, change: Change) -> None:
    change.was, change.gone = issue.state, picture_of(board, issue)
    change.beside = board.dag.remove(issue.id)
    _regroup(board, issue, None)
    for members in (board.ready, board.stalled):
        members.pop(issue.id, None)
    del board.issues[issue.id]
    if issue.state is not IssueState.DONE:
        for issue_id in change.beside:
            board.issues[issue_id].undone -= 1
            _placed(board, board.issues[issue_id], change)
    if issue.hopeless:
        _lose(board, change.beside, -1, change)


def _end_wait(board: Board, fact: WaitEnded) -> None:
    waits, waiters = board.waits.get(fact.by, {}), board.waiters.get(fact.issue, {})
    works_for = waits.pop(fact.issue, None)
    waiters.pop(fact.by, None)
    if not waits:
        board.waits.pop(fact.by, None)
    if not waiters:
        board.waiters.pop(fact.issue, None)
    if works_for is not None:
        board.dag.drop_wait(works_for, fact.issue)


# ---------------------------------------------------------------- what is derived


def _regroup(board: Board, issue: Issue, epic: str | None) -> None:
    if issue.epic is not None and issue.epic in board.epics:
        board.epics[issue.epic].members.pop(issue.id, None)
    issue.epic = epic
    if epic is not None:
        board.epics[epic].members[issue.id] = None


def _count_blockers(board: Board, issue: Issue) -> None:
    blockers = [board.issues[blocker] for blocker in board.dag.blockers(issue.id)]
    issue.undone = sum(blocker.state is not IssueState.DONE for blocker in blockers)
    issue.lost = sum(blocker.hopeless for blocker in blockers)


def _move(board: Board, issue: Issue, state: IssueState, change: Change) -> None:
    """Change an issue's state and everything on the board that follows from it."""
    was, before = issue.state, issue.hopeless
    change.was = was
    issue.state = state
    board.in_flight += (state in _FLYING) - (was in _FLYING)
    _placed(board, issue, change)
    undone = (was is IssueState.DONE) - (state is IssueState.DONE)
    if undone:
        for issue_id in board.dag.dependents(issue.id):
            dependent = board.issues[issue_id]
            dependent.undone += undone
            _placed(board, dependent, change)
    _spread(board, issue, before, change)


def _placed(board: Board, issue: Issue, change: Change) -> None:
    """Keep the ready set and the stalls in step with one issue."""
    if not issue.ready:
        board.ready.pop(issue.id, None)
    elif issue.id not in board.ready:
        board.ready[issue.id] = None
    if not issue.stalled:
        board.stalled.pop(issue.id, None)
    elif issue.id not in board.stalled:
        board.stalled[issue.id] = None
        change.stalled.append(issue.id)


def _spread(board: Board, issue: Issue, before: bool, change: Change) -> None:
    """Tell what is behind an issue when it became hopeless, or stopped being so."""
    if issue.hopeless != before:
        _lose(board, board.dag.dependents(issue.id), 1 if issue.hopeless else -1, change)


def _lose(board: Board, issue_ids: Iterable[str], step: int, change: Change) -> None:
    """Count one hopeless blocker more or less at each issue, and go on behind those that change sides by it."""
    queue = list(issue_ids)
    for issue_id in queue:
        issue = board.issues[issue_id]
        before = issue.hopeless
        issue.lost += step
        _placed(board, issue, change)
        if issue.hopeless != before:
            queue.extend(board.dag.dependents(issue_id))
