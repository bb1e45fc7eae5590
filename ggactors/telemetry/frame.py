"""The live view of a run as a frame of lines: what runs now, where the issues stand, what it has used (T2).

Law: pure; never wider than the look, never higher than asked for, whatever the run holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.values import IssueState
from ggactors.telemetry.plaintext import Cell, Look, columns, cut, one_line
from ggactors.telemetry.render import STATE_COLOURS, counted, doing, spend_text

if TYPE_CHECKING:
    from ggactors.telemetry.folds import RunView

ORDER = (IssueState.IN_PROGRESS, IssueState.IN_REVIEW, IssueState.OPEN, IssueState.DONE, IssueState.FAILED)
STANDING = {"running": 0, "waiting": 1, "queued": 2}


def frame_lines(view: RunView, look: Look, *, rows: int, slots: int, elapsed: float) -> list[str]:
    """Draw the frame in at most ``rows`` lines. ``slots`` is how many agents may run at once, ``elapsed`` seconds."""
    if not view.run:
        return [cut("starting …", look.width)][: max(0, rows)]
    minutes, seconds = divmod(int(elapsed), 60)
    turns = sum(agent.turns for agent in view.agents_by_id.values())
    head = (
        f"{one_line(view.run)}  {one_line(view.crew)}  {minutes:02}:{seconds:02}  slots {view.held()}/{slots}  "
        f"{counted(turns, 'turn')}  {spend_text(view.spend)}"
    )
    lines = [look.paint(cut(head, look.width), "bold"), *_issues(view, look), *_agents(view, look)]
    if len(lines) <= rows:
        return lines
    hidden = len(lines) - rows + 1
    return [*lines[: max(0, rows - 1)], cut(f"  … {hidden} more", look.width)][: max(0, rows)]


def _issues(view: RunView, look: Look) -> list[str]:
    """One line a state: how many issues stand there, and as many of their ids as fit."""
    lines = []
    for state in ORDER:
        found = [one_line(issue.id) for issue in view.issues.values() if issue.state is state]
        if found:
            name = state.replace("_", " ")
            text = cut(f"{len(found):>4}  {' '.join(found)}", look.width - 16)
            lines.append(cut(f"  {name:<12}", look.width) if look.width <= 16 else _coloured(name, state, text, look))
    stalls = view.stalls()
    if stalls:
        text = ", ".join(f"{one_line(issue)} behind {one_line(blocker)}" for issue, blocker in stalls.items())
        lines.append(look.paint(cut(f"  stalled     {len(stalls):>4}  {text}", look.width), "red"))
    return lines


def _coloured(name: str, state: IssueState, text: str, look: Look) -> str:
    return f"  {look.paint(f'{name:<12}', STATE_COLOURS[state])}{text}"


def _agents(view: RunView, look: Look) -> list[str]:
    """One row for every agent that has not ended, those that run first."""
    living = [(depth, agent) for depth, agent in view.tree() if agent.state in STANDING]
    living.sort(key=lambda pair: STANDING[pair[1].state])
    rows = [
        [
            Cell("  " + one_line(agent.id)),
            Cell(one_line(agent.profile_name)),
            Cell(agent.state, STATE_COLOURS.get(agent.state, "")),
            Cell(counted(agent.turns, "turn")),
            Cell(doing(agent)),
        ]
        for _, agent in living
    ]
    return columns(rows, look)
