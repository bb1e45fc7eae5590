"""Journals in memory that obey the port, and one that dies at its n-th commit (a crash at every write)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.ports import JournalBroken

if TYPE_CHECKING:
    from collections.abc import Sequence


@define(kw_only=True)
class MemoryJournal:
    """Keeps entries in memory. ``breaks_at`` is the commit, counted from 1, that fails for good; None never fails."""

    breaks_at: int | None = None
    entries: list[tuple[str, bytes]] = field(factory=list)
    commits: int = 0
    broken: bool = False
    """Whether it gave out."""

    async def commit(self, stream: str, entries: Sequence[bytes]) -> None:
        """Append entries. Raises JournalBroken from the appointed commit on."""
        await trio.lowlevel.checkpoint()
        self.append(stream, entries)

    def append(self, stream: str, entries: Sequence[bytes]) -> None:
        """Append entries without waiting."""
        self.commits += 1
        if self.breaks_at is not None and self.commits >= self.breaks_at:
            self.broken = True
        if self.broken:
            raise JournalBroken("the journal was told to break here")
        self.entries.extend((stream, entry) for entry in entries)

    def stream(self, name: str) -> list[bytes]:
        """Return the entries of one stream, in order."""
        return [entry for stream, entry in self.entries if stream == name]
