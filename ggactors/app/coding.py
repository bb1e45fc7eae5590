"""Agents that answer with programs, made ready: their SDK, their views, their way to the sandbox (X1, X2).

Law: what an agent is granted is what the SDK's summary and documentation show and the membrane serves. What the contract has
beyond that is declared too, so that calling it is answered as ``unavailable`` and can be caught.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from ggactors.actors.coding import Coding
from ggactors.protocol.crew import SUBAGENTS, SUBMIT_PROGRAM
from ggactors.protocol.model import ToolSpec
from ggactors.tools.board import every_operation as board_operations
from ggactors.tools.board import parse_program_wait
from ggactors.tools.builtin import WORKBENCH
from ggactors.tools.delegation import every_operation as delegation_operations
from ggactors.tools.delegation import parse_program_subagent_wait
from ggactors.tools.endings import endings_of, programs_of
from ggactors.tools.toolbox import OF_KITS
from ggactors.tools.views import OPEN_FILE, VIEWING, AgentViews

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from ggactors.ports import Operations
    from ggactors.programs.pool import Programs
    from ggactors.programs.sdk import Sdk
    from ggactors.protocol.agent import AgentOrder
    from ggactors.protocol.crew import CodeGrant, Crew, Profile
    from ggactors.protocol.program import DocPage, Language, OperationSpec, ProgramAnswer, ProgramResult
    from ggactors.protocol.values import Problem


def languages_of(profiles: Iterable[Profile]) -> tuple[Language, ...]:
    """List the languages profiles write programs in, each once."""
    return tuple(dict.fromkeys(profile.code.language for profile in profiles if profile.code is not None))


def program_problems(crew: Crew | None) -> Sequence[Problem]:
    """List why the programs of a crew cannot run on this machine (O2); reads and hashes what they run on."""
    languages = () if crew is None else languages_of(crew.profiles)
    if not languages:
        return ()
    from ggactors.programs.artifacts import problems

    return problems(languages)


@frozen(kw_only=True)
class Runner:
    """The sandbox as one agent has it; obeys ``ports.ProgramRunner``."""

    programs: Programs
    sdk: Sdk
    grant: CodeGrant

    async def run(
        self, program: str, serve: Callable[[str, Mapping[str, Any]], Awaitable[ProgramAnswer]]
    ) -> ProgramResult:
        """Run one program to its end. Cancelled: nothing of it happens any more."""
        return await self.programs.run(program, sdk=self.sdk, serve=serve, limits=self.grant.limits)


@frozen(kw_only=True)
class Hired:
    """An agent's code mode, and the list of its calls for the system prompt."""

    coding: Coding
    summary: str


def hire(
    profile: Profile, order: AgentOrder, *, grant: CodeGrant, crew: Crew, toolbox: Operations, programs: Programs
) -> Hired:
    """Make what an agent needs to answer with programs. ``toolbox`` serves its capabilities' operations."""
    from ggactors.programs.sdk import Sdk

    served = toolbox.operations
    viewing = [one.program_spec for one in VIEWING if _views(profile, one.id, served)]
    own_endings = [one.program_spec for one in endings_of(order.role)]
    granted = Sdk([*served, *viewing, *own_endings], grant.language)
    has = {spec.id for spec in (*served, *viewing)}
    rest = [spec for spec in _declared(profile, crew) if spec.id not in has]
    sdk = Sdk([*served, *viewing, *programs_of(order.role), *rest], grant.language)

    def search(query: str, module: str | None) -> Sequence[DocPage]:
        return granted.search(query, module=module)

    coding = Coding(
        language=grant.language,
        spec=_submit(grant.language),
        granted=tuple(granted.operations),
        runner=Runner(programs=programs, sdk=sdk, grant=grant),
        operations=toolbox,
        views=AgentViews(granted=frozenset(has), search=search, page=granted.open),
        parse_wait=parse_program_wait,
        parse_children=parse_program_subagent_wait,
    )
    return Hired(coding=coding, summary=granted.summary())


def _views(profile: Profile, operation: str, served: Sequence[OperationSpec]) -> bool:
    """Tell whether an agent has an operation of ``views`` or ``docs``; a file it may not read it cannot view."""
    if operation == OPEN_FILE.id and not any(spec.id == "files.read_file" for spec in served):
        return False
    return profile.operations is None or operation in profile.operations


def _declared(profile: Profile, crew: Crew) -> list[OperationSpec]:
    """List every operation there is in this run, granted to this agent or not; none of a board it has not (B12)."""
    board = () if crew.board is None else board_operations(profile, crew)
    spawning = any(SUBAGENTS in one.capabilities for one in crew.profiles)
    delegation = delegation_operations(profile, crew) if spawning else ()
    return [one.program_spec for one in (*WORKBENCH, *board, *delegation, *OF_KITS, *VIEWING)]


def _submit(language: Language) -> ToolSpec:
    what = f"Run a program, in {language.value.capitalize()}. It works through `gg` alone; you see what it opens with `gg.views`."
    return ToolSpec(
        name=SUBMIT_PROGRAM,
        description=what,
        schema={
            "type": "object",
            "properties": {"program": {"type": "string", "description": "The whole program, run as it is."}},
            "required": ["program"],
            "additionalProperties": False,
        },
    )
