"""Whose turn it is between an agent and its person, and the tasks that queue behind the one under way (G4, G7).

Law: a person has the floor from an ending call, a reply without a call, a model that failed for good or an interrupt on, until
they speak; meanwhile the agent holds no slot (S3). An interrupt cuts the turn under way and nothing else: every call of it is
answered, and no text is lost (H45, H46). Without a person and without queued tasks a floor changes nothing about a session.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeVar

import trio
from attrs import define, evolve, field, frozen

from ggactors.actors.stations import SessionEnd
from ggactors.protocol.agent import OPERATOR, GoOn, Leave, Say
from ggactors.protocol.events import Log, TaskEnded
from ggactors.protocol.values import AgentState, Status
from ggactors.rules.briefs import interrupted_note, nudge_to_finish, operator_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from ggactors.actors.agent import AgentActor
    from ggactors.actors.conversation import Conversation
    from ggactors.protocol.crew import Limits

T = TypeVar("T")

YOU = "you"
"""What an agent waits on while its person has the floor."""


@frozen
class Interrupted:
    """The person cut the work short; nothing of its outcome counts."""


@define(kw_only=True)
class Floor:
    """One agent's floor. ``person``: somebody is at its prompt. ``confirms``: they said yes to everything beforehand (``--yes``).

    ``prompts`` are worked off in turn, each once the one before has come to its end.
    """

    person: bool = False
    confirms: bool = False
    limits: Limits | None = None
    """The ceilings of an interactive agent, where they differ from the run's."""
    prompts: deque[Say] = field(factory=deque)
    idle: bool = False
    """Whether the person has the floor."""
    over: bool = False
    task: int = 1
    """The number of the task under way, from 1."""
    _agent: AgentActor = field(init=False)
    _talk: Conversation = field(init=False)
    _scope: trio.CancelScope | None = None
    _cut: bool = False
    _prose: bool = False
    _held_back: tuple[str, ...] = ()
    """What would have answered the last reply without a call, had nothing been queued."""
    _nudged: bool = False
    _leaving: bool = False
    _go: bool = False
    _heard: int = 0
    """How often the person spoke; what other agents say gives nobody the floor back that was taken from the agent."""
    _last: SessionEnd | None = None
    _unverified: bool = False
    _lot: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot)

    def attach(self, agent: AgentActor, talk: Conversation) -> None:
        """Give the floor to its agent."""
        self._agent, self._talk = agent, talk

    # ------------------------------------------------------------ from outside, at once

    def interrupt(self) -> bool:
        """Cut the turn under way. False when there is none, or nobody is at the prompt."""
        if not self.person or self.idle or self.over:
            return False
        self._cut = True
        if self._scope is not None:
            self._scope.cancel()
        return True

    def spoken_to(self) -> None:
        """Take note that a text is on its way: the floor is the agent's from now on."""
        self.idle = False

    async def persons_turn(self) -> bool:
        """Wait until the person has the floor. False when the session is over instead. Cancelled: nothing changes."""
        while not (self.idle or self.over):
            await self._lot.park()
        return self.idle

    def close(self) -> None:
        """Take note that the agent is gone."""
        self.idle, self.over = False, True
        self._lot.unpark_all()

    # ------------------------------------------------------------ letters

    def take(self, letter: Say | GoOn | Leave) -> None:
        """Take a letter that is about whose turn it is."""
        match letter:
            case Say():
                self._heard += letter.sender == OPERATOR
                (self.prompts if letter.queued and self.person else self._talk.waiting).append(letter)
            case GoOn():
                self._go = True
            case Leave():
                self._leaving = True

    def words(self, said: Say) -> str | None:
        """Word a text for the model as it is handed over; None when it was withdrawn."""
        if not self._agent.desk.mail.deliver(said):
            return None
        own = said.sender == OPERATOR and (self.person or said.queued)
        return said.text if own else operator_text(said.text, said.sender)

    # ------------------------------------------------------------ a turn

    async def cuttable(self, work: Awaitable[T]) -> T | Interrupted:
        """Do a part of a turn that an interrupt may cut. Cut: what the work promises for being cancelled holds."""
        if not self.person:
            return await work
        with trio.CancelScope() as scope:
            self._scope = scope
            if self._cut:
                scope.cancel()
            try:
                return await work
            finally:
                self._scope = None
        return Interrupted()

    @property
    def cut_short(self) -> bool:
        """Whether the person interrupted and nothing came of it yet."""
        return self._cut

    def error_of(self, error: str | None, *, called: bool) -> str | None:
        """Judge a turn's error: to a person a reply without a call is an answer (G7)."""
        return None if self.person and not called else error

    def reading(self, texts: Sequence[str], *, called: bool) -> tuple[str, ...]:
        """Give what the model reads after its reply. Queued prompts suppress both the auto-reply and the nudge (G4)."""
        self._prose = False
        if called:
            self._nudged = False
            return tuple(texts)
        self._agent.read_letters()
        if self.person and not self.prompts and not self._wanted() and self.confirms and not self._nudged:
            self._nudged = True
            return (nudge_to_finish(self._agent.order.role),)
        if self.person or self.prompts:
            self._prose = True
            self._held_back = tuple(texts)
            return ()
        return tuple(texts)

    @property
    def on_finish(self) -> str:
        """Word what an ending that stands comes to."""
        more = self.person or self.prompts
        return "the task ends; what comes next follows" if more else "the session ends"

    # ------------------------------------------------------------ between turns

    async def begin(self) -> SessionEnd | None:
        """Let the person speak first where there is no brief. Gives the session's end when they leave instead."""
        return None if self._agent.order.brief or not self.person else await self._hand_over(held=False)

    async def settle(self, end: SessionEnd | None) -> SessionEnd | None:
        """Decide what follows a turn: the session's end, the next task, the person's turn, or simply the next turn (None)."""
        cut, prose = self._cut, self._prose
        self._cut = self._prose = False
        if end is not None:
            if not self._ends_task(end):
                return end
            self._task_ended(end)
            if self.person:
                return await self._hand_over(held=cut)
            return None if self._next_prompt() else self._whole(end)
        if cut and not prose:
            self._talk.user(interrupted_note())
            self._task_ended(SessionEnd(status=Status.CANCELED, summary="interrupted by the operator"))
            return await self._hand_over(held=True)
        if not prose or (self.person and not cut and self._wanted()):
            return None
        self._last = None
        self.task += 1
        if self.person:
            return await self._hand_over(held=cut)
        if not self._next_prompt():  # what queued was withdrawn meanwhile
            for text in self._held_back:
                self._talk.user(text)
        else:
            message = f"task {self.task - 1} was answered without an ending call; going on with the next"
            self._agent.desk.emit(Log(agent=self._agent.id, level="warning", message=message))
        return None

    def _ends_task(self, end: SessionEnd) -> bool:
        """Tell whether an end is that of a task alone: with a person there, also when the model failed for good."""
        if end.status is Status.COMPLETED:
            return self.person or bool(self.prompts) or self.task > 1
        return self.person and end.status in (Status.MODEL_ERROR, Status.AUTH_ERROR)

    def _task_ended(self, end: SessionEnd) -> None:
        self._last = end
        self._unverified = self._unverified or end.verified is False
        self._nudged = False
        self._agent.desk.emit(
            TaskEnded(
                agent=self._agent.id,
                task=self.task,
                status=end.status,
                summary=end.summary,
                verified=end.verified,
                queued=sum(self._agent.desk.mail.is_wanted(prompt) for prompt in self.prompts),
            )
        )
        self.task += 1

    def _whole(self, end: SessionEnd) -> SessionEnd:
        """Give the session's end from its last task's: unverified if any task was."""
        return evolve(end, verified=False) if self._unverified else end

    def _next_prompt(self) -> bool:
        """Take the next queued prompt up, if there is one that still stands."""
        while self.prompts:
            prompt = self.prompts.popleft()
            if self._agent.desk.mail.is_wanted(prompt):
                self._talk.waiting.append(prompt)
                return True
        return False

    def _wanted(self) -> bool:
        """Tell whether a text waits for the model that was not withdrawn."""
        mail = self._agent.desk.mail
        self._talk.waiting[:] = [said for said in self._talk.waiting if mail.is_wanted(said)]
        return bool(self._talk.waiting)

    # ------------------------------------------------------------ the person's turn

    async def _hand_over(self, *, held: bool) -> SessionEnd | None:
        """Give the person the floor until they speak, and take a slot again; the session's end when they leave.

        ``held``: texts that wait are kept until the person says something more, since they cut the turn that would have read
        them. A stop raises WindDown.
        """
        agent = self._agent
        agent.read_letters()
        if not held and (self._wanted() or self._next_prompt()):
            return None
        if self._leaving:
            return self._left()
        agent.rest(YOU)
        with agent.desk.switch.interruptible(agent.id):
            while True:
                if not await self._spoken(held=held):
                    return self._left()
                held = not await self._slot()
                if held:
                    continue
                if self._wanted():
                    break
                agent.seat.give_back()  # what was said was withdrawn meanwhile
        agent.showing.state(AgentState.RUNNING)
        return None

    async def _spoken(self, *, held: bool) -> bool:
        """Wait until there is something to go on with. False: the person leaves."""
        self._agent.read_letters()
        known = self._heard
        while True:
            go, self._go = self._go, False
            if (go or not held or self._heard > known) and (self._wanted() or self._next_prompt()):
                self.idle = False
                return True
            if self._leaving:
                return False
            self.idle = True
            self._lot.unpark_all()
            await self._agent.next_letter()
            self._agent.read_letters()

    async def _slot(self) -> bool:
        """Take a slot again. False when the person interrupts the wait for it."""
        seat = self._agent.seat
        await self.cuttable(seat.take(begun=True))
        if seat.holds:
            return True
        self._cut = False
        return False

    def _left(self) -> SessionEnd:
        """End with the last task, since the person leaves."""
        last = self._last or SessionEnd(status=Status.COMPLETED, summary="the operator left")
        return self._whole(last)
