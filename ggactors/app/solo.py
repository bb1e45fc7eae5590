"""The crew of solo work (G4): one agent, no board, in the workspace itself (B12). Law: a document checked like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ggactors.hooks.verify import VERIFY_COMPLETION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SOLO = "solo"
ASKED = ("shell", "write_file", "edit_file")
"""What an interactive agent asks for, unless its person said yes to everything beforehand."""
_INSTRUCTIONS = (
    "You work alone and directly in the operator's directory; there is no copy of it. Look before you change anything, keep to the "
    "task, and check what you did by running it. Use the task list for work of more than a few steps."
)


def solo_document(
    model: str, *, models: Mapping[str, Any] | None = None, verified: bool = False, asks: Sequence[str] = ()
) -> dict[str, Any]:
    """Write the document of one agent on ``model``, a key of ``models`` or ``provider/name``.

    ``verified`` binds the check of completion to its endings (G5); ``asks`` are tools a person has to approve, for as long as it
    takes.
    """
    hooks = [{"event": "agent-stop", "action": {"type": "built-in", "script": VERIFY_COMPLETION}}] if verified else []
    agent = {
        "id": SOLO,
        "name": "Solo",
        "root": True,
        "model": model,
        "instructions": _INSTRUCTIONS,
        "capabilities": [{"id": "files"}, {"id": "shell"}, {"id": "tasks"}, {"id": "compaction"}],
        "hooks": hooks,
        "ask": list(asks),
        "askSecs": None,
    }
    return {"name": SOLO, "models": dict(models or {}), "agents": [agent]}
