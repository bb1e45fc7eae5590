"""One reply of an agent that answers with programs: each submission run in order, its calls served across the membrane (X1-X7).

Law: an ending is a flag that the end of its program confirms: what throws or hits a ceiling revokes it (E8). Waits are registered
by a program and waited for between turns. The model reads what programs opened as views, and errors; never what they printed.
Whatever a program does, what it puts into the stream, the journal and its own conversation is bounded.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

from attrs import define, field, frozen

from ggactors.actors.codewaits import WAITS, ProgramWaits
from ggactors.actors.sharing import at_work
from ggactors.actors.waiting import Waiting
from ggactors.protocol.crew import SUBMIT_PROGRAM
from ggactors.protocol.events import AssistantMessage, CodeExecution, Log, ToolAnswered, ToolCalled
from ggactors.protocol.model import ToolCall, ToolResult
from ggactors.protocol.program import ProgramKind, ProgramResult, Returned
from ggactors.protocol.values import Code, Refused
from ggactors.rules.briefs import gate_blocked, heading, no_program_feedback, nothing_shown, used_failed, used_logged
from ggactors.rules.endings import summary_of
from ggactors.rules.programs import error_type_of
from ggactors.rules.stuck import Action, Outcome
from ggactors.rules.telling import Allowance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ggactors.actors.agent import AgentActor
    from ggactors.actors.desk import Desk
    from ggactors.actors.stations import SessionEnd
    from ggactors.ports import Operations, ProgramRunner, Views
    from ggactors.protocol.agent import Ending
    from ggactors.protocol.model import ModelReply, ToolSpec
    from ggactors.protocol.program import Language, ProgramAnswer

NO_PROGRAM = "missing_completion_no_program"
MOST_LETTERS = 2000
"""Calls of one program that other agents or the journal hear of: the board's, and those to other agents."""
MOST_USES = 10
"""Uses in one program that run code of their own."""
MOST_NOTES = 20
"""Different notes of hooks on one program's calls that its model reads."""
MOST_GUIDES = 10
"""Guides a turn's programs bring into the conversation; the others come when their directory is worked in again."""


class SandboxFault(Exception):  # noqa: N818
    """The sandbox itself failed under a program: a defect of the runtime, never the model's doing (X5)."""

    def __init__(self, result: ProgramResult) -> None:
        super().__init__(f"{result.error or 'the sandbox failed'}\n{result.trace}".rstrip())


def nothing_used() -> tuple[tuple[str, str], ...]:
    """Have used nothing that brings code of its own."""
    return ()


@frozen(kw_only=True)
class Coding:
    """What an agent needs to answer with programs. ``spec`` is the call that submits one; ``granted`` are the ids it may call.

    ``parse_wait`` and ``parse_children`` read the arguments of the two waits, which are the agent's own.
    """

    language: Language
    spec: ToolSpec
    granted: tuple[str, ...]
    runner: ProgramRunner
    operations: Operations
    views: Views
    parse_wait: Callable[[Mapping[str, Any]], str | Refused]
    parse_children: Callable[[Mapping[str, Any]], tuple[str, ...] | Refused | None]
    on_use: Callable[[], tuple[tuple[str, str], ...]] = nothing_used
    """Takes the code that is due of what was used: what that is, such as ``the skill 'x'``, and its program (E6)."""


@define(kw_only=True)
class CodeTurn:
    """The carrying out of one reply."""

    agent: AgentActor
    desk: Desk
    coding: Coding
    reply: ModelReply
    error_type: str | None = None
    """The type of its first failure (C1), or None."""
    _answers: list[ToolResult] = field(factory=list)
    _notices: list[str] = field(factory=list)
    _guides: list[str] = field(factory=list)
    _errors: list[str] = field(factory=list)
    _declared: tuple[ToolCall, Ending] | None = None
    """The ending that counts so far: the last one the program declared (E8)."""
    _superseded: int = 0
    _waits: ProgramWaits = field(init=False)
    _calls: int = 0
    _letters: int = 0
    _told: Allowance = field(factory=Allowance)
    _running: bool = False
    """Whether a program has begun whose end is not told yet."""
    _open_call: str | None = None
    """The call the stream was told of and not yet how it was answered."""
    _endings_off: bool = False
    """Whether what runs has no ending group (E6)."""
    _programs: tuple[str, ...] = ()
    _ended: bool = False
    """Whether a program called an ending, whatever became of it."""

    def __attrs_post_init__(self) -> None:
        """Say what the model said; it is never compiled (E2)."""
        self._waits = ProgramWaits(
            waiting=Waiting(agent=self.agent, desk=self.desk),
            parse_wait=self.coding.parse_wait,
            parse_children=self.coding.parse_children,
            report=self.desk.family.report,
        )
        if self.reply.text:
            self.desk.emit(AssistantMessage(agent=self.agent.id, text=self.reply.text))

    def break_off(self, why: str) -> None:
        """Say that the programs were cut short; their calls are acknowledged already. An ending declared in one is revoked."""
        if self._open_call is not None:
            code, output = Code.UNAVAILABLE, f"cut short: {why}"
            self.desk.emit(
                ToolAnswered(agent=self.agent.id, call_id=self._open_call, ok=False, code=code, output=output)
            )
        if self._running:
            cut = ProgramResult(kind=ProgramKind.RUNTIME_ERROR, error=f"it was cut short: {why}")
            self._tell(cut, self._told, finished=False, revoked=self._declared is not None)
        self._notice(f"What you submitted was cut short: {why}.")

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Return the acknowledgements of the reply's calls, in their order."""
        return tuple(self._answers)

    def take_texts(self) -> tuple[str, ...]:
        """Take what the model reads before its next turn: what was opened, then notices, then errors."""
        texts = (*self.coding.views.take_opened(), *self._guides, *self._notices, *self._errors)
        return texts or (nothing_shown(),)

    def action(self, texts: tuple[str, ...]) -> Action | None:
        """Give what the reply did, for stuck detection: its programs, and what their model reads of them (G6). None: nothing.

        A program that called an ending is none, whatever became of it: endings are never counted (G1).
        """
        if self._ended or not self._programs:
            return None
        outcome = Outcome(text="\n\n".join(texts), failure=self.error_type)
        return Action(calls=self._programs, outcomes=(outcome,), tools=(SUBMIT_PROGRAM,))

    async def carry_out(self) -> SessionEnd | None:
        """Run every submission in order, also after a failed one; an ending that stands stops the sequence (X6).

        A stop while it waits raises WindDown.
        """
        programs = [program for call in self.reply.calls if (program := self._acknowledge(call)) is not None]
        if not programs:
            self.error_type = NO_PROGRAM
            self._notices.append(no_program_feedback(self.agent.order.role, self.coding.language))
            return None
        self._programs = tuple(programs)
        for program in programs:
            end = await self._run(program)
            if end is not None:
                return end
        if len(programs) > 1:
            self._notice(f"{len(programs)} programs ran, in the order they were submitted; errors follow that order.")
        for notice in await self._waits.settle():
            self._notice(notice)
        return None

    def _acknowledge(self, call: ToolCall) -> str | None:
        """Answer a call before anything runs; give the program it submits, or None."""
        program = call.args.get("program")
        code: Code | None = None
        output = "ok"
        if call.fault is not None:
            code, output = Code.INVALID_ARGUMENT, call.fault
        elif call.tool != SUBMIT_PROGRAM:
            code, output = Code.UNAVAILABLE, f"you work by programs: call `{SUBMIT_PROGRAM}` with one"
        elif not isinstance(program, str):
            code, output = Code.INVALID_ARGUMENT, f"{SUBMIT_PROGRAM}: send the whole program as the string `program`"
        self.desk.emit(ToolCalled(agent=self.agent.id, call_id=call.id, tool=call.tool, args=call.args))
        self._answers.append(ToolResult(call_id=call.id, tool=call.tool, ok=code is None, code=code, output=output))
        self.desk.emit(
            ToolAnswered(agent=self.agent.id, call_id=call.id, ok=code is None, code=code, output=output),
        )
        return program if code is None else None

    def _notice(self, text: str) -> None:
        said = heading("Notice", text)
        if said not in self._notices:
            self._notices.append(said)

    # ------------------------------------------------------------ one program

    async def _run(self, program: str) -> SessionEnd | None:
        """Run one program, tell the operator of it, and give the session's end if its ending stands."""
        self._declare_nothing()
        self._running = True
        result, told = await self._play(program)
        if result.kind is not ProgramKind.FAULT:
            await self._run_used()
        declared = self._declared
        if result.kind is not ProgramKind.OK:
            self._tell(result, told, finished=False, revoked=declared is not None)
            if result.kind is ProgramKind.FAULT:
                raise SandboxFault(result)
            self._failed(result)
            return None
        if declared is None:
            self._tell(result, told, finished=False, revoked=False)
            return None
        call, ending = declared
        summary = summary_of(ending)
        held = self.agent.gate.children_left() or await self.agent.gate.admit(ending, summary, call)
        self._tell(result, told, finished=held is None, revoked=False)
        if held is not None:
            self._notice(gate_blocked(held))
            return None
        return self.agent.gate.stands(ending, summary)

    async def _play(self, program: str) -> tuple[ProgramResult, Allowance]:
        """Run a program, with an account of its own of what is told of its calls, and take what hooks had to say to them."""
        told = self._told = Allowance()
        self._letters = 0
        result = await self.coding.runner.run(program, self._serve)
        notes = tuple(dict.fromkeys(self.coding.operations.take_notes()))
        for note in notes[:MOST_NOTES]:
            self._notice(note)
        if len(notes) > MOST_NOTES:
            self._notice(f"Hooks had {len(notes) - MOST_NOTES} more things to say to the calls of this program.")
        return result, told

    async def _run_used(self) -> None:
        """Run the code of what the program used, without an ending group; its failure is one sentence and no error turn (E6).

        A use inside of it runs nothing further.
        """
        due = self.coding.on_use()
        if len(due) > MOST_USES:
            self._notice(f"The code of {len(due) - MOST_USES} more uses did not run: of one program {MOST_USES} do.")
        for name, source in due[:MOST_USES]:
            self._endings_off = True
            try:
                result, told = await self._play(source)
            finally:
                self._endings_off = False
            self.coding.on_use()
            if result.kind is ProgramKind.FAULT:
                raise SandboxFault(result)
            if result.logs:
                self.desk.emit(Log(agent=self.agent.id, level="info", message=used_logged(name, result.logs)))
            if told.untold:
                what = f"{name} made {told.calls} calls on use, of which {told.untold} are not told"
                self.desk.emit(Log(agent=self.agent.id, level="info", message=what))
            if result.kind is not ProgramKind.OK:
                self._notice(used_failed(name, result.error))

    def _failed(self, result: ProgramResult) -> None:
        """Give the model the error alone, and the turn its first failure's type (C1, E8)."""
        title = "Compiler error" if result.kind is ProgramKind.COMPILE_ERROR else "Runtime error"
        self._errors.append(heading(title, result.error))
        if self.error_type is None:
            self.error_type = error_type_of(result)

    def _tell(self, result: ProgramResult, told: Allowance, *, finished: bool, revoked: bool) -> None:
        self._running = False
        dropped = (f"[{result.logs_dropped} lines before these are not kept]",) if result.logs_dropped else ()
        self.desk.emit(
            CodeExecution(
                agent=self.agent.id,
                ok=result.kind is ProgramKind.OK,
                error=result.error or None,
                finished=finished,
                revoked=revoked,
                superseded=self._superseded,
                logs=(*dropped, *result.logs),
                duration_ms=round(result.duration_ms),
                calls=told.calls,
                untold=told.untold,
            )
        )

    # ------------------------------------------------------------ the membrane

    async def _serve(self, operation: str, args: Mapping[str, Any]) -> ProgramAnswer:
        """Serve one call of a program, told to the stream like a tool call for as long as its allowance lasts."""
        self._calls += 1
        call = ToolCall(id=f"program-{self.agent.tally.turns + 1}-{self._calls}", tool=operation, args=dict(args))
        told = self._told.begins(self.desk.clean(call.args))
        if told is None:
            return await self._answer(operation, call)
        self.desk.emit(ToolCalled(agent=self.agent.id, call_id=call.id, tool=operation, args=told))
        self._open_call = call.id
        answer = await self._answer(operation, call)
        self._open_call = None
        code: str | None = None
        match answer:
            case Refused(code=refused, message=output):
                code = refused
            case Returned(value=value):
                output = value if isinstance(value, str) else json.dumps(value)
            case _ as never:
                assert_never(never)
        output = self._told.ends(output)
        self.desk.emit(ToolAnswered(agent=self.agent.id, call_id=call.id, ok=code is None, code=code, output=output))
        return answer

    async def _answer(self, operation: str, call: ToolCall) -> ProgramAnswer:
        module, _, function = operation.partition(".")
        if module == "session":
            if self._endings_off:
                return Refused(code=Code.UNAVAILABLE, message="the code of a skill or a memory has no ending calls")
            self._ended = True
            return self._declare(ToolCall(id=call.id, tool=function, args=self.desk.clean(call.args)))
        if module in ("views", "docs"):
            return await self.coding.views.serve(operation, call.args, self._operate)
        if module in ("board", "delegation") and operation != "board.read_board":
            self._letters += 1
            if self._letters > MOST_LETTERS:
                what = f"a program may make {MOST_LETTERS} calls of `board` and `delegation`; go on in your next one"
                return Refused(code=Code.LIMIT_EXCEEDED, message=what)
        if operation in WAITS and operation in self.coding.granted:
            return await self._waits.register(operation, call.args)
        return await self._operate(operation, call.args)

    def _declare_nothing(self) -> None:
        self._declared, self._superseded = None, 0

    def _declare(self, call: ToolCall) -> ProgramAnswer:
        """Set the flag of an ending; its role is checked first, its shape second (E4, E8)."""
        match self.agent.endings.declare(call):
            case Refused() as refused:
                return refused
            case ending:
                self._superseded += self._declared is not None
                self._declared = call, ending
                return Returned()

    async def _operate(self, operation: str, args: Mapping[str, Any]) -> ProgramAnswer:
        """Serve an operation of the agent's capabilities, sharing the tree with merges while it runs (M6)."""
        agent, operations = self.agent, self.coding.operations
        tool = "shell" if operation == "shell.run" else operation.partition(".")[2]
        refused = await agent.approvals.refusal(agent, operation, args)
        if refused is not None:
            return refused
        touches_tree = operations.touches_tree(operation)
        answer, note = await at_work(agent, tool, partial(operations.serve, operation, args), touches_tree=touches_tree)
        if note is not None:
            self._notice(note)
        if len(self._guides) < MOST_GUIDES:
            guide = agent.guide(ToolCall(id="", tool=tool, args=dict(args)))
            if guide is not None:
                self._guides.append(guide)
        return answer
