"""What a run stands on: its journal, its event stream, its repository. Opened in order, closed in reverse, whatever happens."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, cast

from attrs import field, frozen

from ggactors.app.exporting import open_export
from ggactors.app.servers import open_servers
from ggactors.ports import JournalBroken, LaunchRefused, RepositoryBroken
from ggactors.protocol.events import Log
from ggactors.protocol.values import Problem
from ggactors.rules.secrets import left_alone
from ggactors.runtime.bus import EventBus
from ggactors.runtime.clock import RealClock
from ggactors.tools.mask import Mask
from ggactors.tools.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from ggactors.app.launch import Launch
    from ggactors.ports import Journal, Repository
    from ggactors.programs.pool import Programs
    from ggactors.protocol.events import Event, Header
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.folds import RunView
    from ggactors.telemetry.sink import JsonLines
    from ggactors.tools.mcp import McpHouse


@frozen(kw_only=True)
class Workplace:
    """The opened things of one run. ``repository`` is None without a board (B12); ``view`` is folded from the events."""

    bus: EventBus
    journal: Journal
    repository: Repository | None
    view: RunView
    lines: JsonLines
    events_path: Path
    watchdog: Watchdog
    """Ends the commands of a runtime that is killed at once."""
    programs: Programs | None = None
    """The sandbox, where a profile answers with programs."""
    mcp: McpHouse | None = None
    """The MCP servers, where a profile has some."""

    unmasked: tuple[str, ...] = ()
    """The names of keys that are everyday words, and not masked."""
    mask: Mask = field(factory=Mask)
    """Keeps the values of keys in use out of every event."""

    def emit(self, event: Event) -> None:
        """Emit an event of the run."""
        self.bus.emit(self.mask.value(event))

    def say_what_was_found(self) -> None:
        """Tell which keys are not masked, what opening the repository came upon, and what of the operator's is not in it (W11)."""
        if self.unmasked:
            self.emit(Log(level="warning", message=left_alone(self.unmasked)))
        if self.repository is None:
            return
        facts = self.repository.facts
        for note in facts.notes:
            self.emit(Log(level="info", message=note))
        if facts.dirty:
            shown = ", ".join(facts.dirty[:8]) + (f" and {len(facts.dirty) - 8} more" if len(facts.dirty) > 8 else "")
            message = f"your uncommitted changes are left alone and not in the run: {shown}"
            self.emit(Log(level="warning", message=message))


@asynccontextmanager
async def open_workplace(
    launch: Launch, folder: RunFolder, *, home: Path, note: Callable[[str], None]
) -> AsyncIterator[Workplace]:
    """Open what the run stands on. Raises LaunchRefused, and then the run's folder is gone again."""
    async with AsyncExitStack() as stack:
        try:
            place = await _open(launch, folder, home, note, stack)
        except LaunchRefused:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
        except RepositoryBroken as error:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise _refused("workspace", str(error), "mend that and start again") from error
        except (JournalBroken, OSError) as error:
            shutil.rmtree(folder.path, ignore_errors=True)
            remedy = "free space there, or set GGACTORS_HOME to another place"
            raise _refused(str(home), f"state cannot be kept there: {error}", remedy) from error
        yield place


def _refused(path: str, what: str, remedy: str) -> LaunchRefused:
    return LaunchRefused([Problem(path=path, what=what, remedy=remedy)])


async def _open(
    launch: Launch, folder: RunFolder, home: Path, note: Callable[[str], None], stack: AsyncExitStack
) -> Workplace:
    """Open, in this order: the lock on the workspace, the event stream, the journal, the repository."""
    from ggactors.store.journal import open_journal
    from ggactors.telemetry.folds import RunView
    from ggactors.telemetry.sink import JsonLines

    folder.crew.write_text(json.dumps(dict(launch.crew.document), indent=2) + "\n", encoding="utf-8")
    if launch.crew.checkout == "inPlace" or launch.crew.board is None:
        _lock_workspace(launch.workspace, home, stack)

    mask = Mask(dict(launch.secrets))

    def trouble(message: str) -> None:
        bus.emit(Log(level="error", message=mask.text(message)))

    bus = EventBus(
        run=folder.id,
        clock=RealClock().stamp,
        on_sink_lost=lambda sink, error: trouble(f"{sink!r} broke and hears no more events: {error!r}"),
        on_high_water=lambda count: trouble(f"a reader of events is {count:,} behind"),
    )
    lines = JsonLines(folder.events)
    stack.callback(lines.close)
    view = RunView()
    for sink in (lines, view.apply):
        bus.add_sink(cast("Callable[[Header], None]", sink))
    stack.callback(bus.close)
    open_export(launch, bus, mask.text, note, stack)

    watchdog = Watchdog(f"{folder.id}.{secrets.token_hex(4)}")
    stack.callback(watchdog.close)
    journal = await stack.enter_async_context(open_journal(folder.journal, on_trouble=trouble))
    repository = await _open_repository(launch, folder, note, stack)
    return Workplace(
        bus=bus,
        journal=journal,
        repository=repository,
        view=view,
        lines=lines,
        events_path=folder.events,
        watchdog=watchdog,
        programs=await _open_programs(launch, note, stack),
        mcp=await open_servers(launch, repository, stack),
        unmasked=launch.unmasked,
        mask=mask,
    )


async def _open_programs(launch: Launch, note: Callable[[str], None], stack: AsyncExitStack) -> Programs | None:
    """Open the sandbox where a profile needs it; what it runs on is compiled first, once a machine."""
    coders = {
        profile.code.language: profile.code.limits for profile in launch.crew.profiles if profile.code is not None
    }
    if not coders:
        return None
    from ggactors.programs.pool import open_programs
    from ggactors.programs.prepare import cache_folder

    programs = await stack.enter_async_context(open_programs(coders, cache=cache_folder(os.environ), progress=note))
    for language, limits in coders.items():
        await programs.warm(language, limits)
    return programs


def _lock_workspace(workspace: Path, home: Path, stack: AsyncExitStack) -> None:
    """Hold the workspace itself: two runs in one directory would mix (O3)."""
    from ggactors.store.lock import LockHeld, lock_workspace

    try:
        stack.enter_context(lock_workspace(home, workspace))
    except LockHeld as held:
        by = f" (process {held.holder.pid})" if held.holder is not None else ""
        remedy = "wait for it, cancel it, or use checkout private"
        raise _refused("workspace", f"another run works in {workspace} itself{by}", remedy) from held


async def _open_repository(
    launch: Launch, folder: RunFolder, note: Callable[[str], None], stack: AsyncExitStack
) -> Repository | None:
    """Open the run's git work where it has a board, and pack beside it while git has nothing else to do."""
    if launch.crew.board is None:
        return None
    from ggactors.repo.service import open_repository

    repository = await open_repository(
        launch.workspace,
        run_id=folder.id,
        run_dir=folder.path,
        checkout=launch.crew.checkout,
        include_dirty=launch.include_dirty,
        large_baseline=launch.large_baseline,
        note=note,
    )
    stack.push_async_callback(repository.close)
    await stack.enter_async_context(repository.packing())
    return repository
