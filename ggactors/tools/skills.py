"""The operation that reads a skill (capability ``skills``). Law: a skill is what it was at launch; each use is remembered once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, field

from ggactors.protocol.crew import SKILLS
from ggactors.protocol.program import ResultSpec, ValueType
from ggactors.protocol.values import Code, Refused
from ggactors.tools.operation import Operation, Param

if TYPE_CHECKING:
    from ggactors.protocol.program import Language
    from ggactors.protocol.skills import Skill

READ_SKILL = Operation(
    id="skills.read_skill",
    tool="read_skill",
    doc="Read the instructions of a skill. Your system prompt names the skills you have; read one before doing what it is for.",
    params=(Param(name="name", doc="The skill's name."),),
    capability=SKILLS,
    result=ResultSpec(type=ValueType.TEXT, doc="The skill's instructions."),
)
OPERATIONS = (READ_SKILL,)
"""Every operation of the capability."""


@define(kw_only=True)
class SkillKit:
    """One agent's skills, served; obeys ``toolbox.Kit``. ``language`` is that of an agent that answers with programs."""

    skills: tuple[Skill, ...]
    language: Language | None = None
    operations: tuple[Operation, ...] = OPERATIONS
    _used: list[tuple[str, str]] = field(factory=list, init=False)
    _read: dict[str, str] = field(factory=dict, init=False)

    async def call(self, tool: str, args: dict[str, Any]) -> str | Refused:
        """Give the body of a skill; where it has on-use code in the agent's language, that is due now."""
        assert tool == READ_SKILL.tool
        skill = next((one for one in self.skills if one.name == args["name"]), None)
        if skill is None:
            names = ", ".join(one.name for one in self.skills)
            return Refused(code=Code.NOT_FOUND, message=f"there is no skill {args['name'][:100]!r}; you have {names}")
        if self.language is not None and self.language in skill.on_use:
            self._used.append((skill.name, skill.on_use[self.language]))
        self._read[skill.name] = skill.body
        return skill.body

    def in_use(self) -> tuple[tuple[str, str], ...]:
        """Give every skill that was read so far, by name and body, in the order of the first uses."""
        return tuple(self._read.items())

    def take_used(self) -> tuple[tuple[str, str], ...]:
        """Take the on-use code that is due, each with its skill's name, in the order of the uses."""
        used = tuple(self._used)
        self._used.clear()
        return used
