"""``AGENTS.md``: the root directory's goes into the prompt, the nearest to a path when an agent first works there.

Law: it is text the repository controls. Only regular files inside the root are read, never through a link, at most 32 KiB of
each, and each at most once for an agent, until its conversation is compacted.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ggactors.rules.briefs import repository_text

if TYPE_CHECKING:
    from ggactors.protocol.model import ToolCall

NAME = "AGENTS.md"
MOST = 32 * 1024
"""Bytes read of one file; what is longer is cut and says so."""

_WITH_PATH = ("read_file", "write_file", "edit_file", "list_dir", "search_files")


class Guides:
    """The guides of one agent's root, each handed out once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._told: set[str] = set()

    def opening(self) -> str | None:
        """Return the text of the root directory's own guide, or None."""
        return self._read(PurePosixPath("."))

    def near(self, call: ToolCall) -> str | None:
        """Return the framed text of the nearest guide to the path a call works on, unless it was told before."""
        path = call.args.get("path")
        if call.tool not in _WITH_PATH or not isinstance(path, str) or "\0" in path:
            return None
        inside = os.path.normpath(path)
        if Path(inside).is_absolute():
            inside = os.path.relpath(inside, self.root)
        start = PurePosixPath(inside)
        if ".." in start.parts:
            return None
        for folder in (start, *start.parents):
            text = self._read(folder)
            if text is not None:
                return repository_text(str(folder / NAME), text)
            if str(folder / NAME) in self._told:
                return None
        return None

    def forget(self) -> None:
        """Take note that what was told is no longer in the conversation, except the root's own, which is in the prompt."""
        self._told &= {NAME}

    def _read(self, folder: PurePosixPath) -> str | None:
        """Read a folder's guide the first time it is there. Every folder on the way must be a folder, not a link."""
        name = str(folder / NAME)
        if name in self._told:
            return None
        here = self.root
        try:
            for part in folder.parts:
                here /= part
                if not stat.S_ISDIR(here.lstat().st_mode):
                    return None
            descriptor = os.open(here / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None  # a ValueError is of a name that no file can have, such as half of a surrogate pair
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            raw = file.read(MOST + 1)
        self._told.add(name)
        text = raw[:MOST].decode("utf-8", "replace")
        return f"{text}\n[cut after {MOST // 1024} KiB]" if len(raw) > MOST else text
