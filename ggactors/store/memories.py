"""Where memories are kept: one file a profile and workspace, in the state home, never in the workspace (W9).

Law: a change reads, decides and writes under a lock, and replaces the file whole, so that runs at the same time lose nothing of
each other's and a reader never sees half a file. A file that cannot be read is left as it is and said to be so.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, field

from ggactors.protocol.memories import Memory
from ggactors.protocol.values import Code, Refused
from ggactors.store.folder import private_folder
from ggactors.store.lock import LockHeld, take_lock

if TYPE_CHECKING:
    from collections.abc import Callable

    Memories = tuple[Memory, ...]
    Decide = Callable[[Memories], Memories | Refused]

VERSION = 1
MOST_FILE = 64 << 20
"""Bytes of a file that are read; one that is larger was not written here."""
_TRIES = 200
_PAUSE_SECS = 0.02


@define(kw_only=True)
class MemoryShelf:
    """The memories of one profile on one workspace; obeys ``ports.Shelf``."""

    home: Path
    workspace: Path
    profile: str
    _read_last: tuple[tuple[int, int, int], Memories] | None = field(default=None, init=False, repr=False, eq=False)
    """What was read last, and the mark of the file it was read from: a program may read memories thousands of times."""

    @property
    def path(self) -> Path:
        """The file. Workspaces are told apart by their path, all links followed."""
        return self._folder / f"{self.profile}.json"

    @property
    def _folder(self) -> Path:
        key = hashlib.sha256(os.fsencode(self.workspace.resolve())).hexdigest()[:16]
        return self.home / "memories" / key

    def read_nowait(self) -> Memories | Refused:
        """Read every memory. An unreadable file is refused as ``io-error``."""
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                mark = (found.st_ino, found.st_mtime_ns, found.st_size)
                last = self._read_last
                if last is not None and last[0] == mark:
                    return last[1]
                written = file.read(MOST_FILE + 1)
        except FileNotFoundError:
            return ()
        except OSError as error:
            return self._failed(f"cannot be read: {error.strerror}")
        try:
            memories = _read(written)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return self._failed("is not what was written there; mend it, or move it away")
        self._read_last = mark, memories
        return memories

    async def read(self) -> Memories | Refused:
        """Read every memory. Cancelled: nothing has happened."""
        return await trio.to_thread.run_sync(self.read_nowait)

    async def change(self, decide: Decide) -> Memories | Refused:
        """Give ``decide`` what is kept and keep what it gives instead. Cancelled: all of the change is kept, or nothing of it."""
        for _ in range(_TRIES):
            done = await trio.to_thread.run_sync(self._change, decide)
            if done is not None:
                return done
            await trio.sleep(_PAUSE_SECS)
        return self._failed("is held by another process; try again later")

    def _change(self, decide: Decide) -> Memories | Refused | None:
        """Change the file; None: somebody else is at it."""
        try:
            private_folder(self._folder)
            with take_lock(self._folder / f"{self.profile}.lock"):
                kept = self.read_nowait()
                if isinstance(kept, Refused):
                    return kept
                made = decide(kept)
                if not isinstance(made, Refused) and made != kept:
                    self._write(made)
                return made
        except LockHeld:
            return None
        except OSError as error:
            return self._failed(f"cannot be written: {error.strerror}")

    def _write(self, memories: Memories) -> None:
        document = {
            "v": VERSION,
            "workspace": os.fsencode(self.workspace.resolve()).decode("utf-8", "replace"),
            "profile": self.profile,
            "memories": [
                {"name": one.name, "description": one.description, "text": one.text, "onUse": dict(one.on_use)}
                for one in memories
            ],
        }
        descriptor, made = tempfile.mkstemp(dir=self._folder, prefix=f".{self.profile}-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(document, file, indent=1, ensure_ascii=False)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            Path(made).replace(self.path)
        except BaseException:
            Path(made).unlink(missing_ok=True)
            raise
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _failed(self, what: str) -> Refused:
        return Refused(code=Code.IO_ERROR, message=f"{self.path} {what}")


def _read(written: bytes) -> Memories:
    """Read a file's bytes. Raises ValueError, TypeError, KeyError or AttributeError for what was not written here."""
    if len(written) > MOST_FILE:
        raise ValueError("too large")
    document = json.loads(written)
    if document["v"] != VERSION:
        raise ValueError("another version")
    return tuple(_memory(one) for one in document["memories"])


def _memory(one: dict[str, Any]) -> Memory:
    on_use = dict(one["onUse"])
    read = Memory(name=one["name"], description=one["description"], text=one["text"], on_use=on_use)
    if not all(isinstance(part, str) for part in (read.name, read.description, read.text, *on_use, *on_use.values())):
        raise TypeError("not a text")
    return read
