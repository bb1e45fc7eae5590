"""The event stream (reference/events.md): one frozen record per type, the fields always all there, None where they do not apply.

Law: kept names. Adding a field is fine, renaming one is a breaking change. In JSON the field names are camelCase and the
record is flat; ``telemetry.jsonl`` does that. ``seq``, ``time`` and ``run`` are stamped by the event bus.
"""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import frozen


@frozen(kw_only=True)
class Header:
    """What every event carries: ``seq`` from 1 without a gap, RFC 3339 ``time``, the run, the emitting agent or None."""

    type: ClassVar[str] = ""

    agent: str | None = None
    seq: int = 0
    time: str = ""
    run: str = ""


@frozen(kw_only=True)
class SessionStarted(Header):
    """A process began to drive the run."""

    type: ClassVar[str] = "session_started"

    crew: str
    workspace: str
    version: str
    resumed: bool


@frozen(kw_only=True)
class AgentSpawned(Header):
    """An agent was made. ``tools`` are the names offered to its model, endings included."""

    type: ClassVar[str] = "agent_spawned"

    profile: str
    profile_name: str
    role: str
    kind: str
    parent: str | None = None
    issue: str | None = None
    workdir: str
    branch: str | None = None
    brief: str
    tools: tuple[str, ...]
    operations: tuple[str, ...]


@frozen(kw_only=True)
class AgentState(Header):
    """An agent's state changed. ``waiting_on`` says for what; ``verified`` is None where nothing verifies."""

    type: ClassVar[str] = "agent_state"

    state: str
    waiting_on: str | None = None
    status: str | None = None
    summary: str | None = None
    verified: bool | None = None


@frozen(kw_only=True)
class AssistantMessage(Header):
    """The text of a model's reply."""

    type: ClassVar[str] = "assistant_message"

    text: str


@frozen(kw_only=True)
class ToolCalled(Header):
    """A model called a tool."""

    type: ClassVar[str] = "tool_call"

    call_id: str
    tool: str
    args: dict[str, Any]


@frozen(kw_only=True)
class ToolAnswered(Header):
    """What a call came to: the text the model saw."""

    type: ClassVar[str] = "tool_result"

    call_id: str
    ok: bool
    code: str | None = None
    output: str


@frozen(kw_only=True)
class CodeExecution(Header):
    """A submitted program ended (X1). ``finished``: its ending stands; ``revoked``: its failure took the ending back (E8).

    ``superseded`` counts the endings it declared before the last; ``logs`` are the last lines it printed; ``duration_ms`` is
    its own running time. ``calls`` counts the calls it made, ``untold`` those of them that the stream was not told of.
    """

    type: ClassVar[str] = "code_execution"

    ok: bool
    error: str | None = None
    finished: bool
    revoked: bool
    superseded: int
    logs: tuple[str, ...]
    duration_ms: int
    calls: int = 0
    untold: int = 0


@frozen(kw_only=True)
class TurnOutcome(Header):
    """The one judgement of a turn (C1)."""

    type: ClassVar[str] = "turn_outcome"

    outcome: str
    error_type: str | None = None
    consecutive_errors: int
    turns: int


@frozen(kw_only=True)
class UsageSpent(Header):
    """Tokens and cost of one model call."""

    type: ClassVar[str] = "usage"

    profile: str
    model: str
    input: int
    cached_input: int
    output: int
    reasoning: int
    cost: float | None = None


@frozen(kw_only=True)
class LimitExceeded(Header):
    """A ceiling stopped an agent (C2). ``limit`` is the key in ``limits``."""

    type: ClassVar[str] = "limit_exceeded"

    limit: str
    threshold: float
    observed: float
    turns: int
    window: int | None = None
    budget: str | None = None


@frozen(kw_only=True)
class Hook(Header):
    """A hook was run: ``passed``, ``blocked``, ``message`` or ``failed`` (G2). ``exit_code`` is None where none ended by itself."""

    type: ClassVar[str] = "hook"

    event: str
    name: str
    outcome: str
    reason: str | None = None
    exit_code: int | None = None
    duration_ms: int


@frozen(kw_only=True)
class BoardChanged(Header):
    """The board changed; ``epic`` or ``issue`` is the whole object."""

    type: ClassVar[str] = "board_changed"

    op: str
    epic: dict[str, Any] | None = None
    issue: dict[str, Any] | None = None
    by: str | None = None


@frozen(kw_only=True)
class BoardStalled(Header):
    """An open issue can never be dispatched; ``blocker`` is the failed one (D6)."""

    type: ClassVar[str] = "board_stalled"

    issue: str
    blocker: str


@frozen(kw_only=True)
class IssueReview(Header):
    """A review round ended (R9)."""

    type: ClassVar[str] = "issue_review"

    issue: str
    round: int
    verdict: str
    reviewer: dict[str, Any] | None = None
    approvals: tuple[dict[str, Any], ...]
    items: tuple[str, ...]
    commit: str | None = None
    empty_change: bool
    reason: str | None = None


@frozen(kw_only=True)
class WorktreeMerged(Header):
    """An issue was reconciled, merged or not (W6)."""

    type: ClassVar[str] = "worktree_merged"

    issue: str
    branch: str | None = None
    merged: bool
    commit: str | None = None
    conflicts: tuple[str, ...]
    merge_agent: str | None = None
    one_sided: bool
    empty_change: bool
    reason: str | None = None
    saved_ref: str | None = None


@frozen(kw_only=True)
class CheckoutMoved(Header):
    """The operator's checkout moved, or was held (W10)."""

    type: ClassVar[str] = "checkout_moved"

    source: str
    target: str
    held: tuple[str, ...]
    reason: str | None = None


@frozen(kw_only=True)
class RetryWait(Header):
    """A model's passing fault is waited out."""

    type: ClassVar[str] = "retry_wait"

    model: str
    status: int | None = None
    wait_secs: float
    attempt: int
    reason: str | None = None
    """What was the matter, in a line; None in streams of earlier versions."""


@frozen(kw_only=True)
class Stuck(Header):
    """An agent repeated itself without progress (G6): how often, the likely cause, evidence as quoted to it, nudges so far."""

    type: ClassVar[str] = "stuck"

    repeats: int
    cause: str
    evidence: str
    nudges: int


@frozen(kw_only=True)
class Compacted(Header):
    """An agent's conversation was summed up: its size in tokens before and after, and whether it came to that without a summary."""

    type: ClassVar[str] = "compacted"

    before: int
    after: int
    fallback: bool


@frozen(kw_only=True)
class Message(Header):
    """A text on its way to an agent (``agent``): ``queued``, then ``delivered``, ``withdrawn`` or ``unread`` (H46)."""

    type: ClassVar[str] = "message"

    message: str
    state: str
    sender: str
    queued: bool
    text: str


@frozen(kw_only=True)
class Attention(Header):
    """Something waits for a person, or waits no more (H42). ``agent`` is who asks; ``answer`` and ``note`` are of the answer."""

    type: ClassVar[str] = "attention"

    item: str
    kind: str
    state: str
    issue: str | None = None
    title: str
    detail: str
    options: tuple[str, ...]
    default: str
    deadline_secs: float | None = None
    answer: str | None = None
    note: str | None = None


@frozen(kw_only=True)
class TaskEnded(Header):
    """One task of a session of several came to its end; the session goes on with ``queued`` more, or with its person (G4, G7)."""

    type: ClassVar[str] = "task_ended"

    task: int
    status: str
    summary: str
    verified: bool | None = None
    queued: int


@frozen(kw_only=True)
class Log(Header):
    """A line for the operator."""

    type: ClassVar[str] = "log"

    level: str
    message: str


@frozen(kw_only=True)
class SessionSummary(Header):
    """The account of the run."""

    type: ClassVar[str] = "session_summary"

    status: str
    exit_code: int
    summary: str
    verified: bool | None = None
    turns: int
    errors: int
    usage: dict[str, Any]
    cost: float | None = None
    limit_hit: dict[str, Any] | None = None
    issues: dict[str, str]
    stalled: tuple[dict[str, Any], ...]
    agents: int
    landed: dict[str, Any] | None = None
    cost_per_done: float | None = None
    tokens_per_done: float | None = None


@frozen(kw_only=True)
class SessionEnded(Header):
    """The segment is closed."""

    type: ClassVar[str] = "session_ended"

    status: str


Event = (
    SessionStarted
    | AgentSpawned
    | AgentState
    | AssistantMessage
    | ToolCalled
    | ToolAnswered
    | CodeExecution
    | TurnOutcome
    | UsageSpent
    | LimitExceeded
    | Hook
    | BoardChanged
    | BoardStalled
    | IssueReview
    | WorktreeMerged
    | CheckoutMoved
    | RetryWait
    | Stuck
    | Compacted
    | Message
    | TaskEnded
    | Attention
    | Log
    | SessionSummary
    | SessionEnded
)
"""Every event of this version."""
