"""Programs of simulated agents that answer with programs: a plan of calls, carried out where the sandbox would run one.

Law: what a plan calls crosses the real membrane; the sandbox alone is not there. What the calls came to is kept for the agent's
habit, since a program's model reads no results.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, field

from ggactors.protocol.model import ToolResult
from ggactors.protocol.program import ProgramKind, ProgramResult
from ggactors.protocol.values import Code, Refused

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable, Sequence

    from ggactors.programs.sdk import Sdk
    from ggactors.protocol.program import ProgramAnswer, ProgramLimits
    from ggactors.testing.simhabits import Call

_MODULES = {
    "files": ("read_file", "write_file", "list_dir"),
    "board": (
        *("create_epic", "create_issue", "update_issue", "set_issue_blocked_by", "remove_epic", "remove_issue"),
        *("wait_for_issue", "read_board"),
    ),
    "delegation": ("spawn_subagent", "wait_for_subagents", "send_message"),
    "session": ("finish", "approve", "request_changes"),
}
OPERATIONS = {name: f"{module}.{name}" for module, names in _MODULES.items() for name in names}
"""The operation by which a program calls what a tool does."""
_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")


def written(agent: str, calls: Sequence[Call], chance: random.Random) -> str:
    """Write calls as a program, which catches what is refused or not, and may throw once it is through."""
    plan = {
        "agent": agent,
        "calls": [(tool, {_snake(name): value for name, value in args.items()}) for tool, args in calls],
        "caught": chance.random() < 0.7,
        "throws": chance.random() < 0.05,
        # An ending is recognised by how it reads.
        "reads": [f"{tool}()" for tool, _ in calls],
    }
    return json.dumps(plan)


def _snake(name: str) -> str:
    return _CAPITAL.sub(lambda found: f"_{found[0].lower()}", name)


@define
class SimPrograms:
    """Stands where the run's sandbox stands."""

    results: dict[str, list[ToolResult]] = field(factory=dict)
    """What the calls of each agent's last program came to."""

    async def run(
        self,
        program: str,
        *,
        sdk: Sdk,
        serve: Callable[[str, dict[str, Any]], Awaitable[ProgramAnswer]],
        limits: ProgramLimits | None = None,
        name: str | None = None,
    ) -> ProgramResult:
        """Carry a plan out. What ``serve`` raises ends it and is raised here."""
        await trio.lowlevel.checkpoint()
        plan = json.loads(program)
        results = self.results[plan["agent"]] = []
        for number, (tool, args) in enumerate(plan["calls"], 1):
            operation = sdk.find(OPERATIONS[tool])
            if operation is None:
                answer: ProgramAnswer = Refused(code=Code.UNAVAILABLE, message=sdk.unknown(OPERATIONS[tool]))
            else:
                answer = await serve(operation.id, sdk.plain(operation, args))
            results.append(_result(f"{number}", tool, answer))
            if isinstance(answer, Refused) and not plan["caught"]:
                error = f"gg.Error: {answer.code}: {answer.message}"
                return ProgramResult(kind=ProgramKind.RUNTIME_ERROR, error=error, error_type="Error", code=answer.code)
        if plan["throws"]:
            return ProgramResult(
                kind=ProgramKind.RUNTIME_ERROR, error="ValueError: at the end", error_type="ValueError"
            )
        return ProgramResult(kind=ProgramKind.OK, logs=("through",))


def _result(call: str, tool: str, answer: ProgramAnswer) -> ToolResult:
    if isinstance(answer, Refused):
        return ToolResult(call_id=call, tool=tool, ok=False, code=answer.code, output=answer.message)
    output = answer.value if isinstance(answer.value, str) else json.dumps(answer.value)
    return ToolResult(call_id=call, tool=tool, ok=True, output=output)
