"""Throw-away git repositories for tests, made and asked by the real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

_QUIET = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Operator",
    "GIT_AUTHOR_EMAIL": "operator@example.org",
    "GIT_COMMITTER_NAME": "Operator",
    "GIT_COMMITTER_EMAIL": "operator@example.org",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
}


@frozen
class Repo:
    """A repository in a folder, driven through the git command."""

    path: Path

    def git(self, *args: str, check: bool = True) -> str:
        """Run git here and return what it printed, without the last line end. A failing git fails the test."""
        done = subprocess.run(
            ["git", *args],
            cwd=self.path,
            env={**os.environ, **_QUIET},
            capture_output=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"git {' '.join(args)}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files below the folder."""
        for name, contents in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())

    def commit(self, message: str = "a commit", files: Mapping[str, str | bytes] | None = None) -> str:
        """Write files, commit everything and return the commit."""
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head()

    def head(self) -> str:
        """Return the commit that is checked out."""
        return self.git("rev-parse", "HEAD")

    def status(self) -> str:
        """Return the short status, empty when all is clean."""
        return self.git("status", "--porcelain")

    def files(self, revision: str = "HEAD") -> list[str]:
        """List the files of a revision."""
        return self.git("ls-tree", "-r", "--name-only", revision).splitlines()

    def show(self, path: str, revision: str = "HEAD") -> str:
        """Return a file of a revision."""
        return self.git("show", f"{revision}:{path}")


def make_repo(path: Path, files: Mapping[str, str | bytes] | None = None) -> Repo:
    """Make a repository on branch ``main`` with one commit of these files."""
    path.mkdir(parents=True, exist_ok=True)
    repo = Repo(path)
    repo.git("init", "-q", "-b", "main")
    repo.commit("the beginning", files or {"README.md": "hello\n"})
    return repo


def tree_bytes(path: Path, *, skip: tuple[str, ...] = (".git",)) -> dict[str, bytes]:
    """Read every file below a folder: what the operator's bytes are compared by."""
    found: dict[str, bytes] = {}
    for folder, folders, names in os.walk(os.fsencode(path)):
        folders[:] = [name for name in folders if os.fsdecode(name) not in skip]
        for name in names:
            full = Path(os.fsdecode(os.path.join(folder, name)))  # noqa: PTH118 - bytes in, so that any name goes
            relative = str(full.relative_to(path))
            found[relative] = os.fsencode(full.readlink()) if full.is_symlink() else full.read_bytes()
    return found
