"""The ``Repository`` of a run: git work in threads of its own. Law: one step at a time on main, one at a time on each issue,
and what the world refuses comes out as RepositoryBroken, saying what and where.
"""

from __future__ import annotations

import zlib
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import trio

from ggactors.ports import LaunchRefused, RepositoryBroken
from ggactors.repo import issues, worktrees
from ggactors.repo.disk import Disk
from ggactors.repo.faults import GitFault, explain
from ggactors.repo.opening import Opened, Wish, open_core
from ggactors.repo.operator import inspect_workspace
from ggactors.repo.packing import pack_loose
from ggactors.runtime.slots import SlotPool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from ggactors.protocol.git import (
        ChangeSummary,
        ConflictLeft,
        Landing,
        MainRestored,
        Merged,
        MergeFailed,
        OpenedWorktree,
        Resolved,
        SealBlocked,
        Sealed,
        Signature,
        Unresolved,
    )

__all__ = ["GitRepository", "inspect_workspace", "open_repository"]

T = TypeVar("T")

QUIET = 2.0
"""Seconds without a git step after which loose objects are packed."""

THREADS = 4
"""Git steps at a time: they wait on the disk as much as on the processor."""


class Turns:
    """Who may do a git step now: those that bring work to its end before those that begin some.

    Without that a hundred issues begun at once would pile up behind the one merge at a time, each with a tree of its own.
    """

    def __init__(self) -> None:
        self._pool = SlotPool(THREADS)
        self._limiter = trio.CapacityLimiter(THREADS)
        self._going = 0
        self._stirred = trio.Event()

    async def do(self, what: str, work: Callable[[], T], *, begun: bool = True) -> T:
        """Do a step in a git thread and translate what the world refuses. Cancelled: a step that began is completed first."""
        self._going += 1
        self._stirred.set()
        try:
            return await self.do_aside(what, work, begun=begun)
        finally:
            self._going -= 1

    async def do_aside(self, what: str, work: Callable[[], T], *, begun: bool = False) -> T:
        """Do a step that nobody waits for: it disturbs no ``quiet``."""
        with self._pool.seat(what) as seat:
            await seat.take(begun=begun)
            return await _in_thread(what, work, self._limiter)

    async def quiet(self, seconds: float) -> None:
        """Return when a step was done since the last time and then none was asked for or going on for so long."""
        await self._stirred.wait()
        while self._stirred.is_set() or self._going:
            self._stirred = trio.Event()
            await trio.sleep(seconds)


async def open_repository(
    workspace: Path,
    *,
    run_id: str,
    run_dir: Path,
    checkout: str,
    include_dirty: bool = False,
    large_baseline: bool = False,
    note: Callable[[str], None] | None = None,
    disk: Disk | None = None,
) -> GitRepository:
    """Open a run's git work on a workspace, making a baseline where there is none (W1, W8, W11).

    ``checkout`` is ``private`` or ``inPlace``; ``run_dir`` receives ``repo.git``, ``main`` and ``worktrees``; ``note`` is told,
    from a thread, what the operator should know. Raises LaunchRefused with every problem, or RepositoryBroken. Cancelled: what
    was begun is completed first.
    """
    turns = Turns()
    wish = Wish(
        run_id=run_id, run_dir=run_dir, checkout=checkout, include_dirty=include_dirty, large_baseline=large_baseline
    )

    def work() -> Opened:
        return open_core(workspace, wish, note or (lambda _: None), disk or Disk())

    opened = await turns.do("opening the workspace", work)
    return GitRepository(opened, turns)


async def _in_thread(what: str, work: Callable[[], T], limiter: trio.CapacityLimiter) -> T:
    """Do a step in a git thread and translate what the world refuses."""

    def guarded() -> T:
        try:
            return work()
        except LaunchRefused:
            raise
        except OSError as error:
            raise RepositoryBroken(f"{what} failed: {explain(error)}") from error
        except (GitFault, zlib.error) as error:
            raise RepositoryBroken(f"{what} failed: {error}") from error

    return await trio.to_thread.run_sync(guarded, limiter=limiter)


class GitRepository:
    """Obeys ``ports.Repository``."""

    def __init__(self, opened: Opened, turns: Turns) -> None:
        self.facts = opened.facts
        self._core = opened.core
        self._turns = turns
        self._main = trio.Lock()
        self._making = trio.Lock()
        self._issues: dict[str, trio.Lock] = {}

    def _of(self, issue: str) -> trio.Lock:
        return self._issues.setdefault(issue, trio.Lock())

    async def open_worktree(self, issue: str) -> OpenedWorktree:
        """Make the issue's worktree from main's tip (W2), or give back the one it has (W3)."""
        async with self._of(issue):
            if self.branch_of(issue) is not None:
                return await self._open(issue)
            async with self._making:  # one at a time: the next one may find a worktree that has become free meanwhile
                return await self._open(issue, begun=False)

    async def _open(self, issue: str, *, begun: bool = True) -> OpenedWorktree:
        what = f"making the worktree of {issue}"
        return await self._turns.do(what, lambda: issues.open_worktree(self._core, issue), begun=begun)

    async def seal(self, issue: str, signature: Signature, message: str) -> Sealed | SealBlocked:
        """Commit everything unignored of the issue's worktree on the issue's branch (W4)."""
        async with self._of(issue):
            return await self._turns.do(
                f"committing {issue}", lambda: issues.seal(self._core, issue, signature, message)
            )

    async def describe(self, issue: str) -> str:
        """Say in a line what the issue's worktree holds against its base (D5)."""
        async with self._of(issue):
            return await self._turns.do(f"reading the worktree of {issue}", lambda: issues.describe(self._core, issue))

    def branch_of(self, issue: str) -> str | None:
        """Give the branch of the issue's worktree, or None when it has none (any more)."""
        place = self._core.place_of(issue)
        return issues.branch_of(issue).decode() if worktrees.exists(place) else None

    async def changes(self, issue: str, commit: str) -> ChangeSummary:
        """Summarise, path by path, what a commit of the issue changes against the issue's base (R2)."""
        return await self._turns.do(
            f"comparing {issue} with its base", lambda: issues.changes(self._core, issue, commit)
        )

    async def check_out(self, issue: str, commit: str) -> str | None:
        """Make the issue's worktree and branch exactly ``commit`` again, saving what differed to a hidden ref (R8)."""
        async with self._of(issue):
            return await self._turns.do(f"putting {issue} back", lambda: issues.check_out(self._core, issue, commit))

    async def discard(self, issue: str, *, accepted: bool) -> str | None:
        """Tear the issue's worktree and branch down (W5); answer the hidden ref of what was not in main."""
        async with self._of(issue):
            saved = await self._turns.do(
                f"removing the worktree of {issue}", lambda: issues.discard(self._core, issue, accepted=accepted)
            )
        self._issues.pop(issue, None)
        if self._core.pool.littered:
            await self._turns.do("clearing away", self._core.pool.sweep, begun=False)
        return saved

    async def commit_main(self, signature: Signature, message: str) -> Sealed | SealBlocked | None:
        """Commit what agents rooted in main have changed there, in their name (M6). None when there was nothing."""
        async with self._main:
            return await self._turns.do("committing main", lambda: self._core.commit_main(signature, message))

    async def guard_main(self) -> MainRestored | None:
        """Put main's branch back when a command rewound or switched it (M6)."""
        async with self._main:
            return await self._turns.do("checking main", self._core.guard_main)

    async def leave_main(self) -> None:
        """Take note of how main was left by those who work in it."""
        async with self._main:
            await self._turns.do("looking at main", self._core.leave_main)

    async def restore_main(self) -> MainRestored | None:
        """Put main back as it was left, saving to a hidden ref what somebody else did there (M6, R7)."""
        async with self._main:
            return await self._turns.do("looking at main", self._core.restore_main)

    async def merge(self, issue: str, commit: str, signature: Signature, message: str) -> Merged | MergeFailed:
        """Merge exactly ``commit`` into main, or leave main exactly as it was (M1, M4)."""
        async with self._main:
            return await self._turns.do(f"merging {issue}", lambda: self._core.merge(issue, commit, signature, message))

    async def begin_conflict(
        self, issue: str, commit: str, signature: Signature, message: str
    ) -> ConflictLeft | Merged | MergeFailed:
        """Leave the conflicted merge of ``commit`` in place in main, as git would (M2)."""
        async with self._main:
            return await self._turns.do(
                f"leaving the merge of {issue}", lambda: self._core.begin_conflict(issue, commit, signature, message)
            )

    async def resolution(self) -> Resolved | Unresolved:
        """Ask git whether the merge left in place is concluded as it must be (M3)."""
        async with self._main:
            return await self._turns.do("looking at the merge", self._core.resolution)

    async def abort_conflict(self) -> str | None:
        """Put main back exactly as it was before ``begin_conflict`` (M4), saving to a hidden ref what that drops."""
        async with self._main:
            return await self._turns.do("taking the merge back", self._core.abort_conflict)

    async def land(self) -> Landing:
        """Move the operator's checkout forward to main's tip, all or nothing (W10)."""
        async with self._main:
            return await self._turns.do("landing", self._core.land)

    @asynccontextmanager
    async def packing(self) -> AsyncIterator[None]:
        """Pack what lies loose in the run's store whenever git has nothing to do; until the block ends."""
        failed: BaseException | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._pack_when_quiet)
            try:
                yield
            except BaseException as error:  # noqa: ASYNC103, BLE001 - raised again below; no group of errors is made of it
                failed = error
            nursery.cancel_scope.cancel()
        if failed is not None:
            raise failed

    async def _pack_when_quiet(self) -> None:
        store = self._core.grounds.store
        while True:
            await self._turns.quiet(QUIET)
            with suppress(RepositoryBroken):  # a full disk: loose they lie as well, and the next step will say it
                while await self._turns.do_aside("packing", lambda: pack_loose(store)):
                    pass  # a pack at a time, so that other steps come in between

    async def close(self) -> None:
        """Leave no worktree of the run registered in the operator's repository and no lock behind."""
        with trio.CancelScope(shield=True):
            async with self._main:
                await self._turns.do("closing", self._core.close)
