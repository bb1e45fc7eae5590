"""The Timeline and Spend parts of the report: agents and slots over time, and who used how much. Law: pure; drawn as SVG.

Places along time are percentages, so that the pictures fit any width and their words keep their size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.telemetry.plaintext import one_line
from ggactors.telemetry.reporthtml import Markup, anchor, el, join, length, link, money, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.telemetry.folds import Spend
    from ggactors.telemetry.reportfold import ReportFold, Span

LANE = 18
"""Pixels of one row."""
NARROWEST = 0.15
"""Per cent of the width that a bar is drawn with at least."""
MOST_ROWS = 25
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


def timeline_part(fold: ReportFold) -> Markup:
    """Draw who held which slot when, and what every agent did over time."""
    if not fold.view.agents_by_id or fold.now <= 0:
        return el("section", el("h2", "Timeline"), el("p", "Nothing has happened yet.", class_="none"), id="timeline")
    use = "" if fold.use is None else f", held {fold.use:.0%} of the time"
    legend = join([el("span", el("i", class_=f"key t-{state}"), state) for state in ("queued", "running", "waiting")])
    return el(
        "section",
        el("h2", "Timeline", el("small", length(fold.now))),
        el("h3", "Slots", el("small", f"at most {fold.slots} at once{use}")),
        _slots(fold),
        el("h3", "Agents", el("small", legend, class_="legend")),
        _agents(fold),
        id="timeline",
    )


def _slots(fold: ReportFold) -> Markup:
    labels = [el("li", f"slot {number + 1}") for number in range(fold.slots)]
    bars = [
        _bar(fold, span, (span.slot or 0) * LANE, f"t-running {'odd' if at % 2 else 'even'}", agent)
        for at, (agent, span) in enumerate(sorted(fold.held(), key=lambda pair: pair[1].start))
    ]
    return _chart(fold, labels, bars, fold.slots, "who held which slot, over time")


def _agents(fold: ReportFold) -> Markup:
    agents = [agent for _, agent in fold.view.tree()]
    labels = [el("li", link("a", agent.id)) for agent in agents]
    bars = [
        _bar(fold, span, at * LANE, f"t-{span.state}", agent.id)
        for at, agent in enumerate(agents)
        for span in fold.spans(agent.id)
    ]
    return _chart(fold, labels, bars, len(agents), "what every agent did, over time")


def _bar(fold: ReportFold, span: Span, top: int, look: str, agent: str) -> Markup:
    left = 100 * span.start / fold.now
    width = max(NARROWEST, 100 * (span.end - span.start) / fold.now)
    on = f" on {one_line(span.on)}" if span.on else ""
    said = f"{one_line(agent)}: {span.state}{on}, {length(span.end - span.start)} from {length(span.start)}"
    rect = el(
        "rect",
        el("title", said),
        x=f"{min(left, 100 - NARROWEST):.2f}%",
        y=top + 3,
        width=f"{width:.2f}%",
        height=LANE - 6,
        class_=look,
    )
    return el("a", rect, href=f"#{anchor('a', agent)}", tabindex=-1)


def _chart(fold: ReportFold, labels: list[Markup], bars: list[Markup], rows: int, said: str) -> Markup:
    ticks = _ticks(fold.now)
    lines = [
        el("line", x1=f"{100 * at / fold.now:.2f}%", x2=f"{100 * at / fold.now:.2f}%", y1="0", y2="100%")
        for at in ticks
    ]
    words = [
        el(
            "text",
            length(at) if at else "0",
            x=f"{100 * at / fold.now:.2f}%",
            y="12",
            text_anchor="start" if at == 0 else "middle",
        )
        for at in ticks
        if at < 0.97 * fold.now
    ]
    picture = el("svg", *lines, *bars, class_="chart", height=rows * LANE, role="img", aria_label=said)
    axis = el("svg", *words, class_="axis", height="16", aria_hidden="true")
    return el(
        "div",
        el("div", el("ol", *labels, class_="lanes"), picture, class_="lines"),
        el("div", el("span"), axis, class_="lines foot"),
        class_="time",
        tabindex=0,
        role="group",
        aria_label=said,
    )


def _ticks(total: float) -> list[float]:
    step = next((step for step in _STEPS if total / step <= 8), total / 6)
    count = int(total / step)
    return [at * step for at in range(count + 1)]


def spend_part(fold: ReportFold) -> Markup:
    """Draw what was used, over time and by profile, model and issue."""
    spend = fold.view.spend
    if not fold.curve:
        return el("section", el("h2", "Spend"), el("p", "No model was called.", class_="none"), id="spend")
    done = sum(issue.state == "done" for issue in fold.view.issues.values())
    said = [f"{spend.tokens:,} tokens"]
    if spend.cost is not None:
        said.append(money(spend.cost))
        said += [f"{money(spend.cost / done)} for each accepted issue"] if done else []
    return el(
        "section",
        el("h2", "Spend", el("small", ", ".join(said))),
        _curve(fold),
        el(
            "div",
            _table("By profile", fold.by_profile),
            _table("By model", fold.by_model),
            _table("By issue", fold.by_issue, linked=True),
            class_="tables",
        ),
        id="spend",
    )


def _curve(fold: ReportFold) -> Markup | None:
    """Draw the cost over time; the tokens where nothing has a price."""
    priced = fold.view.spend.cost is not None
    values = [(at, cost if priced else tokens) for at, tokens, cost in fold.curve]
    top = max(value for _, value in values)
    if not top or fold.now <= 0:
        return None
    points = [(0.0, 0.0), *values, (fold.now, values[-1][1])]
    path = " ".join(f"{1000 * at / fold.now:.1f},{100 - 96 * value / top:.1f}" for at, value in points)
    what = "cost" if priced else "tokens"
    said = f"{what} over time, up to {money(top) if priced else number(int(top))}"
    line = el("polyline", points=path, vector_effect="non-scaling-stroke")
    picture = el("svg", line, viewBox="0 0 1000 100", preserveAspectRatio="none", role="img", aria_label=said)
    return el("figure", picture, el("figcaption", said), class_="curve")


def _table(title: str, spends: Mapping[str, Spend], *, linked: bool = False) -> Markup | None:
    if not spends:
        return None
    priced = any(spend.cost is not None for spend in spends.values())

    def weight(spend: Spend) -> float:
        return (spend.cost or 0.0) if priced else spend.tokens

    ordered = sorted(spends.items(), key=lambda pair: -weight(pair[1]))
    most = max(weight(spend) for _, spend in ordered) or 1
    rows = []
    for name, spend in ordered[:MOST_ROWS]:
        share = el(
            "svg",
            el("rect", width=f"{100 * weight(spend) / most:.1f}%", height="100%"),
            class_="share",
            aria_hidden="true",
        )
        named = link("i", name) if linked else one_line(name)
        cells = [el("td", number(value)) for value in (spend.input, spend.cached_input, spend.output)]
        rows.append(el("tr", el("th", named, share, scope="row"), *cells, el("td", money(spend.cost))))
    heads = [el("th", word, scope="col") for word in ("", "Input", "Cached", "Output", "Cost")]
    rest = len(ordered) - MOST_ROWS
    more = el("p", f"and {rest:,} more", class_="none") if rest > 0 else None
    table = el("table", el("thead", el("tr", *heads)), el("tbody", *rows))
    return el("div", el("h3", title), el("div", table, class_="wide"), more)
