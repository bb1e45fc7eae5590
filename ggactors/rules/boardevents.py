"""Facts told to the outside: board events (docs/reference/events.md), and pictures as plain JSON values.

Law: pure. ``events_of`` is called right after its fact was applied, before the next one is, so that each event shows the object
as that fact left it. Every change of a state is one ``board_changed``; waits and the stop of dispatch are no change of the board.

``op`` of ``board_changed``, and what it shows:

=========================  ============================================================================================
``create_epic``            the new epic
``remove_epic``            the removed epic, then one ``ungroup`` for each issue it held
``ungroup``                an issue that lost its epic by that
``create_issue``           the new issue
``update_issue``           an issue whose texts or epic were changed
``revive_issue``           an issue set to open again
``set_issue_blocked_by``   an issue with its new blockers
``remove_issue``           the removed issue as it last stood, then one ``drop_blocker`` for each issue it blocked
``drop_blocker``           an issue that lost a blocker by that
``start``                  an issue assigned to a new agent: in progress, ``attempts`` one higher
``retry_wait``             an issue whose agent ended without finishing it: in progress, waiting for another agent
``park``                   an issue in flight to which nobody is sent until the run is resumed
``hand_back``              an issue whose agent finished: in review
``review``                 an issue whose next reviewer was assigned; ``rounds`` counts the round
``rework``                 an issue whose reviewer asked for changes: in progress again, waiting for an agent
``accept``                 an issue in review that joined the merge queue
``done``                   an issue whose work is in main
``fail``                   an issue that failed, with its ``reason``
=========================  ============================================================================================

``by`` is the agent whose call or ending it was; None where the runtime acted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from ggactors.protocol import board as page
from ggactors.protocol.events import BoardChanged, BoardStalled, IssueReview
from ggactors.rules.boardapply import CHANGES_REQUESTED
from ggactors.rules.boardstate import failed_blocker, picture_of, picture_of_epic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.protocol.board import BoardPicture, EpicPicture, IssuePicture, RoundEnded, Verdict
    from ggactors.rules.boardapply import Change
    from ggactors.rules.boardstate import Board

BoardEvent = BoardChanged | BoardStalled | IssueReview


def events_of(board: Board, change: Change, names: Mapping[str, str] | None = None) -> tuple[BoardEvent, ...]:
    """Translate one applied fact: what changed, then the issues that are newly stalled by it (D6).

    ``names`` gives the display names of profiles, for reviews (R9).
    """
    known: dict[str, str] = {}
    stalls = [
        BoardStalled(issue=issue_id, blocker=failed_blocker(board, issue_id, known)) for issue_id in change.stalled
    ]
    return (*_changes(board, change, names or {}), *stalls)


def _changes(board: Board, change: Change, names: Mapping[str, str]) -> tuple[BoardEvent, ...]:  # noqa: C901 - one line a fact
    fact = change.fact
    match fact:
        case page.EpicCreated():
            return (_epic("create_epic", picture_of_epic(board.epics[fact.epic]), fact.by),)
        case page.EpicRemoved():
            assert isinstance(change.gone, page.EpicPicture)
            return (_epic("remove_epic", change.gone, fact.by), *_beside(board, change, "ungroup", fact.by))
        case page.IssueFiled():
            return (_issue(board, "create_issue", fact.issue, fact.by),)
        case page.IssueRevised():
            return (_issue(board, "update_issue", fact.issue, fact.by),)
        case page.IssueRevived():
            return (_issue(board, "revive_issue", fact.issue, fact.by),)
        case page.BlockersSet():
            return (_issue(board, "set_issue_blocked_by", fact.issue, fact.by),)
        case page.IssueRemoved():
            assert isinstance(change.gone, page.IssuePicture)
            gone = BoardChanged(op="remove_issue", issue=summary_dict(change.gone), by=fact.by)
            return (gone, *_beside(board, change, "drop_blocker", fact.by))
        case page.IssueStarted():
            return (_issue(board, "start", fact.issue, None),)
        case page.AttemptEnded():
            return (_issue(board, "park" if fact.parked else "retry_wait", fact.issue, fact.agent),)
        case page.IssueHandedBack():
            return (_issue(board, "hand_back", fact.issue, fact.agent),)
        case page.IssueAccepted():
            return (_issue(board, "accept", fact.issue, None),)
        case page.IssueMerged():
            return (_issue(board, "done", fact.issue, None),)
        case page.IssueFailed():
            return (_issue(board, "fail", fact.issue, None),)
        case page.ReviewerAssigned():
            return (_issue(board, "review", fact.issue, None),)
        case page.RoundEnded():
            rework = fact.outcome == CHANGES_REQUESTED
            changed = (_issue(board, "rework", fact.issue, None),) if rework else ()
            return (_review(board, fact, names), *changed)
        case page.ReviewParked() | page.MergeParked():
            return (_issue(board, "park", fact.issue, None),)
        case (
            page.VerdictGiven()
            | page.MergeAgentDispatched()
            | page.WaitBegan()
            | page.WaitEnded()
            | page.DispatchStopped()
        ):
            return ()
        case _:
            assert_never(fact)


def _review(board: Board, fact: RoundEnded, names: Mapping[str, str]) -> IssueReview:
    """Say of a round that ended who said what: who ended it, with the items, and who approved (R9)."""
    issue = board.issues[fact.issue]
    given = [verdict for verdict in issue.verdicts if verdict.round == fact.round]
    ended_by = next((verdict for verdict in given if not verdict.approved), None)
    return IssueReview(
        issue=issue.id,
        round=fact.round,
        verdict=fact.outcome,
        reviewer=None if ended_by is None else _who(ended_by, names),
        approvals=tuple(_who(verdict, names) for verdict in given if verdict.approved),
        items=() if ended_by is None else ended_by.items,
        commit=issue.commit,
        empty_change=issue.empty_change,
        reason=fact.reason,
    )


def _who(verdict: Verdict, names: Mapping[str, str]) -> dict[str, Any]:
    profile = verdict.profile
    return {"agent": verdict.agent, "profile": profile, "profileName": names.get(profile, profile)}


def _epic(op: str, epic: EpicPicture, by: str) -> BoardChanged:
    return BoardChanged(op=op, epic=epic_dict(epic), by=by)


def _issue(board: Board, op: str, issue_id: str, by: str | None) -> BoardChanged:
    return BoardChanged(op=op, issue=summary_dict(picture_of(board, board.issues[issue_id])), by=by)


def _beside(board: Board, change: Change, op: str, by: str) -> list[BoardChanged]:
    return [_issue(board, op, issue_id, by) for issue_id in change.beside]


# ---------------------------------------------------------------- plain values


def epic_dict(epic: EpicPicture) -> dict[str, Any]:
    """Turn an epic's picture into JSON values."""
    return {"id": epic.id, "title": epic.title, "description": epic.description}


def summary_dict(issue: IssuePicture) -> dict[str, Any]:
    """Turn an issue's picture into JSON values, its long texts left out: the object of events and of listings."""
    return {
        "id": issue.id,
        "title": issue.title,
        "state": str(issue.state),
        "agent": issue.agent,
        "reviewers": list(issue.reviewers),
        "blockedBy": list(issue.blocked_by),
        "epic": issue.epic,
        "attempts": issue.attempts,
        "rounds": issue.rounds,
        "reason": issue.reason,
    }


def issue_dict(issue: IssuePicture) -> dict[str, Any]:
    """Turn an issue's picture into JSON values, its texts and its commit included."""
    return summary_dict(issue) | {
        "description": issue.description,
        "inScope": issue.in_scope,
        "outOfScope": issue.out_of_scope,
        "completionCriteria": issue.completion_criteria,
        "commit": issue.commit,
    }


def board_dict(picture: BoardPicture) -> dict[str, Any]:
    """Turn a picture of the board into JSON values: ``epics``, ``issues`` and ``stalled``."""
    return {
        "epics": [epic_dict(epic) for epic in picture.epics],
        "issues": [issue_dict(issue) for issue in picture.issues],
        "stalled": [{"issue": stall.issue, "blocker": stall.blocker} for stall in picture.stalled],
    }
