"""The tools one agent is offered, and the one door its calls go through.

Law: what is offered is what the profile's capabilities give, cut down by its allowlist, together with what no allowlist
withholds (Q6); endings are never in it (E3). Every call is answered, with text that is valid, bounded and free of keys.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from ggactors.protocol.crew import PROJECT_MANAGEMENT, SUBAGENTS, SUBMIT_PROGRAM
from ggactors.protocol.model import Pictured, ToolResult, ToolSpec
from ggactors.protocol.program import Returned
from ggactors.protocol.values import Code, Problem, Refused
from ggactors.tools.board import BOARD_TOOLS, WAIT_FOR_ISSUE, BoardDesk, operations_of
from ggactors.tools.builtin import FILES, SHELL, WORKBENCH
from ggactors.tools.delegation import DELEGATION_TOOLS, WAIT_FOR_SUBAGENTS, delegate
from ggactors.tools.delegation import operations_of as delegation_operations
from ggactors.tools.endings import ENDING_TOOLS
from ggactors.tools.mask import Mask
from ggactors.tools.memories import OPERATIONS as MEMORY_OPERATIONS
from ggactors.tools.own import own_operations
from ggactors.tools.render import MOST, bound, json_text, workbench_text
from ggactors.tools.results import snake, workbench_value
from ggactors.tools.skills import OPERATIONS as SKILL_OPERATIONS
from ggactors.tools.tasks import OPERATIONS as TASK_OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ggactors.ports import Delegation, OwnTool, Workbench
    from ggactors.protocol.board import BoardAnswer, BoardLetter
    from ggactors.protocol.crew import Crew, Profile
    from ggactors.protocol.model import ToolCall
    from ggactors.protocol.program import ProgramAnswer
    from ggactors.protocol.workbench import WorkbenchAnswer
    from ggactors.tools.operation import Operation
    from ggactors.tools.own import OwnOperation

OF_KITS = (*TASK_OPERATIONS, *SKILL_OPERATIONS, *MEMORY_OPERATIONS)
"""The operations an agent's kits serve."""
BUILT_IN = frozenset(
    {*(operation.tool for operation in (*WORKBENCH, *OF_KITS)), *BOARD_TOOLS, *DELEGATION_TOOLS, SUBMIT_PROGRAM}
)
"""The names of every tool of the contract, endings excepted."""
TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""What every provider takes as the name of a tool."""


class Kit(Protocol):
    """A capability whose operations one object serves, for one agent."""

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What it serves."""

    async def call(self, tool: str, args: dict[str, Any]) -> str | dict[str, Any] | Refused:
        """Carry out one checked call. A text is shown as it is, an object as JSON; fields are named in camelCase."""


def own_tool_problems(tools: Sequence[OwnTool]) -> tuple[Problem, ...]:
    """List why tools of the embedding program cannot be offered (P4): a bad name, a taken one, an ending's."""
    problems: list[Problem] = []
    seen: set[str] = set()
    for index, tool in enumerate(tools):
        path = f"tools[{index}]"
        if not TOOL_NAME.fullmatch(tool.name):
            remedy = "use up to 64 letters, digits, `_` and `-`, a letter first"
            problems.append(Problem(path=path, what=f"{tool.name!r} is no name for a tool", remedy=remedy))
        elif tool.name in ENDING_TOOLS:
            problems.append(
                Problem(path=path, what=f"`{tool.name}` is an ending call", remedy="give the tool another name")
            )
        elif tool.name in BUILT_IN or tool.name in seen:
            problems.append(
                Problem(path=path, what=f"there is a tool `{tool.name}` already", remedy="give it another name")
            )
        seen.add(tool.name)
    return tuple(problems)


def build_toolbox(
    profile: Profile,
    *,
    agent: str,
    workbench: Workbench | None,
    ask_board: Callable[[BoardLetter], Awaitable[BoardAnswer]] | None,
    crew: Crew,
    delegation: Delegation | None = None,
    kits: Sequence[Kit] = (),
    extra: Sequence[OwnTool] = (),
    mask: Mask | None = None,
    also_close: Callable[[], Awaitable[None]] | None = None,
) -> AgentToolbox:
    """Build the toolbox of one agent. Raises ValueError when a tool of ``extra`` cannot be offered.

    Without a workbench there are no file tools and no shell, without ``ask_board`` no board tools (B12), without
    ``delegation`` no delegation tools. Each of ``kits`` serves a capability of its own. ``also_close`` ends what tools of
    ``extra`` hold for this agent, when the box is closed.
    """
    problems = own_tool_problems(extra)
    if problems:
        raise ValueError("; ".join(map(str, problems)))
    operations: list[Operation] = []
    if workbench is not None:
        operations += FILES if "files" in profile.capabilities else ()
        operations += (SHELL,) if "shell" in profile.capabilities else ()
    if ask_board is not None:
        operations += operations_of(profile, crew)
    if delegation is not None:
        operations += delegation_operations(profile, crew)
    served = {operation.id: kit for kit in kits for operation in kit.operations}
    operations += [operation for kit in kits for operation in kit.operations]
    offered = [one for one in operations if one.always or profile.grants(one.tool, one.id)]
    own = [one for one in own_operations(extra) if profile.grants(one.tool.name, one.spec.id)]
    desk = BoardDesk(agent=agent, profile=profile.id, ask=ask_board) if ask_board is not None else None
    return AgentToolbox(
        operations=offered,
        own=own,
        workbench=workbench,
        desk=desk,
        delegation=delegation,
        kits=served,
        mask=mask or Mask(),
        also_close=also_close,
    )


class AgentToolbox:
    """One agent's toolbox; obeys ``ports.Toolbox``, and ``ports.Operations`` for agents that answer with programs."""

    def __init__(
        self,
        *,
        operations: Sequence[Operation],
        own: Sequence[OwnOperation],
        workbench: Workbench | None,
        desk: BoardDesk | None,
        delegation: Delegation | None = None,
        kits: Mapping[str, Kit] | None = None,
        mask: Mask,
        also_close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._also_close = also_close
        self._operations = {operation.tool: operation for operation in operations}
        self._by_id = {operation.id: operation for operation in operations}
        self._own = {one.tool.name: one.tool for one in own}
        self._own_by_id = {one.spec.id: one for one in own}
        self.operations = (*(operation.program_spec for operation in operations), *(one.spec for one in own))
        self._workbench = workbench
        self._desk = desk
        self._delegation = delegation
        self._kits = kits or {}
        self._mask = mask
        self.specs: tuple[ToolSpec, ...] = (
            *(operation.spec for operation in operations),
            *(
                ToolSpec(name=name, description=tool.description, schema=dict(tool.schema))
                for name, tool in self._own.items()
            ),
        )

    def touches_tree(self, tool: str) -> bool:
        """Tell whether a tool, or an operation by its id, reads or writes the agent's working tree (M6)."""
        operation = self._operations.get(tool) or self._by_id.get(tool)
        if operation is not None:
            return operation.touches_tree
        own = self._own_by_id.get(tool)
        return bool(getattr(self._own.get(tool) if own is None else own.tool, "touches_tree", False))

    async def call(self, call: ToolCall) -> ToolResult:
        """Carry out one call and answer it, also when it fails or is not offered. Cancelled: no process of it is left."""
        own = self._own.get(call.tool)
        operation = self._operations.get(call.tool)
        if own is not None:
            answer: str | Refused | Pictured = await self._call_own(own, call.args)
        elif operation is not None:
            checked = operation.check(call.args)
            answer = checked if isinstance(checked, Refused) else await self._call(operation, checked)
        else:
            answer = self._not_offered(call.tool)
        return self._result(call, answer)

    async def serve(self, operation: str, args: Mapping[str, Any]) -> ProgramAnswer:
        """Carry out one call of a program, by the operation's id and snake_case arguments. Cancelled: no process of it is left."""
        found = self._by_id.get(operation)
        own = self._own_by_id.get(operation)
        if own is not None:
            return await self._serve_own(own, args)
        if found is None:
            return Refused(code=Code.UNAVAILABLE, message=f"you do not have {_quoted(operation)}.")
        checked = found.check(args, program=True)
        answer = checked if isinstance(checked, Refused) else await self._serve(found, checked)
        if isinstance(answer, Refused):
            return Refused(code=answer.code, message=self._mask.text(answer.message))
        return Returned(value=answer)

    def take_notes(self) -> tuple[str, ...]:
        """Have nothing to add: hooks stand around this box."""
        return ()

    async def _serve(self, operation: Operation, args: dict[str, Any]) -> Any | Refused:
        if operation in (WAIT_FOR_ISSUE, WAIT_FOR_SUBAGENTS):
            return Refused(
                code=Code.UNAVAILABLE, message=f"`{operation.tool}` can only be called by an agent's program."
            )
        if operation.capability == PROJECT_MANAGEMENT:
            assert self._desk is not None
            answer = await self._desk.call(operation.tool, self._mask.value(args))
            return answer if isinstance(answer, Refused) else snake(self._mask.value(answer))
        if operation.capability == SUBAGENTS:
            assert self._delegation is not None
            told = delegate(self._delegation, operation.tool, self._mask.value(args))
            return told if isinstance(told, Refused) or "id" in told else None
        if operation.id in self._kits:
            given = await self._kits[operation.id].call(operation.tool, self._mask.value(args))
            return given if isinstance(given, Refused) else snake(self._mask.value(given))
        assert self._workbench is not None
        done = await _work(self._workbench, operation.tool, args)
        return done if isinstance(done, Refused) else workbench_value(done, args, self._mask)

    async def close(self) -> None:
        """Leave no process and no temporary file behind."""
        try:
            if self._also_close is not None:
                await self._also_close()
        finally:
            if self._workbench is not None:
                await self._workbench.close()  # noqa: ASYNC102 - whoever closes a box shields that

    async def _call(self, operation: Operation, args: dict[str, Any]) -> str | Refused:
        if operation in (WAIT_FOR_ISSUE, WAIT_FOR_SUBAGENTS):
            # The agent serves waits between turns; a call that reaches this door came from elsewhere.
            return Refused(code=Code.UNAVAILABLE, message=f"`{operation.tool}` can only be called in an agent's reply.")
        if operation.capability == PROJECT_MANAGEMENT:
            assert self._desk is not None
            answer = await self._desk.call(operation.tool, self._mask.value(args))
            return answer if isinstance(answer, Refused) else json_text(self._mask.value(answer))
        if operation.capability == SUBAGENTS:
            assert self._delegation is not None
            told = delegate(self._delegation, operation.tool, self._mask.value(args))
            return told if isinstance(told, Refused) else json_text(told)
        if operation.id in self._kits:
            given = await self._kits[operation.id].call(operation.tool, self._mask.value(args))
            return given if isinstance(given, str | Refused) else json_text(self._mask.value(given))
        assert self._workbench is not None
        done = await _work(self._workbench, operation.tool, args)
        return done if isinstance(done, Refused) else workbench_text(done, self._mask)

    async def _call_own(self, tool: OwnTool, args: dict[str, Any]) -> str | Refused | Pictured:
        try:
            answer: object = await tool.call(args)
            return answer if isinstance(answer, str | Refused | Pictured) else json_text(answer)
        except Exception as error:  # noqa: BLE001 - the embedding program's code: its fault is an answer, not our defect
            return Refused(code=Code.IO_ERROR, message=f"{tool.name}: {type(error).__name__}: {error}")

    async def _serve_own(self, own: OwnOperation, args: Mapping[str, Any]) -> ProgramAnswer:
        """Carry out a program's call of such a tool; what cannot be passed to a program is said in its text."""
        answer = await self._call_own(own.tool, own.arguments(args))
        match answer:
            case Refused(code=code, message=message):
                return Refused(code=code, message=self._mask.text(message))
            case Pictured(text=text, images=images):
                return Returned(value=self._mask.text(f"{text}\n[{len(images)} picture(s), which programs do not get]"))
            case str(text):
                return Returned(value=self._mask.text(text))

    def _not_offered(self, tool: str) -> Refused:
        names = ", ".join(f"`{spec.name}`" for spec in self.specs)
        has = (
            f"you have {names}, and the call that ends your session"
            if names
            else "you have only the call that ends your session"
        )
        return Refused(code=Code.UNAVAILABLE, message=f"you have no tool {_quoted(tool)}; {has}.")

    def _result(self, call: ToolCall, answer: str | Refused | Pictured) -> ToolResult:
        ok = not isinstance(answer, Refused)
        images = answer.images if isinstance(answer, Pictured) else ()
        said = answer.text if isinstance(answer, Pictured) else answer
        text = self._mask.text(said if isinstance(said, str) else said.message)
        return ToolResult(
            call_id=call.id,
            tool=call.tool,
            ok=ok,
            output=bound(text, MOST, self._keep),
            code=answer.code.value if isinstance(answer, Refused) else None,
            images=images,
        )

    def _keep(self, text: str) -> str | None:
        """Keep a text that is too long to be shown where this agent can read it, if it can read at all."""
        readable = any(tool in self._operations for tool in ("read_file", "shell"))
        return self._workbench.keep("result", text) if self._workbench is not None and readable else None


async def _work(workbench: Workbench, tool: str, args: dict[str, Any]) -> WorkbenchAnswer:
    match tool:
        case "read_file":
            return await workbench.read_file(args["path"], args["offset"], args["limit"])
        case "write_file":
            return await workbench.write_file(args["path"], args["contents"])
        case "edit_file":
            return await workbench.edit_file(args["path"], args["old_string"], args["new_string"], every=args["all"])
        case "list_dir":
            return await workbench.list_dir(args["path"])
        case "search_files":
            return await workbench.search_files(args["pattern"], args["path"], args["glob"])
        case "shell":
            return await workbench.run(args["command"], float(args["timeout_secs"]))
        case _:
            raise AssertionError(f"{tool} is no tool of the workbench")


def _quoted(name: str) -> str:
    return f"`{name[:80].encode('utf-8', 'backslashreplace').decode()}`"
