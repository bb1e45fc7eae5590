"""HTML, written so that nothing from outside can become markup.

Law: every text is escaped where an element is made; only what was made here is markup. Pure.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.telemetry.plaintext import one_line, safe

if TYPE_CHECKING:
    from collections.abc import Iterable

_VOID = frozenset({"meta", "link", "br", "input"})
_DRAWN = frozenset({"rect", "line", "polyline"})
"""Elements of SVG, which close themselves where they hold nothing."""
_WORDS = {"class_": "class", "for_": "for"}


@frozen
class Markup:
    """Text that is markup already."""

    text: str


def el(tag: str, *children: Markup | str | int | None, **attributes: str | int | bool | None) -> Markup:
    """Make an element. Texts are made safe and escaped; an attribute that is None or False is left out, True stands alone."""
    told = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        spelled = _WORDS.get(name, name.replace("_", "-"))
        told.append(f" {spelled}" if value is True else f' {spelled}="{escape(one_line(str(value)), quote=True)}"')
    opened = f"<{tag}{''.join(told)}"
    if tag in _VOID:
        return Markup(f"{opened}>")
    if tag in _DRAWN and not children:
        return Markup(f"{opened}/>")
    return Markup(f"{opened}>{join(children).text}</{tag}>")


def join(parts: Iterable[Markup | str | int | None]) -> Markup:
    """Join parts; texts among them are made safe and escaped."""
    return Markup("".join(_piece(part) for part in parts if part is not None))


def _piece(part: Markup | str | int) -> str:
    return part.text if isinstance(part, Markup) else escape(safe(str(part)), quote=False)


def chip(state: str, label: str | None = None) -> Markup:
    """Show a state as a word on a coloured ground; the colour is never all there is."""
    known = state if state in STATES else "other"
    return el("span", label if label is not None else state.replace("_", " "), class_=f"chip s-{known}")


STATES = frozenset(
    {
        *("open", "in_progress", "in_review", "done", "failed", "stalled", "bad", "warn"),
        *("queued", "running", "waiting", "ended", "completed", "interrupted", "canceled"),
    }
)


def anchor(kind: str, name: str) -> str:
    """Give the id of an agent's or issue's element: letters that no fragment may hold are spelled by number."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else f"_{ord(c):x}_" for c in name)
    return f"{kind}-{plain}"


def link(kind: str, name: str) -> Markup:
    """Link to an agent or an issue of the page."""
    return el("a", one_line(name), href=f"#{anchor(kind, name)}")


def number(value: float) -> str:
    """Write a count with thousands apart."""
    return f"{value:,}"


def short(value: int) -> str:
    """Write a count in few characters: 1,234 is 1.2k."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")):
        if value >= size:
            return f"{value / size:.1f}{letter}".replace(".0", "")
    return str(value)


def money(cost: float | None) -> str:
    """Write a cost; a dash where no call had a price."""
    return "\N{EN DASH}" if cost is None else f"{cost:,.2f}" if cost >= 1 else f"{cost:.4g}"


def length(seconds: float) -> str:
    """Write a duration in at most two units."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
