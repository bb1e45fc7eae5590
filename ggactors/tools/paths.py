"""Find the place a path names, without ever leaving the agent's root (O4).

Law: the way is walked one name at a time over open directories, links are read and followed here and never by the kernel,
and what is handed back is an open directory and one name in it. So a link swapped in between check and use leads nowhere:
whoever uses the name opens it without following links.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.values import Code, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS = 40


class Declined(Exception):  # noqa: N818 - flow control inside the workbench
    """A call that is refused; carries the refusal to the workbench's door."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.refused = Refused(code=code, message=message)


class _LeavesRoot(Exception):  # noqa: N818 - flow control inside this module
    """The way leads out of the root."""


def shown(path: str) -> str:
    """Quote a path for a message: always valid text, whatever bytes the name holds."""
    return f"`{path.encode('utf-8', 'backslashreplace').decode()}`"


@frozen(kw_only=True)
class Place:
    """One name in an open directory. ``name`` is ``.`` for the root itself; ``path`` is relative to the root, links resolved.

    ``status`` is what stands there, never a link; None when nothing does.
    """

    directory: int
    name: str
    path: str
    status: os.stat_result | None


class Ground:
    """Where an agent may act: one root to read and write, and further folders (its own kept outputs) to read only."""

    def __init__(self, root: str, readable: tuple[str, ...] = ()) -> None:
        self.root = root
        self._tops = (root, *readable)
        self._known: dict[str, tuple[str, ...]] = {}

    @contextmanager
    def place(self, path: str, *, writing: bool = False, make_parents: bool = False) -> Iterator[Place]:
        """Walk to ``path``. Raises Declined (out of bounds, ``.git`` when writing, no such directory) and OSError."""
        top, relative = self._start(path, writing=writing)
        if relative is not None:
            try:
                way = self._walk(top, relative, writing=writing, make_parents=make_parents)
            except _LeavesRoot:
                relative = None
        if relative is None:
            top, relative = self._resolved(path, writing=writing)
            try:
                way = self._walk(top, relative, writing=writing, make_parents=make_parents)
            except _LeavesRoot:
                raise self._outside(path) from None
        try:
            yield way.place()
        finally:
            way.close()

    def _start(self, path: str, *, writing: bool) -> tuple[str, str | None]:
        """Choose the top a path starts from, and its way from there; None where only full resolution can tell."""
        if not path.startswith("/"):
            return self.root, path
        for top in self._tops:
            for spelling in self._spellings(top):
                inside = _inside(path, spelling)
                if inside is None:
                    continue
                if writing and top != self.root:
                    raise Declined(
                        Code.REFUSED, f"{shown(path)} can only be read; write inside your root, {self.root}."
                    )
                return top, inside
        return self.root, None

    def _resolved(self, path: str, *, writing: bool) -> tuple[str, str]:
        """Resolve a way that left the root once: it may come back. The answer is walked again, so a race gains nothing."""
        real = os.path.realpath(os.path.join(self.root, path))  # noqa: PTH118 - bytes-safe text paths throughout
        top, inside = self._start(real, writing=writing)
        if inside is None:
            raise self._outside(path)
        return top, inside

    def _spellings(self, top: str) -> tuple[str, ...]:
        """Give the ways a top is spelled in absolute paths: as it was given and with its links resolved."""
        if top not in self._known:
            self._known[top] = tuple(dict.fromkeys((top.rstrip("/") or "/", os.path.realpath(top))))
        return self._known[top]

    def _outside(self, path: str) -> Declined:
        return Declined(
            Code.REFUSED, f"{shown(path)} is outside your root; paths are relative to {self.root} and stay inside it."
        )

    def _walk(self, top: str, relative: str, *, writing: bool, make_parents: bool) -> _Way:
        way = _Way(top, self._spellings, writing=writing, make_parents=make_parents)
        try:
            way.go(relative)
        except BaseException:
            way.close()
            raise
        return way


class _Way:
    """The directories opened on the way to a place, and how far the walk has come."""

    def __init__(
        self, top: str, spellings: Callable[[str], tuple[str, ...]], *, writing: bool, make_parents: bool
    ) -> None:
        self._top = top
        self._spellings = spellings
        self._writing = writing
        self._make_parents = make_parents
        self._open = [os.open(top, _DIRECTORY & ~os.O_NOFOLLOW)]
        self._names: list[str] = []
        self._last: str | None = None
        self._status: os.stat_result | None = None
        self._links = 0

    def place(self) -> Place:
        """Hand out where the walk ended. The directory stays open until ``close``."""
        names = [*self._names, self._last] if self._last is not None else self._names
        path = "/".join(names) or "."
        if self._last is None:
            return Place(directory=self._open[-1], name=".", path=path, status=os.fstat(self._open[-1]))
        return Place(directory=self._open[-1], name=self._last, path=path, status=self._status)

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())

    def go(self, relative: str) -> None:
        """Walk to the end of ``relative``."""
        ahead = deque(part for part in relative.split("/") if part not in ("", "."))
        while ahead:
            part = ahead.popleft()
            if part == "..":
                self._up()
                continue
            if self._writing and part.casefold() == ".git":
                raise Declined(
                    Code.REFUSED, "the inside of `.git` is not written with file tools; use git in the shell."
                )
            if not self._enter(part, ahead):
                return

    def _up(self) -> None:
        if not self._names:
            raise _LeavesRoot
        os.close(self._open.pop())
        self._names.pop()

    def _enter(self, part: str, ahead: deque[str]) -> bool:
        """Take one step. False when the walk has come to its end: ``part`` is the last name and no directory was entered."""
        try:
            status = os.stat(part, dir_fd=self._open[-1], follow_symlinks=False)
        except FileNotFoundError:
            if not ahead:
                self._last, self._status = part, None
                return False
            if not self._make_parents or ".." in ahead:
                raise Declined(
                    Code.NOT_FOUND, f"there is no directory {shown('/'.join([*self._names, part]))}."
                ) from None
            os.mkdir(part, dir_fd=self._open[-1])
            status = os.stat(part, dir_fd=self._open[-1], follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            self._follow(part, ahead)
            return True
        if not ahead:
            self._last, self._status = part, status
            return False
        if not stat.S_ISDIR(status.st_mode):
            raise Declined(Code.INVALID_ARGUMENT, f"{shown('/'.join([*self._names, part]))} is not a directory.")
        self._open.append(os.open(part, _DIRECTORY, dir_fd=self._open[-1]))
        self._names.append(part)
        return True

    def _follow(self, part: str, ahead: deque[str]) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise Declined(Code.REFUSED, f"{shown('/'.join([*self._names, part]))} leads through too many links.")
        target = os.readlink(part, dir_fd=self._open[-1])
        if target.startswith("/"):
            within = next(
                (way for top in self._spellings(self._top) if (way := _inside(target, top)) is not None), None
            )
            if within is None:
                raise _LeavesRoot
            while self._names:
                self._up()
            target = within
        ahead.extendleft(part for part in reversed(target.split("/")) if part not in ("", "."))


def _inside(path: str, top: str) -> str | None:
    """Give the way from ``top`` to an absolute path that is spelled below it, or None."""
    if path == top:
        return "."
    below = top.rstrip("/") + "/"
    return path[len(below) :] if path.startswith(below) else None
