"""A run as one HTML page that needs nothing else: no network, no other file, no script to be read (T2).

Law: pure but for the page's own style and script, which are read from the package. The page's policy allows exactly these two, by
their hashes, and nothing from anywhere; whatever came from outside is text.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.values import IssueState
from ggactors.telemetry.plaintext import one_line
from ggactors.telemetry.render import counted
from ggactors.telemetry.reportboard import NOT_CONVERGING, bar, project_part, sent_back
from ggactors.telemetry.reporthtml import Markup, chip, el, join, length, link, money, number, short
from ggactors.telemetry.reporttime import spend_part, timeline_part
from ggactors.telemetry.reporttree import agents_part
from ggactors.telemetry.story import breach_text, landing_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ggactors.telemetry.folds import RunView
    from ggactors.telemetry.reportboard import FileStat
    from ggactors.telemetry.reportfold import ReportFold

PARTS = (("agents", "Agents"), ("project", "Project"), ("timeline", "Timeline"), ("spend", "Spend"), ("log", "Log"))
MOST_TOLD = 30


@frozen
class Asset:
    """A piece of the page that its policy allows by hash."""

    text: str

    @property
    def source(self) -> str:
        """Name it as a policy does."""
        return f"'sha256-{base64.b64encode(hashlib.sha256(self.text.encode()).digest()).decode()}'"


def report_page(fold: ReportFold, diffs: Mapping[str, Sequence[FileStat]] | None = None) -> str:
    """Write the page. ``diffs`` says for an issue what its merge changed, where that is known."""
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src {style.source}; script-src {script.source}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = f"{one_line(fold.view.crew) or 'run'} · {one_line(fold.view.run)}"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("link", rel="icon", href="data:,"),
        el("style", Markup(style.text)),
    )
    body = el(
        "body",
        _header(fold),
        _navigation(fold),
        el(
            "main",
            _attention(fold),
            agents_part(fold),
            project_part(fold, diffs or {}),
            timeline_part(fold),
            spend_part(fold),
            _log(fold.view),
        ),
        el("footer", f"Written by ggactors {one_line(fold.view.version)} from the run's events."),
        el("script", Markup(script.text)),
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en').text}\n"


def _asset(name: str) -> Asset:
    return Asset((files("ggactors.telemetry") / "page" / name).read_text(encoding="utf-8"))


def _header(fold: ReportFold) -> Markup:
    view = fold.view
    status = view.summary.status if view.summary is not None else view.status or "not ended"
    look = status if status in ("completed", "canceled") else "bad" if view.ended else "running"
    states = Counter(str(issue.state) for issue in view.issues.values())
    issues = ", ".join(f"{states[state]} {state.replace('_', ' ')}" for state in IssueState if states[state])
    cells: list[tuple[str, Markup | str | None]] = [
        ("Duration", length(fold.now)),
        ("Cost", money(view.spend.cost)),
        ("Tokens", short(view.spend.tokens)),
        ("Agents", f"{len(view.agents_by_id):,}, at most {view.most_running} at once"),
        ("Turns", number(sum(agent.turns for agent in view.agents_by_id.values()))),
        ("Issues", issues or None),
        ("Begun", _local(view.started)),
    ]
    tiles = [el("div", el("dt", name), el("dd", value)) for name, value in cells if value is not None]
    said = view.summary.summary.strip() if view.summary is not None else ""
    return el(
        "header",
        el("p", el("code", one_line(view.run)), " in ", el("code", one_line(view.workspace)), class_="where"),
        el("h1", one_line(view.crew) or "run", " ", chip(look, status.replace("_", " "))),
        el("p", said, class_="said") if said else None,
        el("dl", *tiles, class_="tiles"),
        None if view.landing is None else el("p", landing_text(view.landing), class_="landed"),
        bar(list(view.issues.values())),
    )


def _local(stamp: str) -> str | None:
    try:
        return datetime.fromisoformat(stamp).strftime("%Y-%m-%d %H:%M:%S UTC")
    except ValueError:
        return None


def _navigation(fold: ReportFold) -> Markup:
    parts = PARTS if fold.view.logs else PARTS[:-1]
    links = [el("a", el("kbd", number(at)), name, href=f"#{part}") for at, (part, name) in enumerate(parts, 1)]
    # Made visible by the script: without it they could do nothing.
    tools = el(
        "span",
        el("input", type="search", id="find", placeholder="Filter  ( / )", aria_label="Filter agents and issues"),
        el("button", "Open all", type="button", id="open", title="e: open all, c: close all"),
        el("button", "Theme", type="button", id="theme", title="t: light or dark"),
        class_="tools",
        hidden=True,
    )
    hint = el(
        "p",
        "Keys: / filter, j and k next and previous, Enter open, e and c open and close all, digits parts, t theme",
        class_="keys",
        hidden=True,
    )
    return el("nav", *links, tools, hint, aria_label="Parts of the report")


def _attention(fold: ReportFold) -> Markup | None:
    """Say first what needs a person: what failed, stalls, ceilings, loops that do not converge, a held landing."""
    view = fold.view
    lines: list[Markup] = [
        join([chip("warn", asked.kind), " ", link("a", asked.agent or "?"), f" asks: {one_line(asked.title)}"])
        for asked in fold.asked.values()
    ]
    for issue in view.issues.values():
        if issue.state is IssueState.FAILED:
            lines.append(
                join([chip("failed"), " ", link("i", issue.id), f" {one_line(issue.reason or 'no reason given')}"])
            )
        rounds = sent_back(issue)
        if rounds >= NOT_CONVERGING and not issue.state.terminal:
            lines.append(join([chip("warn", "loop"), " ", link("i", issue.id), f" was sent back {rounds} times"]))
    lines += [
        join([chip("stalled"), " ", link("i", stalled), " stands behind ", link("i", blocker), ", which failed"])
        for stalled, blocker in view.stalls().items()
    ]
    for limit in view.limits:
        who = join([link("a", limit.agent), " "]) if limit.agent else None
        lines.append(
            join(
                [
                    chip("bad", "ceiling"),
                    " ",
                    who,
                    breach_text(limit),
                ]
            )
        )
    if view.landing is not None and view.landing.reason is not None:
        lines.append(join([chip("warn", "held"), f" the work was not landed: {landing_text(view.landing)}"]))
    if not lines:
        return None
    rest = len(lines) - MOST_TOLD
    shown = [el("li", line) for line in lines[:MOST_TOLD]]
    if rest > 0:
        shown.append(el("li", f"and {counted(rest, 'more line')}"))
    return el("section", el("h2", "Needs attention", el("small", number(len(lines)))), el("ul", *shown), id="attention")


def _log(view: RunView) -> Markup | None:
    if not view.logs:
        return None
    rows = [
        el(
            "li",
            el("time", log.time[11:19]),
            " ",
            chip(_LEVELS.get(log.level, "other"), log.level),
            " ",
            one_line(log.message),
        )
        for log in view.logs
    ]
    return el("section", el("h2", "Log", el("small", "its last lines")), el("ol", *rows, class_="log"), id="log")


_LEVELS = {"warning": "warn", "error": "bad"}
