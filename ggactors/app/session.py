"""A run as its caller holds it: its events, its outcome, a word to its agents (docs/reference/embedding.md)."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Self, cast

from attrs import evolve, field, frozen

from ggactors.actors.mail import Posted  # noqa: TC001 - attrs reads it
from ggactors.protocol.agent import OPERATOR
from ggactors.protocol.attention import AttentionItem, AttentionKind
from ggactors.protocol.events import Log, SessionEnded
from ggactors.protocol.values import Code, MessageState, Status
from ggactors.telemetry.jsonl import read_events

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path

    from ggactors.app.staff import Staff
    from ggactors.app.workplace import Workplace
    from ggactors.protocol.attention import Answered
    from ggactors.protocol.events import Event, Header
    from ggactors.protocol.git import Landing
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
    """What became of what was asked for: ``accepted`` means that the agent lives and heard it.

    For a text that was sent, ``state`` says at any time what became of it, and ``id`` is what its ``message`` events call it.
    """

    agent: str
    accepted: bool
    _posted: Posted | None = field(default=None, eq=False, repr=False)

    @property
    def id(self) -> str | None:
        """Return the id of the text, None for what was no text or was not accepted."""
        return None if self._posted is None else self._posted.id

    @property
    def state(self) -> MessageState | None:
        """Return what became of the text so far: ``queued``, ``delivered`` to the model, ``withdrawn``, or ``unread`` (H46)."""
        return None if self._posted is None else self._posted.state


@frozen(kw_only=True)
class Waiting:
    """A text that no turn has shown to its agent's model yet. ``queued``: it waits until the work under way is done."""

    id: str
    text: str
    sender: str
    queued: bool


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

    def send(self, agent_id: str, text: str, *, sender: str = OPERATOR, queue: bool = False) -> Receipt:
        """Hand a text to a living agent, which reads it at its next turn, with all others that wait (H46).

        Where the person has the floor this gives it back to the agent. ``queue`` makes the text a task of its own, which an
        interactive agent takes up once the work under way and what was queued before are done (G4). Raises TypeError for what
        is no text.
        """
        for name, given in (("agent_id", agent_id), ("text", text), ("sender", sender)):
            if not isinstance(given, str):
                raise TypeError(f"send: {name} must be a str, not {type(given).__name__}")
        posted = self._staff.talk.send(agent_id, text, sender, queued=queue)
        return Receipt(agent=agent_id, accepted=posted is not None, posted=posted)

    def pending(self, agent_id: str = "root") -> tuple[Waiting, ...]:
        """List the texts that an agent's model has not been shown yet, in the order they were sent."""
        waiting = self._staff.talk.mail.pending(agent_id)
        return tuple(Waiting(id=one.id, text=one.text, sender=one.sender, queued=one.queued) for one in waiting)

    def withdraw(self, message_id: str) -> bool:
        """Take a text back that was not shown to a model yet. False when it is too late, or there is none."""
        return self._staff.talk.mail.withdraw(message_id)

    def interrupt(self, agent_id: str = "root") -> Receipt:
        """Cut the turn that an interactive agent is in, and nothing else (H45): its model's call, its tools, its waits.

        Its calls are answered as interrupted, its person gets the floor, and texts that wait are kept until they say something
        more, or ``go_on``. Not accepted when the person has the floor already.
        """
        return Receipt(agent=agent_id, accepted=self._staff.talk.interrupt(agent_id))

    def go_on(self, agent_id: str = "root") -> Receipt:
        """Give the floor back to an agent with the texts that wait. Not accepted when none waits."""
        return Receipt(agent=agent_id, accepted=self._staff.talk.go_on(agent_id))

    def close(self, agent_id: str = "root") -> Receipt:
        """Leave an interactive session: it ends as its last task did, once what is under way and queued is done (G7)."""
        return Receipt(agent=agent_id, accepted=self._staff.talk.leave(agent_id))

    async def persons_turn(self, agent_id: str = "root") -> bool:
        """Wait until the person has an agent's floor. False when its session is over. Cancelled: nothing changes."""
        return await self._staff.talk.persons_turn(agent_id)

    def attention(self) -> tuple[AttentionItem, ...]:
        """List what waits for a person, oldest first: approvals, questions, stalls, a held checkout, reviews that go on (H42)."""
        return self._staff.talk.attention.items()

    def answer(self, item_id: str, choice: str, note: str = "") -> Receipt:
        """Answer what waits for a person, in any order. Not accepted when it is not open any more.

        ``note`` goes with the answer to whoever asked. Raises ValueError for a choice that is none of the item's.
        """
        refused = self._staff.talk.attention.answer(item_id, self._staff.talk.mask(choice), self._staff.talk.mask(note))
        if refused is not None and refused.code is Code.INVALID_ARGUMENT:
            raise ValueError(refused.message)
        return Receipt(agent="", accepted=refused is None)

    async def ask(
        self,
        question: str,
        *,
        options: Sequence[str] = (),
        default: str = "",
        deadline_secs: float | None = None,
        agent_id: str | None = None,
    ) -> Answered:
        """Ask the person a question, as a tool or hook of the embedding program, and wait for the answer.

        Without ``options`` any text is an answer. After ``deadline_secs`` ``default`` is the answer. Cancelled: it is withdrawn.
        """
        item = AttentionItem(
            id="",
            kind=AttentionKind.QUESTION,
            title=self._staff.talk.mask(question),
            agent=agent_id,
            options=tuple(options),
            default=default,
            deadline_secs=deadline_secs,
        )
        return await self._staff.talk.attention.ask(item)

    def pause(self) -> Receipt:
        """Hold every agent at its next turn boundary, without its slot, and dispatch nothing. Not accepted when that is so already.

        Nothing under way is cut. Ceilings of time go on.
        """
        return self._told(self._staff.switch.pause(), "paused by the operator")

    def unpause(self) -> Receipt:
        """Let the run go on. Not accepted when it is not paused."""
        return self._told(self._staff.switch.unpause(), "goes on after a pause")

    def _told(self, accepted: bool, message: str) -> Receipt:
        if accepted:
            self._staff.place.emit(Log(level="info", message=message))
        return Receipt(agent="", accepted=accepted)

    def cancel(self) -> Receipt:
        """Ask the run to stop at its agents' next turn boundaries. It stays resumable."""
        self._staff.stop(Status.CANCELED, "cancelled by the operator")
        return Receipt(agent="", accepted=True)

    async def land(self) -> Landing | None:
        """Move the operator's checkout forward to what is merged so far, all or nothing (W10); None without a board.

        Waits for a merge under way. Cancelled: a landing that began is completed first.
        """
        return await self._staff.land()

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
