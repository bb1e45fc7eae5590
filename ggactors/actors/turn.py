"""One reply carried out: other calls first and in order, then one suspension for all waits, then the ending (Q1, E9).

Law: every call gets exactly one result, and the results stand in the order of the calls.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, assert_never

from attrs import define, evolve, field

from ggactors.actors.sharing import at_work
from ggactors.actors.waiting import Waiting
from ggactors.protocol.board import WaitBegan, WaitSettled
from ggactors.protocol.events import AssistantMessage, ToolAnswered, ToolCalled
from ggactors.protocol.model import ToolResult
from ggactors.protocol.values import Code, Refused
from ggactors.rules.briefs import gate_blocked, no_call_feedback
from ggactors.rules.endings import summary_of
from ggactors.rules.stuck import Action, call_key, outcome_of

if TYPE_CHECKING:
    from ggactors.actors.agent import AgentActor
    from ggactors.actors.desk import Desk
    from ggactors.actors.stations import SessionEnd
    from ggactors.protocol.agent import Ending
    from ggactors.protocol.model import ModelReply, ToolCall

_WAIT = "wait_for_issue"
_WAIT_CHILDREN = "wait_for_subagents"


@define(kw_only=True)
class Turn:
    """The carrying out of one reply of one agent."""

    agent: AgentActor
    desk: Desk
    reply: ModelReply
    _guides: list[str] = field(factory=list)
    _answers: dict[int, ToolResult] = field(factory=dict)
    _told: int = 0
    """How many of the calls the stream has heard of."""

    def __attrs_post_init__(self) -> None:
        """Say what the model said."""
        if self.reply.text:
            self.desk.emit(AssistantMessage(agent=self.agent.id, text=self.reply.text))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Return the results so far, in the order of the calls."""
        return tuple(self._answers[index] for index in sorted(self._answers))

    @property
    def error_type(self) -> str | None:
        """Name the type of the error that the turn is, or None (E2)."""
        return None if self.reply.calls else "missing_completion_no_call"

    def take_texts(self) -> tuple[str, ...]:
        """Take what the model reads after the results."""
        return tuple(self._guides) if self.reply.calls else (no_call_feedback(self.agent.order.role),)

    def action(self, texts: tuple[str, ...]) -> Action | None:  # noqa: ARG002 - a program's outcome, not a call's
        """Give what the reply did, for stuck detection: its calls as a whole, endings excepted (G6). None: nothing."""
        done = [
            (call, self._answers[index])
            for index, call in enumerate(self.reply.calls)
            if not self.agent.endings.is_ending(call.tool)
        ]
        if not done:
            return None
        return Action(
            calls=tuple(call_key(call.tool, call.args) for call, _ in done),
            outcomes=tuple(
                outcome_of(call.tool, ok=result.ok, code=result.code, output=result.output) for call, result in done
            ),
            tools=tuple(call.tool for call, _ in done),
        )

    async def carry_out(self) -> SessionEnd | None:
        """Carry the calls out. Returns the session's end when an ending stands.

        A stop during a wait raises WindDown; what has no answer then is left to ``break_off``.
        """
        offered = {spec.name for spec in self.agent.toolbox.specs}
        waits: list[tuple[int, ToolCall]] = []
        children: list[tuple[int, ToolCall]] = []
        endings: list[tuple[int, ToolCall]] = []
        for index, call in enumerate(self.reply.calls):
            self._tell(call)
            if call.fault is not None:
                self._refuse(index, call, Refused(code=Code.INVALID_ARGUMENT, message=call.fault))
            elif self.agent.endings.is_ending(call.tool):
                # What an ending says is kept, shown and committed; no work of the agent's is in it.
                endings.append((index, evolve(call, args=self.desk.clean(call.args))))
            elif call.tool == _WAIT and _WAIT in offered:
                waits.append((index, call))
            elif call.tool == _WAIT_CHILDREN and _WAIT_CHILDREN in offered:
                children.append((index, call))
            else:
                self._answer(index, await self._call(call))
                guide = self.agent.guide(call)
                if guide is not None:
                    self._guides.append(guide)
        if waits or children:
            await self._wait(waits, children)
        return await self._end(endings) if endings else None

    def break_off(self, why: str) -> None:
        """Answer every call that has no answer yet: it was cut short, or never begun."""
        for index, call in enumerate(self.reply.calls):
            if index >= self._told:
                self._tell(call)
            if index not in self._answers:
                self._refuse(index, call, Refused(code=Code.UNAVAILABLE, message=why))

    def _tell(self, call: ToolCall) -> None:
        self._told += 1
        self.desk.emit(ToolCalled(agent=self.agent.id, call_id=call.id, tool=call.tool, args=call.args))

    def _answer(self, index: int, result: ToolResult) -> None:
        self._answers[index] = result
        self.desk.emit(
            ToolAnswered(
                agent=self.agent.id, call_id=result.call_id, ok=result.ok, code=result.code, output=result.output
            )
        )

    def _refuse(self, index: int, call: ToolCall, refused: Refused) -> None:
        self._answer(
            index,
            ToolResult(call_id=call.id, tool=call.tool, ok=False, code=refused.code, output=refused.message),
        )

    def _grant(self, index: int, call: ToolCall, output: str) -> None:
        self._answer(index, ToolResult(call_id=call.id, tool=call.tool, ok=True, output=output))

    async def _call(self, call: ToolCall) -> ToolResult:
        """Carry one call out, sharing the tree with merges while it runs; one that has to be approved is asked for first."""
        agent = self.agent
        refused = await agent.approvals.refusal(agent, call.tool, call.args)
        if refused is not None:
            return ToolResult(call_id=call.id, tool=call.tool, ok=False, code=refused.code, output=refused.message)
        touches_tree = agent.toolbox.touches_tree(call.tool)
        result, note = await at_work(agent, call.tool, partial(agent.toolbox.call, call), touches_tree=touches_tree)
        return result if note is None else evolve(result, output=f"{result.output.rstrip()}\n{note}")

    # ------------------------------------------------------------ waits

    async def _wait(self, waits: list[tuple[int, ToolCall]], children: list[tuple[int, ToolCall]]) -> None:
        """Register every wait, suspend once until none holds, and read each outcome with the slot held (Q1, Q2)."""
        waiting = Waiting(agent=self.agent, desk=self.desk)
        issues = await self._registered(waiting, waits)
        awaited = self._awaited(waiting, children)
        outcomes = await waiting.settle(
            [issue for _, _, issue in issues], [name for _, _, names in awaited for name in names]
        )
        for index, call, issue in issues:
            self._waited(index, call, outcomes[issue])
        for index, call, names in awaited:
            self._grant(index, call, json.dumps(self.desk.family.report(names)))

    def _awaited(
        self, waiting: Waiting, children: list[tuple[int, ToolCall]]
    ) -> list[tuple[int, ToolCall, tuple[str, ...]]]:
        """Read which subagents are waited for; a wait for one that is none of the agent's is refused."""
        awaited: list[tuple[int, ToolCall, tuple[str, ...]]] = []
        for index, call in children:
            named = self.agent.parse_children(call)
            names = named if isinstance(named, Refused) else waiting.children(named)
            if isinstance(names, Refused):
                self._refuse(index, call, names)
            else:
                awaited.append((index, call, names))
        return awaited

    async def _registered(self, waiting: Waiting, waits: list[tuple[int, ToolCall]]) -> list[tuple[int, ToolCall, str]]:
        """Tell the board of every wait for an issue; answer at once those it settles at once."""
        registered: list[tuple[int, ToolCall, str]] = []
        for index, call in waits:
            issue = self.agent.parse_wait(call)
            if isinstance(issue, Refused):
                self._refuse(index, call, issue)
                continue
            match await waiting.begin(issue):
                case WaitBegan(issue=begun):
                    registered.append((index, call, begun))
                case answer:
                    self._waited(index, call, answer)
        return registered

    def _waited(self, index: int, call: ToolCall, answer: WaitSettled | Refused) -> None:
        match answer:
            case WaitSettled(issue=settled, state=state):
                self._grant(index, call, json.dumps({"id": settled, "state": str(state)}))
            case Refused() as refused:
                self._refuse(index, call, refused)
            case _ as never:
                assert_never(never)

    # ------------------------------------------------------------ endings

    async def _end(self, endings: list[tuple[int, ToolCall]]) -> SessionEnd | None:
        """Read every declaration; the last valid one counts and goes through the gate (E9, G1)."""
        valid: list[tuple[int, ToolCall, Ending]] = []
        for index, call in endings:
            match self.agent.endings.declare(call):
                case Refused() as refused:
                    self._refuse(index, call, refused)
                case ending:
                    valid.append((index, call, ending))
        if not valid:
            return None
        left = self.agent.gate.children_left()
        if left is not None:
            for index, call, _ in valid:
                self._refuse(index, call, Refused(code=Code.CONFLICT, message=left))
            return None
        *superseded, (index, call, ending) = valid
        for earlier, earlier_call, _ in superseded:
            self._grant(earlier, earlier_call, "superseded by a later ending of the same reply")
        summary = summary_of(ending)
        blocked = await self.agent.gate.admit(ending, summary, call)
        if blocked is not None:
            self._refuse(index, call, Refused(code=Code.REFUSED, message=gate_blocked(blocked)))
            return None
        self._grant(index, call, self.agent.floor.on_finish)
        return self.agent.gate.stands(ending, summary)
