"""Decisions about waits on issues (Q1-Q5, Q7).

Law: what a wait came to is read off the board when it is asked for, never remembered from what ended it. A wait is taken on only
if something can still end it: no dead end, no circle through blocked-by edges and other waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.board import Done, WaitBegan, WaitEnded, WaitSettled, WaitsPending
from ggactors.protocol.values import Code
from ggactors.rules import boardwords as words
from ggactors.rules.boarddecision import Decision
from ggactors.rules.boardedits import find_issue
from ggactors.rules.boardwords import Refusal

if TYPE_CHECKING:
    from ggactors.protocol.board import AskWaits, BoardFact, DropWaits, ReadWait, WaitForIssue
    from ggactors.rules.boardstate import Board, Issue


def wait_for_issue(board: Board, letter: WaitForIssue) -> Decision:
    """Decide ``wait_for_issue``: settled already, begun, or refused (Q1, Q3, Q7). Asked twice, one wait is begun."""
    issue = find_issue(board, letter.issue)
    if issue.id == letter.works_for or board.worker(issue) == letter.by:
        raise Refusal(
            Code.REFUSED,
            f"you work for {issue.id} yourself: it cannot be settled while you wait. Do your part and finish",
        )
    if issue.state.terminal:
        return Decision(answer=WaitSettled(issue=issue.id, state=issue.state))
    _check_end(board, issue)
    if not letter.may_wait_unsettled:
        raise Refusal(
            Code.REFUSED,
            f"an agent that resolves a merge waits for no unfinished issue, and {issue.id} is {issue.state}",
        )
    _check_wait_circle(board, issue, letter.works_for)
    fact = WaitBegan(by=letter.by, issue=issue.id, works_for=letter.works_for)
    return Decision(answer=fact, facts=() if issue.id in board.waits.get(letter.by, ()) else (fact,))


def read_wait(board: Board, letter: ReadWait) -> Decision:
    """Read what a wait came to, and end it, whatever it came to (Q2-Q5)."""
    registered = letter.issue in board.waits.get(letter.by, ())
    facts = (WaitEnded(by=letter.by, issue=letter.issue),) if registered else ()
    try:
        issue = find_issue(board, letter.issue)
        if not issue.state.terminal:
            _check_end(board, issue)
            raise words.live_again(issue)
    except Refusal as refusal:
        return Decision(answer=refusal.refused, facts=facts)
    return Decision(answer=WaitSettled(issue=issue.id, state=issue.state), facts=facts)


def ask_waits(board: Board, letter: AskWaits) -> Decision:
    """Tell which of an agent's waits still hold it (S5)."""
    waits = board.waits.get(letter.by, ())
    return Decision(answer=WaitsPending(issues=tuple([issue for issue in waits if not board.wait_is_over(issue)])))


def drop_waits(board: Board, letter: DropWaits) -> Decision:
    """End every wait of an agent."""
    return Decision(answer=Done(), facts=ended_waits(board, letter.by))


def ended_waits(board: Board, agent: str) -> tuple[BoardFact, ...]:
    """Give the facts that end every wait of an agent that is no more."""
    return tuple([WaitEnded(by=agent, issue=issue) for issue in board.waits.get(agent, ())])


def _check_end(board: Board, issue: Issue) -> None:
    """Refuse to wait where nothing can end the wait: a defect is ending the run, or the issue is a dead end (Q3, Q5)."""
    if board.defect is not None:
        raise words.defect(issue.id)
    if issue.stalled:
        raise words.dead_end(board, issue.id)


def _check_wait_circle(board: Board, issue: Issue, works_for: str | None) -> None:
    """Refuse a wait that what it waits for is itself held back by (Q7)."""
    if works_for is None or works_for not in board.dag:
        return
    circle = board.dag.wait_circle(works_for, issue.id)
    if circle is not None:
        raise words.circle(
            board,
            circle,
            f"waiting for {issue.id} while working for {works_for}",
            f"finish your own part first, or change what {issue.id} is blocked by",
        )
