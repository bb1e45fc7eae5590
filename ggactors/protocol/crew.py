"""The crew document, frozen (docs/reference/crew.md): what a run is launched from. Law: values as checked, nothing resolved."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - cattrs needs it at run time
from typing import Any

from attrs import field, frozen

from ggactors.protocol.hooks import HookSpec  # noqa: TC001 - cattrs needs it at run time
from ggactors.protocol.mcp import McpSpec  # noqa: TC001 - cattrs needs it at run time
from ggactors.protocol.memories import MemoriesGrant  # noqa: TC001 - cattrs needs it at run time
from ggactors.protocol.program import Language, ProgramLimits
from ggactors.protocol.skills import SkillsSpec  # noqa: TC001 - cattrs needs it at run time
from ggactors.protocol.values import Scope  # noqa: TC001 - cattrs needs it at run time

PROJECT_MANAGEMENT = "project-management"
"""The capability that gives a run its board (B1)."""

SUBAGENTS = "subagents"
"""The capability that lets a profile delegate parts of its work to agents of its own."""

RESPONSES_AS_CODE = "responses-as-code"
"""The capability that has a profile answer with programs (X1)."""

SKILLS = "skills"
"""The capability that gives an agent instructions to read when it needs them."""

COMPACTION = "compaction"
"""The capability that lets an agent's conversation be summed up before it outgrows its model's window."""

MCP = "mcp"
"""The capability that gives an agent the tools of MCP servers."""

TASKS = "tasks"
"""The capability that gives an agent a list of tasks of its own."""

MEMORIES = "memories"
"""The capability that lets a profile keep notes from one run on a workspace to the next."""

SUBMIT_PROGRAM = "submit_program"
"""The one tool of a profile that answers with programs."""

CAPABILITIES = (
    PROJECT_MANAGEMENT,
    "files",
    "shell",
    SUBAGENTS,
    COMPACTION,
    RESPONSES_AS_CODE,
    TASKS,
    SKILLS,
    MEMORIES,
    MCP,
)
"""Every capability id of the contract, this version's and later ones'."""


@frozen(kw_only=True)
class SpendLimits:
    """What one issue, one epic or one profile may spend. ``None`` is off; cost is in the prices' currency."""

    max_cost: float | None = None
    max_tokens: int | None = None

    @property
    def armed(self) -> bool:
        """Tell whether any of them is on."""
        return self.max_cost is not None or self.max_tokens is not None


ASK_SECS = 600.0
"""Seconds a call waits for a person's approval where the crew sets none."""


@frozen(kw_only=True)
class Limits:
    """The ceilings in force, defaults applied (C2, C3). ``None`` is off. Times in seconds, cost in the prices' currency."""

    max_parallel: int = 4
    max_turns: int | None = 200
    max_runtime_secs: float | None = None
    max_consecutive_errors: int | None = 5
    max_error_rate: float | None = 0.4
    error_rate_window: int | None = 50
    max_cost: float | None = None
    max_tokens: int | None = None
    per_issue: SpendLimits | None = None
    per_epic: SpendLimits | None = None


@frozen(kw_only=True)
class ModelSpec:
    """A model as the crew names it. ``provider`` is one of those docs/reference/models.md lists.

    ``key`` is its key under ``models``, or the whole ``provider/name`` of a direct one; ``path`` is where the document names it.
    """

    key: str
    provider: str
    name: str
    options: Mapping[str, Any] = field(factory=dict)
    path: str = ""


@frozen(kw_only=True)
class RosterEntry:
    """Another profile this one may call on, for what, and what the caller is told of it (A1)."""

    agent: str
    scopes: tuple[Scope, ...]
    description: str = ""


@frozen(kw_only=True)
class BoardGrant:
    """What one profile with project-management switched on may do on the board (F1)."""

    issue_creation: bool = True
    reviewers_required: bool = False
    revise_board: bool = True


@frozen(kw_only=True)
class BoardParams:
    """The run's board configuration, the same on every profile that writes it (P3)."""

    merge_agent_id: str
    max_epics: int
    max_issues: int
    max_retries: int


@frozen(kw_only=True)
class CodeGrant:
    """How a profile with responses-as-code switched on writes its programs, and what one program may take (X1, X4)."""

    language: Language
    limits: ProgramLimits = field(factory=ProgramLimits)


@frozen(kw_only=True)
class StuckDetection:
    """When an agent counts as stuck (G6): after how many repetitions it is nudged, after how many nudges it is ended."""

    enabled: bool = True
    repeat_threshold: int = 3
    max_nudges: int = 2


@frozen(kw_only=True)
class CompactionSpec:
    """When a conversation is summed up, as a share of the model's window, and how many of its last turns are kept whole."""

    threshold: float = 0.8
    keep_turns: int = 4


@frozen(kw_only=True)
class Profile:
    """A declared agent. ``capabilities`` lists the ids switched on; ``tools`` is the optional allowlist, the whole grant.

    ``code`` is set when it answers with programs; its allowlist is ``operations``, of operation ids, then.
    ``board`` is set when project-management is on; ``shell_env`` names the extra environment variables its commands get.
    """

    id: str
    name: str
    model: ModelSpec
    root: bool = False
    instructions: str = ""
    capabilities: tuple[str, ...] = ()
    board: BoardGrant | None = None
    shell_env: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    code: CodeGrant | None = None
    operations: tuple[str, ...] | None = None
    roster: tuple[RosterEntry, ...] = ()
    hooks: tuple[HookSpec, ...] = ()
    skills: SkillsSpec | None = None
    mcp: McpSpec | None = None
    memories: MemoriesGrant | None = None
    compaction: CompactionSpec | None = None
    """Set when compaction is on."""
    stuck: StuckDetection = StuckDetection()
    limits: SpendLimits | None = None
    """What all its agents may spend between them."""

    ask: tuple[str, ...] = ()
    """Tools, or in code mode operations, that a person has to approve each call of."""
    ask_secs: float | None = ASK_SECS
    """How long such a call waits before it is refused; None is for ever."""

    def grants(self, tool: str, operation: str) -> bool:
        """Tell whether the allowlist lets an operation pass: by its tool's name, in code mode by its id."""
        if self.code is not None:
            return self.operations is None or operation in self.operations
        return self.tools is None or tool in self.tools

    def rostered(self, scope: Scope) -> tuple[RosterEntry, ...]:
        """List the roster entries that carry ``scope``, in document order."""
        return tuple(entry for entry in self.roster if scope in entry.scopes)


@frozen(kw_only=True)
class TelemetrySpec:
    """Where a crew has its spans sent (T1): the base address of a collector, or None; ``content``: with what was said."""

    endpoint: str | None = None
    content: bool = False


@frozen(kw_only=True)
class Crew:
    """One capability set, checked and frozen. ``folder`` is what relative paths in it are relative to.

    ``checkout`` is ``private`` or ``inPlace``; ``land`` is ``end``, ``each`` or ``never`` (W8, W10).
    ``max_depth`` is how deep subagents may be nested; agents that no other spawned are at depth 0. None: no profile spawns any.
    ``models`` lists every model the document names, in use or not. ``hooks`` are those of the session itself.
    ``document`` is the document as read, for ``crew.json`` of the run; it never holds a key's value.
    """

    name: str
    profiles: tuple[Profile, ...]
    limits: Limits = Limits()
    checkout: str = "private"
    land: str = "end"
    board: BoardParams | None = None
    max_depth: int | None = None
    models: tuple[ModelSpec, ...] = ()
    hooks: tuple[HookSpec, ...] = ()
    telemetry: TelemetrySpec | None = None
    folder: str = "."
    document: Mapping[str, Any] = field(factory=dict)

    @property
    def every_hook(self) -> tuple[HookSpec, ...]:
        """List the session's hooks and every profile's, in document order."""
        return (*self.hooks, *(hook for profile in self.profiles for hook in profile.hooks))

    @property
    def every_mcp(self) -> tuple[McpSpec, ...]:
        """List how every profile that has them has MCP servers, in document order."""
        return tuple(profile.mcp for profile in self.profiles if profile.mcp is not None)

    @property
    def every_skills(self) -> tuple[SkillsSpec, ...]:
        """List where every profile's skills lie, in document order."""
        return tuple(profile.skills for profile in self.profiles if profile.skills is not None)

    @property
    def root(self) -> Profile:
        """Return the one root profile (P4 makes sure there is exactly one)."""
        return next(profile for profile in self.profiles if profile.root)

    def profile(self, profile_id: str) -> Profile | None:
        """Return the profile of that id, or None when the crew does not declare it."""
        return next((profile for profile in self.profiles if profile.id == profile_id), None)
