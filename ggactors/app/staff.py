"""The staff of one run: its actors made and wired, its agents hired, stopped, and missed when they break down.

Law: whatever an actor needs of another it gets here as a reference or a function. A crash of an actor is a defect of ours, and
stops the run honestly (D8).
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors import __version__
from ggactors.actors.board import BoardActor
from ggactors.actors.desk import Desk
from ggactors.actors.family import Family
from ggactors.actors.merger import MergerActor
from ggactors.actors.presence import Presence
from ggactors.actors.run import RunActor
from ggactors.actors.scheduler import SchedulerActor
from ggactors.actors.spending import SpendGate
from ggactors.actors.switch import Switch
from ggactors.actors.teardown import Teardown
from ggactors.actors.traffic import Traffic
from ggactors.app.account import board_of
from ggactors.app.closing import Closing
from ggactors.app.crashes import Crashes
from ggactors.app.hiring import ROOT, Assigned, Hiring, root_order
from ggactors.app.hooking import SESSION, Hooking
from ggactors.app.talking import Talk
from ggactors.protocol.agent import AgentFact, AgentLetter, Stop, Wake
from ggactors.protocol.board import (
    BoardAnswer,
    BoardLetter,
    FailDispatch,
    SettleMerge,
)
from ggactors.protocol.events import Log, SessionStarted
from ggactors.protocol.run import (
    AgentGone,
    MergeAgentGone,
    MergerLetter,
    Nudge,
    RunFact,
    RunLetter,
    RunOpened,
    StopRun,
)
from ggactors.protocol.values import Kind, Status
from ggactors.rules.charter import charter_of
from ggactors.rules.priority import Chains
from ggactors.rules.verdict import stop_waits
from ggactors.runtime.fairlock import FairLock
from ggactors.runtime.slots import SlotPool
from ggactors.wire import Codec, Tagged

if TYPE_CHECKING:
    from ggactors.app.launch import Launch
    from ggactors.app.workplace import Workplace
    from ggactors.ports import Repository
    from ggactors.protocol.agent import AgentOrder
    from ggactors.protocol.events import Event
    from ggactors.protocol.git import Landing
    from ggactors.protocol.run import Outcome
    from ggactors.runtime.ref import Ref
    from ggactors.runtime.slots import Seat
    from ggactors.runtime.system import System
    from ggactors.store.folder import RunFolder

AGENT_CODEC: Codec[AgentLetter, None] = Codec(AgentLetter, None)
RUN_CODEC: Codec[RunLetter, None] = Codec(RunLetter, None)
BOARD_CODEC: Codec[BoardLetter, BoardAnswer] = Codec(BoardLetter, BoardAnswer)
NUDGE_CODEC: Codec[Nudge, None] = Codec(Nudge, None)
MERGER_CODEC: Codec[MergerLetter, None] = Codec(MergerLetter, None)
AGENT_FACTS: Tagged[AgentFact] = Tagged(AgentFact)
RUN_FACTS: Tagged[RunFact] = Tagged(RunFact)


async def _no_worktree(issue: str, reason: str) -> None:
    """Have no worktree to discard."""


@define(kw_only=True)
class Staff:
    """All actors of a run."""

    launch: Launch
    folder: RunFolder
    place: Workplace
    switch: Switch = field(factory=Switch)
    agents: dict[str, Ref[AgentLetter, None]] = field(factory=dict)
    tree: FairLock = field(factory=FairLock)
    chains: Chains = field(factory=Chains)
    traffic: Traffic = field(factory=lambda: Traffic(now=trio.current_time, jitter=random.random))
    """The calls to the providers."""
    pool: SlotPool = field(init=False)
    family: Family = field(init=False)
    spending: SpendGate = field(init=False)
    talk: Talk = field(init=False)
    closing: Closing = field(init=False)
    _crashes: Crashes = field(init=False)
    _living: set[str] = field(factory=set)
    _issues: dict[str, str] = field(factory=dict)
    _nudged: list[Ref[Nudge, None] | Ref[RunLetter, None] | Ref[MergerLetter, None]] = field(factory=list)
    _merger: Ref[MergerLetter, None] | None = None
    _run: Ref[RunLetter, None] | None = None
    _board: Ref[BoardLetter, BoardAnswer] | None = None
    _system: System | None = None
    _hiring: Hiring | None = None
    _between: tuple[SchedulerActor, MergerActor] | None = None
    _broke: set[str] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        """Make the pool, the purse and what the run ends with."""
        limits = self.launch.crew.limits
        self.talk = Talk(
            launch=self.launch,
            emit=self.place.emit,
            tell=self._tell,
            lives=self._living.__contains__,
            mask=self.place.mask.text,
            stalls=self.place.view.stalls,
        )
        self.place.bus.add_sink(self.talk.attention.hear)
        self.pool = SlotPool(limits.max_parallel)
        self.family = Family(
            crew=self.launch.crew, spawn=self._spawn_queueing, wake=self._wake, release=self.switch.release
        )
        self.spending = SpendGate.of(limits)
        self.closing = Closing(
            launch=self.launch,
            folder=self.folder,
            place=self.place,
            tree=self.tree,
            switch=self.switch,
            totals=self.spending.totals,
        )
        self._crashes = Crashes(folder=self.folder, mask=self.place.mask, emit=self.place.emit)

    @property
    def outcome(self) -> Outcome | None:
        """Return what the run came to, once its account was given."""
        return self.closing.outcome

    @property
    def done(self) -> trio.Event:
        """Return what is set once the account was given."""
        return self.closing.done

    # ------------------------------------------------------------ opening

    async def open(self) -> None:
        """Make what the run was launched with durable. Raises JournalBroken."""
        launch = self.launch
        opened = RunOpened(
            run=self.folder.id,
            workspace=str(launch.workspace),
            task=launch.task,
            version=__version__,
            options=self.talk.options,
        )
        await self.place.journal.commit("run", [RUN_FACTS.pack(opened)])

    def start(self, system: System) -> None:
        """Spawn the board, the scheduler, the merger, the run and the root, and let them go."""
        self._system = system
        launch, emit = self.launch, self.place.emit
        emit(SessionStarted(crew=launch.crew.name, workspace=str(launch.workspace), version=__version__, resumed=False))
        self.place.say_what_was_found()
        charter = charter_of(launch.crew)
        if charter is not None:
            board = BoardActor(charter, self.place.journal, self._board_tells, self._wake, self._nudge)
            self._board = system.spawn("board", board, BOARD_CODEC)
        run = RunActor(
            switch=self.switch,
            board=self._board,
            living=lambda: len(self._living),
            busy=self._between_agents,
            finish=self.closing.finish,
            spend=self.spending.totals,
            last_seen=lambda: board_of(self.place.view),
        )
        self._run = system.spawn("run", run, RUN_CODEC)
        self._nudged.append(self._run)
        repository = self.place.repository
        presence = None if repository is None else self._presence(repository)
        teardown = self._hire_office(presence)
        if self._board is not None and repository is not None and presence is not None and teardown is not None:
            scheduler = SchedulerActor(
                board=self._board,
                pool=self.pool,
                repository=repository,
                spawn=self._spawn,
                teardown=teardown,
                emit=emit,
                switch=self.switch,
                rested=self._rested,
            )
            merger = MergerActor(
                board=self._board,
                repository=repository,
                tree=self.tree,
                teardown=teardown,
                emit=emit,
                switch=self.switch,
                main_agent=ROOT,
                merge_profile=launch.crew.board.merge_agent_id if launch.crew.board is not None else "",
                spawn=self._spawn_queueing,
                rested=self._rested,
                presence=presence,
                landed=self.closing.land_each if launch.crew.land == "each" else None,
            )
            self._between = (scheduler, merger)
            self._nudged.append(system.spawn("scheduler", scheduler, NUDGE_CODEC))
            self._merger = system.spawn("merger", merger, MERGER_CODEC)
            self._nudged.append(self._merger)
        self._spawn_queueing(root_order(launch, repository))

    def _presence(self, repository: Repository) -> Presence:
        private = self.launch.crew.checkout == "private"
        return Presence(repository=repository, emit=self.place.emit, private=private)

    def _hire_office(self, presence: Presence | None) -> Teardown | None:
        """Make the desk and the hiring office; answer what tears worktrees down, where there are any."""
        repository = self.place.repository
        emit = self.place.emit
        teardown = None
        if repository is not None and self._board is not None:
            teardown = Teardown(repository=repository, board=self._board, emit=emit)
        mask = self.place.mask
        desk = Desk(
            run=self.folder.id,
            limits=self.launch.crew.limits,
            emit=emit,
            journal=self.place.journal,
            now=trio.current_time,
            jitter=random.random,
            started=trio.current_time(),
            switch=self.switch,
            family=self.family,
            spending=self.spending,
            gone=self._gone,
            board=self._board,
            pack=lambda fact: AGENT_FACTS.pack(mask.value(fact)),
            clean=mask.value,
            mail=self.talk.mail,
            stop_run=self.stop,
            traffic=self.traffic,
            chains=self.chains,
        )
        hooking = Hooking(launch=self.launch, folder=self.folder, emit=emit, mask=mask, arm=self.place.watchdog.arm)
        self._hiring = Hiring(
            launch=self.launch,
            folder=self.folder,
            desk=desk,
            repository=repository,
            tree=self.tree,
            presence=presence,
            reconcile=_no_worktree if teardown is None else teardown.failed,
            talk=self.talk,
            hooking=hooking,
            mask=mask,
            watchdog=self.place.watchdog,
            programs=self.place.programs,
            mcp=self.place.mcp,
        )
        env = self._hiring.environment(SESSION, self.launch.crew.root)
        hooks = hooking.of_session(root_order(self.launch, repository), env)
        self.closing.hooks = self._hiring.opening = hooks
        return teardown

    def _board_tells(self, event: Event) -> None:
        """Let what the board tells reach those who weigh calls by it before anybody acts on it."""
        self.chains.hear(event)
        self.place.emit(event)

    # ------------------------------------------------------------ agents

    def _spawn_queueing(self, order: AgentOrder) -> None:
        """Make an agent that queues for a slot itself: whoever called for it holds none for it."""
        self._spawn(order, self.pool.seat(order.id), None)

    def _spawn(self, order: AgentOrder, seat: Seat, assigned: Assigned | None) -> None:
        if self._hiring is None or self._system is None:
            raise RuntimeError("the staff was not started")
        actor = self._hiring.agent(order, seat, assigned)
        self.family.joined(order)
        self.agents[order.id] = self._system.spawn(order.id, actor, AGENT_CODEC)
        self._living.add(order.id)
        if order.issue is not None:
            self._issues[order.id] = order.issue

    def _gone(self, letter: AgentGone) -> None:
        self._living.discard(letter.agent)
        self.family.ended(letter.agent, letter.status, letter.summary)
        if letter.kind is Kind.MERGER and self._merger is not None:
            # Itself, or who worked for it.
            broke = any(f"{name}.".startswith(f"{letter.agent}.") for name in self._broke)
            unverified = letter.verified is False
            self._merger.tell(MergeAgentGone(agent=letter.agent, broke_down=broke, unverified=unverified))
        if self._run is not None:
            self._run.tell(letter)

    def _wake(self, agent: str) -> None:
        ref = self.agents.get(agent)
        if ref is not None:
            ref.tell(Wake())

    def _nudge(self) -> None:
        for ref in self._nudged:
            ref.tell(Nudge())

    def _between_agents(self) -> bool:
        """Tell whether something is under way that no living agent shows: a dispatch with its slot in hand, or a merge."""
        if self._between is None:
            return False
        scheduler, merger = self._between
        return scheduler.dispatching > 0 or merger.busy

    def _rested(self) -> None:
        """Let a run in which no agent lives look again whether it is over."""
        if not self._living and self._run is not None:
            self._run.tell(Nudge())

    def _tell(self, agent: str, letter: AgentLetter) -> bool:
        """Put a letter into a living agent's box. Tell whether it lives."""
        ref = self.agents.get(agent)
        return agent in self._living and ref is not None and ref.tell(letter)

    # ------------------------------------------------------------ stopping

    def stop(self, status: Status, reason: str) -> None:
        """Stop the run for this status at its agents' turn boundaries. Doing it again changes nothing."""
        if self.switch.stop(status, reason):
            if self.traffic.awaited and not self.switch.cut_off:
                self.place.emit(Log(level="warning", message=stop_waits(self.traffic.awaited)))
            for agent in tuple(self._living):
                self.agents[agent].tell(Stop())
            if self._run is not None:
                self._run.tell(StopRun(status=status, reason=reason))

    def flooded(self, name: str, letters: int) -> None:
        """Tell of an actor that does not keep up with its letters."""
        self.place.emit(Log(level="warning", message=f"{name} has {letters:,} letters waiting"))

    def crashed(self, name: str, error: BaseException) -> None:
        """Take note of an actor's crash and stop the run (D8)."""
        reason = self._crashes.told(name, error)
        self._fail_struck(name, reason)
        self.stop(Status.INTERNAL_ERROR, reason)
        if name in self._living:
            self._broke.add(name)
            member = self.family.members.get(name)
            kind = Kind.IMPLEMENTER if member is None else member.order.kind
            self._gone(
                AgentGone(agent=name, kind=kind, status=Status.INTERNAL_ERROR, summary=reason, turns=0, errors=0)
            )
        if name == "run":
            self.closing.give_broken(reason)

    def _fail_struck(self, name: str, reason: str) -> None:
        """Fail the issue that an actor was at work on when it broke down; its worktree is kept (D8)."""
        issues = {self._issues[name]} if name in self._issues and name in self._living else set()
        if name == "scheduler" and self._between is not None:
            issues = self._between[0].struck
        elif name == "merger" and self._between is not None:
            merging = self._between[1].struck
            if merging is not None and self._board is not None:
                self._board.tell(SettleMerge(issue=merging, commit=None, reason=reason))
        if self._board is not None:
            for issue in sorted(issues):
                self._board.tell(FailDispatch(issue=issue, reason=reason, defect=True))

    # ------------------------------------------------------------ ending

    async def land(self) -> Landing | None:
        """Move the operator's checkout forward to what is merged so far (W10); None without a board."""
        return await self.closing.land()

    def cut_off(self) -> None:
        """Take note that the actors are about to be stopped at once: one that misses another then is no defect."""
        self.switch.cut_off = self.outcome is None

    def close(self) -> None:
        """Give the account of a run that was cut off, if none was given."""
        if self.outcome is None:
            self.switch.stop(Status.CANCELED, "stopped at once")
            self.talk.mail.close()
            self.closing.give_cut_off("stopped at once")
