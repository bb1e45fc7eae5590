"""The detail: what is told of the row a person chose. Law: of what is long only a part is worded, the end or what is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.values import IssueState
from ggactors.repl.console.kept import Kept, Same
from ggactors.telemetry.closeup import (
    TranscriptPages,
    agent_heading,
    attention_lines,
    diff_lines,
    epic_lines,
    issue_lines,
    review_lines,
)
from ggactors.telemetry.project import EpicRow, IssueRow, ProjectRow, ReviewRow
from ggactors.telemetry.tree import AgentRow

if TYPE_CHECKING:
    from ggactors.repl.console.diffs import Diffs
    from ggactors.telemetry.folds import IssueView
    from ggactors.telemetry.plaintext import Look
    from ggactors.telemetry.watchfold import WatchFold


@frozen(kw_only=True)
class Told:
    """What stands still at the top, what scrolls below it, and at which of those lines a diff begins."""

    head: list[str]
    lines: list[str]
    diff_at: int = 0


class Reading:
    """Tells rows. ``diffs`` gives the diffs of issues, None where there are none."""

    def __init__(self, fold: WatchFold, diffs: Diffs | None) -> None:
        """Tell what ``fold`` holds."""
        self._fold, self._diffs = fold, diffs
        self._kept = Kept()
        self._pages: TranscriptPages | None = None

    def attention(self, look: Look) -> Told:
        """Tell what waits for a person."""
        return Told(head=[], lines=attention_lines(list(self._fold.waiting.values()), look))

    def of(self, row: AgentRow | ProjectRow | None, look: Look) -> Told:
        """Tell a row."""
        fold = self._fold
        match row:
            case None:
                return Told(head=[], lines=[])
            case AgentRow(agent=agent):
                if self._pages is None or (self._pages.agent, self._pages.look) != (agent.id, look):
                    self._pages = TranscriptPages(agent.id, look)
                return Told(head=agent_heading(fold, agent, look), lines=self._pages.lines(fold))
            case EpicRow():
                version = (row.id, fold.board, look)
                return Told(head=[], lines=self._kept.get("epic", version, lambda: epic_lines(fold, row, look)))
            case ReviewRow():
                lines = review_lines(row.review, look)
                return Told(head=lines[:1], lines=lines[1:])
            case IssueRow(issue=issue):
                return self._issue(issue, look)

    def _issue(self, issue: IssueView, look: Look) -> Told:
        fold = self._fold
        found = self._diffs.of(issue, self._worked(issue)) if self._diffs is not None else None
        if found is None:
            diff, said = None, "Looking …" if self._diffs is not None else ""
        else:
            told, said = found.lines, found.of or found.why
            diff = None if told is None else self._kept.get("diff", (Same(told), look), lambda: diff_lines(told, look))
        # Agents at work are told of too, and what they use is no change of the board.
        version = (issue.id, fold.board, fold.seq if issue.state is not IssueState.DONE else 0, look, Same(diff), said)
        lines, at = self._kept.get("issue", version, lambda: issue_lines(fold, issue, look, diff=diff, said=said))
        return Told(head=lines[:2], lines=lines[2:], diff_at=max(0, at - 2))

    def _worked(self, issue: IssueView) -> int:
        """Count the turns at an issue, as long as they may change what lies in its worktree."""
        if issue.state is IssueState.DONE:
            return 0
        agents = (self._fold.view.agents_by_id.get(name) for name in self._fold.agents_of.get(issue.id, ()))
        return sum(agent.turns for agent in agents if agent is not None)

    def earlier(self, row: AgentRow | ProjectRow | None) -> int:
        """Word more of what was before what is told of a row; answer how many lines that is, 0 when there is no more."""
        if not isinstance(row, AgentRow) or self._pages is None or self._pages.agent != row.agent.id:
            return 0
        return self._pages.earlier(self._fold)
