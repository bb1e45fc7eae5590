"""The launch check of a whole crew document (P2). Law: one pass names everything; nothing is asked of disk, network or environment.

``read_document`` takes plain values. What a file or an environment has to say (scripts, callables, keys) is checked by whoever
may look there, from ``Reading.models``; both lists make one refusal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from ggactors.protocol.crew import BoardParams, Crew, Limits, ModelSpec
from ggactors.rules.document import plain
from ggactors.rules.launch_agents import ProfileDraft, frozen_profile, read_profile
from ggactors.rules.launch_cross import check_between
from ggactors.rules.launch_hooks import read_hooks
from ggactors.rules.launch_limits import notes, read_limits
from ggactors.rules.launch_models import read_models
from ggactors.rules.launch_stuck import StuckDraft, read_stuck_detection
from ggactors.rules.launch_telemetry import read_telemetry
from ggactors.rules.prices import unpriced
from ggactors.rules.shape import Place, Table, one_of, shown, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.protocol.hooks import HookSpec
    from ggactors.protocol.mcp import McpSpec
    from ggactors.protocol.skills import SkillsSpec
    from ggactors.protocol.values import Problem

KEYS = ("name", "limits", "checkout", "land", "models", "hooks", "agents", "stuckDetection", "telemetry")
CHECKOUTS = ("private", "inPlace")
LANDINGS = ("end", "each", "never")


@frozen(kw_only=True)
class Reading:
    """What a document came to. ``crew`` is None exactly when there are problems.

    ``models``, ``hooks`` (the session's and every profile's), ``skills`` and ``mcp`` are those that could be read, for the
    checks of files and keys, also when the rest is wrong; relative names in them are relative to ``folder``. ``notes`` are for
    the operator and refuse nothing.
    """

    crew: Crew | None
    problems: tuple[Problem, ...]
    models: tuple[ModelSpec, ...] = ()
    hooks: tuple[HookSpec, ...] = ()
    skills: tuple[SkillsSpec, ...] = ()
    mcp: tuple[McpSpec, ...] = ()
    folder: str = "."
    notes: tuple[str, ...] = ()


def read_document(document: object, *, folder: str, name: str = "crew", before: Sequence[Problem] = ()) -> Reading:
    """Read and check a document. ``name`` is the crew's name where it writes none; ``before`` are problems found earlier."""
    copied = plain(document)
    found: list[Problem] = []
    place = Place(copied.value, "", found)
    if not isinstance(copied.value, dict):
        Place(None, "document", found).wrong(f"must be an object, is {shown(copied.value)}", 'write {"agents": […]}')
        return Reading(crew=None, problems=(*before, *copied.problems, *found), folder=folder)
    table = Table(place, KEYS)
    title = table.read("name", words)
    limits = read_limits(table.at("limits")) if "limits" in table else Limits()
    checkout = table.read("checkout", one_of(CHECKOUTS, "values"))
    land = table.read("land", one_of(LANDINGS, "values"))
    models = read_models(table.at("models")) if "models" in table else {}
    # A models table that cannot be read is reported once, not once more for every agent that names a key of it.
    readable = isinstance(table.values.get("models", {}), dict)
    hooks = read_hooks(table.at("hooks"), run_level=True) if "hooks" in table else ()
    stuck = read_stuck_detection(table.at("stuckDetection")) if "stuckDetection" in table else StuckDraft()
    telemetry = read_telemetry(table.at("telemetry")) if "telemetry" in table else None
    drafts = _read_agents(table, models if readable else None)
    named = _every_model(models, drafts)
    if _counts_cost(limits, drafts):
        found += unpriced((draft.model for draft in drafts if draft.model is not None), models)
    problems = _once((*before, *copied.problems), found)
    crew = None
    if not problems:
        crew = Crew(
            name=title or name,
            profiles=tuple(frozen_profile(draft, stuck) for draft in drafts),
            limits=limits,
            checkout=checkout or "private",
            land=land or "end",
            board=_board(drafts),
            max_depth=_max_depth(drafts),
            models=named,
            hooks=hooks,
            telemetry=telemetry,
            folder=folder,
            document=copied.value,
        )
    return Reading(
        crew=crew,
        problems=problems,
        models=named,
        hooks=(*hooks, *(hook for draft in drafts for hook in draft.hooks)),
        skills=tuple(d.capabilities.skills for d in drafts if d.capabilities.skills is not None),
        mcp=tuple(d.capabilities.mcp for d in drafts if d.capabilities.mcp is not None),
        folder=folder,
        notes=notes(limits, table.at("limits")),
    )


def _read_agents(table: Table, models: dict[str, ModelSpec | None] | None) -> tuple[ProfileDraft, ...]:
    place = table.at("agents")
    if "agents" not in table:
        place.wrong("is missing", "declare the crew's agents in a list")
        return ()
    if not isinstance(place.value, list) or not place.value:
        place.wrong(
            f"must be a list of agents, is {shown(place.value) if place.value != [] else 'empty'}",
            "declare at least one",
        )
        return ()
    drafts = tuple(read_profile(place.at(index), models) for index in range(len(place.value)))
    check_between(drafts, place)
    return drafts


def _counts_cost(limits: Limits, drafts: Sequence[ProfileDraft]) -> bool:
    """Tell whether any ceiling is on money, so that every model in use needs a price."""
    budgets = (limits.per_issue, limits.per_epic, *(draft.limits for draft in drafts))
    return limits.max_cost is not None or any(one is not None and one.max_cost is not None for one in budgets)


def _every_model(models: dict[str, ModelSpec | None], drafts: Sequence[ProfileDraft]) -> tuple[ModelSpec, ...]:
    declared = [spec for spec in models.values() if spec is not None]
    direct = [draft.model for draft in drafts if draft.model is not None and draft.model.path.startswith("agents[")]
    return (*declared, *direct)


def _board(drafts: Sequence[ProfileDraft]) -> BoardParams | None:
    """Give the run's board configuration: the first switched-on profile's (P3)."""
    params: dict[str, Any] | None = next((d.capabilities.board.params for d in drafts if d.capabilities.board), None)
    if params is None:
        return None
    return BoardParams(
        merge_agent_id=params["mergeAgentId"],
        max_epics=params["maxEpics"],
        max_issues=params["maxIssues"],
        max_retries=params["maxRetries"],
    )


def _max_depth(drafts: Sequence[ProfileDraft]) -> int | None:
    """Give how deep the run's subagents may be nested: the first switched-on profile's word (P3)."""
    params: dict[str, Any] | None = next(
        (d.capabilities.delegation.params for d in drafts if d.capabilities.delegation), None
    )
    return None if params is None else params["maxDepth"]


def _once(before: Sequence[Problem], found: Sequence[Problem]) -> tuple[Problem, ...]:
    """Drop what only follows from a value that was no plain value, and anything said twice."""
    unreadable = {problem.path for problem in before}
    kept = dict.fromkeys(before)
    kept.update(dict.fromkeys(problem for problem in found if problem.path not in unreadable))
    return tuple(kept)
