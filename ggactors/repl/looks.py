"""How the prompt looks: themes, by the sixteen colours that a terminal's own theme defines. Law: pure."""

from __future__ import annotations

from prompt_toolkit.styles import Style

_BARS = {
    "dark": {
        "bar": "bg:ansibrightblack ansiwhite",
        "strong": "bold",
        "good": "ansibrightgreen",
        "warn": "ansibrightyellow bold",
    },
    "light": {"bar": "bg:ansiwhite ansiblack", "strong": "bold", "good": "ansigreen", "warn": "ansired bold"},
    "plain": {"bar": "reverse", "strong": "bold", "good": "", "warn": "bold"},
}
THEMES = tuple(_BARS)


def style_of(theme: str) -> Style:
    """Give the style of a theme."""
    bar = _BARS[theme]
    coloured = theme != "plain"
    return Style.from_dict(
        {
            "bottom-toolbar": f"noreverse {bar['bar']}",
            "bar.strong": bar["strong"],
            "bar.good": bar["good"],
            "bar.warn": bar["warn"],
            "mark": "ansicyan bold" if coloured else "bold",
            "more": "ansibrightblack" if coloured else "",
            "completion-menu.completion": bar["bar"] if coloured else "noreverse",
            "completion-menu.completion.current": "reverse",
            "completion-menu.meta.completion": bar["bar"] if coloured else "noreverse",
            "completion-menu.meta.completion.current": "reverse",
        }
    )
