"""What others may hold of the board: pictures of it as it stood when it was asked for."""

from __future__ import annotations

from attrs import frozen

from ggactors.protocol.values import IssueState  # noqa: TC001 - cattrs needs them at run time


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
