"""The ending calls (E1): what each role is offered, and how a declaration is read.

Law: the role is checked before the shape (E4), a refusal says what to send instead (E5), and the verdict is read off the
declared ending, never off prose (E7). No capability, allowlist or budget withholds them (E3, E10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ggactors.protocol.agent import Approved, ChangesRequested, Ending, Finished
from ggactors.protocol.values import Code, Refused, Role
from ggactors.tools.operation import Operation, Param, Shape, loosened

if TYPE_CHECKING:
    from ggactors.protocol.model import ToolCall, ToolSpec
    from ggactors.protocol.program import OperationSpec

FINISH = Operation(
    id="session.finish",
    tool="finish",
    doc=(
        "End your session: your work is done. Nothing else ends it. The summary is what whoever gave you the task reads: "
        "what you did, what you checked, what is left."
    ),
    params=(Param(name="summary", doc="What you did, in a few sentences."),),
)
APPROVE = Operation(
    id="session.approve",
    tool="approve",
    doc="End your review: the work may be merged as it is.",
)
REQUEST_CHANGES = Operation(
    id="session.request_changes",
    tool="request_changes",
    doc=(
        "End your review: the work must be changed before it can be merged. The items are handed, numbered, to the agent "
        "that does the rework, so each must stand on its own: where, what is wrong, what would be right."
    ),
    params=(Param(name="items", doc="The changes that are needed, one each.", shape=Shape.TEXTS, items=1, blank=True),),
)

ENDINGS = (FINISH, APPROVE, REQUEST_CHANGES)
_OF_ROLE = {Role.STANDARD: (FINISH,), Role.REVIEW: (APPROVE, REQUEST_CHANGES)}
_BY_TOOL = {operation.tool: operation for operation in ENDINGS}
ENDING_TOOLS = frozenset(_BY_TOOL)
"""The tool names of every ending, whatever the role."""


def endings_of(role: Role) -> tuple[Operation, ...]:
    """List the endings a role has, in the order they are offered (E3)."""
    return _OF_ROLE[role]


def specs_of(role: Role) -> tuple[ToolSpec, ...]:
    """Describe a role's endings as tools."""
    return tuple(operation.spec for operation in endings_of(role))


def programs_of(role: Role) -> tuple[OperationSpec, ...]:
    """Describe all three endings as programs see them (E4). Of another role's no shape is asked: its role is what is wrong."""
    own = endings_of(role)
    return tuple(one.program_spec if one in own else loosened(one.program_spec) for one in ENDINGS)


def is_ending(tool: str) -> bool:
    """Tell whether a tool name is an ending call of any role."""
    return tool in ENDING_TOOLS


def declare(role: Role, call: ToolCall) -> Ending | Refused:
    """Read a declared ending. Refused: ``unavailable`` for another role's, ``invalid-argument`` for a wrong shape (E4, E5)."""
    own = endings_of(role)
    operation = _BY_TOOL.get(call.tool)
    if operation is None or operation not in own:
        names = " or ".join(f"`{one.tool}`" for one in own)
        return Refused(
            code=Code.UNAVAILABLE,
            message=f"`{call.tool}` does not end your session: in your role you end it with {names}.",
        )
    checked = operation.check(call.args)
    return checked if isinstance(checked, Refused) else _ending(operation, checked)


def _ending(operation: Operation, checked: dict[str, Any]) -> Ending | Refused:
    if operation is FINISH:
        return Finished(summary=checked["summary"].strip())
    if operation is APPROVE:
        return Approved()
    items = tuple(stripped for item in checked["items"] if (stripped := item.strip()))
    if items:
        return ChangesRequested(items=items)
    return Refused(
        code=Code.INVALID_ARGUMENT,
        message="request_changes: every item is blank; send at least one change that is needed, or `approve`.",
    )


class RoleEndings:
    """The endings of one role, as the agent's loop asks for them."""

    def __init__(self, role: Role) -> None:
        self.role = role
        self.specs = specs_of(role)

    def is_ending(self, tool: str) -> bool:
        """Tell whether a tool name is an ending call of any role."""
        return is_ending(tool)

    def declare(self, call: ToolCall) -> Ending | Refused:
        """Read a declaration: the role is checked first, the shape second (E4, E5)."""
        return declare(self.role, call)
