"""A run as its caller holds it: its events, its outcome, a word to its agents (contract section 5)."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Self, cast

from attrs import evolve, frozen

from ggactors.protocol.events import SessionEnded
from ggactors.protocol.values import Status
from ggactors.telemetry.jsonl import read_events

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from ggactors.app.staff import Staff
    from ggactors.app.workplace import Workplace
    from ggactors.protocol.events import Event, Header
    from ggactors.protocol.run import Outcome
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.folds import AgentView, EpicView, IssueView


class _Ready:
    """A value that is there at once and may be awaited all the same."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, Self]:
        yield from ()
        return self


@frozen(kw_only=True)
class Receipt(_Ready):
    """What became of a text that was sent: ``accepted`` means the agent lives and reads it at its next turn."""

    agent: str
    accepted: bool


@frozen(kw_only=True)
class BoardSnapshot(_Ready):
    """The board at one moment. ``stalled`` maps an open issue that can never be dispatched to the failed one before it."""

    epics: tuple[EpicView, ...]
    issues: tuple[IssueView, ...]
    stalled: dict[str, str]


class AgentsSnapshot(tuple["AgentView", ...], _Ready):
    """Every agent at one moment, in the order they were made."""

    __slots__ = ()


class EventStream:
    """Every event of a run from its first: those already in its file, then the live ones.

    Ends after the event that closes this process's segment, or when the run is closed without one.
    """

    def __init__(self, place: Workplace) -> None:
        self._live = place.bus.subscribe()
        place.lines.flush()
        self._past: Iterator[Event] = iter(read_events(place.events_path))
        self._last = 0
        self._over = False

    def __aiter__(self) -> Self:
        """Iterate."""
        return self

    async def __anext__(self) -> Event:
        """Give the next event. Cancelled: none is lost."""
        if self._over:
            raise StopAsyncIteration
        event = await self._next()
        self._last = event.seq
        self._over = isinstance(event, SessionEnded) and not self._goes_on()
        return event

    async def _next(self) -> Event:
        for event in self._past:
            return event
        while True:
            event = cast("Event", await anext(self._live))
            if event.seq > self._last:
                return event

    def _goes_on(self) -> bool:
        """Tell whether a later segment follows in the file: a run that was resumed has closed others before."""
        following = next(self._past, None)
        if following is not None:
            self._past = chain((following,), self._past)
        return following is not None


class Run:
    """A live run. Nothing here blocks the run: slow readers of events fall behind, the run does not."""

    def __init__(self, *, folder: RunFolder, staff: Staff) -> None:
        self._staff = staff
        self._folder = folder

    @property
    def id(self) -> str:
        """Return the run's id."""
        return self._folder.id

    @property
    def folder(self) -> Path:
        """Return the run's folder, where its journal, its events and its repository lie."""
        return self._folder.path

    def events(self) -> EventStream:
        """Iterate over every event of the run, from the first to the last, whenever this is called."""
        return EventStream(self._staff.place)

    def add_sink(self, sink: Callable[[Event], None]) -> None:
        """Call ``sink`` with every event from now on, at once and in order. One that raises is dropped, the run goes on."""
        self._staff.place.bus.add_sink(cast("Callable[[Header], None]", sink))

    async def outcome(self) -> Outcome:
        """Wait until the run has ended and give what it came to. Cancelled: the run goes on."""
        await self._staff.done.wait()
        outcome = self._staff.outcome
        if outcome is None:
            raise RuntimeError("the run ended without an account")
        return outcome

    def send(self, agent_id: str, text: str, *, sender: str = "operator") -> Receipt:
        """Hand a text to a living agent, which reads it at its next turn. Raises TypeError for what is no text."""
        for name, given in (("agent_id", agent_id), ("text", text), ("sender", sender)):
            if not isinstance(given, str):
                raise TypeError(f"send: {name} must be a str, not {type(given).__name__}")
        return Receipt(agent=agent_id, accepted=self._staff.say(agent_id, text, sender))

    def cancel(self) -> Receipt:
        """Ask the run to stop at its agents' next turn boundaries. It stays resumable."""
        self._staff.stop(Status.CANCELED, "cancelled by the operator")
        return Receipt(agent="", accepted=True)

    def board(self) -> BoardSnapshot:
        """Take a frozen snapshot of the board, as the events so far tell it."""
        view = self._staff.place.view
        return BoardSnapshot(
            epics=tuple(evolve(epic) for epic in view.epics.values()),
            issues=tuple(evolve(issue, reviews=list(issue.reviews)) for issue in view.issues.values()),
            stalled=view.stalls(),
        )

    def agents(self) -> AgentsSnapshot:
        """Take a frozen snapshot of every agent so far, in the order they were made."""
        return AgentsSnapshot(self._staff.place.view.agents())
