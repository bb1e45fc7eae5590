"""Removing runs (docs/reference/cli.md: ``clean``). Law: a living run is never removed, and what only the run's own repository
keeps goes only when that was forced; a removal that was cut short is finished by the next.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from ggactors.app.aftermath import driver_of, held_if_free, opened, standing_of
from ggactors.ports import RepositoryBroken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ggactors.protocol.git import Standing
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.glance import Glance

LAUNCH_SECS = 60
IN_FLIGHT = ("in_progress", "in_review")


@frozen(kw_only=True)
class Cleaned:
    """What became of one run: ``removed`` (or would be, in a dry run), else ``kept`` says why. ``size`` in bytes.

    ``failed`` tells that it could not be removed; ``note`` what is left to do by hand.
    """

    run: str
    removed: bool = False
    kept: str = ""
    size: int = 0
    failed: bool = False
    note: str = ""


def clean_run(folder: RunFolder, *, asked_for: bool, force: bool, dry_run: bool) -> Cleaned | None:
    """Remove a run unless there is a reason to keep it; None when it is gone already.

    ``asked_for``: the operator named it, or its age; else only a run that has come to its end goes. ``force`` overrides every
    reason but life. A dry run changes nothing.
    """
    from ggactors.store.lock import read_lock

    if folder.path.is_symlink():
        return Cleaned(run=folder.id, kept="it is a link to another folder; remove it by hand", failed=asked_for)
    if dry_run:
        lock = read_lock(folder.lock)
        return _judged(folder, driver_of(lock.holder) if lock.alive else None, asked_for=asked_for, force=force)
    try:
        with held_if_free(folder) as driver:
            judged = _judged(folder, driver, asked_for=asked_for, force=force)
            return _removed(folder, judged) if judged.removed else judged
    except FileNotFoundError:
        return None
    except OSError as error:
        return Cleaned(run=folder.id, kept=f"it cannot be locked: {error.strerror}", failed=True)


def finish_interrupted(home: Path) -> Iterator[Cleaned]:
    """Delete the runs that an earlier ``clean`` set aside and did not get to delete."""
    from ggactors.store.removal import disk_use, waiting

    for run, folder in waiting(home):
        size = disk_use(folder.path)
        yield evolve(_deleted(run, folder), size=size)


def old_enough(folder: RunFolder, secs: int) -> bool:
    """Tell whether nothing has happened in a run for so many seconds."""
    from ggactors.telemetry.glance import glance

    seen = glance(folder.events)
    with suppress(ValueError):
        return time.time() - datetime.fromisoformat(seen.latest).timestamp() >= secs
    with suppress(OSError):
        return time.time() - folder.path.stat().st_mtime >= secs
    return False


# ---------------------------------------------------------------- whether


def _judged(folder: RunFolder, driver: str | None, *, asked_for: bool, force: bool) -> Cleaned:
    """Decide whether a run goes; ``removed`` tells that it does."""
    from ggactors.store.removal import disk_use

    size = disk_use(folder.path)
    if driver is not None:
        return Cleaned(run=folder.id, kept=f"it is driven by {driver}", size=size)
    why = "" if force else "; ".join(_reasons(folder, asked_for=asked_for))
    return Cleaned(run=folder.id, removed=not why, kept=why, size=size)


def _reasons(folder: RunFolder, *, asked_for: bool) -> Iterator[str]:
    """Give every reason to keep a run that nobody drives."""
    from ggactors.telemetry.glance import glance

    seen = glance(folder.events)
    try:
        found = standing_of(folder, seen.workspace, deep=True)
    except RepositoryBroken as error:
        yield str(error)
        return
    if found is not None:
        yield from _work(folder.id, found, seen)
    if not asked_for and not seen.started and not old_enough(folder, LAUNCH_SECS):
        yield "it may just be being launched"
    if not asked_for and seen.started:
        flying = [issue for issue, state in seen.issues.items() if state in IN_FLIGHT]
        if seen.status is None:
            yield "it was interrupted and could go on"
        elif flying:
            yield f"{', '.join(flying[:3])}{', …' if len(flying) > 3 else ''} could go on"


def _work(run: str, found: Standing, seen: Glance) -> Iterator[str]:
    """Give the reasons that lie in the run's work."""
    gone = f" ({found.trouble})" if found.trouble else ""
    if found.unlanded and not (found.operator is None and seen.landed):
        yield f"its work is not landed{gone}: `ggactors land {run}`"
    if found.unrecovered:
        names = sorted({work.issue or work.ref for work in found.unrecovered})
        yield f"work of {_few(names)} is saved and not brought back{gone}: `ggactors recover {run}`"
    if found.open:
        yield f"work of {_few([work.name for work in found.open])} lies there unsaved: `ggactors recover {run}`"


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


# ---------------------------------------------------------------- removing


def _removed(folder: RunFolder, judged: Cleaned) -> Cleaned:
    """Take a run whose lock is held out of the list, let the operator's repository go, and delete it."""
    from ggactors.store.removal import set_aside

    try:
        aside = set_aside(folder)
    except OSError as error:
        return evolve(judged, removed=False, failed=True, kept=f"it cannot be removed: {error.strerror}")
    return evolve(_deleted(folder.id, aside), size=judged.size)


def _deleted(run: str, aside: RunFolder) -> Cleaned:
    from ggactors.store.removal import delete

    note = "" if (aside.path.parent.parent / run).exists() else _let_go(run, aside)
    try:
        delete(aside)
    except OSError as error:
        where = error.filename or aside.path
        return Cleaned(run=run, removed=True, failed=True, note=f"{where} could not be deleted: {error.strerror}")
    return Cleaned(run=run, removed=True, note=note)


def _let_go(run: str, aside: RunFolder) -> str:
    """Remove the ref that held the run's base; answer what is to be done by hand where that is refused."""
    from ggactors.repo.aftermath import release
    from ggactors.telemetry.glance import glance

    where = ""
    try:
        with opened(aside, glance(aside.events).workspace, run=run) as remains:
            if remains is not None and remains.operator is not None:
                where = remains.operator.place.common.decode("utf-8", "surrogateescape")
                release(remains)
    except RepositoryBroken as error:
        return (
            f"{error}; `git --git-dir={where} update-ref -d refs/ggactors/{run}/base` remains to be done"
            if where
            else ""
        )
    return ""
