"""The Agents part of the report: every agent by name, profile, state, what it waits for, turns, tokens, cost (T2). Law: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.telemetry.plaintext import one_line
from ggactors.telemetry.render import agent_state, counted, doing
from ggactors.telemetry.reporthtml import Markup, anchor, chip, el, join, length, link, money, number, short

if TYPE_CHECKING:
    from ggactors.telemetry.folds import AgentView
    from ggactors.telemetry.reportfold import ReportFold

DEEPEST = 8


def agents_part(fold: ReportFold) -> Markup:
    """Draw the tree: board-dispatched agents beside the root, subagents under their parents."""
    tree = fold.view.tree()
    head = el(
        "div",
        *(el("span", word) for word in ("Agent", "Profile", "State", "Turns", "Tokens", "Cost")),
        class_="row head",
        aria_hidden="true",
    )
    rows = [_agent(fold, agent, min(depth, DEEPEST)) for depth, agent in tree]
    body = join([head, *rows]) if rows else el("p", "No agent was made yet.", class_="none")
    return el(
        "section",
        el("h2", "Agents", el("small", number(len(tree)))),
        el("div", body, class_="list agents", data_list="agents"),
        id="agents",
    )


def _agent(fold: ReportFold, agent: AgentView, depth: int) -> Markup:
    said = doing(agent)
    state = agent_state(agent)
    summary = el(
        "summary",
        el("span", el("b", one_line(agent.id)), class_=f"name d{depth}"),
        el("span", one_line(agent.profile_name), class_="profile"),
        el("span", chip(_look(agent), state), class_="state"),
        el("span", number(agent.turns), el("i", " turns"), class_="num"),
        el(
            "span",
            short(agent.spend.tokens),
            el("i", " tokens"),
            class_="num",
            title=counted(agent.spend.tokens, "token"),
        ),
        el("span", money(agent.spend.cost), class_="num"),
        el("span", said, class_="said") if said else None,
        class_="row",
    )
    return el(
        "details",
        summary,
        _more(fold, agent),
        id=anchor("a", agent.id),
        class_="item",
        data_state=_look(agent),
    )


def _look(agent: AgentView) -> str:
    if agent.lost:
        return "interrupted"
    if agent.state != "ended":
        return agent.state
    return agent.status if agent.status in ("completed", "canceled") else "bad"


def _more(fold: ReportFold, agent: AgentView) -> Markup:
    spans = fold.spans(agent.id)
    spent = {state: sum(span.end - span.start for span in spans if span.state == state) for state in WAYS}
    times = ", ".join(f"{WAYS[state]} {length(secs)}" for state, secs in spent.items() if secs >= 0.05)
    facts: list[tuple[str, Markup | str | None]] = [
        ("Kind", f"{agent.kind}, role {agent.role}"),
        ("Issue", None if agent.issue is None else link("i", agent.issue)),
        ("Parent", None if agent.parent is None else link("a", agent.parent)),
        ("Model", agent.model),
        ("Branch", agent.branch),
        ("Time", times or None),
        ("Tokens", _tokens(agent)),
        ("Calls", f"{counted(fold.tools.get(agent.id, 0), 'tool call')}, {counted(agent.errors, 'error turn')}"),
        ("Verified", {True: "yes", False: "no", None: None}[agent.verified]),
        ("Summary", None if not agent.summary else el("pre", agent.summary)),
        ("Brief", None if not fold.briefs.get(agent.id) else el("pre", fold.briefs[agent.id])),
    ]
    return fact_list(facts)


WAYS = {"queued": "queued", "running": "ran", "waiting": "waited"}


def _tokens(agent: AgentView) -> str:
    spend = agent.spend
    parts = [f"{spend.input:,} in"]
    if spend.cached_input:
        parts.append(f"{spend.cached_input:,} of them cached")
    parts.append(f"{spend.output:,} out")
    if spend.reasoning:
        parts.append(f"{spend.reasoning:,} of them reasoning")
    return ", ".join(parts)


def fact_list(facts: list[tuple[str, Markup | str | None]]) -> Markup:
    """Draw names and values; those without a value are left out."""
    return el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in facts if value is not None))
