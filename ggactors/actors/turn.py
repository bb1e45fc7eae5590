"""One reply carried out: other calls first and in order, then one suspension for all waits, then the ending (Q1, E9).

Law: every call gets exactly one result, and the results stand in the order of the calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from attrs import define, field

from ggactors.actors.stations import SessionEnd
from ggactors.actors.switch import WindDown
from ggactors.protocol.agent import Approved, ChangesRequested, Finished
from ggactors.protocol.board import AskWaits, ReadWait, WaitBegan, WaitForIssue, WaitSettled, WaitsPending
from ggactors.protocol.events import AssistantMessage, ToolAnswered, ToolCalled
from ggactors.protocol.model import ToolResult
from ggactors.protocol.values import Code, Refused, Status
from ggactors.rules.briefs import gate_blocked

if TYPE_CHECKING:
    from ggactors.actors.agent import AgentActor
    from ggactors.actors.desk import Desk
    from ggactors.protocol.agent import Ending
    from ggactors.protocol.board import BoardAnswer
    from ggactors.protocol.model import ModelReply, ToolCall

_WAIT = "wait_for_issue"


@define(kw_only=True)
class Turn:
    """The carrying out of one reply of one agent."""

    agent: AgentActor
    desk: Desk
    reply: ModelReply
    guides: list[str] = field(factory=list)
    _answers: dict[int, ToolResult] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Say what the model said."""
        if self.reply.text:
            self.desk.emit(AssistantMessage(agent=self.agent.id, text=self.reply.text))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Return the results so far, in the order of the calls."""
        return tuple(self._answers[index] for index in sorted(self._answers))

    async def carry_out(self) -> SessionEnd | None:
        """Carry the calls out. Returns the session's end when an ending stands.

        A stop during a wait answers what is left as unavailable and raises WindDown.
        """
        offered = {spec.name for spec in self.agent.toolbox.specs}
        waits: list[tuple[int, ToolCall]] = []
        endings: list[tuple[int, ToolCall]] = []
        try:
            for index, call in enumerate(self.reply.calls):
                self.desk.emit(ToolCalled(agent=self.agent.id, call_id=call.id, tool=call.tool, args=call.args))
                if self.agent.endings.is_ending(call.tool):
                    endings.append((index, call))
                elif call.tool == _WAIT and _WAIT in offered:
                    waits.append((index, call))
                else:
                    self._answer(index, await self._call(call))
                    guide = self.agent.guide(call)
                    if guide is not None:
                        self.guides.append(guide)
            if waits:
                await self._wait(waits)
            return await self._end(endings) if endings else None
        except WindDown:
            for index, call in enumerate(self.reply.calls):
                if index not in self._answers:
                    self._refuse(index, call, Refused(code=Code.UNAVAILABLE, message="the run is stopping"))
            raise

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
        """Carry one call out, sharing the tree with merges while it runs."""
        agent = self.agent
        if agent.station.tree is None or not agent.toolbox.touches_tree(call.tool):
            return await agent.toolbox.call(call)
        await agent.take_tree()
        try:
            result = await agent.toolbox.call(call)
            note = await agent.station.after_call(call.tool)
        finally:
            agent.station.tree.give_shared()
        if note is None:
            return result
        return ToolResult(
            call_id=result.call_id,
            tool=result.tool,
            ok=result.ok,
            code=result.code,
            output=f"{result.output.rstrip()}\n{note}",
        )

    # ------------------------------------------------------------ waits

    async def _wait(self, waits: list[tuple[int, ToolCall]]) -> None:
        """Register every wait, suspend once until none holds, and read each outcome off the board with the slot held (Q2)."""
        board = self.desk.board
        if board is None:
            return
        registered: list[tuple[int, ToolCall, str]] = []
        for index, call in waits:
            issue = self.agent.parse_wait(call)
            if isinstance(issue, Refused):
                self._refuse(index, call, issue)
                continue
            letter = WaitForIssue(by=self.agent.id, issue=issue, works_for=self.agent.order.issue)
            match await board.ask(letter):
                case WaitSettled(issue=settled, state=state):
                    self._grant(index, call, f'{{"id": "{settled}", "state": "{state}"}}')
                case WaitBegan(issue=begun):
                    registered.append((index, call, begun))
                case Refused() as refused:
                    self._refuse(index, call, refused)
                case other:
                    raise AssertionError(f"the board answered a wait with {other!r}")
        if not registered:
            return
        await self.agent.suspend(", ".join(dict.fromkeys(issue for _, _, issue in registered)), self._until_settled)
        outcomes: dict[str, BoardAnswer] = {}
        for index, call, issue in registered:
            if issue not in outcomes:
                outcomes[issue] = await board.ask(ReadWait(by=self.agent.id, issue=issue))
            match outcomes[issue]:
                case WaitSettled(issue=settled, state=state):
                    self._grant(index, call, f'{{"id": "{settled}", "state": "{state}"}}')
                case Refused() as refused:
                    self._refuse(index, call, refused)
                case other:
                    raise AssertionError(f"the board answered the reading of a wait with {other!r}")

    async def _until_settled(self) -> None:
        """Sleep until none of the agent's waits holds it. A wake carries nothing: the board is asked each time (S5)."""
        board = self.desk.board
        while board is not None:
            match await board.ask(AskWaits(by=self.agent.id)):
                case WaitsPending(issues=()):
                    return
                case _:
                    await self.agent.next_letter()

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
        *superseded, (index, call, ending) = valid
        for earlier, earlier_call, _ in superseded:
            self._grant(earlier, earlier_call, "superseded by a later ending of the same reply")
        summary = _summary(ending)
        blocked = await self.agent.admit(ending, summary)
        if blocked is not None:
            self._refuse(index, call, Refused(code=Code.REFUSED, message=gate_blocked(blocked)))
            return None
        self._grant(index, call, "the session ends")
        return SessionEnd(status=Status.COMPLETED, summary=summary, ending=ending)


def _summary(ending: Ending) -> str:
    match ending:
        case Finished(summary=summary):
            return summary
        case Approved():
            return "approved"
        case ChangesRequested(items=items):
            return f"requested {len(items)} change{'s' if len(items) != 1 else ''}"
        case _ as never:
            assert_never(never)
