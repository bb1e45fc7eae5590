"""A roster as a model is told of it. Law: it reads the same wherever a tool takes the id of a profile (A1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ggactors.protocol.crew import Crew, RosterEntry


def ids(entries: tuple[RosterEntry, ...]) -> tuple[str, ...]:
    """List the profiles of some roster entries, each once, in document order."""
    return tuple(dict.fromkeys(entry.agent for entry in entries))


def listed(entries: tuple[RosterEntry, ...], crew: Crew) -> str:
    """Tell entries one a line: id, name and the caller's description of it."""
    return "\n".join(f"- {_line(entry, crew)}" for entry in entries) or "- none"


def _line(entry: RosterEntry, crew: Crew) -> str:
    profile = crew.profile(entry.agent)
    name = f" ({profile.name})" if profile is not None and profile.name != entry.agent else ""
    return f"{entry.agent}{name}{': ' + entry.description if entry.description else ''}"
