"""The letters the board takes. Law: commands are imperative; ``by`` is the id of the calling agent and ``profile`` the id of its
profile, both filled in by the runtime, never by the model.
"""

from __future__ import annotations

from attrs import frozen

from ggactors.protocol.values import Status  # noqa: TC001 - cattrs needs them at run time

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
class StartNext:
    """Assign what is next in line to a new agent, now that a slot is held: work ``begun`` (retries and rework, then reviews), or a
    first dispatch (S2, S4). Answer: IssueAssigned, ReviewAssigned or Refused.
    """

    begun: bool


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
    ``left`` says in a line what the worktree holds. ``final`` fails the issue without another try: its budget is spent.
    """

    issue: str
    agent: str
    status: Status
    reason: str
    left: str = ""
    parked: bool = False
    final: bool = False


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
    """Fail an issue that cannot be dispatched at all (D7). Answer: Done or Refused.

    Once dispatch has stopped one in progress is parked instead (D5), unless a ``defect`` struck it (D8).
    """

    issue: str
    reason: str
    defect: bool = False


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
    | StartNext
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
