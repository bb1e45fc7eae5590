"""What the board answers. Law: an answer is a result, or a typed refusal that changed nothing (B10)."""

from __future__ import annotations

from attrs import frozen

from ggactors.protocol.board.facts import EpicCreated, EpicRemoved, IssueFiled, IssueRemoved, WaitBegan
from ggactors.protocol.board.pictures import BoardPicture, IssuePicture, Verdict
from ggactors.protocol.values import IssueState, Refused, Status


@frozen(kw_only=True)
class Done:
    """The letter was carried out."""


@frozen(kw_only=True)
class WaitSettled:
    """The awaited issue is terminal."""

    issue: str
    state: IssueState


@frozen(kw_only=True)
class WaitsPending:
    """The issues an agent waits for that are not settled: not terminal, not removed, no dead end, no defect."""

    issues: tuple[str, ...]


@frozen(kw_only=True)
class ReadyIssue:
    """An issue that can be dispatched. ``begun`` marks retries, rework and reviews, which go ahead of first dispatches (S4).

    ``review`` asks for the issue's next reviewer rather than its implementer.
    """

    id: str
    begun: bool
    review: bool = False


@frozen(kw_only=True)
class ReadyList:
    """What can be dispatched now, oldest first inside each class."""

    issues: tuple[ReadyIssue, ...]


@frozen(kw_only=True)
class LastAttempt:
    """How the attempt before this one ended (D5)."""

    agent: str
    status: Status
    reason: str
    left: str


@frozen(kw_only=True)
class IssueAssigned:
    """An issue now in progress: who works it and from what brief."""

    issue: IssuePicture
    agent: str
    number: int
    last: LastAttempt | None = None
    verdicts: tuple[Verdict, ...] = ()
    """Every verdict so far; the last one's items are what a rework agent (and its retries) must do (R4, R5)."""


@frozen(kw_only=True)
class ReviewAssigned:
    """An issue's next reviewer: who reviews whose work, which commit of it, and every verdict so far (R2)."""

    issue: IssuePicture
    agent: str
    profile: str
    implementer: str
    round: int
    commit: str
    empty_change: bool
    verdicts: tuple[Verdict, ...] = ()


@frozen(kw_only=True)
class MergeAgentAssigned:
    """The name of the agent that is to finish a conflicted merge."""

    issue: str
    agent: str
    number: int


@frozen(kw_only=True)
class AttemptSettled:
    """What became of an issue whose agent ended without finishing it."""

    issue: str
    state: IssueState


@frozen(kw_only=True)
class MergeJob:
    """The accepted issue to merge now. ``empty_change``: its agent changed nothing."""

    issue: str
    agent: str
    title: str
    commit: str
    attempt: int
    empty_change: bool


@frozen(kw_only=True)
class NothingToMerge:
    """No issue is accepted and unmerged."""


@frozen(kw_only=True)
class Outlook:
    """Whether the board has work left. ``dispatchable`` counts what waits for an agent, ``begun`` what of it is not a first
    dispatch (S4), ``in_flight`` the issues in progress or in review.
    """

    dispatchable: int
    in_flight: int
    accepted: int
    waiting: int
    parked: int = 0
    begun: int = 0


BoardAnswer = (
    Refused
    | EpicCreated
    | EpicRemoved
    | IssueFiled
    | IssueRemoved
    | IssuePicture
    | BoardPicture
    | WaitSettled
    | WaitsPending
    | WaitBegan
    | Done
    | ReadyList
    | IssueAssigned
    | AttemptSettled
    | ReviewAssigned
    | MergeAgentAssigned
    | MergeJob
    | NothingToMerge
    | Outlook
)
