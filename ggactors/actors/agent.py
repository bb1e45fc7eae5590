"""One agent: ceilings, model, tools, outcome, again, until an ending call stands or something stops it (E1, C1).

Law: the seat is held while a turn runs and given back, once, for as long as the agent waits (S3). What leaves the actor
follows a committed fact: a reply is journaled before its calls run. Cancelled at any point: the seat is given back if it was
held, the tools are closed, nothing else is promised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from ggactors.actors.approving import Approvals
from ggactors.actors.asking import Asking, ForGood, Way
from ggactors.actors.coding import CodeTurn, nothing_used
from ggactors.actors.compacting import Compacting
from ggactors.actors.conversation import Conversation
from ggactors.actors.floor import Floor, Interrupted
from ggactors.actors.gates import Gate, NoHooks
from ggactors.actors.leaving import Leaving
from ggactors.actors.showing import Showing
from ggactors.actors.stations import SessionEnd
from ggactors.actors.switch import WindDown
from ggactors.actors.turn import Turn
from ggactors.actors.watching import Watch
from ggactors.ports import JournalBroken
from ggactors.protocol.agent import OPERATOR, GoOn, Leave, Say, Stop, Wake
from ggactors.protocol.events import LimitExceeded, TurnOutcome
from ggactors.protocol.model import ModelReply, ModelTraits
from ggactors.protocol.values import AgentState, Status, TurnResult
from ggactors.rules.ceilings import Breach, Tally, judge_after, judge_before
from ggactors.rules.verdict import is_run_wide
from ggactors.runtime.mailbox import ActorGone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ggactors.actors.coding import Coding
    from ggactors.actors.desk import Desk, Endings
    from ggactors.actors.stations import Station
    from ggactors.ports import Hooks, Model, Toolbox
    from ggactors.protocol.agent import AgentLetter, AgentOrder
    from ggactors.protocol.crew import Limits, Profile
    from ggactors.protocol.model import ModelRequest, ToolCall, ToolSpec
    from ggactors.protocol.values import Refused
    from ggactors.runtime.mailbox import Inbox
    from ggactors.runtime.slots import Seat


PAUSED = "the end of the pause"


def _all_children(_: ToolCall) -> None:
    return None


def _no_guide(_: ToolCall) -> str | None:
    return None


def _forget_nothing() -> None:
    return None


def _kept_nowhere(_label: str, _text: str) -> str | None:
    return None


@define(kw_only=True)
class AgentActor:
    """The actor of one agent. ``parse_wait`` reads the arguments of ``wait_for_issue``; ``begun`` is its class in the queue."""

    order: AgentOrder
    profile: Profile
    model: Model
    toolbox: Toolbox
    endings: Endings
    seat: Seat
    station: Station
    desk: Desk
    system: str
    parse_wait: Callable[[ToolCall], str | Refused]
    parse_children: Callable[[ToolCall], tuple[str, ...] | Refused | None] = _all_children
    guide: Callable[[ToolCall], str | None] = _no_guide
    """Gives what the repository says about working where a call works, the first time (AGENTS.md)."""
    in_use: Callable[[], tuple[tuple[str, str], ...]] = nothing_used
    """Gives the skills it has read, name and text, for when its conversation is compacted."""
    forget: Callable[[], None] = _forget_nothing
    """Called when its conversation was compacted: what is told once may be told again."""
    keep: Callable[[str, str], str | None] = _kept_nowhere
    """Keeps a text where the agent can read it, under a label; gives its path."""
    coding: Coding | None = None
    """What it needs to answer with programs, if that is how it answers (X1)."""
    hooks: Hooks = field(factory=NoHooks)
    opening: Hooks = field(factory=NoHooks)
    """The session's hooks, for the one agent that opens it."""
    traits: ModelTraits = field(factory=ModelTraits)
    """What its model's source says of it: the account its calls share, the window they must fit."""
    fallbacks: tuple[tuple[Model, ModelTraits], ...] = ()
    """The models it goes to while its own is in lasting trouble, in order."""
    begun: bool = True
    floor: Floor = field(factory=Floor)
    """Whose turn it is, where a person is at its prompt or tasks queue."""
    approvals: Approvals = field(factory=Approvals)
    """What it has to ask a person for."""
    interactive: bool = False
    """Whether a person is at its prompt (G7)."""
    tally: Tally = field(factory=Tally)
    limit: Breach | None = None
    waits_open: bool = False
    """Whether the board still holds waits of this agent that were not read."""
    _inbox: Inbox[AgentLetter, None] | None = None
    _last_result: TurnResult = TurnResult.PROGRESSED
    showing: Showing = field(init=False)
    gate: Gate = field(init=False)
    _watch: Watch = field(init=False)
    _talk: Conversation = field(init=False)
    _asking: Asking = field(init=False)
    _compacting: Compacting = field(init=False)
    _leaving: Leaving = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Make the conversation and the way to the model."""
        self._talk = Conversation(
            agent=self.order.id,
            journal=self.desk.journal,
            pack=self.desk.pack,
            clean=self.desk.clean,
            run=self.desk.run,
        )
        self.showing = Showing(agent=self)
        self.gate = Gate(agent=self, tell=self._talk.user)
        self.floor.attach(self, self._talk)
        self._watch = Watch(agent=self.id, detection=self.profile.stuck, emit=self.desk.emit, tell=self._talk.user)
        lane = self.desk.traffic.lane
        self._asking = Asking(
            agent=self.order.id,
            profile=self.profile.id,
            kind=self.order.kind,
            issue=self.order.issue,
            ways=[
                Way(model=model, lane=lane(traits.account))
                for model, traits in ((self.model, self.traits), *self.fallbacks)
            ],
            own_limits=self.profile.limits,
            desk=self.desk,
            breach=self._breach,
            show=self.showing.provider,
        )
        self._compacting = Compacting(agent=self, talk=self._talk, asking=self._asking)
        self._leaving = Leaving(agent=self, talk=self._talk)

    @property
    def id(self) -> str:
        """Return the agent's id."""
        return self.order.id

    @property
    def limits(self) -> Limits:
        """Return the ceilings that hold for it."""
        return self.floor.limits or self.desk.limits

    # ------------------------------------------------------------ life

    async def run(self, inbox: Inbox[AgentLetter, None]) -> None:
        """Live the session and carry its work away. The journal or the board dying ends it without an account of its own."""
        self._inbox = inbox
        try:
            offered = tuple(spec.name for spec in self.offered())
            self.showing.announce(offered, () if self.coding is None else self.coding.granted)
            end = await self._session()
            await self._leaving.leave(end)
        except (JournalBroken, ActorGone) as error:
            if self.desk.switch.cut_off and isinstance(error, ActorGone):
                await self._leaving.close_tools()
                raise  # everybody is being stopped; the board merely went first
            self.desk.stop_run(Status.INTERNAL_ERROR, str(error) or "the board is gone")
            await self._leaving.close_tools()
            self._leaving.gone(SessionEnd(status=Status.INTERNAL_ERROR, summary="the run broke down"))
        except BaseException as error:
            await self._leaving.close_tools()  # noqa: ASYNC102 - shielded in there, for a bounded time
            if isinstance(error, Exception):
                self._leaving.broke_down(error)
            raise
        finally:
            self.seat.give_back()
            self.floor.close()

    async def _session(self) -> SessionEnd:
        self._talk.system(self.system)
        if self.order.brief:
            self._talk.user(self.order.brief)
        try:
            if not self.seat.holds:
                with self.desk.switch.interruptible(self.id):
                    await self.seat.take(begun=self.begun)
            self.showing.state(AgentState.RUNNING)
            end = await self.gate.open() or await self.floor.begin()
            while end is None:
                if not await self._parked_while_paused():
                    end = self._boundary() or await self._between_turns("before-generation")
                    if end is None and not self.floor.cut_short:
                        end = await self._one_turn()
                end = await self.floor.settle(end)
        except WindDown:
            return self._stopped()
        else:
            return end

    # ------------------------------------------------------------ turn boundaries

    async def _parked_while_paused(self) -> bool:
        """Begin no turn while the run is paused, and hold no slot meanwhile. Tells whether its person cut that short."""
        while self.desk.switch.paused:
            cut = await self.floor.cuttable(self.suspend(PAUSED, self.desk.switch.unpaused))
            if isinstance(cut, Interrupted):
                return True
        return False

    def _boundary(self) -> SessionEnd | None:
        """Look at the stop, then at the ceilings; when a turn follows, hand over what the letters say."""
        if self.desk.switch.stops(self.id):
            return self._stopped()
        breach = self._breach()
        if breach is not None:
            return self._breached(breach)
        self.read_letters()
        if any(said.sender == OPERATOR for said in self._talk.waiting):
            self._watch.forget()
        self._talk.hand_over(self.floor.words)
        return None

    def read_letters(self) -> None:
        """Take what lies in the mailbox, without waiting."""
        if self._inbox is not None:
            for envelope in self._inbox.drain_nowait():
                self.take_letter(envelope.letter)

    def _breach(self) -> Breach | None:
        elapsed = self.desk.now() - self.desk.started
        spending = self.desk.spending
        run_wide = judge_before(self.limits, self.tally, elapsed=elapsed, spent=spending.spent)
        return run_wide or spending.breach(self._asking.budgets, self.tally.turns)

    def take_letter(self, letter: AgentLetter) -> None:
        """Keep what a letter says until the turn boundary. Wake and Stop carry nothing: the truth is asked for."""
        match letter:
            case Say() | GoOn() | Leave():
                self.floor.take(letter)
            case Wake() | Stop():
                pass

    def _stopped(self) -> SessionEnd:
        """End with the run. A run-wide ceiling is every agent's own stop, with an event of its own (C2)."""
        status = self.desk.switch.status or Status.CANCELED
        breach = self._breach()
        if breach is not None and breach.status is status and is_run_wide(breach.limit):
            return self._breached(breach)
        reason = self.desk.switch.reason or "the agent it worked for has ended"
        return SessionEnd(status=status, summary=reason, parked=True)

    def _breached(self, breach: Breach) -> SessionEnd:
        self.limit = breach
        self.desk.emit(
            LimitExceeded(
                agent=self.id,
                limit=breach.limit,
                threshold=breach.threshold,
                observed=breach.observed,
                turns=self.tally.turns,
                window=breach.window,
                budget=breach.budget,
            )
        )
        run_wide = is_run_wide(breach.limit)
        if run_wide:
            self.desk.stop_run(breach.status, breach.sentence())
        summary = self._watch.diagnosed(breach.sentence())
        return SessionEnd(status=breach.status, summary=summary, parked=run_wide, final=breach.budget is not None)

    # ------------------------------------------------------------ turns

    async def _one_turn(self) -> SessionEnd | None:
        reply = await self.floor.cuttable(self._compacting.reply(self.question))
        match reply:
            case Interrupted():
                return None
            case Breach():
                return self._breached(reply)
            case ForGood():
                self._record(TurnResult.ERROR, reply.error_type)
                return SessionEnd(status=reply.status, summary=reply.message)
            case ModelReply():
                pass
        await self._talk.take_reply(self.tally.turns + 1, reply)
        turn = self._turn(reply)
        try:
            ending = await self.floor.cuttable(turn.carry_out())
        except WindDown:
            turn.break_off("the run is stopping")
            self._judge(turn, reply, finished=False)
            raise
        if isinstance(ending, Interrupted):
            turn.break_off("interrupted by the operator; it may have been carried out in part")
            await self._leaving.drop_waits()
            ending = None
        self._judge(turn, reply, finished=ending is not None)
        if ending is not None:
            return ending
        self._watch.heard(reply.text, turn.error_type)
        texts = self.floor.reading(turn.take_texts(), called=bool(reply.calls))
        texts = ((reply.note,) if reply.note else ()) + texts
        breach = judge_after(self.limits, self.tally)
        stuck = None if breach is not None else self._watch.look(turn.action(texts), interactive=self.floor.person)
        for text in texts:
            self._talk.user(text)
        if breach is not None:
            return self._breached(breach)
        return stuck or await self._between_turns("after-turn")

    async def _between_turns(self, event: str) -> SessionEnd | None:
        """Let hook objects hear of an event; an interrupt reaches those too (H45)."""
        end = await self.floor.cuttable(self.gate.between_turns(event))
        return None if isinstance(end, Interrupted) else end

    def _judge(self, turn: Turn | CodeTurn, reply: ModelReply, *, finished: bool) -> None:
        """Judge a turn, once, whatever cut it short, and put the answers to its calls into the conversation (C1, E9)."""
        error = None if finished else self.floor.error_of(turn.error_type, called=bool(reply.calls))
        result = TurnResult.FINISHED if finished else TurnResult.PROGRESSED if error is None else TurnResult.ERROR
        self._record(result, error)
        self._talk.answer(self.tally.turns, turn.results, self._last_result)

    def _turn(self, reply: ModelReply) -> Turn | CodeTurn:
        if self.coding is None:
            return Turn(agent=self, desk=self.desk, reply=reply)
        return CodeTurn(agent=self, desk=self.desk, coding=self.coding, reply=reply)

    def question(self, attempt: int) -> ModelRequest:
        """Compose the question of the turn that follows, for an attempt counted from 1."""
        return self._talk.request(self.order, turn=self.tally.turns + 1, attempt=attempt, tools=self.offered())

    def offered(self) -> tuple[ToolSpec, ...]:
        """List what the model may call: in code mode the one call that submits a program, its endings inside (E3, X1)."""
        if self.coding is not None:
            return (self.coding.spec,)
        return (*self.toolbox.specs, *self.endings.specs)

    def _record(self, result: TurnResult, error_type: str | None) -> None:
        self._last_result = result
        self.tally = self.tally.after(result, window=self.limits.error_rate_window)
        self.desk.emit(
            TurnOutcome(
                agent=self.id,
                outcome=result,
                error_type=error_type,
                consecutive_errors=self.tally.consecutive,
                turns=self.tally.turns,
            )
        )

    # ------------------------------------------------------------ waiting

    async def suspend(self, waiting_on: str, wait: Callable[[], Awaitable[None]]) -> None:
        """Give the slot back, wait, take a slot again (S3). A stop raises WindDown, and then no slot is held."""
        self.give_up_slot(waiting_on)
        with self.desk.switch.interruptible(self.id):
            await wait()
            await self.seat.take(begun=True)
        self.showing.state(AgentState.RUNNING)

    def rest(self, waiting_on: str) -> None:
        """Give the slot back, if it is held, and say what is waited for in any case."""
        self.showing.state(AgentState.WAITING, waiting_on=waiting_on)
        self.seat.give_back()

    def give_up_slot(self, waiting_on: str) -> None:
        """Say what is waited for before somebody else is given the slot, so that the stream never shows one too many running."""
        if self.seat.holds:
            self.showing.state(AgentState.WAITING, waiting_on=waiting_on)
        self.seat.give_back()

    async def next_letter(self) -> None:
        """Wait for the next letter."""
        if self._inbox is not None:
            self.take_letter((await self._inbox.receive()).letter)
