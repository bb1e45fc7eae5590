"""Words and facts that several kinds of decision share: where an issue stands, that it failed, that its review was not held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.board import IssueFailed, RoundEnded
from ggactors.protocol.values import IssueState
from ggactors.rules.boardapply import NOT_HELD
from ggactors.rules.boardstate import how_it_ended

if TYPE_CHECKING:
    from ggactors.rules.boardstate import Board, Issue


def failed(issue: Issue, reason: str) -> IssueFailed:
    """Make the fact that an issue failed."""
    return IssueFailed(issue=issue.id, agent=issue.last_agent, reason=reason)


def not_held(issue: Issue, reason: str) -> RoundEnded:
    """Make the fact that an issue's review could not be held (R7)."""
    return RoundEnded(issue=issue.id, round=issue.present_round, outcome=NOT_HELD, reason=reason)


def standing(board: Board, issue: Issue) -> str:
    """Say where an issue stands."""
    worker = board.worker(issue)
    if worker is not None:
        return f"it is in_progress with {worker}"
    if issue.state is IssueState.IN_PROGRESS and issue.last is not None:
        return f"it is in_progress without an agent, since {how_it_ended(issue.last)}"
    if issue.state is IssueState.OPEN and issue.undone:
        return f"it is open behind {issue.undone} issue{'s' if issue.undone > 1 else ''} not done"
    return f"it is {issue.state}"
