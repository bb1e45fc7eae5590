"""Whose hooks are run, and how that is told: the fields of the JSON on their input, the variables of their environment.

Law: a field or a variable is never renamed; one that does not apply is null, or not set.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ggactors.rules.document import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.protocol.agent import AgentOrder
    from ggactors.protocol.hooks import HookSpec, Payload


@frozen(kw_only=True)
class Subject:
    """An agent, or (``agent`` None) the session itself. ``folder`` is where its hooks run; ``session`` is the run's id."""

    session: str
    folder: str
    agent: str | None = None
    profile: str | None = None
    kind: str | None = None
    issue: str | None = None
    branch: str | None = None

    @classmethod
    def of_agent(cls, order: AgentOrder, session: str) -> Subject:
        """Describe the agent made from an order."""
        return cls(
            session=session,
            folder=order.workdir,
            agent=order.id,
            profile=order.profile,
            kind=order.kind.value,
            issue=order.issue,
            branch=order.branch,
        )

    def payload(self, event: str, more: Mapping[str, Any], *, blocks: int) -> Payload:
        """Compose what a hook is told. ``blocks`` is how often the agent's ending was blocked so far (H34, H35)."""
        return {
            "event": event,
            "agentId": self.agent,
            "profile": self.profile,
            "kind": self.kind,
            "issue": self.issue,
            "worktree": None if self.branch is None else {"branch": self.branch, "path": self.folder},
            **more,
            "blocks": blocks,
            "session_id": self.session,
            "cwd": self.folder,
            "hook_event_name": event,
            "stop_hook_active": blocks > 0,
        }

    def variables(self, hook: HookSpec, crew_folder: str) -> dict[str, str]:
        """Compose the variables a hook's process gets beside its agent's environment."""
        told = {
            "GGACTORS_RUN": self.session,
            "GGACTORS_EVENT": hook.event,
            "GGACTORS_HOOK": hook.name,
            "GGACTORS_AGENT": self.agent,
            "GGACTORS_PROFILE": self.profile,
            "GGACTORS_KIND": self.kind,
            "GGACTORS_ISSUE": self.issue,
            "GGACTORS_BRANCH": self.branch,
            "GGACTORS_ROOT": self.folder,
            "GGACTORS_CREW_DIR": crew_folder,
        }
        return {name: value.replace("\0", "") for name, value in told.items() if value is not None}


def as_json(payload: Payload) -> bytes:
    """Write a payload as one line of JSON in ASCII. Never fails, whatever a model sent as arguments."""
    try:
        text = json.dumps(payload, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        text = json.dumps(plain(payload).value)
    return text.encode("ascii") + b"\n"
