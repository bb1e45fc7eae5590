"""The Agents tab of the console: every agent in its place, a row at a time (T2).

Law: pure; the order is laid out when an agent appears, a row is worded when it is seen. Board-dispatched agents stand beside
the root, subagents under who made them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.telemetry.plaintext import Cell, Field, laid, one_line
from ggactors.telemetry.render import STATE_COLOURS, agent_state, doing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.telemetry.folds import AgentView
    from ggactors.telemetry.watchfold import WatchFold


@frozen
class AgentRow:
    """An agent and how deep it stands."""

    depth: int
    agent: AgentView

    @property
    def key(self) -> str:
        """Name the row among those of its tab."""
        return self.agent.id


@frozen(kw_only=True)
class Columns:
    """How wide each column of the tab is, in cells; 0 leaves one out. What is left goes to what an agent does."""

    name: int
    profile: int
    state: int
    turns: int
    tokens: int
    cost: int


def agent_rows(fold: WatchFold) -> list[AgentRow]:
    """Lay every agent out in tree order."""
    return [AgentRow(depth, agent) for depth, agent in fold.view.tree()]


def agent_words(row: AgentRow) -> str:
    """Give the text a filter looks into, in lower case."""
    agent = row.agent
    words = (agent.id, agent.profile, agent.profile_name, agent_state(agent), agent.issue or "", agent.waiting_on or "")
    return " ".join(words).casefold()


def agent_columns(rows: Sequence[AgentRow], width: int, *, cost: bool) -> Columns:
    """Share ``width`` cells out among the columns. ``cost``: some call had a price."""
    names = max((2 * row.depth + len(row.agent.id) for row in rows), default=0)
    profiles = max((len(row.agent.profile_name) for row in rows), default=0)
    wide, roomy = width >= 60, width >= 84
    return Columns(
        name=min(names, max(8, width // 3)),
        profile=max(7, min(profiles, 14)) if wide else 0,
        state=11 if width >= 40 else 9,
        turns=5 if width >= 36 else 0,
        tokens=9 if wide else 0,
        cost=8 if cost and roomy else 0,
    )


def agent_head(columns: Columns, width: int) -> list[Cell]:
    """Name the columns."""
    return _laid(
        columns, width, ("agent", "profile", "state", "turns", "tokens", "cost", "waits for, does or said"), "", "dim"
    )


def occupation(agent: AgentView, fold: WatchFold) -> str:
    """Say what an agent waits for and why, works at, or came to. A wait for issues or agents says where each stands."""
    if agent.state == "queued":
        return "for a slot"
    if agent.state != "waiting" or not agent.waiting_on:
        return doing(agent)
    names = agent.waiting_on.split(", ")
    stands = [_stands(name, fold) for name in names]
    if not any(stands):
        return doing(agent)
    return "on " + ", ".join(one_line(name) + state for name, state in zip(names, stands, strict=True))


def _stands(name: str, fold: WatchFold) -> str:
    issue, agent = fold.view.issues.get(name), fold.view.agents_by_id.get(name)
    if issue is not None:
        return f" ({issue.state.replace('_', ' ')})"
    return f" ({agent_state(agent)})" if agent is not None else ""


def agent_line(row: AgentRow, fold: WatchFold, columns: Columns, width: int) -> list[Cell]:
    """Word one row."""
    agent = row.agent
    indent = "  " * min(row.depth - 1, 8) + "└ " if row.depth else ""
    state = agent_state(agent)
    colour = (
        ("green" if agent.status == "completed" else "red")
        if agent.state == "ended"
        else STATE_COLOURS.get(agent.state, "")
    )
    spend = agent.spend
    cost = "" if spend.cost is None else f"{spend.cost:.4f}"
    fields = (
        indent + one_line(agent.id),
        one_line(agent.profile_name),
        state,
        f"{agent.turns:,}",
        f"{spend.tokens:,}",
        cost,
        occupation(agent, fold),
    )
    return _laid(columns, width, fields, colour, "dim" if agent.state == "ended" else "")


def _laid(columns: Columns, width: int, fields: tuple[str, ...], state_colour: str, colour: str) -> list[Cell]:
    name, profile, state, turns, tokens, cost, rest = fields
    told = (
        Field(name, columns.name, colour if state_colour == "" else ""),
        Field(profile, columns.profile, colour),
        Field(state, columns.state, state_colour or colour),
        Field(turns, columns.turns, colour, right=True),
        Field(tokens, columns.tokens, colour, right=True),
        Field(cost, columns.cost, colour, right=True),
    )
    return laid(told, Cell(rest, colour), width)
