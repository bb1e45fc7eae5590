"""The Project part of the report: epics, issues, states, blockers, stalls, one ``Review N`` entry a round, what changed (T2).

Law: pure; what changed in files is told to it, since events do not say.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.values import IssueState
from ggactors.telemetry.plaintext import one_line
from ggactors.telemetry.render import counted
from ggactors.telemetry.reporthtml import Markup, anchor, chip, el, join, link, money, number
from ggactors.telemetry.reporttree import fact_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ggactors.protocol.events import IssueReview, WorktreeMerged
    from ggactors.telemetry.folds import IssueView
    from ggactors.telemetry.reportfold import ReportFold

MOST_FILES = 40
NOT_CONVERGING = 3
"""Rounds that asked for changes after which a loop is pointed out (R5)."""


@frozen(kw_only=True)
class FileStat:
    """One file of a change; ``added`` and ``removed`` are None for a binary one."""

    path: str
    added: int | None
    removed: int | None


def project_part(fold: ReportFold, diffs: Mapping[str, Sequence[FileStat]]) -> Markup:
    """Draw the board: epics with their issues, then issues without."""
    view = fold.view
    stalls = view.stalls()
    workers: dict[str, list[str]] = {}
    for agent in view.agents_by_id.values():
        if agent.issue is not None:
            workers.setdefault(agent.issue, []).append(agent.id)
    behind: dict[str, list[str]] = {}
    for issue in view.issues.values():
        for blocker in issue.blocked_by:
            behind.setdefault(blocker, []).append(issue.id)
    parts = []
    for epic, issues in view.issues_by_epic().items():
        rows = [
            _issue(fold, issue, stalls, workers.get(issue.id, ()), behind.get(issue.id, ()), diffs.get(issue.id))
            for issue in issues
        ]
        parts.append(_epic(fold, epic, issues, rows))
    body = join(parts) if parts else el("p", "There is no board, or nothing on it.", class_="none")
    return el(
        "section",
        el("h2", "Project", el("small", number(len(view.issues)))),
        el("div", body, class_="list issues", data_list="issues"),
        id="project",
    )


def _epic(fold: ReportFold, epic: str | None, issues: Sequence[IssueView], rows: Sequence[Markup]) -> Markup:
    done = sum(issue.state is IssueState.DONE for issue in issues)
    title = fold.view.epics[epic].title if epic in fold.view.epics and epic is not None else ""
    named = el("span", el("b", one_line(epic)), " ", one_line(title)) if epic is not None else "No epic"
    heading = el("h3", named, el("small", f"{done} of {len(issues)} done"), bar(issues))
    empty = el("p", "No issues.", class_="none") if not rows else None
    return el("div", heading, *rows, empty, class_="epic")


def bar(issues: Sequence[IssueView]) -> Markup | None:
    """Draw how many issues stand where, as one stacked bar."""
    if not issues:
        return None
    counts = Counter(str(issue.state) for issue in issues)
    at, parts = 0.0, []
    for state in ("done", "in_review", "in_progress", "open", "failed"):
        width = 100 * counts[state] / len(issues)
        if width:
            title = el("title", f"{counts[state]} {state.replace('_', ' ')}")
            parts.append(
                el(
                    "svg",
                    title,
                    el("rect", x="0", width="100%", height="100%"),
                    x=f"{at:.3f}%",
                    width=f"{width:.3f}%",
                    class_=f"b-{state}",
                )
            )
        at += width
    said = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in counts.items())
    return el("svg", *parts, class_="bar", role="img", aria_label=said)


def _issue(
    fold: ReportFold,
    issue: IssueView,
    stalls: Mapping[str, str],
    workers: Sequence[str],
    behind: Sequence[str],
    diff: Sequence[FileStat] | None,
) -> Markup:
    stalled = stalls.get(issue.id)
    standing = _standing(fold, issue, stalled)
    state = "stalled" if stalled is not None else str(issue.state)
    summary = el(
        "summary",
        el("span", el("b", one_line(issue.id)), class_="name"),
        el("span", one_line(issue.title), class_="title"),
        el("span", chip(state), class_="state"),
        el("span", _marks(issue, diff), class_="marks"),
        el("span", standing, class_="said") if standing else None,
        class_="row",
    )
    return el(
        "details",
        summary,
        _more(fold, issue, workers, behind, diff),
        id=anchor("i", issue.id),
        class_="item",
        data_state=state,
    )


def _marks(issue: IssueView, diff: Sequence[FileStat] | None) -> Markup:
    marks: list[Markup | str] = []
    if issue.attempts > 1:
        marks.append(el("span", f"{issue.attempts} attempts", class_="mark"))
    if issue.rounds:
        marks.append(el("span", counted(issue.rounds, "review"), class_="mark"))
    if issue.merge is not None and issue.merge.merge_agent:
        marks.append(el("span", "conflict", class_="mark"))
    if diff:
        marks.append(_counts(sum(one.added or 0 for one in diff), sum(one.removed or 0 for one in diff)))
    return join(marks)


def _counts(added: int | None, removed: int | None) -> Markup:
    if added is None or removed is None:
        return el("span", "binary", class_="diff")
    return el("span", el("ins", f"+{added:,}"), " ", el("del", f"\N{MINUS SIGN}{removed:,}"), class_="diff")


def _standing(fold: ReportFold, issue: IssueView, stalled: str | None) -> Markup | str | None:
    """Say what keeps an issue."""
    if stalled is not None:
        return join(["stands behind ", link("i", stalled), ", which failed"])
    if issue.state is IssueState.FAILED:
        return one_line(issue.reason or "no reason given")
    if issue.state is IssueState.OPEN:
        states = fold.view.issues
        pending = [one for one in issue.blocked_by if one not in states or states[one].state is not IssueState.DONE]
        return _links("behind ", "i", pending)
    rounds = sent_back(issue)
    return f"asked for changes {rounds} times" if rounds >= NOT_CONVERGING else None


def sent_back(issue: IssueView) -> int:
    """Count the review rounds that asked for changes."""
    return sum(review.verdict == "changes_requested" for review in issue.reviews)


def _links(lead: str, kind: str, names: Sequence[str]) -> Markup | None:
    if not names:
        return None
    return join([lead, *(part for at, name in enumerate(names) for part in (", " if at else "", link(kind, name)))])


def _more(
    fold: ReportFold,
    issue: IssueView,
    workers: Sequence[str],
    behind: Sequence[str],
    diff: Sequence[FileStat] | None,
) -> Markup:
    spend = fold.by_issue.get(issue.id)
    facts: list[tuple[str, Markup | str | None]] = [
        ("Assigned to", one_line(issue.agent) or None),
        ("Reviewers", ", ".join(map(one_line, issue.reviewers)) or None),
        ("Blocked by", _links("", "i", issue.blocked_by)),
        ("Blocks", _links("", "i", behind)),
        ("Attempts", number(issue.attempts)),
        ("Agents", _links("", "a", workers)),
        ("Spend", None if spend is None else f"{counted(spend.tokens, 'token')}, {money(spend.cost)}"),
        ("Reason", None if not issue.reason else el("pre", issue.reason)),
        ("Merge", None if issue.merge is None else _merge(issue.merge)),
        ("Changes", None if not diff else _files(diff)),
    ]
    return join([fact_list(facts), *(_review(review) for review in issue.reviews)])


def _review(review: IssueReview) -> Markup:
    """Draw the ``Review N`` entry of a round: who said what (R9)."""
    verdicts = {"approved": ("done", "approved"), "changes_requested": ("warn", "changes requested")}
    look, said = verdicts.get(review.verdict, ("failed", "not held"))
    who = (review.reviewer or {}).get("agent")
    approvals = [str(one.get("agent")) for one in review.approvals]
    return el(
        "div",
        el("h4", f"Review {review.round} ", chip(look, said)),
        el("p", join(["by ", link("a", str(who))])) if who else None,
        el("p", _links("approved by ", "a", approvals)) if approvals else None,
        el("p", "Nothing had changed.") if review.empty_change else None,
        el("p", one_line(review.reason)) if review.reason else None,
        el("ol", *(el("li", item) for item in review.items)) if review.items else None,
        class_="review",
    )


def _merge(merge: WorktreeMerged) -> Markup:
    said: list[Markup | str | None] = [
        f"merged as {merge.commit[:10]}" if merge.merged and merge.commit else "not merged",
        join([", conflict resolved by ", link("a", merge.merge_agent)]) if merge.merge_agent else None,
        ", one side kept whole" if merge.one_sided else None,
        ", nothing changed" if merge.empty_change else None,
        f": {one_line(merge.reason)}" if merge.reason else None,
        el("br") if merge.conflicts else None,
        f"conflicts in {', '.join(map(one_line, merge.conflicts))}" if merge.conflicts else None,
        join([el("br"), "kept as ", el("code", merge.saved_ref)]) if merge.saved_ref else None,
    ]
    return join(said)


def _files(diff: Sequence[FileStat]) -> Markup:
    rows = [el("li", el("code", one.path), " ", _counts(one.added, one.removed)) for one in diff[:MOST_FILES]]
    if len(diff) > MOST_FILES:
        rows.append(el("li", f"and {len(diff) - MOST_FILES:,} more files"))
    return el("ul", *rows, class_="files")
