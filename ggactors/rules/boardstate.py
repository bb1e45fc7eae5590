"""The board as it stands in memory: issues, epics, counters, and the sets that are kept so that nothing is ever scanned for.

Law: only ``boardapply.apply`` writes here. Everything derived (the ready set, the stalls, the counts) is kept up as facts are
applied, in a number of steps proportional to the edges touched, and is the same after a replay as it was live.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from attrs import asdict, define, field

from ggactors.protocol.board import EpicPicture, IssuePicture, LastAttempt, Verdict
from ggactors.protocol.values import IssueState
from ggactors.rules.dag import Dag

if TYPE_CHECKING:
    from collections.abc import Iterable

UNGROUPED = "ISSUE"
"""The prefix of issues filed under no epic; never an epic's (B2)."""

Ordered = dict[str, None]
"""A set that remembers the order of arrival."""


@define(kw_only=True)
class Issue:
    """One issue. ``undone`` counts its blockers that are not done, ``lost`` those that will never be (failed, or stalled).

    ``attempts`` counts every dispatch and is never set back; ``retries`` counts what was spent of the present budget.
    """

    id: str
    title: str
    description: str | None
    in_scope: str
    out_of_scope: str
    completion_criteria: str
    agent: str
    reviewers: tuple[str, ...]
    epic: str | None
    state: IssueState = IssueState.OPEN
    undone: int = 0
    lost: int = 0
    attempts: int = 0
    rounds: int = 0
    retries: int = 0
    last: LastAttempt | None = None
    reason: str | None = None
    commit: str | None = None
    empty_change: bool = False
    verdicts: tuple[Verdict, ...] = ()
    """Every verdict so far, over all rounds (R2)."""
    round_open: bool = False
    reviewer: str | None = None
    """The agent that reviews it now."""
    reviewers_sent: int = 0
    """How many reviewers were assigned to the work of its last implementer; they are numbered by it (D3)."""
    merge_agents: int = 0

    @property
    def present_round(self) -> int:
        """Number the review round that is open, or the next one."""
        return self.rounds if self.round_open else self.rounds + 1

    @property
    def approvals(self) -> tuple[Verdict, ...]:
        """List the approvals of the present round; their number is the place of the next reviewer."""
        present = self.present_round
        return tuple(verdict for verdict in self.verdicts if verdict.approved and verdict.round == present)

    @property
    def last_agent(self) -> str | None:
        """Name the agent dispatched to it last (D3), or None before the first."""
        return agent_name(self.id, self.attempts - 1) if self.attempts else None

    @property
    def hopeless(self) -> bool:
        """Tell whether what is behind this issue can never be dispatched as things stand: it failed, or is stalled (D6)."""
        return self.state is IssueState.FAILED or self.stalled

    @property
    def stalled(self) -> bool:
        """Tell whether it is open behind a failed issue, directly or through open ones (D6, Q3)."""
        return self.state is IssueState.OPEN and self.lost > 0

    @property
    def ready(self) -> bool:
        """Tell whether it can be dispatched: open, and every blocker done (D1). The one predicate there is for this."""
        return self.state is IssueState.OPEN and self.undone == 0


@define(kw_only=True)
class Epic:
    """One epic and the issues grouped under it."""

    id: str
    title: str
    description: str | None
    members: Ordered = field(factory=dict)


@define
class Board:
    """The whole board. Made empty; filled by ``apply`` alone.

    ``ready`` holds what can be dispatched for the first time, in the order it became so; ``retrying`` what is in progress and
    waits for another agent; ``reviewing`` what is in review and waits for its next reviewer; ``parked`` what is in flight
    without an agent until the run is resumed; ``accepted`` the merge queue.
    ``waits`` maps an agent to the issues it waits for and the issue it works for; ``waiters`` is the same the other way round.
    """

    issues: dict[str, Issue] = field(factory=dict, init=False)
    epics: dict[str, Epic] = field(factory=dict, init=False)
    counters: dict[str, int] = field(factory=dict, init=False)
    dag: Dag = field(factory=Dag, init=False)
    ready: Ordered = field(factory=dict, init=False)
    retrying: Ordered = field(factory=dict, init=False)
    reviewing: Ordered = field(factory=dict, init=False)
    parked: Ordered = field(factory=dict, init=False)
    accepted: Ordered = field(factory=dict, init=False)
    stalled: Ordered = field(factory=dict, init=False)
    waits: dict[str, dict[str, str | None]] = field(factory=dict, init=False)
    waiters: dict[str, Ordered] = field(factory=dict, init=False)
    in_flight: int = field(default=0, init=False)
    stopped: bool = field(default=False, init=False)
    defect: str | None = field(default=None, init=False)

    def worker(self, issue: Issue) -> str | None:
        """Name the agent that is working on an issue now, or None."""
        if issue.state is not IssueState.IN_PROGRESS or issue.id in self.retrying or issue.id in self.parked:
            return None
        return issue.last_agent

    def next_id(self, prefix: str) -> str:
        """Give the id the next issue under a prefix gets (B5)."""
        return f"{prefix}-{self.counters.get(prefix, 0) + 1}"

    def wait_is_over(self, issue_id: str) -> bool:
        """Tell whether waiting for an issue longer could bring nothing: settled, removed, a dead end, or a defect (Q1, Q3, Q5)."""
        issue = self.issues.get(issue_id)
        return issue is None or issue.state.terminal or issue.stalled or self.defect is not None


def agent_name(issue_id: str, number: int) -> str:
    """Name the agent of an issue's dispatch ``number``, counted from 0 (D3)."""
    return f"{issue_id}.{number}i"


def failed_blocker(board: Board, issue_id: str, known: dict[str, str] | None = None) -> str:
    """Name the failed issue that a stalled one stands behind: the first that its blockers, in order, lead to (D6, Q3).

    ``known`` remembers answers over several calls on one and the same board, so that a long chain is walked once.
    """
    known = {} if known is None else known
    walked = []
    current = issue_id
    while current not in known and board.issues[current].state is not IssueState.FAILED:
        walked.append(current)
        current = next(blocker for blocker in board.dag.blockers(current) if board.issues[blocker].hopeless)
    found = known.get(current, current)
    known.update(dict.fromkeys(walked, found))
    return found


def picture_of(board: Board, issue: Issue) -> IssuePicture:
    """Take an issue's picture. ``reason`` says why it failed, or why it waits for another agent."""
    reason = issue.reason
    if (
        reason is None
        and issue.last is not None
        and issue.state is IssueState.IN_PROGRESS
        and board.worker(issue) is None
    ):
        reason = how_it_ended(issue.last)
    return IssuePicture(
        id=issue.id,
        title=issue.title,
        state=issue.state,
        agent=issue.agent,
        reviewers=issue.reviewers,
        blocked_by=board.dag.blockers(issue.id),
        epic=issue.epic,
        attempts=issue.attempts,
        rounds=issue.rounds,
        reason=reason,
        description=issue.description,
        in_scope=issue.in_scope,
        out_of_scope=issue.out_of_scope,
        completion_criteria=issue.completion_criteria,
        commit=issue.commit,
    )


def picture_of_epic(epic: Epic) -> EpicPicture:
    """Take an epic's picture."""
    return EpicPicture(id=epic.id, title=epic.title, description=epic.description)


def how_it_ended(last: LastAttempt) -> str:
    """Say in one line how an attempt ended."""
    return f"{last.agent} ended {last.status}" + (f": {last.reason}" if last.reason else "")


def dump(board: Board) -> bytes:
    """Write everything the board holds, derived sets and their order included, so that two boards can be compared by bytes."""
    issues = [
        [
            *(issue.id, issue.title, issue.description, issue.in_scope, issue.out_of_scope, issue.completion_criteria),
            *(issue.agent, list(issue.reviewers), issue.epic, issue.state, issue.undone, issue.lost, issue.attempts),
            *(issue.rounds, issue.retries, issue.last and how_it_ended(issue.last), issue.last and issue.last.left),
            *(issue.reason, issue.commit, issue.empty_change, board.dag.position(issue.id)),
            *([asdict(verdict) for verdict in issue.verdicts], issue.round_open, issue.reviewer),
            *(issue.reviewers_sent, issue.merge_agents),
            *(board.dag.blockers(issue.id), board.dag.dependents(issue.id)),
        ]
        for issue in board.issues.values()
    ]
    epics = [[epic.id, epic.title, epic.description, list(epic.members)] for epic in board.epics.values()]
    sets: Iterable[Ordered] = (
        *(board.ready, board.retrying, board.reviewing, board.parked, board.accepted, board.stalled),
    )
    waits = [[agent, list(awaited.items())] for agent, awaited in board.waits.items()]
    waiters = [[issue_id, list(agents)] for issue_id, agents in board.waiters.items()]
    latches = [board.in_flight, board.stopped, board.defect]
    whole = [issues, epics, board.counters, [list(members) for members in sets], waits, waiters, latches]
    return json.dumps(whole, sort_keys=True).encode()
