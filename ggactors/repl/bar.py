"""The bar under the prompt: whose turn it is, slots, issues by state, spend, and what waits for the person. Law: pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.values import IssueState
from ggactors.telemetry.plaintext import one_line
from ggactors.telemetry.render import spend_text

if TYPE_CHECKING:
    from ggactors.telemetry.folds import RunView

Pieces = tuple[tuple[str, str], ...]
SHORT = {
    IssueState.OPEN: "open",
    IssueState.IN_PROGRESS: "at work",
    IssueState.IN_REVIEW: "in review",
    IssueState.DONE: "done",
    IssueState.FAILED: "failed",
}
BETWEEN = ("class:bar", " │ ")


@frozen(kw_only=True)
class Standing:
    """What the bar cannot read off the view."""

    crew: str
    slots: int
    phase: str
    """What goes on, in a word or two: ``your turn``, ``working``, ``paused``, …"""
    style: str
    """How the phase is shown: ``good``, ``strong`` or ``warn``."""
    waiting: int = 0
    unread: int = 0


def bar_pieces(view: RunView | None, standing: Standing) -> Pieces:
    """Compose the bar."""
    pieces: list[tuple[str, str]] = [
        (f"class:bar.{standing.style}", standing.phase),
        BETWEEN,
        ("class:bar.strong", one_line(standing.crew)),
    ]
    if standing.waiting:
        pieces += [BETWEEN, ("class:bar.warn", f"⚑ {standing.waiting} for you")]
    if view is not None:
        pieces += [BETWEEN, ("class:bar", f"slots {view.held()}/{standing.slots}")]
        counts = Counter(issue.state for issue in view.issues.values())
        if counts:
            said = ", ".join(f"{counts[state]} {name}" for state, name in SHORT.items() if counts[state])
            pieces += [BETWEEN, ("class:bar", said)]
        pieces += [BETWEEN, ("class:bar", spend_text(view.spend))]
    if standing.unread:
        pieces += [BETWEEN, ("class:bar", f"{standing.unread} not read yet")]
    return tuple(pieces)
