"""What faults of a simulated run come from: a repository, workbenches and a journal in memory that fail on cue, and a gate.

Law: each obeys its port. What must never be asked of a port at the wrong moment (a merge while somebody works in main, the
removal of a worktree with somebody in it) is told to ``breach(law, message)``.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.testing.journals import MemoryJournal
from ggactors.testing.memory import MemoryBench, MemoryRepository, broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ggactors.protocol.agent import AgentOrder
    from ggactors.protocol.git import Merged, MergeFailed, OpenedWorktree, Signature
    from ggactors.protocol.values import Refused
    from ggactors.protocol.workbench import DirListed, FileRead, FileWritten
    from ggactors.testing.simworld import Faults


class PlantedCrash(Exception):  # noqa: N818 - what a test plants, not what a program meets
    """An exception that nobody expects, raised on purpose (D8)."""


@define
class Sites:
    """Counts the calls at each site and raises what is planted there."""

    faults: Faults
    lag: tuple[float, ...] = (0.0,)
    chance: random.Random = field(factory=random.Random)
    calls: Counter[str] = field(factory=Counter)
    crashed: Callable[[str], None] = field(default=lambda _: None)
    """Told of a planted crash, and where, before it is raised."""

    async def linger(self) -> None:
        """Take as long as the world has it."""
        await trio.sleep(self.chance.choice(self.lag))

    def at(self, site: str, step: str = "") -> None:
        """Count a call. Raises PlantedCrash at the one that is to crash."""
        self.calls[site] += 1
        if self.faults.crash == (site, self.calls[site]):
            self.crashed(step or site)
            raise PlantedCrash(f"planted at call {self.calls[site]} of {site}")

    def step(self, name: str) -> None:
        """Count a step of the repository. Raises RepositoryBroken where the disk is to refuse, or PlantedCrash."""
        self.at("repository", name)
        self.calls[name] += 1
        if (name, self.calls[name]) in self.faults.broken_steps:
            raise broken(name)


@define(kw_only=True)
class SimRepository(MemoryRepository):
    """A memory repository that looks at when it is asked for what. ``living(issue)`` lists the live agents in a worktree."""

    sites: Sites
    breach: Callable[[str, str], None] = field(default=lambda _law, _message: None)
    living: Callable[[str], Sequence[str]] = field(default=lambda _: ())
    first_dispatch: Callable[[str], bool] = field(default=lambda _: False)
    in_main: Counter[str] = field(factory=Counter)
    """Agents rooted in main with a call under way."""

    async def _step(self, name: str) -> None:
        await self.sites.linger()
        self.sites.step(name)

    @contextmanager
    def working_in_main(self, agent: str, *, merging: bool) -> Iterator[None]:
        """Take note of a call in the main workspace, which must not meet a merge unless it is the merge agent's (M6)."""
        if self.conflict is not None and not merging:
            self.breach("main_agents_never_mix_with_a_merge_M6", f"{agent} works in main while a merge lies there")
        if not merging:
            self.in_main[agent] += 1
        try:
            yield
        finally:
            if not merging:
                self.in_main[agent] -= 1

    def _merge_begins(self, issue: str) -> None:
        busy = [agent for agent, calls in self.in_main.items() if calls]
        if busy:
            self.breach("main_agents_never_mix_with_a_merge_M6", f"{issue} is merged while {busy} work in main")

    async def merge(self, issue: str, commit: str, signature: Signature, message: str) -> Merged | MergeFailed:
        """Merge, while nobody works in main."""
        self._merge_begins(issue)
        return await super().merge(issue, commit, signature, message)

    async def discard(self, issue: str, *, accepted: bool) -> str | None:
        """Tear a worktree down, while nobody works in it (W5)."""
        had = issue in self.worktrees
        saved = await super().discard(issue, accepted=accepted)
        living = list(self.living(issue))
        if living and had:
            self.breach("a_worktree_with_a_live_agent_is_never_removed_W5", f"{issue} is discarded under {living}")
        return saved

    async def open_worktree(self, issue: str) -> OpenedWorktree:
        """Make or find a worktree, which is a fresh one at an issue's first dispatch since it was filed or revived (W2, B8)."""
        if issue in self.worktrees and self.first_dispatch(issue):
            self.breach("a_first_dispatch_gets_a_fresh_worktree_W2", f"{issue} is dispatched into what was left of it")
        return await super().open_worktree(issue)


@define
class SimBench(MemoryBench):
    """The workbench of one agent of a simulated run."""

    order: AgentOrder
    repository: SimRepository
    sites: Sites
    merging: bool

    @contextmanager
    def _call(self) -> Iterator[None]:
        self.sites.at("bench")
        if self.order.issue is not None and not self.merging:
            yield
        else:
            with self.repository.working_in_main(self.order.id, merging=self.merging):
                yield

    async def read_file(self, path: str, offset: int | None = None, limit: int | None = None) -> FileRead | Refused:
        """Read a file."""
        with self._call():
            return await super().read_file(path, offset, limit)

    async def write_file(self, path: str, contents: str) -> FileWritten | Refused:
        """Write a file, taking some time over it."""
        with self._call():
            await self.sites.linger()
            return await super().write_file(path, contents)

    async def list_dir(self, path: str = ".") -> DirListed | Refused:
        """List every file."""
        with self._call():
            return await super().list_dir(path)


@define(kw_only=True)
class SimJournal(MemoryJournal):
    """A memory journal in which a defect may be planted. Only what is waited for counts as a commit that can be chosen."""

    sites: Sites

    async def commit(self, stream: str, entries: Sequence[bytes]) -> None:
        """Append entries. Raises JournalBroken from the appointed commit on."""
        if stream != "run":  # one that cannot even be opened is a launch refused
            self.sites.at("journal")
        await self.sites.linger()
        await super().commit(stream, entries)


@define
class Gate:
    """A hook object whose ``agent_stop`` blocks by dice, never more than ``most`` times a run (G1)."""

    chance: random.Random
    blocking: float
    most: int = 3

    async def agent_stop(self, payload: dict[str, object]) -> str | dict[str, str] | None:
        """Block an ending, say something, fail, or let it pass."""
        await trio.lowlevel.checkpoint()
        if self.most <= 0 or self.chance.random() >= self.blocking:
            return None
        self.most -= 1
        match self.chance.randrange(3):
            case 0:
                raise RuntimeError("the hook itself is at fault")
            case 1:
                return "take care"
            case _:
                return {"action": "block", "reason": "not yet"}
