"""The board's page: its letters, its answers, its facts, the pictures of it that others may hold.

Law: commands are imperative, answers are results, facts are past tense. ``by`` is the id of the calling agent and
``profile`` the id of its profile; the runtime fills both in, never the model.
"""

from __future__ import annotations

from attrs import field, frozen

from ggactors.protocol.values import IssueState, Refused, Status

# ---------------------------------------------------------------- pictures


@frozen(kw_only=True)
class IssuePicture:
    """One issue as it stood when it was asked for. ``attempts`` counts dispatches, rework included; ``rounds`` reviews held."""

    id: str
    title: str
    state: IssueState
    agent: str
    reviewers: tuple[str, ...]
    blocked_by: tuple[str, ...]
    epic: str | None
    attempts: int
    rounds: int
    reason: str | None
    description: str | None
    in_scope: str
    out_of_scope: str
    completion_criteria: str
    commit: str | None = None
    """The commit handed back (in review) or the merge commit (done)."""


@frozen(kw_only=True)
class EpicPicture:
    """One epic as it stood when it was asked for."""

    id: str
    title: str
    description: str | None


@frozen(kw_only=True)
class Stall:
    """An open issue that can never be dispatched, and the failed one it stands behind (D6)."""

    issue: str
    blocker: str


@frozen(kw_only=True)
class BoardPicture:
    """The whole board, one epic of it, or one issue."""

    epics: tuple[EpicPicture, ...]
    issues: tuple[IssuePicture, ...]
    stalled: tuple[Stall, ...] = ()


@frozen(kw_only=True)
class Verdict:
    """One reviewer's verdict on one commit. ``items`` are the changes asked for, none when it approved (R8, R9)."""

    agent: str
    profile: str
    round: int
    approved: bool
    items: tuple[str, ...]
    commit: str


# ---------------------------------------------------------------- letters of agents (through board tools)


@frozen(kw_only=True)
class CreateEpic:
    """Open an epic under a prefix (B2). Answer: EpicCreated or Refused."""

    by: str
    profile: str
    prefix: str
    title: str
    description: str | None = None


@frozen(kw_only=True)
class CreateIssue:
    """File an issue (B3, D1). Answer: IssueFiled or Refused."""

    by: str
    profile: str
    title: str
    in_scope: str
    out_of_scope: str
    completion_criteria: str
    agent: str
    description: str | None = None
    reviewers: tuple[str, ...] = ()
    epic: str | None = None
    blocked_by: tuple[str, ...] = ()


@frozen(kw_only=True)
class UpdateIssue:
    """Change texts, epic or status of an issue (B8). None leaves a field alone; an empty description or epic clears it.

    Answer: IssuePicture or Refused.
    """

    by: str
    profile: str
    issue: str
    title: str | None = None
    description: str | None = None
    in_scope: str | None = None
    out_of_scope: str | None = None
    completion_criteria: str | None = None
    epic: str | None = None
    status: str | None = None


@frozen(kw_only=True)
class SetIssueBlockedBy:
    """Replace the whole set of an issue's blockers (B4). Answer: IssuePicture or Refused."""

    by: str
    profile: str
    issue: str
    blocked_by: tuple[str, ...]


@frozen(kw_only=True)
class RemoveEpic:
    """Remove an epic, ungrouping its issues (B9). Answer: EpicRemoved or Refused."""

    by: str
    profile: str
    epic: str


@frozen(kw_only=True)
class RemoveIssue:
    """Remove an issue and every edge to it (B9). Answer: IssueRemoved or Refused."""

    by: str
    profile: str
    issue: str


@frozen(kw_only=True)
class ReadBoard:
    """Ask for the whole board, one epic, or one issue (B7). Answer: BoardPicture or Refused."""

    epic: str | None = None
    issue: str | None = None


@frozen(kw_only=True)
class WaitForIssue:
    """Wait until an issue is settled (Q1). Answer: WaitSettled, WaitBegan (suspend, a Wake follows), or Refused.

    ``works_for`` is the issue the caller works for, through its parents.
    """

    by: str
    issue: str
    works_for: str | None = None
    may_wait_unsettled: bool = True
    """False for a merge agent (Q7)."""


@frozen(kw_only=True)
class ReadWait:
    """Read what a wait came to, once the caller holds its slot again (Q2). Ends the wait.

    Answer: WaitSettled or Refused (dead end, live again, removed, defect).
    """

    by: str
    issue: str


@frozen(kw_only=True)
class AskWaits:
    """Ask which of an agent's waits still hold it (S5); asked without a slot, after a Wake. Answer: WaitsPending."""

    by: str


@frozen(kw_only=True)
class DropWaits:
    """Forget every wait of an agent that ended. Answer: Done."""

    by: str


# ---------------------------------------------------------------- letters of the runtime


@frozen(kw_only=True)
class ListReady:
    """Ask what can be dispatched now, in order. Answer: ReadyList."""


@frozen(kw_only=True)
class StartIssue:
    """Assign a ready issue to a new agent, now that a slot is held (S2). Answer: IssueAssigned or Refused."""

    issue: str


@frozen(kw_only=True)
class HandBack:
    """Report that an issue's agent finished and its work is committed (D4). Answer: Done or Refused."""

    issue: str
    agent: str
    commit: str
    summary: str
    empty_change: bool = False


@frozen(kw_only=True)
class EndAttempt:
    """Report that an issue's agent ended any other way (D5, D7). Answer: AttemptSettled or Refused.

    ``parked`` keeps the issue in flight, spending nothing: a cancelled run or a run-wide ceiling.
    ``left`` says in a line what the worktree holds.
    """

    issue: str
    agent: str
    status: Status
    reason: str
    left: str = ""
    parked: bool = False


@frozen(kw_only=True)
class StartReview:
    """Assign the next reviewer of an issue in review, now that a slot is held (R1). Answer: ReviewAssigned or Refused."""

    issue: str


@frozen(kw_only=True)
class GiveVerdict:
    """Report the verdict a reviewer declared on the commit it saw (R8). Answer: Done or Refused."""

    issue: str
    agent: str
    commit: str
    approved: bool
    items: tuple[str, ...] = ()


@frozen(kw_only=True)
class EndReview:
    """Report that a reviewer ended without a verdict, or could not be made (R7). Answer: Done or Refused.

    ``parked`` leaves the round open for a later segment: a cancelled run or a run-wide ceiling.
    """

    issue: str
    agent: str | None
    reason: str
    parked: bool = False


@frozen(kw_only=True)
class StartMergeAgent:
    """Name the agent that is to finish a conflicted merge (M2, D3). Answer: MergeAgentAssigned or Refused."""

    issue: str


@frozen(kw_only=True)
class ParkMerge:
    """Leave an accepted issue unmerged for a later segment: its merge conflicts and the run is stopping (D5). Answer: Done."""

    issue: str


@frozen(kw_only=True)
class FailDispatch:
    """Fail an issue that cannot be dispatched at all (D7). Answer: Done or Refused."""

    issue: str
    reason: str


@frozen(kw_only=True)
class NextMerge:
    """Ask for the accepted issue whose turn it is to merge (M1). Answer: MergeJob or NothingToMerge."""


@frozen(kw_only=True)
class SettleMerge:
    """Report what the merge of an accepted issue came to (M4, M5). Answer: Done or Refused.

    ``commit`` is the merge commit, reachable from main; None means the merge failed, for ``reason``.
    """

    issue: str
    commit: str | None
    reason: str | None = None


@frozen(kw_only=True)
class AskOutlook:
    """Ask whether the board still has anything to do (D9). Answer: Outlook."""


@frozen(kw_only=True)
class StopDispatch:
    """Dispatch and retry nothing from here on; waits are released when ``defect`` is given (D5, D8, Q5). Answer: Done."""

    defect: str | None = None


AgentLetter = (
    CreateEpic
    | CreateIssue
    | UpdateIssue
    | SetIssueBlockedBy
    | RemoveEpic
    | RemoveIssue
    | ReadBoard
    | WaitForIssue
    | ReadWait
    | AskWaits
    | DropWaits
)
RuntimeLetter = (
    ListReady
    | StartIssue
    | HandBack
    | EndAttempt
    | StartReview
    | GiveVerdict
    | EndReview
    | FailDispatch
    | NextMerge
    | StartMergeAgent
    | ParkMerge
    | SettleMerge
    | AskOutlook
    | StopDispatch
)
BoardLetter = AgentLetter | RuntimeLetter


# ---------------------------------------------------------------- answers


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
    retried: bool


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
    """Whether the board has work left. ``dispatchable`` counts ready issues, ``in_flight`` those in progress or in review."""

    dispatchable: int
    in_flight: int
    accepted: int
    waiting: int
    parked: int = 0


# ---------------------------------------------------------------- facts


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


# ---------------------------------------------------------------- configuration handed to the rules


@frozen(kw_only=True)
class Filer:
    """What one profile may name on the issues it files (A2, F1)."""

    implementers: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    reviewers_required: bool = False


@frozen(kw_only=True)
class Charter:
    """What the board is run by: the maxima (P1), the declared profiles, and what each filer may name."""

    max_epics: int
    max_issues: int
    max_retries: int
    profiles: tuple[str, ...]
    filers: dict[str, Filer] = field(factory=dict)
    names: dict[str, str] = field(factory=dict)
    """Display names of the profiles, by id (R9)."""
