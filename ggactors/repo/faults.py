"""How git work fails. Law: every one of these says what, where and what to do; none of them is a defect of the runtime."""

from __future__ import annotations

import os


def show(path: bytes) -> str:
    """Render a path or a ref for a person, whatever its bytes."""
    return path.decode("utf-8", "backslashreplace")


class GitFault(Exception):  # noqa: N818 - the world's refusal, not a defect
    """Git work that the world refused; the text is one a person can act on."""


class Locked(GitFault):
    """A git lock file that did not go away in time."""

    def __init__(self, lock: bytes) -> None:
        super().__init__(f"{show(lock)} is held by another git process; if none is running, remove it")
        self.lock = lock


class RefMoved(GitFault):
    """A ref was not where it was expected: somebody else moved it."""

    def __init__(self, name: bytes, expected: bytes | None, found: bytes | None) -> None:
        super().__init__(
            f"{show(name)} moved meanwhile: expected {show(expected or b'none')}, found {show(found or b'none')}"
        )
        self.name = name
        self.found = found


class MissingObject(GitFault):
    """An object that history names is not in the store (a pruned or partial repository)."""

    def __init__(self, sha: bytes) -> None:
        super().__init__(f"object {show(sha)} is missing from the store; `git fsck` in the repository shows more")
        self.sha = sha


class Malformed(GitFault):
    """A file of git's that cannot be read as what it should be."""


class Unsound(GitFault):
    """History that must not be taken up: cut off, incomplete, or with trees git refuses. The text says what to do."""


class UnsafePath(GitFault):
    """A commit holds a path that must not be written to a disk (``..``, ``.git``, an absolute one)."""

    def __init__(self, path: bytes) -> None:
        super().__init__(f"the commit holds the path {show(path)!r}, which is not safe to write")
        self.path = path


class InTheWay(GitFault):
    """Something of somebody's would be lost by a move of a checkout: nothing was changed. ``paths`` are in the way."""

    def __init__(self, paths: list[bytes], why: str) -> None:
        super().__init__(f"{why}: {', '.join(show(path) for path in paths[:5])}{' …' if len(paths) > 5 else ''}")
        self.paths = sorted(set(paths))
        self.why = why


def explain(error: OSError) -> str:
    """Say what a disk refused and where, in one line."""
    where = error.filename if error.filename is not None else error.filename2
    place = os.fsdecode(where).encode("utf-8", "backslashreplace").decode() if isinstance(where, str | bytes) else ""
    what = os.strerror(error.errno) if error.errno else str(error)
    return f"{what}: {place}" if place else what
