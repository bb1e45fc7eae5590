"""The diffs of issues, as they are asked for. Law: worked out in a thread of its own, one at a time, only for the issue on which
the cursor rests; what an issue's state, tries and merge have not changed is not worked out again.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from attrs import evolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.app.diffing import IssueDiff
    from ggactors.telemetry.folds import IssueView

REST_SECS = 0.12
"""How long the cursor rests on an issue before its diff is worked out."""
KEPT = 50

Key = tuple[object, ...]


class Diffs:
    """Diffs by issue. ``work_out`` is blocking and answers every fault as a reason."""

    def __init__(self, work_out: Callable[[IssueView], IssueDiff]) -> None:
        """Work diffs out with ``work_out``."""
        self._work_out = work_out
        self._known: dict[str, tuple[Key, IssueDiff]] = {}
        self._wanted: tuple[Key, IssueView] | None = None
        self._news = asyncio.Event()
        self._again = 0

    def of(self, issue: IssueView, worked: int = 0) -> IssueDiff | None:
        """Give an issue's diff, None while there is none. ``worked`` goes up as its agents work: then another is worked out.

        Until the new one is there, the old one is given.
        """
        merged = issue.merge is not None and issue.merge.commit
        key = (issue.id, issue.state, issue.attempts, issue.rounds, merged, worked, self._again)
        found = self._known.get(issue.id)
        if found is not None and found[0] == key:
            return found[1]
        if self._wanted is None or self._wanted[0] != key:
            self._wanted = (key, evolve(issue, reviews=list(issue.reviews)))
            self._news.set()
        return found[1] if found is not None else None

    def look_again(self) -> None:
        """Have every diff worked out anew when it is next asked for: a worktree may have changed."""
        self._again += 1

    async def serve(self, changed: Callable[[], None]) -> None:
        """Work out what is asked for, and say when a diff is there. Cancelled: the one in work is dropped."""
        pool = ThreadPoolExecutor(1, "ggactors-diff")
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                await asyncio.sleep(REST_SECS)
                if self._wanted is None or self._news.is_set():
                    continue  # the cursor went on, or the agent did
                key, issue = self._wanted
                found = await asyncio.get_running_loop().run_in_executor(pool, self._work_out, issue)
                self._known.pop(issue.id, None)
                self._known[issue.id] = (key, found)
                if len(self._known) > KEPT:
                    del self._known[next(iter(self._known))]
                changed()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
