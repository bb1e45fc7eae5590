"""Hiring: an agent made from its order, with its model, its tools, its station, its prompt. Law: it decides nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from ggactors.actors.agent import AgentActor
from ggactors.actors.coding import nothing_used
from ggactors.actors.desk import CannotDispatch
from ggactors.actors.gates import NoHooks
from ggactors.actors.reviewing import MergeStation, ReviewStation
from ggactors.actors.stations import IssueStation, MainStation, PlainStation
from ggactors.app.coding import hire
from ggactors.app.servers import kit_for
from ggactors.models.resolve import traits_of
from ggactors.ports import LaunchRefused
from ggactors.protocol.agent import AgentOrder
from ggactors.protocol.board import IssueAssigned, ReviewAssigned
from ggactors.protocol.crew import TASKS
from ggactors.protocol.values import Code, Kind, Refused, Role
from ggactors.rules.briefs import dirty_note, memories_known, memories_unreadable, system_prompt
from ggactors.rules.memories import index
from ggactors.store.memories import MemoryShelf
from ggactors.tools.board import parse_wait
from ggactors.tools.delegation import parse_subagent_wait
from ggactors.tools.endings import RoleEndings
from ggactors.tools.environment import agent_environment
from ggactors.tools.guides import Guides
from ggactors.tools.memories import OPERATIONS as MEMORY_OPERATIONS
from ggactors.tools.memories import MemoryKit
from ggactors.tools.skills import READ_SKILL, SkillKit
from ggactors.tools.tasks import TaskKit
from ggactors.tools.toolbox import build_toolbox
from ggactors.tools.workbench import LocalWorkbench

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ggactors.actors.desk import Desk
    from ggactors.actors.presence import Presence
    from ggactors.actors.stations import Station
    from ggactors.app.coding import Hired
    from ggactors.app.hooking import Hooking
    from ggactors.app.launch import Launch
    from ggactors.app.talking import Talk
    from ggactors.ports import Hooks, Model, Repository, ServedToolbox, Workbench
    from ggactors.programs.pool import Programs
    from ggactors.protocol.crew import Profile
    from ggactors.protocol.model import ModelTraits
    from ggactors.protocol.skills import Skill
    from ggactors.runtime.fairlock import FairLock
    from ggactors.runtime.slots import Seat
    from ggactors.store.folder import RunFolder
    from ggactors.tools.mask import Mask
    from ggactors.tools.mcp import McpHouse
    from ggactors.tools.toolbox import Kit
    from ggactors.tools.watchdog import Watchdog


ROOT = "root"
"""The id of the one agent that is given the operator's task (D3)."""

Assigned = IssueAssigned | ReviewAssigned
"""What a board-dispatched agent was assigned to."""


def root_order(launch: Launch, repository: Repository | None) -> AgentOrder:
    """Write the order of the run's root: it is given the operator's task, in main or, without a board, in the workspace itself."""
    root = launch.crew.root
    workdir = str(launch.workspace) if repository is None else repository.facts.root
    return AgentOrder(
        id=ROOT,
        profile=root.id,
        kind=Kind.ROOT,
        role=Role.STANDARD,
        brief=launch.task,
        workdir=workdir,
        branch=None if repository is None else repository.facts.branch,
        notes="" if repository is None else dirty_note(repository.facts.dirty),
    )


@define
class Delegate:
    """One agent's way to other agents; obeys ``ports.Delegation``."""

    agent: str
    desk: Desk
    talk: Talk

    def spawn(self, agent: str, prompt: str) -> str | Refused:
        """Start a subagent and give its id."""
        return self.desk.family.delegate(self.agent, agent, prompt)

    def send(self, agent: str, text: str) -> Refused | None:
        """Leave a text for another agent's next turn."""
        refused = self.desk.family.addressee(self.agent, agent)
        if refused is not None:
            return refused
        if self.talk.send(agent, text, self.agent) is None:
            return Refused(code=Code.CONFLICT, message=f"{agent} has ended and reads nothing any more")
        return None


@define(kw_only=True)
class Hiring:
    """Makes agents. ``tree`` is the lock that agents rooted in main share with merges (M6)."""

    launch: Launch
    folder: RunFolder
    desk: Desk
    repository: Repository | None
    tree: FairLock
    presence: Presence | None
    reconcile: Callable[[str, str], Awaitable[None]]
    talk: Talk
    hooking: Hooking
    mask: Mask
    watchdog: Watchdog
    mcp: McpHouse | None = None
    """The MCP servers, where a profile has some."""
    programs: Programs | None = None
    """The sandbox, where a profile answers with programs."""
    opening: Hooks = field(factory=NoHooks)
    """The session's own hooks, for the root to open it with."""

    def agent(self, order: AgentOrder, seat: Seat, assigned: Assigned | None = None) -> AgentActor:
        """Make the actor of an agent. Raises CannotDispatch when its profile or model is not to be had (D7)."""
        profile = self.launch.crew.profile(order.profile)
        if profile is None:
            raise CannotDispatch(f"the crew declares no agent {order.profile!r}")
        source = self.launch.sources.get(profile.model.key)
        if source is None:
            raise CannotDispatch(f"the model {profile.model.key!r} of {profile.id} cannot be resolved")
        try:
            model = source.model_for(order.id, profile.id)
            fallbacks = self._fallbacks(order, profile)
        except LaunchRefused as refused:
            raise CannotDispatch(str(refused)) from refused
        floor = self.talk.floor_of(order)
        guides = Guides(Path(order.workdir))
        env = self.environment(order.id, profile)
        bench = self._workbench(order, env)
        hooks = self.hooking.of_agent(order, profile, env)
        kits = self._kits(profile)
        servers = kit_for(profile, self.mcp, env=env, folder=order.workdir)
        toolbox = build_toolbox(
            profile,
            agent=order.id,
            workbench=bench,
            ask_board=None if self.desk.board is None else self.desk.board.ask,
            delegation=Delegate(order.id, self.desk, self.talk) if "subagents" in profile.capabilities else None,
            crew=self.launch.crew,
            kits=kits,
            extra=self.launch.tools if servers is None else (*self.launch.tools, *servers.tools),
            mask=self.mask,
            also_close=None if servers is None else servers.close,
        )
        box = self.hooking.around(toolbox, hooks, bench, order.workdir)
        hired = self._coder(profile, order, box, _on_use(kits))
        return AgentActor(
            order=order,
            profile=profile,
            model=model,
            traits=traits_of(source),
            fallbacks=fallbacks,
            toolbox=box,
            coding=None if hired is None else hired.coding,
            hooks=hooks,
            opening=self.opening if order.kind is Kind.ROOT else NoHooks(),
            endings=RoleEndings(order.role),
            seat=seat,
            station=self._station(order, assigned),
            desk=self.desk,
            system=system_prompt(
                profile,
                order,
                guide=guides.opening(),
                sdk=None if hired is None else hired.summary,
                skills=self._skills(profile) if profile.grants(READ_SKILL.tool, READ_SKILL.id) else (),
                memories=self._remembered(profile),
            ),
            parse_wait=parse_wait,
            parse_children=parse_subagent_wait,
            guide=guides.near,
            in_use=next((kit.in_use for kit in kits if isinstance(kit, SkillKit)), nothing_used),
            forget=guides.forget,
            keep=bench.keep,
            begun=order.kind is not Kind.ROOT,
            floor=floor,
            approvals=self.talk.approvals_of(profile),
            interactive=floor.person,
        )

    def _fallbacks(self, order: AgentOrder, profile: Profile) -> tuple[tuple[Model, ModelTraits], ...]:
        """Make the models an agent falls back to, as the crew chains them; the launch saw to it that the chain ends."""
        specs = {spec.key: spec for spec in self.launch.crew.models}
        found: list[tuple[Model, ModelTraits]] = []
        at, seen = profile.model, {profile.model.key}
        while (key := at.options.get("fallback")) in specs and key not in seen:
            at = specs[key]
            seen.add(key)
            source = self.launch.sources.get(key)
            if source is not None:
                found.append((source.model_for(order.id, profile.id), traits_of(source)))
        return tuple(found)

    def _kits(self, profile: Profile) -> list[Kit]:
        """Make what serves the capabilities that are an agent's own."""
        kits: list[Kit] = [TaskKit()] if TASKS in profile.capabilities else []
        language = None if profile.code is None else profile.code.language
        kits += [SkillKit(skills=self._skills(profile), language=language)] if profile.skills is not None else []
        if profile.memories is not None:
            shelf = self._shelf(profile)
            kits.append(MemoryKit(shelf=shelf, grant=profile.memories, mask=self.mask, language=language))
        return kits

    def _shelf(self, profile: Profile) -> MemoryShelf:
        """Find where a profile's memories are kept: those of a workspace are the same for all its runs."""
        return MemoryShelf(home=self.folder.home, workspace=self.launch.workspace, profile=profile.id)

    def _remembered(self, profile: Profile) -> str | None:
        """Say what a profile remembers, if it may call anything about it."""
        if profile.memories is None or not any(profile.grants(one.tool, one.id) for one in MEMORY_OPERATIONS):
            return None
        kept = self._shelf(profile).read_nowait()
        if isinstance(kept, Refused):
            return memories_unreadable(kept.message)
        return self.mask.text(memories_known(index(kept), profile.code))

    def _skills(self, profile: Profile) -> tuple[Skill, ...]:
        return () if profile.skills is None else self.launch.skills[profile.skills.dir]

    def _coder(
        self, profile: Profile, order: AgentOrder, box: ServedToolbox, on_use: Callable[[], tuple[tuple[str, str], ...]]
    ) -> Hired | None:
        """Make what an agent needs to answer with programs, if it does. Raises CannotDispatch when there is no sandbox."""
        if profile.code is None:
            return None
        if self.programs is None:
            raise CannotDispatch(f"{profile.id} answers with programs, and this run has no sandbox")
        hired = hire(profile, order, grant=profile.code, crew=self.launch.crew, toolbox=box, programs=self.programs)
        return evolve(hired, coding=evolve(hired.coding, on_use=on_use))

    def environment(self, agent: str, profile: Profile) -> dict[str, str]:
        """Compose the environment of an agent's commands and of its hooks."""
        # Git started by an agent finds its worktree, also from a subdirectory, and never a repository around the state home.
        if self.repository is None:
            return agent_environment(agent, profile, os.environ, token=self.watchdog.token)
        env = agent_environment(agent, profile, os.environ, ceiling=str(self.folder.path), token=self.watchdog.token)
        # Commits an agent makes itself bear the same identity as those the runtime makes of its work.
        for name, value in self.repository.facts.git_env:
            if name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_")) and name not in os.environ:
                env[name] = value
        return env

    def _workbench(self, order: AgentOrder, env: Mapping[str, str]) -> Workbench:
        if self.launch.bench is not None:
            return self.launch.bench(order)
        return LocalWorkbench(
            Path(order.workdir),
            scratch=self.folder.outputs / order.id,
            env=env,
            mask=self.mask,
            agent=order.id,
            arm=self.watchdog.arm,
        )

    def _station(self, order: AgentOrder, assigned: Assigned | None) -> Station:
        repository = self.repository
        if repository is None or self.presence is None:
            return PlainStation()
        if order.kind is Kind.MERGER:
            return MergeStation(repository=repository)
        if order.kind is Kind.SUBAGENT and order.issue is not None:
            # It works in its parent's directory, and its parent carries the work away (W4).
            return PlainStation()
        match assigned:
            case ReviewAssigned():
                return ReviewStation(assigned=assigned, repository=repository, desk=self.desk, reconcile=self.reconcile)
            case IssueAssigned():
                return IssueStation(
                    agent=order.id,
                    issue=assigned.issue.id,
                    title=assigned.issue.title,
                    attempt=assigned.number,
                    branch=order.branch or "",
                    repository=repository,
                    desk=self.desk,
                    reconcile=self.reconcile,
                )
            case None:
                return MainStation(
                    agent=order.id, repository=repository, emit=self.desk.emit, tree=self.tree, presence=self.presence
                )


def _on_use(kits: Sequence[Kit]) -> Callable[[], tuple[tuple[str, str], ...]]:
    """Give what takes the on-use code that is due of an agent's skills and memories, each said to be what it is."""
    sources = [
        (f"the {'skill' if isinstance(kit, SkillKit) else 'memory'}", kit.take_used)
        for kit in kits
        if isinstance(kit, SkillKit | MemoryKit)
    ]

    def take() -> tuple[tuple[str, str], ...]:
        return tuple((f"{what} {name!r}", code) for what, taken in sources for name, code in taken())

    return take if sources else nothing_used
