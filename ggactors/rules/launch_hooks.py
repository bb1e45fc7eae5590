"""Launch checks of hooks, and the hooks they read. Law: nothing is looked up or run; files are pinned by whoever may read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ggactors.protocol.hooks import (
    AGENT_EVENTS,
    BUILT_IN_EVENTS,
    BUILT_INS,
    HOOK_SECS,
    RUN_EVENTS,
    BuiltInAction,
    CommandAction,
    HookSpec,
    ScriptAction,
)
from ggactors.rules.shape import Place, Table, number, one_of, shown, suggestion, text, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.protocol.hooks import HookAction

KINDS = ("command", "script", "built-in")
_LONGEST_NAME = 60


def read_hooks(place: Place, *, run_level: bool) -> tuple[HookSpec, ...]:
    """Read a list of hooks: run-level ones know the session's events, an agent's the eight others. Wrong ones are left out."""
    if not isinstance(place.value, list):
        place.wrong(f"must be a list of hooks, is {shown(place.value)}", "write a list in [ ]")
        return ()
    read = [_read_hook(place.at(index), run_level=run_level) for index in range(len(place.value))]
    return tuple(hook for hook in read if hook is not None)


def _read_hook(place: Place, *, run_level: bool) -> HookSpec | None:
    table = Table(place, ("event", "name", "action"))
    if not table.opened:
        return None
    event = table.need("event", _event(run_level=run_level), "name the event")
    name = table.read("name", words)
    action = _read_action(table)
    if isinstance(action, BuiltInAction):
        _check_built_in(table.at("action").at("script"), action.script, event)
    if event is None or action is None:
        return None
    return HookSpec(event=event, name=name or _named_after(action), action=action, path=place.path)


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


def _read_action(hook: Table) -> HookAction | None:
    place = hook.at("action")
    if "action" not in hook:
        place.wrong("is missing", f'write {{"type": …}}, of type {", ".join(KINDS)}')
        return None
    keys = {"command": ("command",), "script": ("source", "file"), "built-in": ("script",)}
    kind = place.value.get("type") if isinstance(place.value, dict) else None
    own = keys.get(kind, ("command", "source", "file", "script")) if isinstance(kind, str) else ()
    table = Table(place, ("type", "timeoutSecs", *own))
    table.need("type", one_of(KINDS, "types"), f"known types: {', '.join(KINDS)}")
    secs = table.read("timeoutSecs", number(above=0)) or HOOK_SECS
    match kind:
        case "command":
            command = table.need("command", words, "write the command line")
            return None if command is None else CommandAction(command=command, timeout_secs=secs)
        case "script":
            return _script(table, secs)
        case "built-in":
            script = table.need("script", one_of(BUILT_INS, "built-ins"), f"known built-ins: {', '.join(BUILT_INS)}")
            return None if script is None else BuiltInAction(script=script)
        case _:
            return None  # the type is reported


def _script(table: Table, secs: float) -> ScriptAction | None:
    source, file = table.read("source", words), table.read("file", _inside)
    if len(table.only(("source", "file"))) != 1:
        table.place.wrong("a script has either a source or a file", "write exactly one of source and file")
        return None
    return None if source is None and file is None else ScriptAction(source=source, file=file, timeout_secs=secs)


def _inside(place: Place) -> str | None:
    """Read the name of a file that lies in the crew's folder (G2)."""
    file = words(place)
    if file is None:
        return None
    if file.startswith("/") or ".." in file.split("/") or "\0" in file:
        place.wrong(f"is not in the crew's folder: {shown(file)}", "write a path relative to the crew, without '..'")
        return None
    return file


def _check_built_in(place: Place, script: str, event: str | None) -> None:
    """Refuse a built-in that would never have anything to say at its event."""
    only = BUILT_IN_EVENTS.get(script)
    if event is not None and only not in (None, event):
        place.wrong(f"{script!r} has nothing to do at {event!r}", f"bind it to {only!r}")


def _named_after(action: HookAction) -> str:
    """Name a hook that has no name after what it runs, in one short line."""
    match action:
        case CommandAction(command=command):
            named = " ".join(command.split())
        case ScriptAction(file=file):
            named = file or "script"
        case BuiltInAction(script=script):
            named = script
        case _ as never:
            assert_never(never)
    return named if len(named) <= _LONGEST_NAME else f"{named[: _LONGEST_NAME - 1]}…"
