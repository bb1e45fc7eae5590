"""What a run came to, in plain words: how it ended and why, what stopped it, what it used (C2).

Law: pure; read off the view.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ggactors.protocol.values import IssueState
from ggactors.telemetry.plaintext import Look, one_line, wrapped
from ggactors.telemetry.render import agent_state, counted, spend_text
from ggactors.telemetry.story import breach_text

if TYPE_CHECKING:
    from ggactors.telemetry.folds import RunView

ORDER = (IssueState.DONE, IssueState.FAILED, IssueState.IN_REVIEW, IssueState.IN_PROGRESS, IssueState.OPEN)


def summary_lines(view: RunView, look: Look) -> list[str]:
    """Sum a run up: status, the root's own words, every ceiling that stopped something, issues, agents, spend."""
    lines = [look.paint(_verdict(view), "bold")]
    if view.summary is not None and view.summary.summary.strip():
        lines += wrapped(view.summary.summary, look, indent=2)
    lines += _fields(view, look)
    for limit in view.limits:
        who = f"{one_line(limit.agent)}, " if limit.agent else ""
        text = f"{who}{breach_text(limit)}"
        lines += _labelled("ceiling", text, look)
    for stalled, blocker in view.stalls().items():
        lines += _labelled("stalled", f"{one_line(stalled)} stands behind {one_line(blocker)}, which failed", look)
    for issue in view.issues.values():
        if issue.state is IssueState.FAILED:
            lines += _labelled("failed", f"{one_line(issue.id)}: {one_line(issue.reason or 'no reason given')}", look)
    return lines


def _verdict(view: RunView) -> str:
    run = one_line(view.run)
    if view.summary is not None:
        return f"Run {run}: {one_line(view.summary.status)} (exit code {view.summary.exit_code})"
    if view.ended:
        return f"Run {run}: {one_line(view.status or 'ended')}"
    return f"Run {run}: not ended"


def _fields(view: RunView, look: Look) -> list[str]:
    states = Counter(issue.state for issue in view.issues.values())
    lines = []
    if states:
        counts = ", ".join(f"{states[state]} {state.replace('_', ' ')}" for state in ORDER if states[state])
        lines += _labelled("issues", counts, look)
    agents = view.agents_by_id.values()
    turns = counted(sum(agent.turns for agent in agents), "turn")
    errors = counted(sum(agent.errors for agent in agents), "error turn")
    text = f"{counted(len(agents), 'agent')}, {turns}, {errors}, at most {view.most_running} at once"
    bad = [f"{one_line(a.id)} {agent_state(a)}" for a in agents if a.state == "ended" and a.status != "completed"]
    lines += _labelled("agents", text, look)
    if bad:
        lines += _labelled("ended", ", ".join(bad[:8]) + (", …" if len(bad) > 8 else ""), look)
    if view.summary is not None and view.summary.verified is not None:
        lines += _labelled(
            "verified", "yes" if view.summary.verified else "no: the check of completion was given up on", look
        )
    return [*lines, *_labelled("spend", spend_text(view.spend) + _per_done(view), look)]


def _per_done(view: RunView) -> str:
    """Say what an accepted issue cost, once the run has given its account."""
    summary = view.summary
    if summary is None or summary.tokens_per_done is None:
        return ""
    tokens = f"{summary.tokens_per_done:,.0f} tokens"
    cost = "" if summary.cost_per_done is None else f", {summary.cost_per_done:.4g}"
    return f"; {tokens}{cost} for each issue done"


def _labelled(label: str, text: str, look: Look) -> list[str]:
    first, *rest = wrapped(text, look, indent=11)
    return [f"  {label:<9}{first.lstrip(' ')}", *rest]
