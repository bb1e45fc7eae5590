"""Launch checks between profiles (P3, P4, A1). Law: what one profile says of another is judged where it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.values import Scope
from ggactors.rules.launch_capabilities import RUN_PARAMS
from ggactors.rules.shape import did_you_mean, listing, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.rules.launch_agents import ProfileDraft
    from ggactors.rules.launch_capabilities import BoardDraft, DelegationDraft
    from ggactors.rules.shape import Place


def check_between(drafts: Sequence[ProfileDraft], agents: Place) -> None:
    """Check everything that takes more than one profile to see."""
    _check_ids(drafts)
    _check_roots(drafts, agents)
    by_id = {draft.id: draft for draft in reversed(drafts) if draft.id is not None}
    known = tuple(draft.id for draft in drafts if draft.id is not None)
    for draft in drafts:
        _check_roster(draft, known)
        _check_filer(draft)
        _check_spawner(draft)
        _check_merge_agent(draft, by_id, known)
    _check_run_params(drafts)


def _check_ids(drafts: Sequence[ProfileDraft]) -> None:
    first: dict[str, ProfileDraft] = {}
    for draft in drafts:
        if draft.id is None:
            continue
        if draft.id in first:
            draft.place.at("id").wrong(
                f"{shown(draft.id)} is the id of {first[draft.id].place.path} too", "give each profile an id of its own"
            )
        first.setdefault(draft.id, draft)


def _check_roots(drafts: Sequence[ProfileDraft], agents: Place) -> None:
    roots = [draft for draft in drafts if draft.root]
    if not roots and all(draft.root is False for draft in drafts):
        agents.wrong("no agent is the root", "write root: true on exactly one")
    for draft in roots[1:]:
        draft.place.at("root").wrong(
            f"a second root beside {roots[0].place.path}", "write root: true on exactly one agent"
        )


def _check_roster(draft: ProfileDraft, known: tuple[str, ...]) -> None:
    given: set[tuple[str, Scope]] = set()
    for entry in draft.roster or ():
        if entry.agent is None:
            continue
        if entry.agent not in known:
            _undeclared(entry.place.at("agent"), entry.agent, known)
        for scope in entry.scopes:
            if (entry.agent, scope) in given:
                entry.place.wrong(
                    f"gives {shown(entry.agent)} the scope '{scope}' a second time", "keep one of the two"
                )
            given.add((entry.agent, scope))


def _undeclared(place: Place, agent: str, known: tuple[str, ...]) -> None:
    close = did_you_mean(agent, known)
    remedy = (
        f"did you mean {close!r}?"
        if close
        else f"declare it under agents, or name one of {listing(known) or 'those you declare'}"
    )
    place.wrong(f"no such agent: {shown(agent)}", remedy)


def _check_filer(draft: ProfileDraft) -> None:
    if not draft.files_issues:
        return
    board = draft.capabilities.board
    place = draft.place.step("roster")
    if not draft.scope_listed(Scope.IMPLEMENTER):
        place.wrong(
            "this agent can create issues, and its roster lists no implementer",
            "give a roster entry the scope 'implementer' (an agent may list itself), or write features.issueCreation: false",
        )
    if board is not None and board.grant.reviewers_required and not draft.scope_listed(Scope.REVIEWER):
        place.wrong(
            "this agent must name reviewers, and its roster lists no reviewer",
            "give a roster entry the scope 'reviewer', or write params.reviewers: false",
        )


def _check_spawner(draft: ProfileDraft) -> None:
    if draft.spawns and not draft.scope_listed(Scope.SUBAGENT):
        draft.place.step("roster").wrong(
            "this agent can spawn subagents, and its roster lists no subagent",
            "give a roster entry the scope 'subagent' (an agent may list itself), or switch the capability subagents off",
        )


def _check_merge_agent(draft: ProfileDraft, by_id: dict[str, ProfileDraft], known: tuple[str, ...]) -> None:
    board = draft.capabilities.board
    merger_id = board.params.get("mergeAgentId") if board else None
    if board is None or not isinstance(merger_id, str):
        return
    place = board.place.step("mergeAgentId")
    merger = by_id.get(merger_id)
    if merger is None:
        _undeclared(place, merger_id, known)
    elif "shell" not in merger.capabilities.on:
        place.wrong(
            f"the merge agent {shown(merger_id)} has no shell capability switched on",
            f'add {{"id": "shell"}} to the capabilities of {merger.place.path}: resolving a merge means running git',
        )
    elif not merger.grants("shell", "shell.run"):
        key, name = ("tools", "shell") if merger.capabilities.code is None else ("operations", "shell.run")
        place.wrong(
            f"the allowlist of the merge agent {shown(merger_id)} withholds the shell",
            f'add "{name}" to the {key} of {merger.place.path}: resolving a merge means running git',
        )


def _check_run_params(drafts: Sequence[ProfileDraft]) -> None:
    """Compare what configures the run: the first switched-on profile sets it (P3)."""
    first: dict[str, tuple[str | int, str]] = {}
    for draft in drafts:
        board, delegation = draft.capabilities.board, draft.capabilities.delegation
        if board is not None:
            remedy = "a run has one board: write the same value on every agent that has it"
            _compare(RUN_PARAMS, board, first, remedy)
        if delegation is not None:
            remedy = "it holds for the whole run: write the same value on every agent that has subagents"
            _compare(("maxDepth",), delegation, first, remedy)


def _compare(
    keys: tuple[str, ...], written: BoardDraft | DelegationDraft, first: dict[str, tuple[str | int, str]], remedy: str
) -> None:
    for key in keys:
        if key not in written.params:
            continue
        value, place = written.params[key], written.place.step(key)
        set_value, set_at = first.setdefault(key, (value, place.path))
        if value != set_value:
            place.wrong(f"is {shown(value)}, but {set_at} sets {shown(set_value)} for the run", remedy)
