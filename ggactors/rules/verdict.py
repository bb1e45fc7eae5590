"""What a run came to: its status and exit code (reference/cli.md). Law: pure; read off statuses and states, never off prose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.values import IssueState, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

_FAILED = frozenset({Status.MODEL_ERROR, Status.AUTH_ERROR, Status.HOOK_ERROR, Status.INTERNAL_ERROR})
_NAMED = 4
"""How many agents are named of those that a stop waits for."""
_CEILING = frozenset({Status.EXHAUSTED, Status.TIMED_OUT, Status.LIMIT_EXCEEDED, Status.STUCK})


def run_status(root: Status, stopped: Status | None) -> Status:
    """Give the run's status: what stopped the whole run, else how its root ended."""
    return root if stopped is None else stopped


def exit_code(status: Status, issues: Mapping[str, IssueState], *, verified: bool | None = None) -> int:
    """Give the exit code of a run: 0, 1, 3, 4 or 130 (docs/reference/cli.md)."""
    if status is Status.CANCELED:
        return 130
    if status in _FAILED:
        return 1
    if status in _CEILING:
        return 3
    unfinished = any(state is not IssueState.DONE for state in issues.values())
    return 4 if unfinished or verified is False else 0


def is_run_wide(limit: str) -> bool:
    """Tell whether a ceiling is the run's rather than one agent's (C2)."""
    return limit in ("maxRuntimeSecs", "maxCost", "maxTokens")


def stop_waits(awaited: Mapping[str, str]) -> str:
    """Say what a stop waits for: by agent, the model that is answering it right now. Nothing is cut mid-turn (C2)."""
    models: dict[str, list[str]] = {}
    for agent, model in sorted(awaited.items()):
        models.setdefault(model, []).append(agent)
    said = "; ".join(
        f"{model}'s reply to {', '.join(agents[:_NAMED])}"
        + (f" and {len(agents) - _NAMED} more agents" if len(agents) > _NAMED else "")
        for model, agents in models.items()
    )
    return f"stopping, and waiting for {said}. Pressing Ctrl-C twice where the run lives stops it at once."
