"""Decisions about reviews: who reviews next, what a verdict does, what happens without one (R1-R9).

Law: a verdict counts only from the reviewer the board assigned, and only for the commit that was handed back; the first that does
not approve ends the round, and all that were named must approve before anything is accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.board import (
    Done,
    IssueAccepted,
    ReviewAssigned,
    ReviewerAssigned,
    ReviewParked,
    RoundEnded,
    StartIssue,
    StartReview,
    Verdict,
    VerdictGiven,
)
from ggactors.protocol.values import Code
from ggactors.rules.boardapply import APPROVED, CHANGES_REQUESTED
from ggactors.rules.boarddecision import Decision
from ggactors.rules.boardedits import find_issue
from ggactors.rules.boardruntime import start_issue
from ggactors.rules.boardstanding import failed, not_held, standing
from ggactors.rules.boardstate import picture_of
from ggactors.rules.boardwaits import ended_waits
from ggactors.rules.boardwords import Refusal

if TYPE_CHECKING:
    from ggactors.protocol.board import BoardFact, EndReview, GiveVerdict, StartNext
    from ggactors.rules.boardstate import Board, Issue


def start_next(board: Board, letter: StartNext) -> Decision:
    """Assign the first in line: of retries and rework, then of reviews, or of first dispatches (S2, S4)."""
    lines = ((board.retrying, True), (board.reviewing, False)) if letter.begun else ((board.ready, True),)
    for line, implements in lines:
        first = next(iter(line), None)
        if first is not None and not board.stopped:
            return (
                start_issue(board, StartIssue(issue=first))
                if implements
                else start_review(board, StartReview(issue=first))
            )
    raise Refusal(Code.CONFLICT, "nothing waits for an agent any more")


def start_review(board: Board, letter: StartReview) -> Decision:
    """Assign the next reviewer of an issue that waits for one, named by the implementer whose work it is (R1, D3)."""
    issue = find_issue(board, letter.issue)
    if board.stopped or issue.id not in board.reviewing:
        raise Refusal(Code.CONFLICT, f"no review of {issue.id} is due: {standing(board, issue)}")
    assert issue.commit is not None and issue.last_agent is not None
    profile = issue.reviewers[len(issue.approvals)]
    agent = f"{issue.last_agent}.{issue.reviewers_sent}r"
    return Decision(
        answer=ReviewAssigned(
            issue=picture_of(board, issue),
            agent=agent,
            profile=profile,
            implementer=issue.last_agent,
            round=issue.present_round,
            commit=issue.commit,
            empty_change=issue.empty_change,
            verdicts=issue.verdicts,
        ),
        facts=(ReviewerAssigned(issue=issue.id, agent=agent, profile=profile, round=issue.present_round),),
    )


def give_verdict(board: Board, letter: GiveVerdict) -> Decision:
    """Take a verdict: on to the next reviewer, into the merge queue, or back to the issue's own profile (R3, R4, R6)."""
    issue = _reviewed_by(board, letter.issue, letter.agent)
    if letter.commit != issue.commit:
        message = f"{letter.agent} saw {letter.commit}, and what was handed back on {issue.id} is {issue.commit}"
        raise Refusal(Code.CONFLICT, message)
    place, present = len(issue.approvals), issue.present_round
    verdict = Verdict(
        agent=letter.agent,
        profile=issue.reviewers[place],
        round=present,
        approved=letter.approved,
        items=letter.items,
        commit=letter.commit,
    )
    facts: list[BoardFact] = [*ended_waits(board, letter.agent), VerdictGiven(issue=issue.id, verdict=verdict)]
    if not letter.approved:
        facts.append(RoundEnded(issue=issue.id, round=present, outcome=CHANGES_REQUESTED))
    elif place + 1 == len(issue.reviewers):
        facts.append(RoundEnded(issue=issue.id, round=present, outcome=APPROVED))
        facts.append(IssueAccepted(issue=issue.id, commit=letter.commit))
    return Decision(answer=Done(), facts=tuple(facts))


def end_review(board: Board, letter: EndReview) -> Decision:
    """Settle a review without a verdict: parked with the run, else the issue fails, since nobody approved it (R7)."""
    issue = _reviewed_by(board, letter.issue, letter.agent)
    waits = ended_waits(board, letter.agent) if letter.agent is not None else ()
    if (letter.parked or board.stopped) and issue.reviewer is not None:
        return Decision(answer=Done(), facts=(*waits, ReviewParked(issue=issue.id, agent=issue.reviewer)))
    return Decision(answer=Done(), facts=(*waits, not_held(issue, letter.reason), failed(issue, letter.reason)))


def _reviewed_by(board: Board, issue_id: str, agent: str | None) -> Issue:
    issue = find_issue(board, issue_id)
    if agent is None or issue.reviewer != agent:
        raise Refusal(Code.CONFLICT, f"{agent} does not review {issue.id} now: {standing(board, issue)}")
    return issue
