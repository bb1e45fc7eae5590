"""Whole runs in memory, under any clock: the real actors over a memory repository, a memory journal and scripted models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field

from ggactors.app.launch import Launch
from ggactors.app.staff import Staff
from ggactors.app.workplace import Workplace
from ggactors.crew import crew_from_document
from ggactors.models.script import script_of
from ggactors.protocol.values import Kind
from ggactors.runtime.bus import EventBus
from ggactors.runtime.system import open_system
from ggactors.store.folder import RunFolder
from ggactors.telemetry.folds import RunView
from ggactors.testing.crews import crew_document
from ggactors.testing.journals import MemoryJournal
from ggactors.testing.memory import MemoryRepository

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ggactors.models.resolve import ModelSource
    from ggactors.protocol.agent import AgentOrder
    from ggactors.protocol.crew import Crew
    from ggactors.protocol.events import Event
    from ggactors.protocol.run import Outcome
    from ggactors.testing.crews import Entry
    from ggactors.testing.memory import MemoryBench


class _Lines:
    """Stands where the event file's sink stands, and keeps nothing."""

    def flush(self) -> None:
        """Have nothing to write."""


@define(kw_only=True)
class Simulation:
    """One run in memory. ``script`` is what the models reply, or ``source`` serves them; ``document`` changes the crew.

    ``watch(staff, event)`` sees every event as it is emitted, which is the place to check invariants at every step; what it raises
    is raised once the run is over.
    """

    script: Mapping[str, Sequence[Entry]] = field(factory=dict)
    source: ModelSource | None = None
    document: Mapping[str, Any] = field(factory=dict)
    repository: MemoryRepository = field(factory=MemoryRepository)
    journal: MemoryJournal = field(factory=MemoryJournal)
    watch: Callable[[Staff, Event], None] | None = None
    task: str = "do the work"
    folder: Path = Path("memory-run")
    events: list[Event] = field(factory=list)
    staff: Staff | None = None

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
        )
        launch = Launch(
            crew=crew,
            workspace=self.folder,
            task=self.task,
            sources={profile.model.key: source for profile in crew.profiles},
            bench=self._bench,
        )
        self.staff = staff = Staff(launch=launch, folder=RunFolder(self.folder), place=place)
        await staff.open()
        try:
            async with open_system(on_crash=staff.crashed) as system:
                staff.start(system)
                await staff.done.wait()
        finally:
            staff.close()
            bus.close()
        if lost:
            raise lost[0]
        if staff.outcome is None:
            raise AssertionError("the run gave no account")
        return staff.outcome

    def _bench(self, order: AgentOrder) -> MemoryBench:
        return self.repository.bench(None if order.kind is Kind.MERGER else order.issue)

    def _see(self, event: Event) -> None:
        self.events.append(event)
        if self.watch is not None and self.staff is not None:
            self.watch(self.staff, event)
