"""The Project tab of the console: epics, their issues, and one entry for each review round under its issue (T2, R9).

Law: pure; laid out when the board changes, a row is worded when it is seen. A stall names the failed blocker (D6).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.values import IssueState
from ggactors.telemetry.plaintext import Cell, Field, cells, cut, laid, one_line
from ggactors.telemetry.render import REVIEW_COLOURS, STATE_COLOURS, standing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ggactors.protocol.events import IssueReview
    from ggactors.telemetry.folds import EpicView, IssueView
    from ggactors.telemetry.watchfold import WatchFold

NO_EPIC = "(no epic)"
STATE_WIDTH = 11


@frozen
class EpicRow:
    """An epic, or what stands for issues without one (``name`` is then None)."""

    name: str | None
    epic: EpicView | None
    closed: bool

    @property
    def id(self) -> str:
        """Say what the epic is called."""
        return self.name or NO_EPIC

    def done(self, fold: WatchFold) -> str:
        """Say how many of its issues are done."""
        states = fold.by_epic.get(self.name, Counter())
        return f"{states[IssueState.DONE]:,} of {sum(states.values()):,} done"

    @property
    def key(self) -> str:
        """Name the row among those of its tab."""
        return f"epic {self.id}"


@frozen
class IssueRow:
    """An issue."""

    issue: IssueView

    @property
    def key(self) -> str:
        """Name the row among those of its tab."""
        return self.issue.id


@frozen
class ReviewRow:
    """One review round of an issue; ``nth`` counts them from 0."""

    issue: IssueView
    nth: int

    @property
    def review(self) -> IssueReview:
        """Give the round as it ended."""
        return self.issue.reviews[self.nth]

    @property
    def key(self) -> str:
        """Name the row among those of its tab."""
        return f"{self.issue.id} review {self.nth}"


ProjectRow = EpicRow | IssueRow | ReviewRow


def project_rows(fold: WatchFold, closed: Collection[str] = ()) -> list[ProjectRow]:
    """Lay the board out: epics in the order they were filed, then issues without; those of ``closed`` epics are left out."""
    view = fold.view
    groups = view.issues_by_epic()
    alone = list(groups) == [None]
    rows: list[ProjectRow] = []
    for name, group in groups.items():
        label = name or NO_EPIC
        shut = label in closed
        if not alone:
            rows.append(EpicRow(name, view.epics.get(name or ""), shut))
        if not shut:
            for issue in group:
                rows.append(IssueRow(issue))
                rows += [ReviewRow(issue, nth) for nth in range(len(issue.reviews))]
    return rows


def project_words(row: ProjectRow, stalls: Mapping[str, str]) -> str:
    """Give the text a filter looks into, in lower case."""
    match row:
        case EpicRow():
            words = [row.id, row.epic.title if row.epic else ""]
        case IssueRow(issue=issue):
            stalled = f"stalled {stalls[issue.id]}" if issue.id in stalls else ""
            words = [issue.id, issue.title, issue.state.replace("_", " "), issue.agent, issue.epic or "", stalled]
        case ReviewRow():
            words = [row.issue.id, f"review {row.review.round}", row.review.verdict.replace("_", " ")]
    return " ".join(words).casefold()


def id_width(rows: Sequence[ProjectRow], width: int) -> int:
    """Say how wide the column of ids is."""
    longest = max((len(row.issue.id) for row in rows if isinstance(row, IssueRow)), default=0)
    return min(longest, max(8, width // 4))


def project_head(ids: int, width: int) -> list[Cell]:
    """Name the columns."""
    fields = ("issue", "state", "profile", "tries", "tokens", "title and what it waits for")
    return _laid(ids, width, fields, "", "dim")


def project_line(row: ProjectRow, fold: WatchFold, stalls: dict[str, str], ids: int, width: int) -> list[Cell]:
    """Word one row."""
    match row:
        case EpicRow():
            title = f"{one_line(row.epic.title)}  " if row.epic else ""
            sign = "+ " if row.closed else "- "
            count = row.done(fold)
            room = max(0, width - cells(sign + row.id) - 2 - cells(count) - 1)
            return [
                Cell(cut(f"{sign}{one_line(row.id)}  ", width), "bold"),
                Cell(cut(title, room), "bold"),
                Cell(count, "dim"),
            ]
        case IssueRow(issue=issue):
            spend = fold.by_issue.get(issue.id)
            held = standing(issue, fold.view, stalls)
            if issue.state is IssueState.FAILED and issue.reason:
                held = one_line(issue.reason)
            fields = (
                one_line(issue.id),
                issue.state.replace("_", " "),
                one_line(issue.agent),
                str(issue.attempts) if issue.attempts else "-",
                f"{spend.tokens:,}" if spend is not None else "-",
                "",
            )
            colour = "red" if issue.id in stalls else ""
            line = _laid(ids, width, fields, STATE_COLOURS[issue.state], colour)
            room = width - sum(cells(cell.text) for cell in line)
            # What holds an issue is told whole where that is possible and its title gives way, but for one that is done.
            least = room if issue.state is IssueState.DONE else room // 3
            title = cut(one_line(issue.title), max(least, room - cells(held) - 2))
            rest = cut(held, max(0, room - cells(title) - 2))
            bad = issue.id in stalls or issue.state is IssueState.FAILED
            return [
                *line,
                Cell(cut(title, max(0, room)), colour),
                Cell(f"  {rest}" if rest else "", "red" if bad else "dim"),
            ]
        case ReviewRow(review=review):
            who = one_line(str((review.reviewer or {}).get("agent") or ""))
            said = f"Review {review.round}"
            what = {
                "approved": "approved",
                "changes_requested": f"{len(review.items)} change{'' if len(review.items) == 1 else 's'} requested",
            }.get(review.verdict, f"not held: {one_line(review.reason or 'no reason given')}")
            by = f" by {who}" if who else ""
            first = f": {one_line(review.items[0])}" if review.items else ""
            lead = " " * (2 + ids + 2) + said + "  "
            return [
                Cell(cut(lead, width)),
                Cell(cut(what + by, max(0, width - cells(lead))), REVIEW_COLOURS.get(review.verdict, "red")),
                Cell(cut(first, max(0, width - cells(lead) - cells(what + by))), "dim"),
            ]


def _laid(ids: int, width: int, fields: tuple[str, ...], state_colour: str, colour: str) -> list[Cell]:
    name, state, profile, tries, tokens, rest = fields
    columns = (
        Field(name, ids, colour),
        Field(state, STATE_WIDTH, state_colour or colour),
        Field(profile, 10 if width >= 70 else 0, colour),
        Field(tries, 5 if width >= 50 else 0, colour, right=True),
        Field(tokens, 9 if width >= 60 else 0, colour, right=True),
    )
    return [Cell("  "), *laid(columns, Cell(rest, colour), width - 2)]
