"""Profiles, crews and calls for the tests of the toolbox."""

from __future__ import annotations

from typing import Any

from ggactors.protocol.crew import BoardGrant, Crew, ModelSpec, Profile, RosterEntry
from ggactors.protocol.model import ToolCall
from ggactors.protocol.values import Scope

MODEL = ModelSpec(key="m", provider="script", name="x.json")


def profile(**changes: Any) -> Profile:
    """Make a profile that has files and a shell and everything of the board."""
    roster = (
        RosterEntry(agent="coder", scopes=(Scope.IMPLEMENTER, Scope.SUBAGENT), description="writes code"),
        RosterEntry(agent="tester", scopes=(Scope.IMPLEMENTER,)),
        RosterEntry(agent="critic", scopes=(Scope.REVIEWER,), description="reviews"),
        RosterEntry(agent="scout", scopes=(Scope.SUBAGENT,), description="looks around"),
    )
    values: dict[str, Any] = {
        "id": "lead",
        "name": "Lead",
        "model": MODEL,
        "root": True,
        "capabilities": ("files", "shell", "project-management"),
        "board": BoardGrant(),
        "roster": roster,
    }
    return Profile(**(values | changes))


def crew(lead: Profile) -> Crew:
    """Make a crew of that lead and the profiles on its roster."""
    others = tuple(Profile(id=one, name=one.title(), model=MODEL) for one in ("coder", "tester", "critic", "scout"))
    return Crew(name="c", profiles=(lead, *others))


def call(tool: str, **args: Any) -> ToolCall:
    """Make a call."""
    return ToolCall(id="call-1", tool=tool, args=args)
