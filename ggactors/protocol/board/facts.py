"""What happened on the board, in the past tense. Law: the board is the fold of its facts; renaming one breaks old journals."""

from __future__ import annotations

from attrs import frozen

from ggactors.protocol.board.pictures import Verdict  # noqa: TC001 - cattrs needs them at run time
from ggactors.protocol.values import Status  # noqa: TC001 - cattrs needs them at run time


@frozen(kw_only=True)
class EpicCreated:
    """An epic was opened."""

    epic: str
    title: str
    description: str | None
    by: str


@frozen(kw_only=True)
class EpicRemoved:
    """An epic was removed; its issues are ungrouped."""

    epic: str
    by: str


@frozen(kw_only=True)
class IssueFiled:
    """An issue was filed under the id the runtime gave it."""

    issue: str
    title: str
    description: str | None
    in_scope: str
    out_of_scope: str
    completion_criteria: str
    agent: str
    reviewers: tuple[str, ...]
    epic: str | None
    blocked_by: tuple[str, ...]
    by: str


@frozen(kw_only=True)
class IssueRevised:
    """An issue's texts or epic changed; every field is the value from now on."""

    issue: str
    title: str
    description: str | None
    in_scope: str
    out_of_scope: str
    completion_criteria: str
    epic: str | None
    by: str


@frozen(kw_only=True)
class IssueRevived:
    """A terminal issue is open again with a fresh retry budget; attempt numbers go on (B8)."""

    issue: str
    by: str


@frozen(kw_only=True)
class BlockersSet:
    """An issue's blockers are now exactly these."""

    issue: str
    blocked_by: tuple[str, ...]
    by: str


@frozen(kw_only=True)
class IssueRemoved:
    """An issue was removed; it blocks nothing any more."""

    issue: str
    by: str


@frozen(kw_only=True)
class IssueStarted:
    """A new agent was assigned to an issue; ``number`` is its n in ``AUTH-1.ni``."""

    issue: str
    agent: str
    number: int


@frozen(kw_only=True)
class AttemptEnded:
    """An issue's agent ended without finishing it; the issue stays in progress and is dispatched again (or parked)."""

    issue: str
    agent: str
    status: Status
    reason: str
    left: str
    parked: bool = False


@frozen(kw_only=True)
class IssueHandedBack:
    """An issue's agent finished; its work is ``commit``."""

    issue: str
    agent: str
    commit: str
    summary: str
    empty_change: bool


@frozen(kw_only=True)
class ReviewerAssigned:
    """A reviewer was assigned to an issue in review; the first one of a round opens it."""

    issue: str
    agent: str
    profile: str
    round: int


@frozen(kw_only=True)
class VerdictGiven:
    """A reviewer gave its verdict."""

    issue: str
    verdict: Verdict


@frozen(kw_only=True)
class RoundEnded:
    """A review round ended (R9): ``approved`` by all, ``changes_requested`` (the issue is in progress again), or ``not_held``."""

    issue: str
    round: int
    outcome: str
    reason: str | None = None


@frozen(kw_only=True)
class ReviewParked:
    """A reviewer wound down with the run; its review is held again in a later segment."""

    issue: str
    agent: str


@frozen(kw_only=True)
class MergeAgentDispatched:
    """An agent was named to finish a conflicted merge."""

    issue: str
    agent: str
    number: int


@frozen(kw_only=True)
class MergeParked:
    """An accepted issue stays unmerged until a later segment."""

    issue: str


@frozen(kw_only=True)
class IssueAccepted:
    """Everything an issue needed before its merge was given; it joins the merge queue."""

    issue: str
    commit: str


@frozen(kw_only=True)
class IssueMerged:
    """An issue's work is in main at ``commit``: it is done."""

    issue: str
    commit: str


@frozen(kw_only=True)
class IssueFailed:
    """An issue failed, for ``reason``. ``agent`` is the last that worked it."""

    issue: str
    agent: str | None
    reason: str


@frozen(kw_only=True)
class WaitBegan:
    """An agent waits for an issue. Also the answer that tells it to suspend."""

    by: str
    issue: str
    works_for: str | None


@frozen(kw_only=True)
class WaitEnded:
    """An agent no longer waits for an issue."""

    by: str
    issue: str


@frozen(kw_only=True)
class DispatchStopped:
    """Nothing is dispatched or retried from here on in this segment."""

    defect: str | None = None


BoardFact = (
    EpicCreated
    | EpicRemoved
    | IssueFiled
    | IssueRevised
    | IssueRevived
    | BlockersSet
    | IssueRemoved
    | IssueStarted
    | AttemptEnded
    | IssueHandedBack
    | ReviewerAssigned
    | VerdictGiven
    | RoundEnded
    | ReviewParked
    | IssueAccepted
    | MergeAgentDispatched
    | MergeParked
    | IssueMerged
    | IssueFailed
    | WaitBegan
    | WaitEnded
    | DispatchStopped
)
