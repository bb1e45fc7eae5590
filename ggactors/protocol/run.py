"""The run's page: the letters that reach the run, the scheduler and the merger, and the facts of a run."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from ggactors.protocol.values import Kind, Status  # noqa: TC001 - cattrs needs them at run time


@frozen(kw_only=True)
class Nudge:
    """The board changed. Carries nothing: the truth is asked for."""


@frozen(kw_only=True)
class AgentGone:
    """An agent came to its end. ``turns`` and ``errors`` are its totals; ``limit`` is set when a ceiling stopped it."""

    agent: str
    kind: Kind
    status: Status
    summary: str
    turns: int
    errors: int
    limit: dict[str, Any] | None = None
    verified: bool | None = None


@frozen(kw_only=True)
class MergeAgentGone:
    """The agent that was to finish a conflicted merge came to its end, whatever the end was. ``broke_down``: by our defect.

    ``unverified``: its check of completion was given up on (G5).
    """

    agent: str
    broke_down: bool = False
    unverified: bool = False


@frozen(kw_only=True)
class StopRun:
    """Wind the run down at its agents' turn boundaries, for this status (cancelled, a run-wide ceiling, a defect)."""

    status: Status
    reason: str = ""


RunLetter = Nudge | AgentGone | StopRun
SchedulerLetter = Nudge
MergerLetter = Nudge | MergeAgentGone


@frozen(kw_only=True)
class RunOpened:
    """A segment of the run began: what it was launched with."""

    run: str
    workspace: str
    task: str
    version: str
    options: dict[str, Any] = field(factory=dict)


@frozen(kw_only=True)
class RunClosed:
    """A segment of the run ended."""

    status: Status
    exit_code: int


RunFact = RunOpened | RunClosed


@frozen(kw_only=True)
class Outcome:
    """What a run came to; the fields of the ``session_summary`` event."""

    status: Status
    exit_code: int
    summary: str
    verified: bool | None
    turns: int
    errors: int
    usage: dict[str, int]
    cost: float | None
    limit_hit: dict[str, Any] | None
    issues: dict[str, str]
    stalled: tuple[dict[str, Any], ...]
    agents: int
    landed: dict[str, Any] | None
    run: str = ""
    folder: str = ""
    cost_per_done: float | None = None
    """What the run cost for each issue that is done; None without a price or without such an issue."""
    tokens_per_done: float | None = None
