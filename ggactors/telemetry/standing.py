"""Where a run stands in one line, for a console's edge: slots, issues by state, spend, and what waits for whom (T2).

Law: pure; the most important first, so that a narrow line loses what matters least.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ggactors.protocol.values import IssueState
from ggactors.telemetry.plaintext import Cell
from ggactors.telemetry.render import STATE_COLOURS, counted, spend_text

if TYPE_CHECKING:
    from ggactors.telemetry.watchfold import WatchFold

ORDER = (IssueState.IN_PROGRESS, IssueState.IN_REVIEW, IssueState.OPEN, IssueState.DONE, IssueState.FAILED)


def standing_cells(fold: WatchFold, width: int, *, slots: int, stalled: int) -> list[Cell]:
    """Word where the run stands, as much of it as fits whole.

    ``slots`` is how many agents may run at once, 0 where that is not known.
    """
    view = fold.view
    pieces: list[list[Cell]] = []
    if fold.waiting:
        verb = "needs" if len(fold.waiting) == 1 else "need"
        pieces.append([Cell(f"{len(fold.waiting)} {verb} you", "yellow")])
    pieces.append([Cell(f"slots {view.held()}/{slots}" if slots else f"slots {view.held()}")])
    pieces += [
        [Cell(f"{fold.states[state]} {state.replace('_', ' ')}", STATE_COLOURS[state])]
        for state in ORDER
        if fold.states[state]
    ]
    if stalled:
        pieces.append([Cell(f"{stalled} stalled", "red")])
    waits = view.at_provider()
    if waits:
        pieces.append([Cell(f"{waits} wait{'s' if waits == 1 else ''} for the provider", "yellow")])
    pieces.append([Cell(spend_text(view.spend))])
    turns = sum(agent.turns for agent in view.agents_by_id.values())
    pieces.append([Cell(counted(turns, "turn"))])
    line: list[Cell] = []
    for piece in pieces:
        between = [Cell(" · ", "dim")] if line else []
        width -= sum(len(cell.text) for cell in (*between, *piece))
        if width < 0:
            break
        line += [*between, *piece]
    return line


def elapsed_text(fold: WatchFold) -> str:
    """Say how long the run took from its first event to its last so far."""
    try:
        began, latest = (datetime.fromisoformat(stamp) for stamp in (fold.view.started, fold.view.latest))
    except ValueError:
        return "--:--"
    minutes, seconds = divmod(max(0, int((latest - began).total_seconds())), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


def run_state(fold: WatchFold, *, alive: bool) -> str:
    """Say in a word whether the run goes on, or how it ended; ``alive`` is whether a process drives it."""
    if fold.view.ended:
        return fold.view.status or "ended"
    if not fold.view.run:
        return "starting" if alive else "not begun"
    return "running" if alive else "interrupted"
