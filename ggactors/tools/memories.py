"""The operations on a profile's memories (capability ``memories``). Law: the rules decide, the shelf keeps; no key's value is kept.

A memory's code is written and run by programs alone, so that the argument that carries it is declared for programs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field

from ggactors.protocol.crew import MEMORIES
from ggactors.protocol.program import FieldSpec, ResultSpec, ValueType
from ggactors.protocol.values import Refused
from ggactors.rules import memories as rules
from ggactors.rules.memories import MOST_FOUND, Edit
from ggactors.tools.operation import Operation, Param

if TYPE_CHECKING:
    from ggactors.ports import Shelf
    from ggactors.protocol.memories import MemoriesGrant, Memory
    from ggactors.protocol.program import Language
    from ggactors.tools.mask import Mask

_KEPT = ResultSpec(
    type=ValueType.RECORD,
    fields=(
        FieldSpec(name="name", type=ValueType.TEXT, doc="The memory's name."),
        FieldSpec(name="kept", type=ValueType.INTEGER, doc="How many memories there are now."),
        FieldSpec(name="most", type=ValueType.INTEGER, doc="How many there may be."),
    ),
)
_FOUND = ResultSpec(
    type=ValueType.RECORD,
    fields=(
        FieldSpec(name="memories", type=ValueType.RECORDS, doc="Each with `name` and `description`, the best first."),
        FieldSpec(name="left_out", type=ValueType.INTEGER, doc=f"How many more there are than the {MOST_FOUND} shown."),
    ),
)
_NAME = Param(name="name", doc="The memory's name.")
_ON_USE = Param(
    name="on_use",
    doc="A program that runs each time the memory is read, after the program that read it; it cannot end a session.",
    required=False,
    blank=True,
    clears=True,
)

OPERATIONS = (
    Operation(
        id="memories.create_memory",
        tool="create_memory",
        doc=(
            "Keep something for later sessions on this workspace. Its name and description are shown to you each time, its text "
            "when you read it."
        ),
        params=(
            Param(name="name", doc="A name no other memory has: lower-case letters, digits, single hyphens."),
            Param(name="description", doc="In one line: what it is about, and when to read it."),
            Param(name="text", doc="What is to be remembered."),
            evolve(_ON_USE, clears=False),
        ),
        capability=MEMORIES,
        result=_KEPT,
    ),
    Operation(
        id="memories.read_memory",
        tool="read_memory",
        doc="Read a memory's text.",
        params=(_NAME,),
        capability=MEMORIES,
        result=ResultSpec(type=ValueType.TEXT, doc="The memory's text."),
    ),
    Operation(
        id="memories.edit_memory",
        tool="edit_memory",
        doc="Change a memory that is wrong, incomplete or out of date. What you leave out stays as it is.",
        params=(
            _NAME,
            Param(name="description", doc="The new description.", required=False),
            Param(name="text", doc="The new text, all of it.", required=False),
            _ON_USE,
        ),
        one_of=("description", "text", "on_use"),
        capability=MEMORIES,
        result=_KEPT,
    ),
    Operation(
        id="memories.delete_memory",
        tool="delete_memory",
        doc="Forget a memory that is of no use any more.",
        params=(_NAME,),
        capability=MEMORIES,
        result=_KEPT,
    ),
    Operation(
        id="memories.search_memories",
        tool="search_memories",
        doc="Find memories by words of their names, descriptions and texts.",
        params=(
            Param(
                name="query",
                doc="Words it must have; left out, every memory is listed.",
                required=False,
                default="",
                blank=True,
            ),
        ),
        capability=MEMORIES,
        result=_FOUND,
    ),
)
"""Every operation of the capability, as programs have it."""


def _as_tool(operation: Operation) -> Operation:
    params = tuple(param for param in operation.params if param.name != _ON_USE.name)
    return evolve(operation, params=params, one_of=tuple(name for name in operation.one_of if name != _ON_USE.name))


AS_TOOLS = tuple(_as_tool(operation) for operation in OPERATIONS)
"""The same for agents that call tools, which run no code on use."""


@define(kw_only=True)
class MemoryKit:
    """One agent's way to its profile's memories; obeys ``toolbox.Kit``.

    ``language`` is that of an agent that answers with programs.
    """

    shelf: Shelf
    grant: MemoriesGrant
    mask: Mask
    language: Language | None = None
    _used: list[tuple[str, str]] = field(factory=list, init=False)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What it serves."""
        return AS_TOOLS if self.language is None else OPERATIONS

    async def call(self, tool: str, args: dict[str, Any]) -> str | dict[str, Any] | Refused:
        """Carry out one checked call. Cancelled: the memories are as they were, or as the call leaves them."""
        match tool:
            case "read_memory":
                return await self._read(args["name"])
            case "search_memories":
                return await self._search(args["query"])
            case _:
                return await self._change(tool, args)

    def take_used(self) -> tuple[tuple[str, str], ...]:
        """Take the on-use code that is due, each with its memory's name, in the order of the uses."""
        used = tuple(self._used)
        self._used.clear()
        return used

    async def _read(self, name: str) -> str | Refused:
        kept = await self.shelf.read()
        found = kept if isinstance(kept, Refused) else rules.read(kept, name)
        if isinstance(found, Refused):
            return found
        if self.language is not None and self.language in found.on_use:
            self._used.append((found.name, found.on_use[self.language]))
        return found.text

    async def _search(self, query: str) -> dict[str, Any] | Refused:
        kept = await self.shelf.read()
        if isinstance(kept, Refused):
            return kept
        found = rules.search(kept, query)
        shown = [{"name": one.name, "description": one.description} for one in found[:MOST_FOUND]]
        return {"memories": shown, "leftOut": len(found) - len(shown)}

    async def _change(self, tool: str, args: dict[str, Any]) -> dict[str, Any] | Refused:
        name = self.mask.text(args["name"])
        change = Edit(**{part: self._masked(args.get(given)) for part, given in _PARTS})

        def decide(memories: tuple[Memory, ...]) -> tuple[Memory, ...] | Refused:
            match tool:
                case "create_memory":
                    return rules.create(memories, name, change, grant=self.grant, language=self.language)
                case "edit_memory":
                    return rules.edit(memories, name, change, grant=self.grant, language=self.language)
                case "delete_memory":
                    return rules.delete(memories, name)
                case _:
                    raise AssertionError(f"{tool} is no call on memories")

        made = await self.shelf.change(decide)
        return made if isinstance(made, Refused) else {"name": name, "kept": len(made), "most": self.grant.most}

    def _masked(self, text: str | None) -> str | None:
        return None if text is None else self.mask.text(text)


_PARTS = (("description", "description"), ("text", "text"), ("code", "on_use"))
