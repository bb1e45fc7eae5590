"""Where runs live: the state home and one folder per run in it (docs/reference/run-state.md).

Law: state never lies inside a workspace (W9); every folder made here is the operator's alone (mode 0700); a run's id is
given by the first folder made under that name, so that two runs never share one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.ports import LaunchRefused
from ggactors.protocol.values import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from random import Random

ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""What the end of a run id is drawn from: nothing that reads like something else."""

ID_TRIES = 200
GIVEN_ID = re.compile(r"(?!.*\.\.)(?!.*\.lock$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a run may be named: an id is also a part of a ref of the operator's repository, which git must be able to read."""

LAST = "last"


class RunUnknown(Exception):  # noqa: N818
    """No run, or more than one, answers to what was asked for. The message lists what there is."""


def state_home(environ: Mapping[str, str]) -> Path:
    """Give the folder that holds all state: ``$GGACTORS_HOME``, else ``$XDG_STATE_HOME/ggactors``, else the default.

    It need not exist. A relative ``$XDG_STATE_HOME`` counts as unset, as its specification asks.
    """
    if named := environ.get("GGACTORS_HOME"):
        return Path(named).expanduser().absolute()
    xdg = environ.get("XDG_STATE_HOME", "")
    if xdg.startswith("/"):
        return Path(xdg) / "ggactors"
    own = environ.get("HOME")
    return (Path(own) if own else Path.home()).absolute() / ".local" / "state" / "ggactors"


@frozen
class RunFolder:
    """One run's folder, by the names of the contract. The paths need not exist yet."""

    path: Path

    @property
    def id(self) -> str:
        """The run's id."""
        return self.path.name

    @property
    def home(self) -> Path:
        """The state home the run lies in."""
        return self.path.parent.parent

    @property
    def crew(self) -> Path:
        """The crew document as it was launched."""
        return self.path / "crew.json"

    @property
    def journal(self) -> Path:
        """The durable record."""
        return self.path / "journal.db"

    @property
    def events(self) -> Path:
        """The event stream, JSON lines."""
        return self.path / "events.jsonl"

    @property
    def repository(self) -> Path:
        """The run's own repository."""
        return self.path / "repo.git"

    @property
    def main(self) -> Path:
        """The main workspace."""
        return self.path / "main"

    @property
    def worktrees(self) -> Path:
        """The folder of the issues' worktrees."""
        return self.path / "worktrees"

    @property
    def socket(self) -> Path:
        """The socket under which a living run is reached."""
        return self.path / "run.sock"

    @property
    def outputs(self) -> Path:
        """The folder of tool outputs too long for a model."""
        return self.path / "outputs"

    @property
    def lock(self) -> Path:
        """The lock of the process that drives the run."""
        return self.path / "run.lock"


def make_run_folder(home: Path, *, now: datetime, random: Random, run_id: str | None = None) -> RunFolder:
    """Make the folder of a new run under ``home``. Its id is ``run_id``, or made of ``now`` (local time) and three characters.

    Raises LaunchRefused when ``run_id`` is taken or no fit name, or when the folder cannot be made.
    """
    if run_id is not None and (not GIVEN_ID.fullmatch(run_id) or run_id == LAST):
        raise _refused(
            f"{run_id!r} is no run id",
            "use up to 64 letters, digits, '.', '_' and '-'; not 'last', no '..', no '.lock' at the end",
        )
    try:
        runs = private_folder(home / "runs")
        if run_id is not None:
            (runs / run_id).mkdir(mode=0o700)
            return RunFolder(runs / run_id)
        for _ in range(ID_TRIES):
            path = runs / f"{now:%y%m%d-%H%M}-{''.join(random.choices(ID_LETTERS, k=3))}"
            try:
                path.mkdir(mode=0o700)
            except FileExistsError:
                continue
            return RunFolder(path)
    except FileExistsError:
        raise _refused(f"there is a run {run_id!r} already", "choose another --run-id, or leave it out") from None
    except OSError as error:
        raise LaunchRefused(
            [Problem(path=str(home), what=f"state cannot be kept there: {error.strerror}", remedy="set GGACTORS_HOME")]
        ) from error
    raise _refused(f"no free run id was found in {ID_TRIES} tries", "name one with --run-id")


def _refused(what: str, remedy: str) -> LaunchRefused:
    return LaunchRefused([Problem(path="--run-id", what=what, remedy=remedy)])


def private_folder(path: Path) -> Path:
    """Make ``path`` and the folders above it that are missing, each for the operator alone. Return it."""
    missing = []
    at = path
    while not at.exists():
        missing.append(at)
        at = at.parent
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    return path


def list_runs(home: Path) -> tuple[RunFolder, ...]:
    """List the runs under ``home``, oldest first. A run is as old as its crew document, which is written once.

    A name that begins with a dot is no run's.
    """
    runs = home / "runs"
    if not runs.is_dir():
        return ()
    folders = [RunFolder(path) for path in runs.iterdir() if not path.name.startswith(".") and path.is_dir()]
    return tuple(sorted(folders, key=lambda folder: (_age_mark(folder), folder.id)))


def _age_mark(folder: RunFolder) -> int:
    for path in (folder.crew, folder.path):
        try:
            return path.stat().st_mtime_ns
        except OSError:
            continue
    return 0


def find_run(home: Path, text: str) -> RunFolder:
    """Give the run that ``text`` names: its id, a part of it that no other id has, or ``last``. Raises RunUnknown."""
    runs = list_runs(home)
    if not runs:
        raise RunUnknown(f"there are no runs under {home}; `ggactors run` makes one")
    if text == LAST:
        return runs[-1]
    for folder in runs:
        if folder.id == text:
            return folder
    found = [folder for folder in runs if text and text in folder.id]
    match found:
        case [one]:
            return one
        case []:
            raise RunUnknown(f"no run has {text!r} in its id; `ggactors runs` lists them")
        case _:
            names = ", ".join(folder.id for folder in found[-8:]) + (", …" if len(found) > 8 else "")
            raise RunUnknown(f"{len(found)} runs have {text!r} in their id: {names}; write more of it")


def refuse_workspace(workspace: Path, *, home: Path, environ: Mapping[str, str]) -> Problem | None:
    """Say why ``workspace`` may not be one: it is ``$HOME``, ``/``, or a folder that holds the state (O8)."""
    place, own = workspace.resolve(), environ.get("HOME")
    remedy = "name a project folder with --workspace"
    if place == Path(place.anchor):
        return Problem(path=str(workspace), what="the root of the file system is no workspace", remedy=remedy)
    if own and place == Path(own).resolve():
        return Problem(path=str(workspace), what="your home folder is no workspace", remedy=remedy)
    if home.resolve().is_relative_to(place):
        what = f"the folder holds the state of ggactors ({home})"
        return Problem(path=str(workspace), what=what, remedy=f"{remedy}, or set GGACTORS_HOME elsewhere")
    return None
