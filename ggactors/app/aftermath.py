"""A run after its end: where its work stands, landing it, bringing it back (W5, W10; docs/reference/cli.md: ``land``, ``recover``).

Law: whoever changes anything holds the run's lock; what is only looked at is looked at beside a living run too.
"""

from __future__ import annotations

import json
import re
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from ggactors.ports import RepositoryBroken
from ggactors.protocol.crew import PROJECT_MANAGEMENT
from ggactors.protocol.git import BroughtBack, Landing, SavedWork, Standing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ggactors.repo.remains import Remains
    from ggactors.store.folder import RunFolder
    from ggactors.store.lock import Holder
    from ggactors.telemetry.folds import RunView


class AftermathRefused(Exception):  # noqa: N818 - the operator's to mend
    """What was asked of a run cannot be done; the message says why and what to do."""


@frozen(kw_only=True)
class LandingReport:
    """What became of a landing, and where: ``branch`` is the run's, ``ref`` the operator's HEAD, ``checkout`` its folder.

    ``merged`` is false when the run brought nothing into its branch.
    """

    landing: Landing
    merged: bool
    branch: str
    repository: str
    checkout: str


# ---------------------------------------------------------------- looking


def standing_of(folder: RunFolder, workspace: str, *, deep: bool = False) -> Standing | None:
    """Say where the work of a run stands; None when it has no repository of its own. ``deep`` looks into worktrees too.

    Raises RepositoryBroken when the run's own repository cannot be read.
    """
    from ggactors.repo.remains import standing

    with opened(folder, workspace) as remains:
        return None if remains is None else standing(remains, deep=deep)


@contextmanager
def opened(folder: RunFolder, workspace: str, *, run: str = "") -> Iterator[Remains | None]:
    """Open what a run left, None when it has no repository; what git work is refused inside comes out as RepositoryBroken.

    ``run`` is its id, where the folder has another name.
    """
    from ggactors.repo.faults import GitFault, explain
    from ggactors.repo.remains import find_remains

    remains = None
    try:
        remains = find_remains(run or folder.id, folder.path, workspace or None)
        yield remains
    except OSError as error:
        raise RepositoryBroken(f"git work of run {run or folder.id} failed: {explain(error)}") from error
    except (GitFault, zlib.error) as error:
        raise RepositoryBroken(f"git work of run {run or folder.id} failed: {error}") from error
    finally:
        if remains is not None:
            remains.close()


@contextmanager
def held_if_free(folder: RunFolder) -> Iterator[str | None]:
    """Hold a run's lock, or answer who has it. Raises OSError when it cannot be taken."""
    from ggactors.store.lock import LockHeld, take_lock

    try:
        lock = take_lock(folder.lock)
    except LockHeld as error:
        yield driver_of(error.holder)
        return
    with lock:
        yield None


@contextmanager
def held(folder: RunFolder) -> Iterator[None]:
    """Hold a run's lock. Raises AftermathRefused when somebody else does, OSError when it cannot be taken."""
    with held_if_free(folder) as driver:
        if driver is not None:
            raise AftermathRefused(
                f"run {folder.id} is driven by {driver}; wait until that has ended, or end it with Ctrl-C there"
            )
        yield


def driver_of(holder: Holder | None) -> str:
    """Say who has a run, as far as that is known."""
    return f"process {holder.pid}" if holder is not None else "another process"


# ---------------------------------------------------------------- landing


def land_run(folder: RunFolder, workspace: str) -> LandingReport:
    """Move the operator's checkout forward to the run's work, as at the run's end: all or nothing (W10).

    Raises AftermathRefused for a run that lives or has nothing of its own to land, RepositoryBroken.
    """
    from ggactors.repo import aftermath
    from ggactors.repo.remains import standing

    with held(folder), opened(folder, workspace) as remains:
        if remains is None:
            raise AftermathRefused(f"{_without_repository(folder, workspace)}; there is nothing to land")
        if remains.in_place:
            raise AftermathRefused(
                f"run {folder.id} worked in place: its work is in {workspace or 'the workspace'} itself; "
                "there is nothing to land"
            )
        if remains.operator is None or not remains.checkout:
            raise AftermathRefused(
                f"run {folder.id} cannot be landed: {remains.trouble}; `ggactors recover {folder.id}` lists what it has"
            )
        aftermath.settle(remains)
        before = standing(remains, deep=False)
        if before.merged:
            landing = aftermath.land(remains)
        else:
            here = (remains.operator.place.refs.head().commit or b"").decode()
            landing = Landing(source=here, target=here)
        return LandingReport(
            landing=landing,
            merged=before.merged,
            branch=before.branch or "",
            repository=before.repository,
            checkout=before.operator or workspace,
        )


def _without_repository(folder: RunFolder, workspace: str) -> str:
    """Say why a run has no repository of its own: it needed none, or it was ended before it was made."""
    try:
        agents = json.loads(folder.crew.read_bytes())["agents"]
        board = any(_is_board(capability) for agent in agents for capability in agent.get("capabilities", ()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        board = True  # what cannot be read is told as nothing that it may not have been
    if board:
        return f"run {folder.id} was ended before its repository was made"
    return f"run {folder.id} had no board, so its agents worked in {workspace or 'the workspace'} itself"


def _is_board(capability: Any) -> bool:
    return capability.get("id") == PROJECT_MANAGEMENT and capability.get("enabled", True) is not False


# ---------------------------------------------------------------- recovering


def recoverable(folder: RunFolder, view: RunView) -> Standing:
    """List what of a run can be brought back; a living run's worktrees are left out.

    Raises AftermathRefused when it has no repository, RepositoryBroken when that cannot be read.
    """
    from ggactors.store.lock import read_lock

    found = standing_of(folder, view.workspace, deep=True)
    if found is None:
        raise AftermathRefused(_without_repository(folder, view.workspace))
    if read_lock(folder.lock).alive:
        found = evolve(found, open=None)
    return evolve(found, saved=tuple(_credited(work, view) for work in found.saved))


def _credited(work: SavedWork, view: RunView) -> SavedWork:
    """Name the agent whose work it was: as the commit says, else whoever was made last for the issue before it."""
    if work.agent is not None:
        return work
    from datetime import datetime

    last = None
    for agent in view.agents_by_id.values():
        if agent.issue != work.issue or agent.kind == "root":
            continue
        try:
            made = datetime.fromisoformat(agent.since).timestamp()
        except ValueError:
            continue
        if made < work.when + 1:
            last = agent.id
    return evolve(work, agent=last)


def recover_work(folder: RunFolder, workspace: str, which: str, to: str | None) -> BroughtBack:
    """Bring one piece of a run's work back as a branch of the operator's repository; their checkout is not touched.

    ``which`` is an issue (its newest work), ``ISSUE#n``, ``main``, or a full ref of the run's repository; ``to`` names the
    branch. Raises AftermathRefused and RepositoryBroken, with nothing changed in the operator's repository.
    """
    from ggactors.repo import aftermath
    from ggactors.repo.faults import GitFault

    with held_if_free(folder) as driven, opened(folder, workspace) as remains:
        if remains is None:
            raise AftermathRefused(_without_repository(folder, workspace))
        if remains.operator is None:
            raise AftermathRefused(f"run {folder.id}: there is no repository to bring work back to: {remains.trouble}")
        name, commit = _chosen(folder, remains, which, driven)
        branch = to.removeprefix("refs/heads/") if to is not None else default_branch(folder.id, name)
        try:
            return aftermath.bring_back(remains, commit, branch, given=to is not None)
        except GitFault as error:
            raise AftermathRefused(str(error)) from error


def default_branch(run: str, name: str) -> str:
    """Name the branch that work comes back as: flat, so that it clashes with no other as folder and file."""
    parts = ("ggactors", run, name.removeprefix("refs/heads/"))
    return "-".join(re.sub(r"[^A-Za-z0-9]+", "-", part).strip("-") for part in parts).rstrip("-")


def _chosen(folder: RunFolder, remains: Remains, which: str, driven: str | None) -> tuple[str, str]:
    """Find the commit that was asked for, saving what lies open first. Answer what it belongs to and the commit."""
    from ggactors.repo import aftermath
    from ggactors.repo.refs import valid_name
    from ggactors.repo.remains import standing

    if which.startswith("refs/"):
        ref = which.encode("utf-8", "surrogateescape")
        commit = remains.vault.refs.read(ref) if valid_name(ref) else None
        if commit is None:
            raise AftermathRefused(
                f"run {folder.id} has no ref {which}; `ggactors recover {folder.id}` lists what it has"
            )
        own = which == f"refs/heads/{_short(remains.main_ref)}"
        return "" if own else which.removeprefix("refs/ggactors/saved/"), commit.decode()
    found = standing(remains, deep=driven is None)
    lying = {work.name for work in found.open or ()}
    name = next((each for each in lying if each.lower() == which.lower()), None)
    if name is not None and not name.startswith("refs/"):
        kept = aftermath.keep_open_work(remains, name)
        if kept is not None:
            return name, kept.decode()
        found = standing(remains, deep=False)
    number = [work for work in found.saved if work.name.lower() == which.lower()]
    newest = sorted(
        (work for work in found.saved if (work.issue or "").lower() == which.lower()), key=lambda work: work.when
    )
    chosen = [*newest, *number][-1:]
    if not chosen:
        raise AftermathRefused(_nothing(folder, found, which, driven))
    return chosen[0].issue or "", chosen[0].commit


def _short(ref: bytes) -> str:
    return ref.removeprefix(b"refs/heads/").decode("utf-8", "surrogateescape")


def _nothing(folder: RunFolder, found: Standing, which: str, driven: str | None) -> str:
    names = sorted({*(work.issue or work.ref for work in found.saved), *(work.name for work in found.open or ())})
    there = f"there is work of {', '.join(names)}" if names else "nothing else is kept either"
    if driven is not None:
        return (
            f"nothing of {which} is saved yet, and run {folder.id} is driven by {driven}; try again when that has ended"
        )
    return f"nothing of {which} is kept by run {folder.id}; {there}; what was merged is on its branch (`ggactors land`)"
