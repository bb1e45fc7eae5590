"""Search files for a pattern, in a process that can be killed.

Law: what is searched is an open directory inside the ground, so nothing swapped in on the way is seen; the time, the matches
and their bytes are bounded, and what was found within the bounds is answered.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, field

from ggactors.protocol.values import Code, Refused
from ggactors.protocol.workbench import SearchDone, SearchMatch
from ggactors.tools.paths import Declined, shown
from ggactors.tools.reading import check_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ggactors.tools.paths import Ground

MOST_MATCHES = 200
MOST_BYTES = 48 * 1024
LONGEST_PATTERN = 20_000
SECONDS = 20.0
"""How long one search may take."""
_PIECE = 64 * 1024


async def search_files(ground: Ground, pattern: str, path: str, glob: str | None) -> SearchDone | Refused:
    """Find the lines a regular expression matches, in a file or below a directory. Cancelled: the process is killed.

    Raises Declined and OSError.
    """
    if len(pattern) + len(glob or "") > LONGEST_PATTERN:
        raise Declined(Code.INVALID_ARGUMENT, f"search_files: `pattern` is longer than {LONGEST_PATTERN} characters.")
    with _opened(ground, path) as (top, only, prefix):
        found = _Found(prefix=prefix)
        request = {"top": top, "file": only, "pattern": pattern, "glob": glob, "most": MOST_MATCHES}
        process = await _start(top, json.dumps(request))
        try:
            with trio.move_on_after(SECONDS) as limit:
                await _follow(process, found)
        finally:
            process.kill()
            with trio.CancelScope(shield=True):  # killed, so it ends at once
                await process.wait()
                if process.stdout is not None:
                    await process.stdout.aclose()
        return found.answer(timed_out=limit.cancelled_caught)


@contextmanager
def _opened(ground: Ground, path: str) -> Iterator[tuple[int, str | None, str]]:
    """Open what is to be searched: a directory, the one file in it or None for all, and what its paths begin with."""
    with ground.place(path) as place:
        if place.status is None:
            raise Declined(Code.NOT_FOUND, f"there is no {shown(place.path)}.")
        if not stat.S_ISDIR(place.status.st_mode):
            check_regular(place, place.status.st_mode)
            yield place.directory, place.name, place.path.removesuffix(place.name)
            return
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        top = os.open(place.name, flags, dir_fd=place.directory)
        try:
            yield top, None, "" if place.path == "." else f"{place.path}/"
        finally:
            os.close(top)


async def _start(top: int, request: str) -> trio.Process:
    program = Path(__file__).with_name("searcher.py")
    kept = {
        name: value for name, value in os.environ.items() if name in ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    }
    return await trio.lowlevel.open_process(
        [sys.executable, "-I", "-S", str(program), request],
        pass_fds=(top,),
        env=kept,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


async def _follow(process: trio.Process, found: _Found) -> None:
    """Take the process's answers until it has ended or enough is found."""
    assert process.stdout is not None
    held = b""
    while not found.full and (piece := await process.stdout.receive_some(_PIECE)):
        *whole, held = (held + piece).split(b"\n")
        for line in whole:
            if not found.full:
                found.take(json.loads(line))


@define
class _Found:
    """What a search has come to so far."""

    prefix: str
    matches: list[SearchMatch] = field(factory=list)
    size: int = 0
    files: int | None = None
    stopped: str | None = None
    refused: Refused | None = None

    @property
    def full(self) -> bool:
        """Tell whether no more is wanted."""
        return self.size >= MOST_BYTES

    def take(self, answer: dict[str, Any]) -> None:
        """Take one line of the searching process."""
        match answer:
            case {"path": path, "line": line, "text": text}:
                self.matches.append(SearchMatch(path=self.prefix + path, line=line, text=text))
                self.size += len(self.prefix) + len(path) + len(text)
            case {"files": files, "more": more}:
                self.files = files
                self.stopped = f"only the first {MOST_MATCHES} matches are shown" if more else None
            case {"wrong": "glob"}:
                self.refused = Refused(code=Code.INVALID_ARGUMENT, message="search_files: `glob` is no valid glob.")
            case {"wrong": _, "why": why}:
                message = f"search_files: `pattern` is no regular expression of Python's: {why}."
                self.refused = Refused(code=Code.INVALID_ARGUMENT, message=message)
            case {"failed": why}:
                self.refused = Refused(code=Code.IO_ERROR, message=f"search_files: {why}.")
            case _:
                self.refused = Refused(code=Code.IO_ERROR, message="search_files: the search gave no readable answer.")

    def answer(self, *, timed_out: bool) -> SearchDone | Refused:
        """Sum up."""
        if self.refused is not None:
            return self.refused
        stopped = self.stopped
        if timed_out:
            stopped = f"the search was stopped after {SECONDS:g} s"
            if not self.matches:
                hint = (
                    "narrow `path` or `glob`, or simplify the pattern: nested repeats such as (a+)+ can take for ever"
                )
                return Refused(
                    code=Code.LIMIT_EXCEEDED, message=f"search_files: {stopped} and had found nothing; {hint}."
                )
        elif self.full:
            stopped = "only the first matches are shown"
        elif self.files is None:
            return Refused(code=Code.IO_ERROR, message="search_files: the search ended before it was done.")
        return SearchDone(matches=tuple(self.matches), files=self.files or 0, stopped=stopped)
