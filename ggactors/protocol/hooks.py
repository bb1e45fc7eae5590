"""The hooks' page (docs/reference/hooks.md): the events of a run they are bound to, what they do, what they come to.

Law: values as checked. What a hook may bring about is decided by its event alone: three can block, some take no message.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

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
OBJECT_EVENTS = ("before-generation", "after-turn")
"""Events that only hook objects of the embedding program hear."""
BLOCKING = frozenset({"agent-stop", "pre-write", "pre-shell"})
"""Events whose hooks can block what is about to happen; there, no verdict is a block (G2)."""
STARTING = frozenset({"session-start", "agent-start"})
"""Events whose hooks have to run: one that could not be run ends the session with ``hook_error`` (C4)."""
SILENT = frozenset({"session-end", "pre-compact"})
"""Events after which no model reads anything: a message goes to the operator instead."""

BUILT_INS = ("verify-completion", "refuse-empty-write", "guard-destructive-shell", "trace")
BUILT_IN_EVENTS = {
    "verify-completion": "agent-stop",
    "refuse-empty-write": "pre-write",
    "guard-destructive-shell": "pre-shell",
}
"""The one event each of these is for; ``trace`` is for any."""
HOOK_SECS = 60.0
"""Seconds a hook's process may take where the crew sets none."""


@frozen(kw_only=True)
class CommandAction:
    """One line for ``/bin/sh -c`` in the agent's root. Its exit status is its verdict."""

    command: str
    timeout_secs: float = HOOK_SECS


@frozen(kw_only=True)
class ScriptAction:
    """A program that prints its decision: either its whole ``source``, or a ``file`` of the crew's folder."""

    source: str | None = None
    file: str | None = None
    timeout_secs: float = HOOK_SECS


@frozen(kw_only=True)
class BuiltInAction:
    """A check that ggactors brings along: one of ``BUILT_INS``."""

    script: str


HookAction = CommandAction | ScriptAction | BuiltInAction


@frozen(kw_only=True)
class HookSpec:
    """A hook as the crew declares it. ``path`` is where in the document it stands."""

    event: str
    name: str
    action: HookAction
    path: str = ""


@frozen(kw_only=True)
class HookVerdict:
    """What one hook came to: ``passed``, ``blocked``, ``message`` or ``failed``.

    ``reason`` says why it blocked or failed, or is its message; ``exit_code`` is None where no process ended by itself.
    """

    outcome: str
    reason: str | None = None
    exit_code: int | None = None
    duration_ms: int = 0


@frozen(kw_only=True)
class HookOutcome:
    """What all hooks of one event came to.

    ``blocked`` is the reason of the first that blocked; ``messages`` are for the model, also when a later hook blocked;
    ``failed`` says why the session cannot go on: a starting hook that could not be run (C4).
    ``verified`` is None unless a check of completion is bound; False when it was given up on, and ``unverified`` says so (G5).
    """

    blocked: str | None = None
    messages: tuple[str, ...] = ()
    failed: str | None = None
    verified: bool | None = None
    unverified: str | None = None


# ---------------------------------------------------------------- findings: what one hook answered, before its event is asked


@frozen(kw_only=True)
class Passed:
    """Nothing stands in the way."""


@frozen(kw_only=True)
class Told:
    """Nothing stands in the way, and there is something to say."""

    text: str


@frozen(kw_only=True)
class Blocked:
    """What is about to happen must not."""

    reason: str


@frozen(kw_only=True)
class NoVerdict:
    """There is no answer, and that is never a pass (G2). ``cause`` says why."""

    cause: str


@frozen(kw_only=True)
class GaveUp:
    """A check of completion failed as often as it may: nothing stands in the way any more, and the work is unverified (G5)."""

    reason: str


Finding = Passed | Told | Blocked | NoVerdict | GaveUp

Payload = dict[str, Any]
"""What a hook is told of the event, as plain values."""
