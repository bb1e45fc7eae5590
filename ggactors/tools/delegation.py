"""The delegation tools: an agent's way to agents of its own, and to any other (capability ``subagents``).

Law: nothing is decided here; who may be spawned, how deep, and who can be told something is the runtime's answer. The wait is
the agent's: here it is only declared and its argument read, as for ``wait_for_issue``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ggactors.protocol.crew import SUBAGENTS
from ggactors.protocol.values import Refused, Scope
from ggactors.tools.operation import Operation, Param, Shape
from ggactors.tools.results import AWAITED, ID
from ggactors.tools.roster import ids, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.ports import Delegation
    from ggactors.protocol.crew import Crew, Profile
    from ggactors.protocol.model import ToolCall

WAIT_FOR_SUBAGENTS = Operation(
    id="delegation.wait_for_subagents",
    tool="wait_for_subagents",
    doc=(
        "Wait until subagents of yours have ended. You are told of each how it ended, in `status`, and its summary; only "
        "`completed` means that it says its work is done. You are suspended meanwhile, which costs nothing. Other calls of "
        "the same reply run first."
    ),
    program_doc=(
        "Wait until subagents of yours have ended. The program runs on; once it has ended you are suspended, which costs "
        "nothing, and a notice in your next turn gives each one's `status` and summary. Only `completed` means that it says "
        "its work is done."
    ),
    params=(
        Param(
            name="agents",
            doc="The ids of the subagents to wait for; left out, all of yours.",
            shape=Shape.TEXTS,
            required=False,
            items=1,
        ),
    ),
    result=AWAITED,
    capability=SUBAGENTS,
)
SEND_MESSAGE = Operation(
    id="delegation.send_message",
    tool="send_message",
    doc="Send a text to an agent that has not ended. It reads it before its next turn; no answer comes back by itself.",
    params=(
        Param(name="agent", doc="The agent's id, such as `root` or `root.0s`."),
        Param(name="text", doc="What it is to know. It sees who sent it."),
    ),
    capability=SUBAGENTS,
)
DELEGATION_TOOLS = ("spawn_subagent", "wait_for_subagents", "send_message")
"""The names of all delegation tools, in the contract's order."""


def spawn_subagent(profile: Profile, crew: Crew) -> Operation:
    """Declare ``spawn_subagent`` as this profile sees it: whom it may spawn (A1)."""
    entries = profile.rostered(Scope.SUBAGENT)
    return Operation(
        id="delegation.spawn_subagent",
        tool="spawn_subagent",
        doc=(
            "Start an agent for a part of your own work. It works in your directory, at the same time as you, so tell it "
            "which files are its own; the prompt is all it is told. You get its id at once. It must have ended before you "
            f"can end your session: wait for it.\nAgents you can start:\n{listed(entries, crew)}"
        ),
        params=(
            Param(name="agent", doc="The id of the agent profile it runs under.", choices=ids(entries)),
            Param(name="prompt", doc="What it is to do and what to report. It must stand on its own."),
        ),
        result=ID,
        capability=SUBAGENTS,
    )


def operations_of(profile: Profile, crew: Crew) -> tuple[Operation, ...]:
    """List the delegation operations a profile has; whoever can spawn nobody has nobody to wait for."""
    if SUBAGENTS not in profile.capabilities:
        return ()
    if not profile.rostered(Scope.SUBAGENT):
        return (SEND_MESSAGE,)
    return (spawn_subagent(profile, crew), WAIT_FOR_SUBAGENTS, SEND_MESSAGE)


def every_operation(profile: Profile, crew: Crew) -> tuple[Operation, ...]:
    """List every delegation operation there is, as this profile would see it."""
    return (spawn_subagent(profile, crew), WAIT_FOR_SUBAGENTS, SEND_MESSAGE)


def parse_subagent_wait(call: ToolCall) -> tuple[str, ...] | Refused | None:
    """Read the subagents a ``wait_for_subagents`` call names, each once; None is all of the caller's."""
    return _named(WAIT_FOR_SUBAGENTS.check(call.args))


def parse_program_subagent_wait(args: Mapping[str, Any]) -> tuple[str, ...] | Refused | None:
    """Read the subagents a program's ``gg.delegation.wait_for_subagents`` names, each once; None is all of the caller's."""
    return _named(WAIT_FOR_SUBAGENTS.check(args, program=True))


def _named(checked: dict[str, Any] | Refused) -> tuple[str, ...] | Refused | None:
    if isinstance(checked, Refused):
        return checked
    named: tuple[str, ...] | None = checked["agents"]
    return None if named is None else tuple(dict.fromkeys(named))


def delegate(delegation: Delegation, tool: str, args: dict[str, Any]) -> dict[str, Any] | Refused:
    """Carry out one checked call, and give the object the model is shown."""
    match tool:
        case "spawn_subagent":
            spawned = delegation.spawn(args["agent"], args["prompt"])
            return spawned if isinstance(spawned, Refused) else {"id": spawned}
        case "send_message":
            return delegation.send(args["agent"], args["text"]) or {"ok": True}
        case _:
            raise AssertionError(f"{tool} is no call that is carried out at once")
