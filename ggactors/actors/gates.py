"""An agent's hooks as its loop asks for them, and the hooks of an agent that has none (contract section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ggactors.protocol.hooks import HookOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.protocol.model import ToolCall

_NOTHING = HookOutcome()


class NoHooks:
    """Obeys ``ports.Hooks`` and has nothing bound to anything."""

    def listens(self, *events: str) -> bool:  # noqa: ARG002
        """Tell that nothing listens."""
        return False

    async def fire(self, event: str, payload: Mapping[str, Any] | None = None) -> HookOutcome:  # noqa: ARG002
        """Let everything pass."""
        return _NOTHING

    def take_completion(self) -> str | None:
        """Have nothing to end the session with."""
        return None


def ending_call(call: ToolCall | None) -> dict[str, Any]:
    """Tell hooks of ``agent-stop`` which ending was declared; null when a hook object ended the session."""
    return {"call": None if call is None else {"tool": call.tool, "args": call.args}}
