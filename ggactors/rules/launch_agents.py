"""Launch checks of one profile (docs/reference/crew.md, A1). Law: what could be read is kept, for the checks between profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen

from ggactors.protocol.crew import ASK_SECS, RESPONSES_AS_CODE, ModelSpec, Profile, RosterEntry, SpendLimits
from ggactors.protocol.values import Scope
from ggactors.rules.launch_capabilities import Capabilities, read_capabilities
from ggactors.rules.launch_hooks import read_hooks
from ggactors.rules.launch_limits import read_spend_limits
from ggactors.rules.launch_models import read_reference
from ggactors.rules.launch_stuck import StuckDraft, read_stuck_detection, stuck_detection
from ggactors.rules.launch_tools import check_allowlist, read_asked, read_operations, read_tools
from ggactors.rules.shape import Place, Table, each, flag, identity, nullable, number, one_of, shown, text, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.protocol.hooks import HookSpec

KEYS = (
    "id",
    "name",
    "root",
    "model",
    "instructions",
    "capabilities",
    "roster",
    "tools",
    "operations",
    "hooks",
    "stuckDetection",
    "limits",
    "ask",
    "askSecs",
)

_HINTS = {"modelId": "write it as model", "subagents": "write it as roster", "prompt": "write it as instructions"}
_ROSTER_HINTS = {"agentId": "write it as agent", "scope": "write it as scopes, a list"}

SCOPES = tuple(scope.value for scope in Scope)


@frozen(kw_only=True)
class RosterDraft:
    """A roster entry as far as it could be read, and where it stands."""

    agent: str | None
    scopes: tuple[Scope, ...]
    description: str
    place: Place
    unclear: bool = False
    """Its scopes are wrong, and reported; what follows from their absence is not."""


@frozen(kw_only=True)
class ProfileDraft:
    """A profile as far as it could be read, and where it stands."""

    place: Place
    id: str | None
    name: str | None
    root: bool | None
    """None when it cannot be known."""
    model: ModelSpec | None
    instructions: str
    capabilities: Capabilities
    tools: tuple[str, ...] | None
    operations: tuple[str, ...] | None
    roster: tuple[RosterDraft, ...] | None
    """None when what is written there is no list."""
    hooks: tuple[HookSpec, ...] = ()
    """Those that could be read."""
    stuck: StuckDraft = field(factory=StuckDraft)
    limits: SpendLimits | None = None
    ask: tuple[str, ...] = ()
    ask_secs: float | None = ASK_SECS

    @property
    def files_issues(self) -> bool:
        """Tell whether this profile can create issues: the capability, the feature and the allowlist all let it (F1)."""
        board = self.capabilities.board
        return board is not None and board.grant.issue_creation and self.grants("create_issue", "board.create_issue")

    @property
    def spawns(self) -> bool:
        """Tell whether this profile can spawn subagents: the capability and the allowlist let it."""
        return self.capabilities.delegation is not None and self.grants("spawn_subagent", "delegation.spawn_subagent")

    def grants(self, tool: str, operation: str) -> bool:
        """Tell whether the allowlist of its way of working lets an operation pass, by its tool's name or by its id."""
        allowed, name = (self.tools, tool) if self.capabilities.code is None else (self.operations, operation)
        return allowed is None or name in allowed

    def scope_listed(self, scope: Scope) -> bool:
        """Tell whether some roster entry carries ``scope``, as far as the roster can be read."""
        return self.roster is None or any(scope in entry.scopes or entry.unclear for entry in self.roster)


def read_profile(place: Place, models: Mapping[str, ModelSpec | None] | None) -> ProfileDraft:
    """Read one profile; every wrong or unknown value of it is reported. ``models`` None: what is declared cannot be known."""
    table = Table(
        place,
        KEYS,
        hints=_HINTS,
    )
    capabilities = table.read("capabilities", read_capabilities) or Capabilities()
    check_allowlist(table, code=RESPONSES_AS_CODE in capabilities.on)
    return ProfileDraft(
        place=place,
        id=table.need("id", identity, "give the agent an id such as 'coder'"),
        name=table.read("name", words),
        root=table.read("root", flag) if "root" in table or not table.opened else False,
        model=table.need("model", lambda at: read_reference(at, models), "name a key of models, or provider/name"),
        instructions=table.read("instructions", text) or "",
        capabilities=capabilities,
        tools=table.read("tools", read_tools),
        ask=table.read("ask", read_asked(code=capabilities.code is not None)) or (),
        ask_secs=table.read("askSecs", nullable(number(above=0))) if "askSecs" in table else ASK_SECS,
        operations=table.read("operations", read_operations),
        roster=table.read("roster", _read_roster) if "roster" in table else (),
        hooks=read_hooks(table.at("hooks"), run_level=False) if "hooks" in table else (),
        stuck=read_stuck_detection(table.at("stuckDetection")) if "stuckDetection" in table else StuckDraft(),
        limits=table.read("limits", nullable(read_spend_limits)),
    )


def _read_roster(place: Place) -> tuple[RosterDraft, ...] | None:
    if not isinstance(place.value, list):
        place.wrong(
            f"must be a list of roster entries, is {shown(place.value)}",
            'write [{"agent": "coder", "scopes": ["implementer"]}]',
        )
        return None
    return tuple(_read_entry(place.at(index)) for index in range(len(place.value)))


def _read_entry(place: Place) -> RosterDraft:
    table = Table(
        place,
        ("agent", "scopes", "description"),
        hints=_ROSTER_HINTS,
    )
    agent = table.need("agent", identity, "name the profile")
    scope = one_of(SCOPES, "scopes")
    remedy = f"list at least one of {', '.join(SCOPES)}"
    scopes = table.need("scopes", each(scope, noun="scopes", unique=True), remedy)
    if table.values.get("scopes") == []:
        table.at("scopes").wrong("names no scope", remedy)
    description = table.read("description", text) or ""
    read = tuple(Scope(name) for name in scopes or ())
    written = table.values.get("scopes")
    unclear = not isinstance(written, list) or len(read) != len(written) or not read
    return RosterDraft(agent=agent, scopes=read, description=description, place=place, unclear=unclear)


def frozen_profile(draft: ProfileDraft, stuck: StuckDraft) -> Profile:
    """Freeze a draft nothing is wrong with. ``stuck`` is what the crew says of stuck detection."""
    assert draft.id is not None
    assert draft.model is not None
    board = draft.capabilities.board
    return Profile(
        id=draft.id,
        name=draft.name or draft.id,
        model=draft.model,
        root=draft.root is True,
        instructions=draft.instructions,
        capabilities=draft.capabilities.on,
        board=board.grant if board else None,
        shell_env=draft.capabilities.shell_env,
        tools=draft.tools,
        ask=draft.ask,
        ask_secs=draft.ask_secs,
        code=draft.capabilities.code,
        operations=draft.operations,
        roster=tuple(
            RosterEntry(agent=entry.agent, scopes=entry.scopes, description=entry.description)
            for entry in draft.roster or ()
            if entry.agent is not None
        ),
        hooks=draft.hooks,
        skills=draft.capabilities.skills,
        compaction=draft.capabilities.compaction,
        stuck=stuck_detection(stuck, draft.stuck),
        limits=draft.limits,
        memories=draft.capabilities.memories,
        mcp=draft.capabilities.mcp,
    )
