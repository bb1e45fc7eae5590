"""Playing a world: one deterministic run in memory under the virtual clock, with its faults, watched by the laws.

Law: the same seed gives the same events, byte for byte, on every machine: tasks are scheduled by the seed's dice, waits cost no
time, and nothing real is touched. A run that nothing moves any more is seen by a deadline that no run can reach.
"""

from __future__ import annotations

import hashlib
import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import trio
import trio.testing
from attrs import define, field, frozen

from ggactors.protocol.values import Status
from ggactors.telemetry.jsonl import to_line
from ggactors.testing.simagents import RandomAgents, SpareAgents
from ggactors.testing.simends import judge_end
from ggactors.testing.simlaws import Invariants, Violation
from ggactors.testing.simparts import Gate, SimBench, SimJournal, SimRepository, Sites
from ggactors.testing.simpeople import People
from ggactors.testing.simprovider import Account
from ggactors.testing.simulation import Simulation
from ggactors.testing.simwave import SPARE
from ggactors.testing.simwavelaws import WaveLaws
from ggactors.testing.simworld import GHOST, SimWorld

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ggactors.app.staff import Staff
    from ggactors.protocol.agent import AgentOrder
    from ggactors.protocol.events import Event
    from ggactors.protocol.run import Outcome
    from ggactors.testing.memory import Tree

HORIZON = 1e9
"""Virtual seconds after which a run hangs for sure."""
MOST_EVENTS = 20_000
"""Events after which a run goes in circles for sure."""


@frozen(kw_only=True)
class Played:
    """A played world: what the run came to (None when it hung), every event, and what broke a law."""

    world: SimWorld
    outcome: Outcome | None
    run: Simulation
    violations: tuple[Violation, ...]

    @property
    def events(self) -> list[Event]:
        """Return every event, in order."""
        return self.run.events

    def digest(self) -> str:
        """Give a fingerprint of the events: two plays of one seed have the same."""
        lines = "\n".join(to_line(event) for event in self.events)
        return hashlib.sha256(lines.encode()).hexdigest()

    def report(self, last: int = 40) -> str:
        """Say what went wrong, how to see it again, and what happened last."""
        lines = [
            *(str(violation) for violation in self.violations),
            f"replay it: python -m ggactors.testing.sim --seed {self.world.seed} --verbose",
            f"the last {min(last, len(self.events))} of {len(self.events)} events:",
            *(to_line(event)[:240] for event in self.events[-last:]),
        ]
        return "\n".join(lines)


class _Cutter(trio.abc.Instrument):
    """Calls what cuts the run off at the n-th step of any task."""

    def __init__(self, step: int, cut: Callable[[], None]) -> None:
        self.left, self.cut = step, cut

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count a step."""
        self.left -= 1
        if self.left == 0:
            self.cut()


@define
class Player:
    """Plays one world."""

    world: SimWorld
    start: Tree = field(factory=dict)
    """The operator's files."""
    sites: Sites = field(init=False)
    repository: SimRepository = field(init=False)
    run: Simulation = field(init=False)
    laws: Invariants = field(init=False)
    wave: WaveLaws = field(init=False)
    people: People = field(init=False)
    whole: trio.CancelScope = field(factory=trio.CancelScope)
    _cut: bool = False
    """Whether the whole run was cancelled at once."""

    def __attrs_post_init__(self) -> None:
        """Build the run and the laws that watch it."""
        world = self.world
        self.sites = Sites(world.faults, world.lag, world.chance("lag"))
        self.repository = SimRepository(sites=self.sites, start=self.start)
        agents = RandomAgents(world, self.sites.at)
        wave = world.wave
        spare = SpareAgents(agents, Account(storms=wave.spare_storms))
        self.run = Simulation(
            source=agents,
            sources={SPARE: spare} if wave.fallback else {},
            crew=world.crew,
            task="" if wave.person and wave.speaks_first else "do the work",
            launch={"interactive": wave.person, "confirm": wave.confirms},
            beside=None if wave.nothing else self._beside,
            programs=agents.programs,
            unresolved=frozenset((GHOST,)),
            repository=self.repository,
            journal=SimJournal(breaks_at=world.faults.journal_breaks_at, sites=self.sites),
            bench=self._bench,
            hooks=(Gate(world.chance("gate"), world.gate),) if world.gate else (),
            watch=self._see,
        )
        self.laws = Invariants(world, self.run)
        self.wave = WaveLaws(world=world, breach=self.laws.breach)
        self.people = People(world=world, breach=self.laws.breach)
        agents.seen = self.wave.look
        agents.account.breach = spare.account.breach = self.laws.breach
        self.repository.breach = self.laws.breach
        self.repository.living = self.laws.living_in
        self.repository.first_dispatch = self.laws.is_first_dispatch
        self.sites.crashed = self.laws.crash_is_planted

    def _bench(self, order: AgentOrder) -> SimBench:
        merging = any(part[-1:] == "m" for part in order.id.split(".")[1:])
        in_main = merging or order.issue is None
        tree = self.repository.files_of(None if in_main else order.issue)
        return SimBench(tree, order, self.repository, self.sites, merging)

    async def _beside(self, staff: Staff) -> None:
        await self.people.beside(staff)

    def _see(self, staff: Staff, event: Event) -> None:
        """Look at an event, and do what the world has planned at it."""
        faults = self.world.faults
        self.laws.see(staff, event)
        self.wave.see(event)
        self.people.hear(staff, event)
        if event.seq == faults.cancel_at:
            staff.stop(Status.CANCELED, "cancelled by the operator")
        if event.seq in faults.messages_at:
            for agent in ("root", *self.laws.living):
                staff.talk.send(agent, "a word from the operator", "operator")
        if event.seq > MOST_EVENTS:
            self.whole.cancel()

    async def _main(self) -> Outcome | None:
        cut = self.world.faults.cut_at
        self.whole.deadline = trio.current_time() + HORIZON
        with self.whole, trio.CancelScope() as scope:

            def cut_off() -> None:
                self.laws.cut = True
                scope.cancel()

            if cut is not None:
                trio.lowlevel.add_instrument(_Cutter(cut, cut_off))
            await self.run.run()
        self._cut = scope.cancelled_caught
        return self.run.staff.outcome if self.run.staff is not None else None

    def play(self) -> Played:
        """Play the world to its end."""
        with dice(self.world.schedule):
            outcome = trio.run(self._main, clock=trio.testing.MockClock(autojump_threshold=0))
        if self.whole.cancelled_caught:
            self.laws.breach("the_run_ends_Q7", _stuck(self.laws))
            outcome = None
        elif self.run.staff is not None:
            judge_end(self.laws, outcome, cut=self._cut)
            broken = self._cut or self.laws.cut or self.run.journal.broken or bool(self.run.crashes)
            self.wave.judge_end(self.run.staff, self.run.journal, whole=not broken)
        return Played(world=self.world, outcome=outcome, run=self.run, violations=tuple(self.laws.violations))


def play(world: SimWorld | int) -> Played:
    """Play a world, or the world of a seed."""
    return Player(world if isinstance(world, SimWorld) else SimWorld(world)).play()


@contextmanager
def dice(seed: int) -> Iterator[None]:
    """Schedule trio's tasks, and draw what the runtime draws, by a seed; everything is put back afterwards."""
    core: Any = trio._core._run
    before = core._r, core._ALLOW_DETERMINISTIC_SCHEDULING, random.getstate()
    core._r, core._ALLOW_DETERMINISTIC_SCHEDULING = random.Random(seed), True
    random.seed(seed)
    try:
        yield
    finally:
        core._r, core._ALLOW_DETERMINISTIC_SCHEDULING = before[:2]
        random.setstate(before[2])


def _stuck(laws: Invariants) -> str:
    """Say where everybody stands in a run that does not end."""
    who = ", ".join(f"{agent} {state}" for agent, state in laws.standing.items() if state != "ended")
    board = {issue.id: str(issue.state) for issue in laws.ledger.board.issues.values()}
    return f"nothing moves any more: {who or 'no agent lives'}; the board: {board}"
