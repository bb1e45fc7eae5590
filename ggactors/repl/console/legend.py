"""What the keys of the console do, in words. Law: says what ``keys`` binds."""

from __future__ import annotations

from ggactors.telemetry.plaintext import Look

KEYS = (
    ("tab  1  2", "the other tab; Agents; Project"),
    ("j k  arrows", "move; page keys, ^D and ^U by pages; g and G to the ends"),
    ("enter  l", "read the detail; on an epic: put its issues away, or show them"),
    ("esc  h", "back to the list; then: drop the filter"),
    ("n  p", "the next row, the one before, while the detail is read"),
    ("/", "filter by any word: an id, a profile, a state, a title"),
    ("a", "all, or only what is not over yet"),
    ("f", "follow: keep the end of a transcript in sight"),
    ("d", "the diff of an issue, as it is now"),
    ("!", "what waits for you"),
    ("q  ^C", "leave"),
)


def help_lines() -> list[str]:
    """Word the help, painted."""
    look = Look(colour=True)
    lines = [
        "",
        f" {look.paint('The console', 'bold')} shows a run and changes nothing of it. Leave it, and the run goes on.",
        "",
    ]
    lines += [f"   {look.paint(f'{keys:<12}', 'cyan')}  {what}" for keys, what in KEYS]
    return [*lines, "", " The mouse chooses rows and tabs, its wheel scrolls what it is over."]
