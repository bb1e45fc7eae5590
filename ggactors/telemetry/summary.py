"""What a run came to, in plain words: how it ended and why, what it used, where its work lies, how to get at it (C2, W5, W10).

Law: pure; read off the view. Whoever prints it says where the run's folder is and whether the run has a repository of its own.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ggactors.protocol.values import IssueState
from ggactors.telemetry.plaintext import Look, one_line, safe, shell_word, wrapped
from ggactors.telemetry.render import agent_state, counted, spend_text
from ggactors.telemetry.story import landing_text, limit_text

if TYPE_CHECKING:
    from ggactors.telemetry.folds import AgentView, RunView

STATES = {
    IssueState.DONE: "done",
    IssueState.FAILED: "failed",
    IssueState.IN_REVIEW: "in review",
    IssueState.IN_PROGRESS: "in progress",
    IssueState.OPEN: "open",
}


def summary_lines(view: RunView, look: Look) -> list[str]:
    """Sum a run up: status, the root's own words, every ceiling that stopped something, issues, agents, spend."""
    lines = [look.paint(_verdict(view), "bold")]
    if view.summary is not None and view.summary.summary.strip():
        lines += wrapped(view.summary.summary, look, indent=2)
    lines += _fields(view, look)
    for limit in view.limits:
        who = f"{one_line(limit.agent)}, " if limit.agent else ""
        text = f"{who}{limit_text(limit.limit, limit.threshold, limit.observed, limit.window)}"
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
        counts = ", ".join(f"{states[state]} {name}" for state, name in STATES.items() if states[state])
        lines += _labelled("issues", counts, look)
    agents = view.agents_by_id.values()
    turns = counted(sum(agent.turns for agent in agents), "turn")
    errors = counted(sum(agent.errors for agent in agents), "error turn")
    text = f"{counted(len(agents), 'agent')}, {turns}, {errors}, at most {view.most_running} at once"
    bad = [f"{one_line(a.id)} {agent_state(a)}" for a in agents if a.state == "ended" and a.status != "completed"]
    lines += _labelled("agents", text, look)
    if bad:
        lines += _labelled("ended", ", ".join(bad[:8]) + (", …" if len(bad) > 8 else ""), look)
    return [*lines, *_labelled("spend", spend_text(view.spend), look)]


def _labelled(label: str, text: str, look: Look) -> list[str]:
    first, *rest = wrapped(text, look, indent=11)
    return [f"  {label:<9}{first.lstrip(' ')}", *rest]


def whereabouts(view: RunView, look: Look, *, folder: str, repository: str | None) -> list[str]:
    """Say where the work lies, and how git gets at what was held back or saved (W5, W10).

    ``repository`` is the run's own one; None when it has none.
    """
    lines = [f"Events, journal and crew of the run: {safe(folder)}"]
    done = any(issue.merge is not None and issue.merge.merged for issue in view.issues.values())
    landing = view.landing
    if landing is not None and landing.source != landing.target:
        lines.append(f"The work is in {safe(view.workspace)}: {landing_text(landing)}.")
    elif landing is not None and landing.reason is not None:
        lines.append(look.paint(f"The work was not landed: {landing_text(landing)}.", "yellow"))
        lines += _held(view, repository)
    elif done and _is_in_place(view):
        lines.append(f"The work is in {safe(view.workspace)} itself.")
    elif done and repository is not None:
        lines.append("The work was not landed." if view.ended else "The work so far is not landed.")
        lines += _held(view, repository)
    else:
        lines.append(f"The workspace: {safe(view.workspace)}")
    return [*lines, *_saved(view, repository)]


def _root(view: RunView) -> AgentView | None:
    return next((agent for agent in view.agents_by_id.values() if agent.kind == "root"), None)


def _is_in_place(view: RunView) -> bool:
    """Tell whether the root worked in the operator's own directory."""
    root = _root(view)
    return root is not None and (root.workdir == view.workspace or root.workdir.startswith(f"{view.workspace}/"))


def _held(view: RunView, repository: str | None) -> list[str]:
    root = _root(view)
    branch = one_line(root.branch) if root is not None and root.branch else None
    if repository is None or branch is None:
        return []
    ref = branch if branch.startswith("refs/") else f"refs/heads/{branch}"
    return [
        f"  It is {ref} of {safe(repository)}; fetch it with",
        f"    {_fetch(view, repository, ref, f'ggactors-{view.run}')}",
    ]


def _fetch(view: RunView, repository: str, ref: str, branch: str) -> str:
    return _command("git", "-C", view.workspace, "fetch", repository, f"{ref}:refs/heads/{branch}")


def _saved(view: RunView, repository: str | None) -> list[str]:
    saved = [
        (issue.id, issue.merge.saved_ref) for issue in view.issues.values() if issue.merge and issue.merge.saved_ref
    ]
    if not saved:
        return []
    place = repository or view.workspace
    lines = [f"Work that was not merged is kept in {safe(place)}:"]
    for issue_id, ref in saved:
        name = f"recovered-{issue_id}"
        get = _fetch(view, repository, ref, name) if repository else _command("git", "-C", place, "branch", name, ref)
        lines += [f"  {one_line(issue_id)}: {one_line(ref)}; get it with", f"    {get}"]
    return lines


def _command(*words: str) -> str:
    return " ".join(map(shell_word, words))
