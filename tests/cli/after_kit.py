"""Runs that are over, and the commands that come after them, asked in this process; real runs, real repositories."""

from __future__ import annotations

import json
import os
import tempfile
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import trio
from cli_kit import Shell

from ggactors.cli.main import main
from ggactors.testing.crews import finish, issue, run_to_end, turn, wait, write, write_crew
from ggactors.testing.repos import Repo, make_repo, tree_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

HELLO = {
    "root": [turn(issue("Say hello")), wait("ISSUE-1"), finish("Hello is said.")],
    "ISSUE-1.*": [turn(write("hello.txt", "hello\n")), finish("Wrote hello.txt.")],
}
HALF = {
    "root": [turn(issue("Hopeless"), issue("Good")), wait("ISSUE-1", "ISSUE-2"), finish("Half of it worked.")],
    "ISSUE-1.*": [turn(write("half.txt", "x\n")), turn(write("deep/other.txt", "y\n")), turn(text="and so on")],
    "ISSUE-2.*": [turn(write("good.txt", "good\n")), finish("Good.")],
}
"""One issue fails and leaves two files, another is merged."""
HALF_CREW = {"params": {"maxRetries": 0}, "limits": {"maxTurns": 3}}

IN_FLIGHT = {
    "root": [turn(issue("Done"), issue("Slow")), wait("ISSUE-1", "ISSUE-2"), finish()],
    "ISSUE-1.*": [turn(write("done.txt", "done\n")), finish("Done.")],
    "ISSUE-2.*": [turn(write("slow.txt", "slow\n")), turn(text="thinking", delaySecs=600)],
}
"""One issue is merged, the other has written a file and thinks for ever."""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Desk:
    """A repository, a state home, runs made in them and ``ggactors`` asked about them."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self.home = folder, folder / "state"
        self.repo: Repo = make_repo(folder / "repo", {"README.md": "hello\n", ".gitignore": "*.ign\n", "sub/a": "a\n"})
        self._capfd = capfd
        patch.setenv("GGACTORS_HOME", str(self.home))
        patch.setenv("HOME", str(folder / "nobody"))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.delenv("XDG_CONFIG_HOME", raising=False)
        patch.chdir(folder)

    def run(self, script: dict, *, run_id: str = "mine", workspace: Path | None = None, document=None, **options):
        """Drive a run to its end in this process; give what it came to and its events."""
        crew = write_crew(self.folder / f"crew-{run_id}", script, **(document or {}))
        where = workspace or self.repo.path
        return trio.run(partial(run_to_end, crew, where, home=self.home, run_id=run_id, **options))

    def killed(self, script: dict, when: Callable[[list[dict]], bool], *, run_id: str = "mine", document=None, args=()):
        """Start a run as a process and kill it for good once ``when`` holds of its events so far."""
        crew = write_crew(self.folder / f"crew-{run_id}", script, **(document or {}))
        process = self.started(crew, run_id, args)
        seen: list[dict] = []
        for line in process.stdout:
            seen.append(json.loads(line))
            if when(seen):
                break
        else:
            raise AssertionError(process.stderr.read().decode())
        process.kill()
        process.wait()

    def started(self, crew: Path, run_id: str, args=()):
        shell = Shell(self.folder, self.home)
        return shell.start(
            "run", crew, "--workspace", self.repo.path, "--task", "x", "--run-id", run_id, "--events", "-", *args
        )

    def __call__(self, *args: object) -> Ran:
        """Ask ``ggactors`` in this process."""
        self._capfd.readouterr()
        code = main([*map(str, args)])
        told = self._capfd.readouterr()
        assert "Traceback" not in told.err
        assert "defect" not in told.err
        return Ran(code, told.out, told.err)

    def runs(self) -> dict[str, dict]:
        return {told["run"]: told for told in json.loads(self("runs", "--json").out)}

    @property
    def own(self) -> Repo:
        """The repository of the run ``mine``."""
        return Repo(self.home / "runs" / "mine" / "repo.git")

    def checkout(self) -> tuple:
        """Everything of the operator's checkout: files, index, HEAD, the branch it is on."""
        git = self.repo.git
        return (
            tree_bytes(self.repo.path),
            git("ls-files", "-s"),
            self.repo.head(),
            git("symbolic-ref", "-q", "HEAD", check=False),
        )

    def sound(self) -> None:
        """Let git judge the operator's repository."""
        self.repo.git("fsck", "--strict", "--full")
        assert self.repo.git("worktree", "list").count("\n") == 0


def in_flight(seen: list[dict]) -> bool:
    """Tell whether of ``IN_FLIGHT`` one issue is merged and the other has its file."""
    merged = any(event["type"] == "worktree_merged" for event in seen)
    written = any(event["type"] == "tool_result" and event["agent"] == "ISSUE-2.0i" for event in seen)
    return merged and written


def permissions_bind() -> bool:
    """Tell whether permissions bind this process: for a privileged one they do not."""
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0)
        return not os.access(file.name, os.R_OK)
