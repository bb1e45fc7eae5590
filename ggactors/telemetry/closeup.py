"""One agent, one issue, one epic or one review round up close: the detail side of the console (T2).

Law: pure; painted lines, every text from outside made safe. A transcript is worded once an event.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ggactors.protocol import events
from ggactors.protocol.values import IssueState
from ggactors.telemetry.plaintext import Look, cut, one_line, safe, wrapped
from ggactors.telemetry.render import REVIEW_COLOURS, STATE_COLOURS, agent_state, counted, spend_text, standing
from ggactors.telemetry.story import tell
from ggactors.telemetry.tree import occupation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.protocol.events import Attention, IssueReview
    from ggactors.telemetry.folds import AgentView, IssueView, Spend
    from ggactors.telemetry.project import EpicRow
    from ggactors.telemetry.watchfold import WatchFold

PAGE = 300
"""Events that are worded at once."""
LONG_ARGUMENT = 200
"""Characters from which an argument of a call stands below it; and the lines of it that are shown at most."""
LONGEST_ARGUMENT = 60
LONGEST_DIFF = 5000
"""Lines of a diff that are shown."""


class TranscriptPages:
    """One agent's transcript laid out for a width, from its end on: each event is worded once, and early ones only when read."""

    def __init__(self, agent: str, look: Look) -> None:
        """Lay ``agent``'s out as ``look`` says."""
        self.agent, self.look = agent, look
        self._lines: list[str] = []
        self._first = self._next = -1
        """Of the events that are worded, the first and the one behind the last, counted from the agent's first event."""

    def lines(self, fold: WatchFold) -> list[str]:
        """Give every line that is worded so far, oldest first; what came since it was last asked is among them."""
        transcript = fold.transcripts.get(self.agent)
        if transcript is None:
            return ["Nothing is told of it yet."]
        end = transcript.forgotten + len(transcript.told)
        if self._first < transcript.forgotten:  # what was worded may be forgotten by now, or nothing was worded yet
            self._lines = []
            self._first = self._next = max(transcript.forgotten, end - PAGE)
        for at in range(self._next, end):
            self._lines += _told(transcript.told[at - transcript.forgotten], self.look)
        self._next = end
        return self._lines

    def earlier(self, fold: WatchFold) -> int:
        """Word a page of what was before; answer how many lines it has, 0 when there is no more."""
        transcript = fold.transcripts.get(self.agent)
        if transcript is None or self._first < 0 or (self._first <= transcript.forgotten and not self._first):
            return 0
        if self._first <= transcript.forgotten:
            return self._forgotten_note(transcript.forgotten)
        begin = max(transcript.forgotten, self._first - PAGE)
        lines: list[str] = []
        for at in range(begin, self._first):
            lines += _told(transcript.told[at - transcript.forgotten], self.look)
        self._first = begin
        self._lines[:0] = lines
        return len(lines)

    def _forgotten_note(self, forgotten: int) -> int:
        note = f"{forgotten:,} earlier events are not kept here; `ggactors show RUN --agent {one_line(self.agent)}` has them"
        lines = [self.look.paint(line, "dim") for line in wrapped(note, self.look)]
        if self._lines[: len(lines)] == lines:
            return 0
        self._lines[:0] = lines
        return len(lines)


def _told(event: events.Event, look: Look) -> list[str]:
    """Tell an event as a transcript does: calls laid out to be read, and without what stands in the heading."""
    match event:
        case events.ToolCalled():
            return call_lines(event, look)
        case events.AgentSpawned():
            return tell(event, look)[1:]
        case _:
            return tell(event, look)


def call_lines(event: events.ToolCalled, look: Look) -> list[str]:
    """Lay a call out: its name with the arguments of one line, those of several lines below it."""
    short: list[str] = []
    blocks: list[tuple[str, str]] = []
    for name, value in event.args.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if "\n" in text.strip("\n") or len(text) > LONG_ARGUMENT:
            blocks.append((name, text.strip("\n")))
        else:
            short.append(one_line(text) if len(event.args) == 1 else f"{one_line(name)}={one_line(text)}")
    first, *rest = wrapped(f"→ {one_line(event.tool)}  {'  '.join(short)}".rstrip(" "), look, indent=4)
    lines = [look.paint(line, "cyan") for line in (first[2:], *rest)]
    for name, text in blocks:
        told = wrapped(text, look, indent=6)
        lines += [look.paint(f"    {one_line(name)}:", "dim"), *told[:LONGEST_ARGUMENT]]
        if len(told) > LONGEST_ARGUMENT:
            lines.append(look.paint(f"      … {len(told) - LONGEST_ARGUMENT:,} lines more", "dim"))
    return lines


def agent_heading(fold: WatchFold, agent: AgentView, look: Look) -> list[str]:
    """Say who an agent is and where it stands, in two lines."""
    on = f" on {one_line(agent.issue)}" if agent.issue else f" of {one_line(agent.parent)}" if agent.parent else ""
    who = f"{one_line(agent.id)}  {one_line(agent.profile_name)} ({one_line(agent.kind)}{on})"
    model = f", {one_line(agent.model)}" if agent.model else ""
    what = occupation(agent, fold) if agent.state != "ended" else ""
    stands = f"{agent_state(agent)}{f' {what}' if what else ''}"
    used = f"{counted(agent.turns, 'turn')}, {spend_text(agent.spend)}{model}"
    return [look.paint(cut(who, look.width), "bold"), look.paint(cut(f"{stands}; {used}", look.width), "dim")]


def issue_lines(
    fold: WatchFold, issue: IssueView, look: Look, *, diff: Sequence[str] | None, said: str = ""
) -> tuple[list[str], int]:
    """Tell an issue: where it stands, who worked at it, its reviews, its diff. Answer the lines, and at which the diff begins.

    ``diff`` is one that ``diff_lines`` painted, or None while there is none; ``said`` says what it compares, or why there is none.
    """
    state = issue.state.replace("_", " ")
    lines = [
        look.paint(cut(f"{one_line(issue.id)}  {one_line(issue.title)}", look.width), "bold"),
        f"{look.paint(state, STATE_COLOURS[issue.state])}  {_stands(fold, issue)}".rstrip(),
        *_field("profile", one_line(issue.agent), look),
        *_field("reviewers", ", ".join(map(one_line, issue.reviewers)) or "none", look),
        *_field("epic", one_line(issue.epic or "none"), look),
        *_blockers(fold, issue, look),
        *_field("spend", _spend(fold.by_issue.get(issue.id)), look),
    ]
    if issue.reason:
        lines += [look.paint(line, "red") for line in _field("reason", one_line(issue.reason), look)]
    lines += _worked(fold, issue, look)
    for review in issue.reviews:
        lines += ["", *review_lines(review, look)]
    lines += _merge(issue, look)
    compared = f"  {look.paint(one_line(said), 'dim')}" if diff and said else ""
    lines += ["", f"{look.paint('Diff', 'bold')}{compared}"]
    at = len(lines) - 1
    if diff is None:
        lines += wrapped(said or "There is nothing to compare yet.", look, indent=2)
    else:
        lines += diff
    return lines, at


def review_lines(review: IssueReview, look: Look) -> list[str]:
    """Tell a review round: its verdict, who gave it, every item."""
    who = one_line(str((review.reviewer or {}).get("agent") or ""))
    verdict = one_line(review.verdict).replace("_", " ")
    colour = REVIEW_COLOURS.get(review.verdict, "red")
    on = f" on {one_line(review.commit[:10])}" if review.commit else ""
    lines = [
        f"{look.paint(f'Review {review.round}', 'bold')}  {look.paint(verdict, colour)}{f' by {who}' if who else ''}{on}"
    ]
    approvals = ", ".join(one_line(str(approval.get("agent") or "")) for approval in review.approvals)
    if approvals:
        lines += wrapped(f"approved by {approvals}", look, indent=2)
    if review.reason:
        lines += wrapped(one_line(review.reason), look, indent=2)
    for item in review.items:
        first, *rest = wrapped(item, look, indent=4)
        lines += [f"  - {first.lstrip(' ')}", *rest]
    return lines


def epic_lines(fold: WatchFold, row: EpicRow, look: Look) -> list[str]:
    """Tell an epic: its title, its description, how its issues stand, what it cost."""
    name = f"{one_line(row.id)}  {one_line(row.epic.title)}" if row.epic else "Issues of no epic"
    lines = [
        look.paint(cut(name, look.width), "bold"),
        look.paint(row.done(fold), "dim"),
        "",
    ]
    if row.epic is not None and row.epic.description:
        lines += [*wrapped(row.epic.description, look), ""]
    mine = [issue for issue in fold.view.issues.values() if issue.epic == row.name]
    for issue in mine[:200]:
        lines.append(
            f"  {look.paint(f'{issue.state:<12}', STATE_COLOURS[issue.state])}"
            f"{cut(f'{one_line(issue.id)}  {one_line(issue.title)}', look.width - 14)}"
        )
    return lines


def attention_lines(waiting: Sequence[Attention], look: Look) -> list[str]:
    """Tell everything that waits for a person, oldest first, and how it is answered."""
    if not waiting:
        return ["Nothing waits for you."]
    lines = [look.paint(f"{counted(len(waiting), 'thing')} wait{'s' if len(waiting) == 1 else ''} for you", "bold")]
    for item in waiting:
        who = one_line(item.agent or item.issue or "")
        lines += [
            "",
            f"{look.paint(one_line(item.item), 'yellow')}  {one_line(item.kind)}{f' of {who}' if who else ''}",
        ]
        lines += wrapped(item.title, look, indent=2)
        if item.detail:
            lines += wrapped(item.detail, look, indent=2)
        if item.options:
            lines += wrapped(f"answers: {', '.join(item.options)}", look, indent=2)
        if item.deadline_secs:
            lines += wrapped(f"{item.default} after {item.deadline_secs:g} s", look, indent=2)
    return lines


def diff_lines(diff: Sequence[str], look: Look) -> list[str]:
    """Paint a unified diff; lines longer than the width are cut."""
    lines = []
    for line in diff[:LONGEST_DIFF]:
        text = cut(safe(line).expandtabs(4).replace("\n", " "), look.width)
        colour = ""
        if line.startswith(("diff ", "--- ", "+++ ")):
            colour = "bold"
        elif line.startswith("@@"):
            colour = "cyan"
        elif line.startswith("+"):
            colour = "green"
        elif line.startswith("-"):
            colour = "red"
        lines.append(look.paint(text, colour))
    if len(diff) > LONGEST_DIFF:
        lines.append(look.paint(f"… {len(diff) - LONGEST_DIFF:,} lines more", "dim"))
    return lines or ["  No difference."]


def _stands(fold: WatchFold, issue: IssueView) -> str:
    return standing(issue, fold.view, fold.stalls() if issue.state is IssueState.OPEN else {})


def _blockers(fold: WatchFold, issue: IssueView, look: Look) -> list[str]:
    told = []
    for blocker in issue.blocked_by:
        found = fold.view.issues.get(blocker)
        told.append(f"{one_line(blocker)} ({found.state.replace('_', ' ') if found is not None else 'gone'})")
    return _field("behind", ", ".join(told) or "nothing", look)


def _worked(fold: WatchFold, issue: IssueView, look: Look) -> list[str]:
    """List who worked at an issue; the implementers are its attempts."""
    names = fold.agents_of.get(issue.id, ())
    lines = ["", f"{look.paint('Attempts', 'bold')}  {issue.attempts}"] if names else []
    for name in names:
        agent = fold.view.agents_by_id.get(name)
        if agent is not None:
            state = agent_state(agent)
            colour = STATE_COLOURS.get(
                state, "green" if state == "completed" else "red" if agent.state == "ended" else ""
            )
            text = f"{one_line(agent.id)}  {one_line(agent.kind)}, {counted(agent.turns, 'turn')}, {spend_text(agent.spend)}"
            lines.append(f"  {look.paint(f'{state:<11}', colour)} {cut(text, max(8, look.width - 14))}")
    return lines


def _merge(issue: IssueView, look: Look) -> list[str]:
    merge = issue.merge
    if merge is None:
        return []
    if merge.merged:
        said = "nothing to merge" if merge.empty_change else f"as {one_line((merge.commit or '')[:10])}"
        head = f"{look.paint('Merged', 'bold')}  {said}"
    else:
        head = f"{look.paint('Not merged', 'bold')}  {one_line(merge.reason or 'conflict')}"
    lines = ["", head]
    if merge.conflicts:
        lines += wrapped(f"conflicts in {', '.join(merge.conflicts)}", look, indent=2)
    if merge.merge_agent:
        lines += wrapped(f"resolved by {merge.merge_agent}", look, indent=2)
    if merge.saved_ref:
        lines += wrapped(f"kept at {merge.saved_ref}", look, indent=2)
    return lines


def _spend(spend: Spend | None) -> str:
    return spend_text(spend) if spend is not None else "nothing yet"


def _field(label: str, text: str, look: Look) -> list[str]:
    first, *rest = wrapped(text, look, indent=12)
    return [f"  {look.paint(f'{label:<10}', 'dim')}{first.lstrip(' ')}", *rest]
