"""The board of a simulated run as its journal tells it: a replica that follows fact by fact, and the laws each fact must keep.

Law: nothing here asks the live board. What is durable is read off the journal as it grows, and judged by the simplest reading of
the clauses, not by the rules that decided it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from ggactors.actors.board import FACTS, STREAM
from ggactors.protocol import board as page
from ggactors.protocol.values import IssueState
from ggactors.rules.board import Board, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.protocol.board import BoardFact
    from ggactors.rules.boardstate import Issue
    from ggactors.testing.journals import MemoryJournal
    from ggactors.testing.memory import MemoryRepository

_MAY_BECOME = {
    IssueState.OPEN: {IssueState.IN_PROGRESS},
    IssueState.IN_PROGRESS: {IssueState.IN_PROGRESS, IssueState.IN_REVIEW, IssueState.FAILED},
    IssueState.IN_REVIEW: {IssueState.IN_PROGRESS, IssueState.DONE, IssueState.FAILED},
    IssueState.DONE: {IssueState.OPEN},
    IssueState.FAILED: {IssueState.OPEN},
}


SPENT = "as what was spent stays spent"
"""How the reason of an issue ends that failed at a budget, which no retry gives back."""


@define(kw_only=True)
class Acceptance:
    """An issue's work that was accepted as ``commit``; ``merged`` is the merge commit, ``failed`` why there is none."""

    issue: str
    commit: str
    merged: str | None = None
    failed: str | None = None


@define(kw_only=True)
class Trail:
    """What an issue has been through since it was filed or last revived."""

    starts: int = 0
    reworks: int = 0
    parked: int = 0


@define(kw_only=True)
class Ledger:
    """Follows the journal. ``breach(law, message)`` hears what breaks a law; ``crashed(issue)`` tells whether a defect struck
    while this issue was worked on.
    """

    journal: MemoryJournal
    repository: MemoryRepository
    max_retries: int
    breach: Callable[[str, str], None]
    crashed: Callable[[str], bool]
    board: Board = field(factory=Board)
    acceptances: list[Acceptance] = field(factory=list)
    trails: dict[str, Trail] = field(factory=dict)
    failures: dict[str, str] = field(factory=dict)
    """Why each issue last failed."""
    released: set[str] = field(factory=set)
    """Agents whose waits have all been over at some moment since they began (S5)."""
    answers: dict[tuple[str, str], str] = field(factory=dict)
    """What the board said when an agent's wait for an issue ended: a state, ``stalled`` or ``gone`` (Q2)."""
    been: dict[str, set[tuple[str, int, int]]] = field(factory=dict)
    """Every state, with its attempts and rounds, that each issue has durably been in."""
    _read: int = 0

    def catch_up(self) -> None:
        """Take in what the journal has gained."""
        entries = self.journal.entries
        while self._read < len(entries):
            stream, entry = entries[self._read]
            self._read += 1
            if stream == STREAM:
                self._take(FACTS.unpack(entry))

    def _take(self, fact: BoardFact) -> None:
        self._before(fact)
        change = apply(self.board, fact)
        issue_id = getattr(fact, "issue", None)
        issue = None if issue_id is None else self.board.issues.get(issue_id)
        if issue is not None:
            self.been.setdefault(issue.id, set()).add((str(issue.state), issue.attempts, issue.rounds))
        if issue is not None and change.was is not None and change.was is not issue.state:
            self.states_change_as_they_may_D2(issue, change.was)
        if self.board.waits:
            self._follow_waits()

    def _before(self, fact: BoardFact) -> None:
        match fact:
            case page.IssueFiled(issue=issue):
                self.trails[issue] = Trail()
            case page.IssueRevived(issue=issue):
                self.trails[issue] = Trail()
                self.failures.pop(issue, None)
            case page.IssueStarted():
                self._started(fact)
            case page.AttemptEnded(issue=issue, parked=True):
                self.trails[issue].parked += 1
            case page.RoundEnded(issue=issue, outcome="changes_requested"):
                self.trails[issue].reworks += 1
            case page.IssueAccepted():
                self.what_is_accepted_is_what_every_reviewer_approved_R8(fact)
                self.acceptances.append(Acceptance(issue=fact.issue, commit=fact.commit))
            case page.IssueMerged():
                self.done_means_the_accepted_commit_is_in_main_M5(fact)
            case page.IssueFailed():
                self._failed(fact)
            case page.WaitEnded():
                self._answered(fact)
            case page.WaitBegan(by=agent):
                self.released.discard(agent)
            case _:
                pass

    # ------------------------------------------------------------ laws

    def states_change_as_they_may_D2(self, issue: Issue, was: IssueState) -> None:
        """Open, in progress, in review, done or failed: in this order and no other; failing never cascades (D2, D6)."""
        if issue.state not in _MAY_BECOME[was]:
            self.breach("states_change_as_they_may_D2", f"{issue.id} went from {was} to {issue.state}")

    def _started(self, fact: page.IssueStarted) -> None:
        issue = self.board.issues[fact.issue]
        self.no_dependent_starts_before_its_blockers_are_done_D1(issue)
        self.dispatches_are_numbered_without_a_gap_D3(issue, fact)
        trail = self.trails[issue.id]
        trail.starts += 1
        self.retries_are_counted_D5(issue, trail)

    def no_dependent_starts_before_its_blockers_are_done_D1(self, issue: Issue) -> None:
        """A first dispatch finds every blocker done (D1); once begun, work goes on."""
        if issue.state is not IssueState.OPEN:
            return
        blockers = self.board.dag.blockers(issue.id)
        undone = [one for one in blockers if self.board.issues[one].state is not IssueState.DONE]
        if undone:
            law = "no_dependent_starts_before_its_blockers_are_done_D1"
            self.breach(law, f"{issue.id} starts while {undone} are not done")

    def dispatches_are_numbered_without_a_gap_D3(self, issue: Issue, fact: page.IssueStarted) -> None:
        """The nth dispatch is ``.ni``, over revivals too (D3)."""
        if (fact.number, fact.agent) != (issue.attempts, f"{issue.id}.{issue.attempts}i"):
            law = "dispatches_are_numbered_without_a_gap_D3"
            self.breach(law, f"dispatch {issue.attempts} of {issue.id} is number {fact.number}, {fact.agent}")

    def retries_are_counted_D5(self, issue: Issue, trail: Trail) -> None:
        """One attempt and ``maxRetries`` more for each budget; rework after a review spends none (D5, R5)."""
        if trail.starts - trail.reworks > self.max_retries + 1:
            message = f"{issue.id} is dispatched {trail.starts} times, {trail.reworks} of them rework, retries {self.max_retries}"
            self.breach("retries_are_counted_D5", message)

    def an_unfinished_issue_fails_only_once_its_retries_are_spent_D5(self, issue: Issue) -> None:
        """An attempt that ended any other way than by finishing is tried again while there is budget (D5)."""
        trail = self.trails[issue.id]
        if SPENT in self.failures[issue.id]:
            return  # a budget of its own (C3)
        if trail.starts - trail.reworks < self.max_retries + 1:
            law = "an_unfinished_issue_fails_only_once_its_retries_are_spent_D5"
            self.breach(law, f"{issue.id} failed after {trail.starts} starts, {trail.reworks} of them rework")

    def what_is_accepted_is_what_every_reviewer_approved_R8(self, fact: page.IssueAccepted) -> None:
        """The reviewers that were named approved, in order, in one round, exactly this commit (R3, R6, R8)."""
        issue = self.board.issues[fact.issue]
        given = [verdict for verdict in issue.verdicts if verdict.round == issue.rounds] if issue.reviewers else []
        approved = [verdict.profile for verdict in given if verdict.approved and verdict.commit == fact.commit]
        if approved != list(issue.reviewers) or fact.commit != issue.commit:
            law = "what_is_accepted_is_what_every_reviewer_approved_R8"
            self.breach(law, f"{issue.id} is accepted as {fact.commit}; asked for {issue.reviewers}, given {given}")

    def done_means_the_accepted_commit_is_in_main_M5(self, fact: page.IssueMerged) -> None:
        """An issue is done only once its acceptance's commit is reachable from main (M5)."""
        accepted = self._pending(fact.issue)
        repository = self.repository
        if accepted is None:
            self.breach("done_means_the_accepted_commit_is_in_main_M5", f"{fact.issue} is done without being accepted")
            return
        accepted.merged = fact.commit
        if fact.commit not in repository.commits or not (
            repository.contains(repository.tip, fact.commit) and repository.contains(fact.commit, accepted.commit)
        ):
            law = "done_means_the_accepted_commit_is_in_main_M5"
            self.breach(law, f"{fact.issue} is done by {fact.commit}, which does not hold {accepted.commit} in main")

    def _pending(self, issue: str) -> Acceptance | None:
        for acceptance in reversed(self.acceptances):
            if acceptance.issue == issue:
                return acceptance if acceptance.merged is None and acceptance.failed is None else None
        return None

    def _failed(self, fact: page.IssueFailed) -> None:
        issue = self.board.issues[fact.issue]
        self.failures[issue.id] = fact.reason
        self.a_stopped_run_fails_nothing_D5(issue, fact)
        accepted = self._pending(issue.id)
        if accepted is not None:
            accepted.failed = fact.reason
        elif issue.state is IssueState.IN_PROGRESS and _unfinished(issue, fact.reason):
            self.an_unfinished_issue_fails_only_once_its_retries_are_spent_D5(issue)

    def a_stopped_run_fails_nothing_D5(self, issue: Issue, fact: page.IssueFailed) -> None:
        """Once dispatch has stopped nothing fails but what a defect struck (D5, D8)."""
        struck = self.crashed(issue.id)
        if " broke down (" in fact.reason and not struck:
            self.breach(
                "a_defect_fails_what_it_struck_D8",
                f"{issue.id} is failed for a defect that struck others: {fact.reason}",
            )
        if self.board.stopped and not struck:
            self.breach("a_stopped_run_fails_nothing_D5", f"{issue.id} failed after the stop: {fact.reason}")

    # ------------------------------------------------------------ waits

    def _follow_waits(self) -> None:
        for agent, waits in self.board.waits.items():
            if agent not in self.released and all(self.standing(issue) != "open" for issue in waits):
                self.released.add(agent)

    def standing(self, issue_id: str) -> str:
        """Say what a wait for an issue comes to now: a terminal state, ``stalled``, ``gone``, or ``open`` while it holds."""
        issue = self.board.issues.get(issue_id)
        if issue is None:
            return "gone"
        if issue.state.terminal:
            return str(issue.state)
        if self.board.defect is not None:
            return "defect"
        return "stalled" if self._behind_a_failed_one(issue_id) else "open"

    def _behind_a_failed_one(self, issue_id: str) -> bool:
        """Tell whether an open issue stands behind a failed one, through open ones, by walking (D6, Q3)."""
        todo, seen = [issue_id], set()
        while todo:
            issue = self.board.issues[todo.pop()]
            if issue.state is IssueState.FAILED:
                return True
            if issue.state is IssueState.OPEN and issue.id not in seen:
                seen.add(issue.id)
                todo.extend(self.board.dag.blockers(issue.id))
        return False

    def _answered(self, fact: page.WaitEnded) -> None:
        self.answers[fact.by, fact.issue] = self.standing(fact.issue)


def _unfinished(issue: Issue, reason: str) -> bool:
    """Tell whether an issue failed because its agent ended unfinished, rather than because it could not be dispatched."""
    return any(
        reason.startswith(f"{issue.last_agent} ended {status}")
        for status in ("exhausted", "limit", "model", "stuck", "complet")
    )
