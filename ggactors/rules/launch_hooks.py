"""Launch checks of hooks: their shape whole, then the word that this version has none. Law: nothing is looked up or run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.rules.shape import Place, Table, number, one_of, shown, suggestion, text, words

if TYPE_CHECKING:
    from collections.abc import Callable

RUN_EVENTS = ("session-start", "session-end")
AGENT_EVENTS = (
    "agent-start",
    "agent-stop",
    "pre-write",
    "post-write",
    "pre-shell",
    "post-shell",
    "pre-compact",
    "post-compact",
)
BUILT_INS = ("verify-completion", "refuse-empty-write", "guard-destructive-shell", "trace")
KINDS = ("command", "script", "built-in")


def read_hooks(place: Place, *, run_level: bool) -> None:
    """Check a list of hooks: run-level ones know the session's events, an agent's the eight others."""
    if not isinstance(place.value, list):
        place.wrong(f"must be a list of hooks, is {shown(place.value)}", "write a list in [ ]")
        return
    for index in range(len(place.value)):
        _read_hook(place.at(index), run_level=run_level)


def _read_hook(place: Place, *, run_level: bool) -> None:
    table = Table(place, ("event", "name", "action"))
    if not table.opened:
        return
    table.need("event", _event(run_level=run_level), "name the event")
    table.read("name", words)
    table.need("action", _action, f'write {{"type": …}}, of type {", ".join(KINDS)}')
    event = table.values.get("event")
    named = f"hook on {event!r}" if event in RUN_EVENTS + AGENT_EVENTS else "a hook"
    place.wrong(f"{named} is not in this version", "remove it")


def _event(*, run_level: bool) -> Callable[[Place], str | None]:
    known, others = (RUN_EVENTS, AGENT_EVENTS) if run_level else (AGENT_EVENTS, RUN_EVENTS)

    def read(place: Place) -> str | None:
        value = text(place)
        if value is None or value in known:
            return value
        if value in others:
            home = "an agent's hooks" if run_level else "the hooks of the whole crew"
            place.wrong(f"{value!r} is not an event of this level", f"move it to {home}")
        else:
            place.wrong(f"unknown event: {shown(value)}", suggestion(value, known + others, "events"))
        return None

    return read


def _action(place: Place) -> bool:
    keys = {"command": ("command",), "script": ("source", "file"), "built-in": ("script",)}
    kind = place.value.get("type") if isinstance(place.value, dict) else None
    own = keys.get(kind, ("command", "source", "file", "script")) if isinstance(kind, str) else ()
    table = Table(place, ("type", "timeoutSecs", *own))
    table.need("type", one_of(KINDS, "types"), f"known types: {', '.join(KINDS)}")
    table.read("timeoutSecs", number(above=0))
    match kind:
        case "command":
            table.need("command", words, "write the command line")
        case "script":
            for key in table.only(own):
                table.read(key, words)
            if table.opened and len(table.only(own)) != 1:
                place.wrong("a script has either a source or a file", "write exactly one of source and file")
        case "built-in":
            table.need("script", one_of(BUILT_INS, "built-ins"), f"known built-ins: {', '.join(BUILT_INS)}")
        case _:
            pass  # the type is reported
    return True
