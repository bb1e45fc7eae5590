"""Who works in the main workspace, so that what is found there is told apart: theirs, or nobody's (M6, R7).

Law: an agent's directory is only a convention to its shell, so one that works on an issue can write into main, past its
reviewers. What changed there while none of main's own agents was at work is put back, kept under a hidden ref, and said.
What somebody writes during such work cannot be told from it.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.ports import RepositoryBroken
from ggactors.protocol.events import Log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from ggactors.ports import Repository


@define(kw_only=True)
class Presence:
    """The agents at work in main, counted; one for the run."""

    repository: Repository
    emit: Callable[[Log], None]
    private: bool = False
    """Whether main is the run's own directory, where only its agents have a say."""
    _working: int = 0
    _touched: bool = False
    """Whether main's agents were at work since what they had changed was last committed."""
    _unsure: bool = False
    """Whether somebody's work ended without a look at what it left."""
    _looking: trio.Lock = field(factory=trio.Lock)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work in main. Cancelled: what was written by then counts as this work's."""
        async with self._looking:
            if not self._working:
                await self._look()
            self._working += 1
            self._touched = True
        looked = False
        try:
            yield
            async with self._looking:
                self._working -= 1
                looked = True
                if not self._working:
                    await self._leave()
        finally:
            if not looked:
                self._working -= 1
                self._unsure = True

    async def look(self) -> bool:
        """Put back what nobody of main's changed, unless somebody is at work there just now.

        Tells whether main is known to hold just what is committed: then nothing is to be committed in its agents' name (M6).
        """
        async with self._looking:
            return not self._working and await self._look() and self.private and not self._touched

    def committed(self) -> None:
        """Take note that what main's agents had changed is committed."""
        self._touched = self._unsure or self._working > 0

    async def _look(self) -> bool:
        if self._unsure:
            await self._leave()
            return False
        try:
            found = await self.repository.restore_main()
        except RepositoryBroken as error:
            self._say(f"what changed in the main workspace is not known: {error}")
            return False
        if found is not None:
            kept = f"; it is kept under {found.saved_ref}" if found.saved_ref else ""
            self._say(
                f"something other than the agents that work in the main workspace wrote there: {found.what}{kept}"
            )
        return True

    async def _leave(self) -> None:
        self._unsure = True  # also when this is cut short
        try:
            await self.repository.leave_main()
        except RepositoryBroken as error:
            self._say(f"what was left in the main workspace is not known: {error}")
        else:
            self._unsure = False

    def _say(self, message: str) -> None:
        self.emit(Log(level="warning", message=message))
