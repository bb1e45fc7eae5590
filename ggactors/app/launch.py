"""Launching: read and check everything, refuse once with every reason, then open what a run needs, in order.

Law: a refused launch leaves nothing behind and has called no model (P2). Leaving ``open_run`` leaves no task, process, lock
or temporary file.
"""

from __future__ import annotations

import os
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from ggactors.app.control import listening, serving
from ggactors.app.session import Run
from ggactors.app.staff import Staff
from ggactors.app.workplace import Workplace, open_workplace
from ggactors.hooks.verify import VERIFY_COMPLETION, Verification, find_verification
from ggactors.ports import LaunchRefused
from ggactors.protocol.crew import Crew
from ggactors.protocol.hooks import BuiltInAction
from ggactors.protocol.values import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

    from ggactors.crew import Reading
    from ggactors.crew.mcp import LoadedMcp
    from ggactors.crew.skills import LoadedSkills
    from ggactors.hooks.pins import Pin, Pinned
    from ggactors.models.resolve import ModelSource, Resolution
    from ggactors.ports import HookObject, Workbench
    from ggactors.protocol.agent import AgentOrder
    from ggactors.protocol.mcp import McpServer
    from ggactors.protocol.skills import Skill
    from ggactors.store.folder import RunFolder


@frozen(kw_only=True)
class Launch:
    """What a run is launched with, checked."""

    crew: Crew
    workspace: Path
    task: str
    sources: Mapping[str, ModelSource]
    include_dirty: bool = False
    large_baseline: bool = False
    tools: tuple[Any, ...] = ()
    hooks: tuple[HookObject, ...] = ()
    """Hook objects of the embedding program."""
    pins: Mapping[str, Pin] = field(factory=dict)
    """Script files of hooks as they were at launch (H39)."""
    skills: Mapping[str, tuple[Skill, ...]] = field(factory=dict)
    """Skills as they were at launch, by the ``dir`` the crew writes."""
    mcp: Mapping[str | None, tuple[McpServer, ...]] = field(factory=dict)
    """Servers as their configs were at launch, by the ``config`` the crew writes."""
    secrets: Mapping[str, str] = field(factory=dict, repr=False)
    """Values that are masked wherever text is stored, by a name for each (O4)."""
    unmasked: tuple[str, ...] = ()
    """The names of those that are everyday words, and left alone (docs/reference/models.md)."""
    resolved: tuple[ModelSource, ...] = ()
    """Sources of the crew's own models, given up when the run is over."""
    interactive: bool = False
    """Whether a person is at the root's prompt (G7); ``confirm``: they said yes to everything beforehand."""
    confirm: bool = False
    prompts: tuple[str, ...] = ()
    """Tasks that queue behind the first."""
    verification: Verification | None = None
    """The check of completion as it was at launch, for the hooks that name it (G5)."""
    bench: Callable[[AgentOrder], Workbench] | None = None
    """Gives an agent its workbench; None is a directory of this machine."""


@asynccontextmanager
async def open_run(
    crew: Crew | Reading | str | Path,
    *,
    workspace: str | Path = ".",
    task: str = "",
    run_id: str | None = None,
    home: str | Path | None = None,
    checkout: str | None = None,
    include_dirty: bool = False,
    large_baseline: bool = False,
    land: str | None = None,
    models: Mapping[str, ModelSource] | None = None,
    tools: Sequence[Any] = (),
    hooks: Sequence[HookObject] = (),
    interactive: bool = False,
    confirm: bool = False,
    prompts: Sequence[str] = (),
    verify: str | Verification | None = None,
    note: Callable[[str], None] | None = None,
) -> AsyncIterator[Run]:
    """Launch a run and drive it for as long as the block lasts (docs/reference/embedding.md).

    ``crew`` is a crew, or the path of a document. ``checkout`` and ``land`` override the crew's; ``models`` gives sources for
    model keys of the crew; ``tools`` are tools of the embedding program, offered to every agent, and ``hooks`` its hook objects,
    which hear the events of every agent. ``home`` is the state home. ``note`` is told what is being done before the run itself
    can speak.

    ``interactive`` puts a person at the root's prompt (G7): ``task`` may then be empty, and whoever holds the run speaks through
    ``Run.send``; ``confirm`` says that they need not be asked. ``prompts`` are tasks that queue behind ``task``. ``verify`` is
    the command of the check of completion, for the hooks that name it; without it the environment and the workspace say (G5).

    Raises LaunchRefused with every problem. Leaving the block before the run ended stops it at once, resumable.
    """
    from ggactors.models.resolve import close_all

    home_path = _home(home)
    launch = _checked(
        crew,
        Path(workspace),
        task,
        home=home_path,
        checkout=checkout,
        land=land,
        models=models or {},
        include_dirty=include_dirty,
        large_baseline=large_baseline,
        tools=tuple(tools),
        hooks=tuple(hooks),
        interactive=interactive,
        confirm=confirm,
        prompts=tuple(prompts),
        verify=verify,
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(close_all, launch.resolved)
        folder = _new_folder(home_path, run_id, stack)
        place = await stack.enter_async_context(open_workplace(launch, folder, home=home_path, note=note or _silent))
        listener = await stack.enter_async_context(listening(folder, emit=place.emit))
        staff = await stack.enter_async_context(_staff(launch, folder, place))
        run = Run(folder=folder, staff=staff)
        await stack.enter_async_context(serving(listener, run, token=place.watchdog.token))
        yield run


def _silent(_: str) -> None:
    return None


def _home(home: str | Path | None) -> Path:
    from ggactors.store.folder import state_home

    return Path(home).absolute() if home is not None else state_home(os.environ)


def _new_folder(home: Path, run_id: str | None, stack: AsyncExitStack) -> RunFolder:
    """Make the run's folder and take its lock; both go again when the launch is refused after all."""
    from ggactors.store.folder import make_run_folder
    from ggactors.store.lock import take_lock

    folder = make_run_folder(home, now=datetime.now(UTC).astimezone(), random=SystemRandom(), run_id=run_id)
    stack.enter_context(take_lock(folder.lock))
    return folder


def _checked(
    crew: Crew | Reading | str | Path,
    workspace: Path,
    task: str,
    *,
    home: Path,
    checkout: str | None,
    land: str | None,
    models: Mapping[str, ModelSource],
    include_dirty: bool,
    large_baseline: bool,
    tools: tuple[Any, ...],
    hooks: tuple[HookObject, ...],
    interactive: bool,
    confirm: bool,
    prompts: tuple[str, ...],
    verify: str | Verification | None,
) -> Launch:
    """Gather every reason to refuse, of the crew, its models, the options and the workspace, and refuse once (P2)."""
    from ggactors.app.coding import program_problems
    from ggactors.app.exporting import telemetry_problems
    from ggactors.app.masking import masked
    from ggactors.hooks.runner import hook_object_problems
    from ggactors.rules.launch_stuck import read_environment, tuned
    from ggactors.rules.secrets import told_apart
    from ggactors.tools.mask import Mask
    from ggactors.tools.toolbox import own_tool_problems

    problems: list[Problem] = []
    read, resolution, pinned, skills, servers = _read(crew, workspace, models, problems)
    if checkout not in (None, "private", "inPlace"):
        problems.append(Problem(path="checkout", what=f"{checkout!r} is no checkout", remedy="use private or inPlace"))
    if land not in (None, "end", "each", "never"):
        problems.append(Problem(path="land", what=f"{land!r} is no landing", remedy="use end, each or never"))
    if not (task.strip() or interactive):
        problems.append(Problem(path="task", what="the task is empty", remedy="say what is to be done"))
    sources: dict[str, ModelSource] = dict(models)
    stuck, unreadable = read_environment(os.environ)
    problems += unreadable
    if read is not None:
        read = evolve(read, checkout=checkout or read.checkout, land=land or read.land)
        profiles = tuple(evolve(profile, stuck=tuned(profile.stuck, stuck)) for profile in read.profiles)
        read = evolve(read, profiles=profiles)
        for spec in read.models:
            source = resolution.source(spec)
            if source is not None:
                sources.setdefault(spec.key, source)
    problems += program_problems(read)
    problems += telemetry_problems(read)
    problems += own_tool_problems(tools)
    problems += hook_object_problems(hooks)
    problems += _workspace_problems(workspace, read, home)
    verification = verify if isinstance(verify, Verification) else _verification(verify, workspace, read, problems)
    if problems or read is None:
        raise LaunchRefused(problems)
    secrets, unmasked = told_apart({**_shell_secrets(read), **servers.secrets, **resolution.secrets})
    mask = Mask(secrets)
    return Launch(
        crew=read,
        workspace=workspace.resolve(),
        task=mask.text(task) if task.strip() else "",
        sources=masked(sources, mask),
        include_dirty=include_dirty,
        large_baseline=large_baseline,
        tools=tools,
        hooks=hooks,
        interactive=interactive,
        confirm=confirm,
        verification=verification,
        prompts=tuple(mask.text(prompt) for prompt in prompts if prompt.strip()),
        pins=pinned.pins,
        skills=skills.skills,
        mcp=servers.servers,
        secrets=secrets,
        unmasked=unmasked,
        resolved=tuple(resolution.sources.values()),
    )


def _read(
    crew: Crew | Reading | str | Path, workspace: Path, given: Collection[str], problems: list[Problem]
) -> tuple[Crew | None, Resolution, Pinned, LoadedSkills, LoadedMcp]:
    """Read the crew as far as it goes, with every model, file, skill and MCP config it names, adding what stands in the way."""
    from ggactors.crew import Reading, read_crew
    from ggactors.crew.mcp import load_mcp
    from ggactors.crew.skills import load_skills
    from ggactors.hooks.pins import pin_files
    from ggactors.models.resolve import resolve_all

    if isinstance(crew, Crew):
        reading = Reading(
            crew=crew,
            problems=(),
            models=crew.models,
            hooks=crew.every_hook,
            skills=crew.every_skills,
            mcp=crew.every_mcp,
            folder=crew.folder,
        )
    else:
        reading = crew if isinstance(crew, Reading) else read_crew(Path(crew))
    resolution = resolve_all(reading.models, reading.folder, given=given)
    pinned = pin_files(reading.hooks, reading.folder)
    skills = load_skills(reading.skills, reading.folder)
    servers = load_mcp(reading.mcp, reading.folder, os.environ, workspace=workspace)
    problems.extend((*reading.problems, *resolution.problems, *pinned.problems, *skills.problems, *servers.problems))
    return reading.crew, resolution, pinned, skills, servers


def _shell_secrets(crew: Crew) -> dict[str, str]:
    """Find the secrets among the variables that agents' commands are given: they are masked like keys in use."""
    from ggactors.models.keys import shell_secrets

    return shell_secrets(tuple(name for profile in crew.profiles for name in profile.shell_env), os.environ)


def _verification(
    option: str | None, workspace: Path, crew: Crew | None, problems: list[Problem]
) -> Verification | None:
    """Look for the check of completion, if a hook of the crew is bound to it; a hook with nothing to run is a problem (G2)."""
    bound = (
        []
        if crew is None
        else [one for one in crew.every_hook if one.action == BuiltInAction(script=VERIFY_COMPLETION)]
    )
    if not bound:
        return None
    found = find_verification(option, os.environ, workspace)
    problems += found.problems
    if found.verification is None and not found.problems:
        remedy = "set GGACTORS_VERIFY_COMPLETION to a command, or write .ggactors/verify-completion.sh in the workspace"
        problems.append(
            Problem(path=bound[0].path or "hooks", what=f"{VERIFY_COMPLETION} has nothing to run", remedy=remedy)
        )
    return found.verification


def _workspace_problems(workspace: Path, crew: Crew | None, home: Path) -> list[Problem]:
    from ggactors.store.folder import refuse_workspace

    if not workspace.is_dir():
        return [Problem(path="workspace", what=f"{workspace} is not a folder", remedy="name an existing folder")]
    if not os.access(workspace, os.R_OK | os.X_OK):
        return [Problem(path="workspace", what=f"{workspace} cannot be read", remedy="give yourself access to it")]
    refused = refuse_workspace(workspace, home=home, environ=os.environ)
    if refused is not None:
        return [refused]
    if crew is None or crew.board is None:
        return []
    from ggactors.repo.service import inspect_workspace

    return inspect_workspace(workspace, checkout=crew.checkout, run_state=home)


@asynccontextmanager
async def _staff(launch: Launch, folder: RunFolder, place: Workplace) -> AsyncIterator[Staff]:
    from ggactors.runtime.system import open_system

    staff = Staff(launch=launch, folder=folder, place=place)
    await staff.open()
    try:
        async with open_system(on_crash=staff.crashed, on_high_water=staff.flooded) as system:
            staff.start(system)
            try:
                yield staff
            finally:
                staff.cut_off()
    finally:
        staff.close()
