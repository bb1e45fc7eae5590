"""A run as plain text: its board, its agents, what one agent did, and what it came to (T2).

Law: pure; everything is read off the view. Every text that came from outside is made safe first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.values import THE_PROVIDER, IssueState
from ggactors.telemetry.plaintext import Cell, Look, columns, cut, one_line, wrapped

if TYPE_CHECKING:
    from ggactors.telemetry.folds import AgentView, IssueView, RunView, Spend

STATE_COLOURS = {
    "open": "",
    "in_progress": "cyan",
    "in_review": "blue",
    "done": "green",
    "failed": "red",
    "running": "cyan",
    "waiting": "yellow",
    "queued": "dim",
}
REVIEW_COLOURS = {"approved": "green", "changes_requested": "yellow"}
SHORT_COMMIT = 10


def board_lines(view: RunView, look: Look) -> list[str]:
    """Draw the board: epics with their issues, then issues without; blockers, stalls, reasons and review rounds."""
    if not view.issues and not view.epics:
        return ["The board is empty."]
    stalls = view.stalls()
    lines: list[str] = []
    groups = view.issues_by_epic()
    # One layout for all epics, so that their columns stand under each other.
    order = [issue for group in groups.values() for issue in group]
    rows = iter(columns([_issue_row(issue, view, stalls) for issue in order], look, indent=2))
    for epic_id, group in groups.items():
        epic = view.epics.get(epic_id) if epic_id is not None else None
        title = f"{one_line(epic.id)}  {one_line(epic.title)}" if epic is not None else one_line(epic_id or "(no epic)")
        lines.append(look.paint(cut(title, look.width), "bold"))
        for issue in group:
            lines.append(next(rows))
            lines += _below(issue, look)
        if not group:
            lines.append("  (no issues)")
    return lines


def _issue_row(issue: IssueView, view: RunView, stalls: dict[str, str]) -> list[Cell]:
    return [
        Cell(one_line(issue.id)),
        Cell(str(issue.state), STATE_COLOURS[issue.state]),
        Cell(one_line(issue.agent)),
        Cell(counted(issue.attempts, "attempt") if issue.attempts else "-"),
        Cell("; ".join(part for part in (one_line(issue.title), standing(issue, view, stalls)) if part)),
    ]


def standing(issue: IssueView, view: RunView, stalls: dict[str, str]) -> str:
    """Say what keeps an issue, in a few words."""
    if issue.id in stalls:
        return f"stalled: {one_line(stalls[issue.id])} failed"
    if issue.state is IssueState.OPEN:
        pending = [
            one_line(blocker)
            for blocker in issue.blocked_by
            if (found := view.issues.get(blocker)) is None or found.state is not IssueState.DONE
        ]
        return f"behind {', '.join(pending)}" if pending else ""
    if issue.state is IssueState.DONE and issue.merge is not None and issue.merge.commit:
        if issue.merge.empty_change:
            return "changed nothing"
        return f"merged as {one_line(issue.merge.commit[:SHORT_COMMIT])}"
    return ""


def _below(issue: IssueView, look: Look) -> list[str]:
    lines = []
    for review in issue.reviews:
        who = one_line(str((review.reviewer or {}).get("agent") or ""))
        said = {"approved": "approved", "changes_requested": f"{len(review.items)} changes requested"}
        text = said.get(review.verdict, f"not held: {one_line(review.reason or 'no reason given')}")
        lines.append(cut(f"      Review {review.round}: {text}{f' by {who}' if who else ''}", look.width))
    if issue.state is IssueState.FAILED and issue.reason:
        lines += [look.paint(line, "red") for line in wrapped(one_line(issue.reason), look, indent=6)]
    return lines


def agent_lines(view: RunView, look: Look) -> list[str]:
    """Draw the agents tree: board-dispatched agents beside the root, subagents under their parents."""
    tree = view.tree()
    if not tree:
        return ["No agent was made yet."]
    rows = [
        [
            Cell("  " * depth + one_line(agent.id)),
            Cell(one_line(agent.profile_name)),
            Cell(agent_state(agent), _colour(agent)),
            Cell(counted(agent.turns, "turn")),
            Cell(spend_text(agent.spend)),
            Cell(doing(agent)),
        ]
        for depth, agent in tree
    ]
    return columns(rows, look)


def agent_state(agent: AgentView) -> str:
    """Name an agent's state in one word, an ended one's by how it ended."""
    if agent.lost:
        return "interrupted"
    return one_line(agent.status or "ended") if agent.state == "ended" else one_line(agent.state)


def _colour(agent: AgentView) -> str:
    if agent.state == "ended":
        return "green" if agent.status == "completed" else "red"
    return STATE_COLOURS.get(agent.state, "")


def doing(agent: AgentView) -> str:
    """Say what an agent waits for, works at, or came to."""
    if agent.state == "ended":
        return one_line(agent.summary or "")
    if agent.state == "waiting":
        # What the provider said stands with the wait for it; whoever only queues behind another's fault has nothing to add.
        why = f": {one_line(agent.doing)}" if agent.waiting_on == THE_PROVIDER and agent.doing else ""
        return f"on {one_line(agent.waiting_on)}{why}" if agent.waiting_on else ""
    return one_line(agent.doing or "")


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 turn``, ``2,000 turns``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def spend_text(spend: Spend) -> str:
    """Write tokens, and the cost where there is one."""
    text = counted(spend.tokens, "token")
    return text if spend.cost is None else f"{text}, {spend.cost:.4g}"
