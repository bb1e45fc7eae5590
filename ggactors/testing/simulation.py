"""Whole runs in memory, under any clock: the real actors over a memory repository, a memory journal and scripted models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, field

from ggactors.app.launch import Launch
from ggactors.app.staff import Staff
from ggactors.app.workplace import Workplace
from ggactors.crew import crew_from_document
from ggactors.models.script import script_of
from ggactors.runtime.bus import EventBus
from ggactors.runtime.slots import Seat, SlotPool
from ggactors.runtime.system import open_system
from ggactors.store.folder import RunFolder
from ggactors.telemetry.folds import RunView
from ggactors.testing.crews import crew_document
from ggactors.testing.journals import MemoryJournal
from ggactors.testing.memory import MemoryRepository
from ggactors.tools.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ggactors.models.resolve import ModelSource
    from ggactors.ports import HookObject, Workbench
    from ggactors.protocol.agent import AgentOrder
    from ggactors.protocol.crew import Crew
    from ggactors.protocol.events import Event
    from ggactors.protocol.run import Outcome
    from ggactors.protocol.skills import Skill
    from ggactors.runtime.mailbox import LetterCodec
    from ggactors.runtime.ref import Ref
    from ggactors.runtime.system import Actor, System
    from ggactors.testing.crews import Entry


class _Lines:
    """Stands where the event file's sink stands, and keeps nothing."""

    def flush(self) -> None:
        """Have nothing to write."""


class CountedPool(SlotPool):
    """A slot pool that remembers every seat it made, so that what it says is held can be compared with what the seats hold."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.seats: list[Seat] = []

    def seat(self, name: str) -> Seat:
        """Make a seat and remember it."""
        seat = super().seat(name)
        self.seats.append(seat)
        return seat


@define
class _Roll:
    """Stands before the system and notes every actor that is spawned, under its name."""

    system: System
    actors: dict[str, Any]

    def spawn(self, name: str, actor: Actor[Any, Any], codec: LetterCodec[Any, Any]) -> Ref[Any, Any]:
        """Spawn an actor."""
        ref = self.system.spawn(name, actor, codec)
        self.actors[name] = actor
        return ref


@define(kw_only=True)
class Simulation:
    """One run in memory. ``script`` is what the models reply, or ``source`` serves them; ``document`` changes the crew.

    ``crew`` is used instead of a document's; ``unresolved`` names the model keys that come to nothing (D7); ``bench`` gives
    agents their workbenches. ``watch(staff, event)`` sees every event as it is emitted, which is the place to check
    invariants at every step; what it raises is raised once the run is over. ``actors``, ``seats`` and ``crashes`` are for
    looking inside.
    """

    script: Mapping[str, Sequence[Entry]] = field(factory=dict)
    source: ModelSource | None = None
    sources: Mapping[str, ModelSource] = field(factory=dict)
    """Sources of their own for some model keys."""
    crew: Crew | None = None
    unresolved: frozenset[str] = frozenset()
    bench: Callable[[AgentOrder], Workbench] | None = None
    hooks: tuple[HookObject, ...] = ()
    programs: Any = None
    """What runs the programs of agents that answer with some."""
    skills: Mapping[str, tuple[Skill, ...]] = field(factory=dict)
    """Skills by the ``dir`` a profile names."""
    document: Mapping[str, Any] = field(factory=dict)
    repository: MemoryRepository = field(factory=MemoryRepository)
    journal: MemoryJournal = field(factory=MemoryJournal)
    watch: Callable[[Staff, Event], None] | None = None
    beside: Callable[[Staff], Awaitable[None]] | None = None
    """What goes on beside the run, such as a person at work with it; it is cancelled once the run is over."""
    launch: Mapping[str, Any] = field(factory=dict)
    """More of what the run is launched with, by the names of ``Launch``."""
    task: str = "do the work"
    folder: Path = Path("memory-run")
    events: list[Event] = field(factory=list)
    staff: Staff | None = None
    actors: dict[str, Any] = field(factory=dict)
    """Every actor that was spawned, by name, also after its end."""
    crashes: list[tuple[str, BaseException]] = field(factory=list)
    """The actors that died of an exception, and of which."""

    @property
    def seats(self) -> tuple[Seat, ...]:
        """List every seat of the run's pool, in the order they were made."""
        pool = None if self.staff is None else self.staff.pool
        return tuple(pool.seats) if isinstance(pool, CountedPool) else ()

    def _source(self) -> ModelSource:
        if self.source is not None:
            return self.source
        import json

        text = json.dumps({"agents": self.script}).encode()
        script, problems = script_of(text, "script.json", "script")
        if problems:
            raise AssertionError("; ".join(map(str, problems)))
        return script

    def _crew(self) -> Crew:
        if self.crew is not None:
            return self.crew
        return crew_from_document(crew_document(**dict(self.document)), folder=Path.cwd())

    async def run(self) -> Outcome:
        """Drive the run to its end and return what it came to. Cancelled: the run is stopped at once."""
        crew = self._crew()
        source = self._source()
        lost: list[Exception] = []
        bus = EventBus(
            run="simulated",
            clock=lambda: "2026-01-02T03:04:05.000Z",
            on_sink_lost=lambda _, error: lost.append(error),
        )
        view = RunView()
        bus.add_sink(view.apply)  # type: ignore[arg-type]
        bus.add_sink(self._see)  # type: ignore[arg-type]
        place = Workplace(
            bus=bus,
            journal=self.journal,
            repository=self.repository if crew.board is not None else None,
            view=view,
            lines=_Lines(),  # type: ignore[arg-type]
            events_path=self.folder / "events.jsonl",
            watchdog=Watchdog("simulated"),
            programs=self.programs,
        )
        launch = Launch(
            crew=crew,
            workspace=self.folder,
            task=self.task,
            sources={
                **{profile.model.key: source for profile in crew.profiles if profile.model.key not in self.unresolved},
                **self.sources,
            },
            bench=self.bench or self._bench,
            hooks=self.hooks,
            skills=self.skills,
            **self.launch,
        )
        self.staff = staff = Staff(launch=launch, folder=RunFolder(self.folder), place=place)
        staff.pool = CountedPool(crew.limits.max_parallel)
        await staff.open()
        try:
            async with open_system(on_crash=self._crashed, slices=2) as system:
                staff.start(_Roll(system, self.actors))  # type: ignore[arg-type]
                async with trio.open_nursery() as nursery:
                    if self.beside is not None:
                        nursery.start_soon(self.beside, staff)
                    await staff.done.wait()
                    nursery.cancel_scope.cancel()
        finally:
            staff.close()
            bus.close()
        if lost:
            raise lost[0]
        if staff.outcome is None:
            raise AssertionError("the run gave no account")
        return staff.outcome

    def _crashed(self, name: str, error: BaseException) -> None:
        self.crashes.append((name, error))
        if self.staff is not None:
            self.staff.crashed(name, error)

    def _bench(self, order: AgentOrder) -> Workbench:
        in_main = order.workdir in (self.repository.facts.root, self.repository.facts.main)
        return self.repository.bench(None if in_main else order.issue)

    def _see(self, event: Event) -> None:
        self.events.append(event)
        if self.watch is not None and self.staff is not None:
            self.watch(self.staff, event)
