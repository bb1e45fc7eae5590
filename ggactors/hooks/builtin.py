"""The checks that ggactors brings along. Law: pure, and quick: they look at what they are told and at nothing else.

``trace`` is no check: it says what it is told (``trace_line``) and lets everything pass.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ggactors.hooks.destructive import destructive
from ggactors.protocol.hooks import Blocked, NoVerdict, Passed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.protocol.hooks import Finding, Payload

_SHOWN = 200
_COMMON = ("event", "agentId", "session_id", "cwd", "hook_event_name", "stop_hook_active")


def check(script: str, payload: Payload, roots: Sequence[str]) -> Finding:
    """Ask a check about an event. ``roots`` are the spellings of the agent's root."""
    match script:
        case "refuse-empty-write":
            return _empty_write(payload)
        case "guard-destructive-shell":
            said = destructive(str(payload.get("command", "")), roots)
            return Passed() if said is None else Blocked(reason=f"{said}. If it is needed, say so in your summary.")
        case _:
            return NoVerdict(cause="it is not in this version")


def _empty_write(payload: Payload) -> Finding:
    contents = payload.get("contents")
    if not isinstance(contents, str) or contents.strip():
        return Passed()
    return Blocked(
        reason=f"{payload.get('path')} would be empty. Send its whole contents, or remove the file if it is to go."
    )


def trace_line(payload: Payload) -> str:
    """Say an event in one line, long texts shortened."""
    told = {key: _short(value) for key, value in payload.items() if key not in _COMMON and value is not None}
    return f"{payload['event']} {json.dumps(told, default=str)}"


def _short(value: Any) -> Any:
    match value:
        case str() if len(value) > _SHOWN:
            return f"{value[:_SHOWN]}… ({len(value)} characters)"
        case dict():
            return {key: _short(item) for key, item in value.items()}
        case _:
            return value
