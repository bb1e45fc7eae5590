"""Decisions about the letters of the runtime: dispatch, the ends of attempts, the merge queue, the outlook (D1-D9, M1, R6, R7).

Law: pure. A letter about an issue that is elsewhere by now (a stale or doubled one) is refused as ``conflict``, nothing changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from ggactors.protocol.board import (
    AttemptEnded,
    AttemptSettled,
    DispatchStopped,
    Done,
    IssueAccepted,
    IssueAssigned,
    IssueHandedBack,
    IssueMerged,
    IssueStarted,
    MergeAgentAssigned,
    MergeAgentDispatched,
    MergeJob,
    MergeParked,
    NothingToMerge,
    Outlook,
    ReadyIssue,
    ReadyList,
)
from ggactors.protocol.values import Code, IssueState, Status
from ggactors.rules.boarddecision import Decision
from ggactors.rules.boardedits import find_issue
from ggactors.rules.boardstanding import failed, not_held, standing
from ggactors.rules.boardstate import agent_name, picture_of
from ggactors.rules.boardwaits import ended_waits
from ggactors.rules.boardwords import Refusal

if TYPE_CHECKING:
    from ggactors.protocol.board import (
        BoardFact,
        Charter,
        EndAttempt,
        FailDispatch,
        HandBack,
        ParkMerge,
        SettleMerge,
        StartIssue,
        StartMergeAgent,
        StopDispatch,
    )
    from ggactors.rules.boardstate import Board, Issue


# ---------------------------------------------------------------- dispatch


def list_ready(board: Board) -> Decision:
    """List what can be dispatched: work begun first, each class in the order it became ready; nothing once stopped (S4, D1, D5)."""
    if board.stopped:
        return Decision(answer=ReadyList(issues=()))
    begun = [ReadyIssue(id=issue_id, begun=True) for issue_id in board.retrying]
    reviews = [ReadyIssue(id=issue_id, begun=True, review=True) for issue_id in board.reviewing]
    fresh = [ReadyIssue(id=issue_id, begun=False) for issue_id in board.ready]
    return Decision(answer=ReadyList(issues=(*begun, *reviews, *fresh)))


def start_issue(board: Board, letter: StartIssue) -> Decision:
    """Assign a ready issue to a new agent, named by how often the issue was dispatched before (S2, D1, D3)."""
    issue = find_issue(board, letter.issue)
    if board.stopped:
        raise Refusal(Code.CONFLICT, f"nothing is dispatched any more in this run; {issue.id} stays {issue.state}")
    if issue.id not in board.retrying and not issue.ready:
        raise Refusal(Code.CONFLICT, f"{issue.id} cannot be dispatched now: {standing(board, issue)}")
    agent, number = agent_name(issue.id, issue.attempts), issue.attempts
    picture = evolve(picture_of(board, issue), state=IssueState.IN_PROGRESS, attempts=number + 1, reason=None)
    return Decision(
        answer=IssueAssigned(issue=picture, agent=agent, number=number, last=issue.last, verdicts=issue.verdicts),
        facts=(IssueStarted(issue=issue.id, agent=agent, number=number),),
    )


def fail_dispatch(board: Board, letter: FailDispatch) -> Decision:
    """Fail an issue that cannot be dispatched at all, spending no retry; it may not even have been started (D7).

    A stopped run fails nothing: what was just started then is left to a later segment (D5).
    """
    issue = find_issue(board, letter.issue)
    if issue.state.terminal or issue.id in board.accepted:
        raise Refusal(Code.CONFLICT, f"{issue.id} is past dispatch: {standing(board, issue)}")
    implementer = board.worker(issue)
    worker = implementer or issue.reviewer
    waits = ended_waits(board, worker) if worker is not None else ()
    if board.stopped and not letter.defect and implementer is not None:
        parked = AttemptEnded(
            issue=issue.id, agent=implementer, status=Status.CANCELED, reason=letter.reason, left="", parked=True
        )
        return Decision(answer=Done(), facts=(*waits, parked))
    round_ended = () if issue.state is not IssueState.IN_REVIEW else (not_held(issue, letter.reason),)
    return Decision(answer=Done(), facts=(*waits, *round_ended, failed(issue, letter.reason)))


def stop_dispatch(board: Board, letter: StopDispatch) -> Decision:
    """Stop dispatch and retries for good; a defect, the first one told, also releases every wait (D5, D8, Q5)."""
    news = not board.stopped or (board.defect is None and letter.defect is not None)
    return Decision(answer=Done(), facts=(DispatchStopped(defect=letter.defect),) if news else ())


# ---------------------------------------------------------------- the end of an attempt


def hand_back(board: Board, charter: Charter, letter: HandBack) -> Decision:
    """Take an issue's finished work: into review, and, where nobody is to review it, on into the merge queue (D4, R6, R7)."""
    issue = _worked_by(board, letter.issue, letter.agent)
    facts: list[BoardFact] = [
        *ended_waits(board, letter.agent),
        IssueHandedBack(
            issue=issue.id,
            agent=letter.agent,
            commit=letter.commit,
            summary=letter.summary,
            empty_change=letter.empty_change,
        ),
    ]
    undeclared = [profile for profile in issue.reviewers if profile not in charter.profiles]
    if undeclared:
        reason = f"it cannot be reviewed: the crew declares no agent {', '.join(map(repr, undeclared))}"
        facts += (not_held(issue, reason), failed(issue, reason))
    elif not issue.reviewers:
        facts.append(IssueAccepted(issue=issue.id, commit=letter.commit))
    return Decision(answer=Done(), facts=tuple(facts))


def end_attempt(board: Board, charter: Charter, letter: EndAttempt) -> Decision:
    """Settle an attempt that was not finished: parked, dispatched again, or failed (D5, D7, D8)."""
    issue = _worked_by(board, letter.issue, letter.agent)
    waits = ended_waits(board, letter.agent)
    ended = AttemptEnded(
        issue=issue.id, agent=letter.agent, status=letter.status, reason=letter.reason, left=letter.left
    )
    if letter.parked or board.stopped:
        facts: tuple[BoardFact, ...] = (evolve(ended, parked=True),)
        answer = AttemptSettled(issue=issue.id, state=IssueState.IN_PROGRESS)
    elif letter.status is not Status.AUTH_ERROR and not letter.final and issue.retries < charter.max_retries:
        facts = (ended,)
        answer = AttemptSettled(issue=issue.id, state=IssueState.IN_PROGRESS)
    else:
        facts = (failed(issue, _why_failed(charter, letter)),)
        answer = AttemptSettled(issue=issue.id, state=IssueState.FAILED)
    return Decision(answer=answer, facts=(*waits, *facts))


def _why_failed(charter: Charter, letter: EndAttempt) -> str:
    ended = f"{letter.agent} ended {letter.status}" + (f": {letter.reason}" if letter.reason else "")
    if letter.status is Status.AUTH_ERROR:
        return f"{ended}; not tried again, as a refused credential stays refused"
    if letter.final:
        return f"{ended}; not tried again, as what was spent stays spent"
    spent = {0: "no retry is allowed", 1: "its one retry is spent"}.get(
        charter.max_retries, f"its {charter.max_retries} retries are spent"
    )
    return f"{ended}; {spent}"


def _worked_by(board: Board, issue_id: str, agent: str) -> Issue:
    issue = find_issue(board, issue_id)
    if board.worker(issue) != agent:
        raise Refusal(Code.CONFLICT, f"{agent} does not work on {issue.id} now: {standing(board, issue)}")
    return issue


# ---------------------------------------------------------------- merges


def next_merge(board: Board) -> Decision:
    """Name the accepted issue whose turn it is (M1). It keeps its turn until its merge is settled."""
    head = next(iter(board.accepted), None)
    if head is None:
        return Decision(answer=NothingToMerge())
    issue = board.issues[head]
    assert issue.commit is not None and issue.last_agent is not None
    return Decision(
        answer=MergeJob(
            issue=issue.id,
            agent=issue.last_agent,
            title=issue.title,
            commit=issue.commit,
            attempt=issue.attempts - 1,
            empty_change=issue.empty_change,
        )
    )


def start_merge_agent(board: Board, letter: StartMergeAgent) -> Decision:
    """Name the agent for the conflicted merge whose turn it is (M2, D3). Nobody is sent once dispatch has stopped."""
    issue = find_issue(board, letter.issue)
    if board.stopped or issue.id != next(iter(board.accepted), None):
        raise Refusal(Code.CONFLICT, f"no merge agent is due for {issue.id}: {standing(board, issue)}")
    number = issue.merge_agents
    agent = f"{issue.id}.{number}m"
    return Decision(
        answer=MergeAgentAssigned(issue=issue.id, agent=agent, number=number),
        facts=(MergeAgentDispatched(issue=issue.id, agent=agent, number=number),),
    )


def park_merge(board: Board, letter: ParkMerge) -> Decision:
    """Leave the merge whose turn it is to a later segment (D5)."""
    issue = find_issue(board, letter.issue)
    if issue.id not in board.accepted:
        raise Refusal(Code.CONFLICT, f"no merge of {issue.id} is due: {standing(board, issue)}")
    return Decision(answer=Done(), facts=(MergeParked(issue=issue.id),))


def settle_merge(board: Board, letter: SettleMerge) -> Decision:
    """Settle the merge whose turn it is: done with its commit in main, or failed for a reason (M1, M4, M5)."""
    issue = find_issue(board, letter.issue)
    head = next(iter(board.accepted), None)
    if issue.id != head:
        turn = f"it is the turn of {head}" if issue.id in board.accepted else standing(board, issue)
        raise Refusal(Code.CONFLICT, f"no merge of {issue.id} is due: {turn}")
    if letter.commit is not None:
        return Decision(answer=Done(), facts=(IssueMerged(issue=issue.id, commit=letter.commit),))
    return Decision(answer=Done(), facts=(failed(issue, letter.reason or "its work could not be merged"),))


def ask_outlook(board: Board) -> Decision:
    """Count what the board still has to do (D9)."""
    begun = 0 if board.stopped else len(board.retrying) + len(board.reviewing)
    return Decision(
        answer=Outlook(
            dispatchable=0 if board.stopped else len(board.ready) + begun,
            begun=begun,
            in_flight=board.in_flight,
            accepted=len(board.accepted),
            waiting=len(board.waits),
            parked=len(board.parked),
        )
    )
