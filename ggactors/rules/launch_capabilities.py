"""Launch checks of one profile's capabilities (P1, F1). Law: of a disabled one only what is written is checked."""

from __future__ import annotations

from attrs import evolve, frozen

from ggactors.protocol.crew import (
    CAPABILITIES,
    PROJECT_MANAGEMENT,
    BoardGrant,
    CodeGrant,
    CompactionSpec,
)
from ggactors.protocol.mcp import McpSpec
from ggactors.protocol.memories import MemoriesGrant
from ggactors.protocol.program import Language, ProgramLimits
from ggactors.protocol.skills import SkillsSpec
from ggactors.rules.memories import LARGEST_TEXT, MOST_MEMORIES
from ggactors.rules.shape import Place, Table, each, flag, identity, number, one_of, shown, variable, whole, words

LANGUAGES = tuple(language.value for language in Language)

LEAST_MEMORY = 32 << 20
"""The fewest bytes a program may be given: an interpreter takes a third of it."""
MOST_MEMORY = 4 << 30
"""The most bytes a program can be given: its addresses have 32 bits."""

LEAST_SHARE, MOST_SHARE = 0.2, 0.95
"""The shares of a model's window at which its conversation can be compacted."""

RUN_PARAMS = ("mergeAgentId", "maxEpics", "maxIssues", "maxRetries")
"""Params of project-management that configure the run, not the profile (P3)."""


@frozen(kw_only=True)
class BoardDraft:
    """Project-management as one profile writes it: the run's params that could be read, the profile's grant, the params' place."""

    params: dict[str, str | int]
    grant: BoardGrant
    place: Place


@frozen(kw_only=True)
class DelegationDraft:
    """Subagents as one profile writes them: the run's params that could be read, and the params' place."""

    params: dict[str, str | int]
    place: Place


@frozen(kw_only=True)
class Capabilities:
    """One profile's capabilities: the ids that are on, in document order, and what those with params configure."""

    on: tuple[str, ...] = ()
    board: BoardDraft | None = None
    delegation: DelegationDraft | None = None
    shell_env: tuple[str, ...] = ()
    code: CodeGrant | None = None
    skills: SkillsSpec | None = None
    memories: MemoriesGrant | None = None
    mcp: McpSpec | None = None
    compaction: CompactionSpec | None = None


def read_capabilities(place: Place) -> Capabilities:
    """Read the list; every entry is checked, also a second one of the same id."""
    if not isinstance(place.value, list):
        place.wrong(
            f"must be a list of capabilities, is {shown(place.value)}", 'write a list such as [{"id": "files"}]'
        )
        return Capabilities()
    read = Capabilities()
    named: set[str] = set()
    for index in range(len(place.value)):
        entry = place.at(index)
        table = Table(entry, ("id", "enabled", "params", "features"))
        if not table.opened:
            continue
        capability = table.need("id", one_of(CAPABILITIES, "capabilities"), "name the capability")
        enabled = table.read("enabled", flag) if "enabled" in table else True
        if capability is None:
            _loose(table)
            continue
        if capability in named:
            table.at("id").wrong(f"{capability!r} is declared twice on this agent", "keep one of the two")
        with_it = _read_one(read, capability, table, enabled=enabled is not False)
        if capability not in named and enabled is True:
            read = evolve(with_it, on=(*read.on, capability))
        named.add(capability)
    return read


def _read_one(read: Capabilities, capability: str, table: Table, *, enabled: bool) -> Capabilities:
    """Check params and features of one capability and add what it configures."""
    match capability:
        case "project-management":
            read = evolve(read, board=_board(table, enabled=enabled))
        case "files" | "tasks":
            _none_of(table, "params")
        case "shell":
            names = _part(table, "params", ("env",)).read("env", each(variable, noun="variable names", unique=True))
            read = evolve(read, shell_env=names or ())
        case "subagents":
            read = evolve(read, delegation=_delegation(table, enabled=enabled))
        case "responses-as-code":
            code = _code(_part(table, "params", ("language", "timeoutSecs", "maxMemoryBytes")), enabled=enabled)
            read = evolve(read, code=code if enabled else None)
        case "skills":
            params = _part(table, "params", ("dir",))
            where = params.need("dir", words, "name the folder that holds the skills' folders", when=enabled)
            found = None if where is None else SkillsSpec(dir=where, path=params.at("dir").path)
            read = evolve(read, skills=found if enabled else None)
        case "compaction":
            spec = _compaction(_part(table, "params", ("threshold", "keepTurns")))
            read = evolve(read, compaction=spec if enabled else None)
        case "mcp":
            servers = _mcp(table)
            read = evolve(read, mcp=servers if enabled else None)
        case "memories":
            grant = _memories(_part(table, "params", ("maxMemories", "maxTextBytes")))
            read = evolve(read, memories=grant if enabled else None)
        case _:
            raise AssertionError(f"nobody reads the capability {capability!r}")
    if capability != PROJECT_MANAGEMENT:
        _none_of(table, "features")
    return read


def _part(table: Table, key: str, known: tuple[str, ...], hints: dict[str, str] | None = None) -> Table:
    """Open ``params`` or ``features``; an absent one is an empty one."""
    place = table.at(key)
    return Table(Place({}, place.path, place.found) if key not in table else place, known, hints=hints)


def _none_of(table: Table, key: str) -> None:
    _part(table, key, ())


def _loose(table: Table) -> None:
    """Check what can be checked where the keys are not known yet: params and features are objects."""
    for key in table.only(("params", "features")):
        if not isinstance(table.values[key], dict):
            table.at(key).wrong(
                f"must be an object, is {shown(table.values[key])}", "write an object (a table in TOML)"
            )


def _code(params: Table, *, enabled: bool) -> CodeGrant | None:
    read = params.need("language", one_of(LANGUAGES, "languages"), f"write one of {', '.join(LANGUAGES)}", when=enabled)
    secs = params.read("timeoutSecs", number(above=0))
    memory = params.read("maxMemoryBytes", whole(LEAST_MEMORY, MOST_MEMORY))
    if read is None:
        return None
    limits = ProgramLimits()
    if secs is not None:
        limits = evolve(limits, timeout_secs=secs)
    if memory is not None:
        limits = evolve(limits, max_memory_bytes=memory)
    return CodeGrant(language=Language(read), limits=limits)


def _mcp(table: Table) -> McpSpec:
    params = _part(table, "params", ("config", "timeoutSecs", "startSecs"))
    spec = McpSpec(config=params.read("config", words), path=params.place.path)
    secs = params.read("timeoutSecs", number(above=0))
    start = params.read("startSecs", number(above=0))
    return evolve(spec, timeout_secs=secs or spec.timeout_secs, start_secs=start or spec.start_secs)


def _memories(params: Table) -> MemoriesGrant:
    most = params.read("maxMemories", whole(1, MOST_MEMORIES))
    size = params.read("maxTextBytes", whole(1, LARGEST_TEXT))
    grant = MemoriesGrant()
    return MemoriesGrant(most=most or grant.most, most_bytes=size or grant.most_bytes)


def _compaction(params: Table) -> CompactionSpec:
    threshold = params.read("threshold", _share)
    turns = params.read("keepTurns", whole(1))
    spec = CompactionSpec()
    return CompactionSpec(
        threshold=spec.threshold if threshold is None else threshold,
        keep_turns=spec.keep_turns if turns is None else turns,
    )


def _share(place: Place) -> float | None:
    share = number(above=0)(place)
    if share is not None and not LEAST_SHARE <= share <= MOST_SHARE:
        remedy = f"write one from {LEAST_SHARE} to {MOST_SHARE}, such as 0.8"
        place.wrong(f"is no share to compact at: {share:g}", remedy)
        return None
    return share


def _delegation(table: Table, *, enabled: bool) -> DelegationDraft:
    params = _part(table, "params", ("maxDepth",))
    remedy = "write how deep subagents may be nested, such as 3; at 1 a subagent spawns none"
    depth = params.need("maxDepth", whole(1), remedy, when=enabled)
    return DelegationDraft(params={} if depth is None else {"maxDepth": depth}, place=params.place)


def _board(table: Table, *, enabled: bool) -> BoardDraft:
    params = _part(
        table,
        "params",
        (*RUN_PARAMS, "reviewers"),
        hints={
            "issueCreation": "it is a feature: move it under features",
            "reviseBoard": "it is a feature: move it under features",
            "reviewersRequired": "write it as reviewers",
        },
    )
    features = _part(
        table,
        "features",
        ("issueCreation", "reviseBoard"),
        hints={
            "reviewers": "it is a param: move it under params",
            "reviewersRequired": "it is a param: write params.reviewers",
        },
    )
    counts = {
        "maxEpics": (whole(1), "write how many epics the board may hold, such as 50"),
        "maxIssues": (whole(1), "write how many issues the board may hold, such as 2000"),
        "maxRetries": (whole(0), "write how often a failed attempt is dispatched again, such as 1; 0 is one attempt"),
    }
    remedy = "name the profile that resolves merge conflicts; it needs the shell capability"
    values: dict[str, str | int | None] = {"mergeAgentId": params.need("mergeAgentId", identity, remedy, when=enabled)}
    for key, (reader, remedy) in counts.items():
        values[key] = params.need(key, reader, remedy, when=enabled)
    reviewers = params.read("reviewers", flag)
    creation = features.read("issueCreation", flag)
    revise = features.read("reviseBoard", flag)
    grant = BoardGrant(
        issue_creation=creation is not False, reviewers_required=reviewers is True, revise_board=revise is not False
    )
    read = {key: value for key, value in values.items() if value is not None}
    return BoardDraft(params=read, grant=grant, place=params.place)
