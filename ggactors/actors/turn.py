"""One reply carried out: other calls first and in order, then one suspension for all waits, then the ending (Q1, E9).

Law: every call gets exactly one result, and the results stand in the order of the calls.
"""

from __future__ import annotations

import json
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
_WAIT_CHILDREN = "wait_for_subagents"


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
        children: list[tuple[int, ToolCall]] = []
        endings: list[tuple[int, ToolCall]] = []
        try:
            for index, call in enumerate(self.reply.calls):
                self.desk.emit(ToolCalled(agent=self.agent.id, call_id=call.id, tool=call.tool, args=call.args))
                if self.agent.endings.is_ending(call.tool):
                    endings.append((index, call))
                elif call.tool == _WAIT and _WAIT in offered:
                    waits.append((index, call))
                elif call.tool == _WAIT_CHILDREN and _WAIT_CHILDREN in offered:
                    children.append((index, call))
                else:
                    self._answer(index, await self._call(call))
                    guide = self.agent.guide(call)
                    if guide is not None:
                        self.guides.append(guide)
            if waits or children:
                await self._wait(waits, children)
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

    async def _wait(self, waits: list[tuple[int, ToolCall]], children: list[tuple[int, ToolCall]]) -> None:
        """Register every wait, suspend once until none holds, and read each outcome with the slot held (Q1, Q2)."""
        issues = await self._registered(waits)
        awaited = self._awaited(children)
        living = [name for _, _, names in awaited for name in names if self.desk.family.lives(name)]
        holding = [*dict.fromkeys(issue for _, _, issue in issues), *dict.fromkeys(living)]
        if holding:

            async def wait() -> None:
                await self._until_settled(living)

            await self.agent.suspend(", ".join(holding), wait)
        await self._read_issues(issues)
        for index, call, names in awaited:
            self._grant(index, call, json.dumps(self.desk.family.report(names)))

    def _awaited(self, children: list[tuple[int, ToolCall]]) -> list[tuple[int, ToolCall, tuple[str, ...]]]:
        """Read which subagents are waited for; a wait for one that is none of the agent's is refused."""
        awaited: list[tuple[int, ToolCall, tuple[str, ...]]] = []
        for index, call in children:
            named = self.agent.parse_children(call)
            names = named if isinstance(named, Refused) else self.desk.family.awaited(self.agent.id, named)
            if isinstance(names, Refused):
                self._refuse(index, call, names)
            else:
                awaited.append((index, call, names))
        return awaited

    async def _registered(self, waits: list[tuple[int, ToolCall]]) -> list[tuple[int, ToolCall, str]]:
        """Tell the board of every wait for an issue; answer at once those it settles at once."""
        board = self.desk.board
        registered: list[tuple[int, ToolCall, str]] = []
        if board is None:
            return registered
        for index, call in waits:
            issue = self.agent.parse_wait(call)
            if isinstance(issue, Refused):
                self._refuse(index, call, issue)
                continue
            letter = WaitForIssue(
                by=self.agent.id,
                issue=issue,
                works_for=self.agent.order.issue,
                may_wait_unsettled=not self.desk.family.resolves_a_merge(self.agent.id),
            )
            match await board.ask(letter):
                case WaitBegan(issue=begun):
                    self.agent.waits_open = True
                    registered.append((index, call, begun))
                case answer:
                    self._waited(index, call, answer)
        return registered

    async def _read_issues(self, registered: list[tuple[int, ToolCall, str]]) -> None:
        """Read every outcome off the board, now that the slot is held (Q2)."""
        board = self.desk.board
        outcomes: dict[str, BoardAnswer] = {}
        if board is None:
            return
        for index, call, issue in registered:
            if issue not in outcomes:
                outcomes[issue] = await board.ask(ReadWait(by=self.agent.id, issue=issue))
            self._waited(index, call, outcomes[issue])
        self.agent.waits_open = False

    def _waited(self, index: int, call: ToolCall, answer: BoardAnswer) -> None:
        match answer:
            case WaitSettled(issue=settled, state=state):
                self._grant(index, call, json.dumps({"id": settled, "state": str(state)}))
            case Refused() as refused:
                self._refuse(index, call, refused)
            case other:
                raise AssertionError(f"the board answered a wait with {other!r}")

    async def _until_settled(self, children: list[str]) -> None:
        """Sleep until nothing waited for holds the agent. A wake carries nothing: the truth is asked each time (S5)."""
        board, family = self.desk.board, self.desk.family
        while True:
            open_issues: tuple[str, ...] = ()
            if board is not None:
                match await board.ask(AskWaits(by=self.agent.id)):
                    case WaitsPending(issues=issues):
                        open_issues = issues
                    case _:
                        pass
            if not open_issues and not any(family.lives(child) for child in children):
                return
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
        left = self.agent.gate.children_left()
        if left is not None:
            for index, call, _ in valid:
                self._refuse(index, call, Refused(code=Code.CONFLICT, message=left))
            return None
        *superseded, (index, call, ending) = valid
        for earlier, earlier_call, _ in superseded:
            self._grant(earlier, earlier_call, "superseded by a later ending of the same reply")
        summary = _summary(ending)
        blocked = await self.agent.gate.admit(ending, summary, call)
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
