"""Removing runs from the disk: set aside in one step, then deleted, so that a removal cut short is finished by the next one.

Law: nothing is followed: a link is removed as a link, and a run's folder that is a link is left alone. Whoever sets a run aside
holds its lock.
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ggactors.store.folder import RunFolder, private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

ASIDE = ".removed"
"""The folder beside the runs where those wait that are being deleted; no run can have its name."""

NUMBER_MARK = "~"
"""What stands between a run's id and a number where two of one name wait; no id holds it."""


def set_aside(folder: RunFolder) -> RunFolder:
    """Take a run out of the list of runs at once; it waits to be deleted. Raises OSError, with the run where it was."""
    if folder.path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link; remove it by hand", str(folder.path))
    aside = private_folder(folder.path.parent / ASIDE)
    count, target = 0, aside / folder.id
    while target.exists():
        count += 1
        target = aside / f"{folder.id}{NUMBER_MARK}{count}"
    folder.path.rename(target)
    return RunFolder(target)


def waiting(home: Path) -> Iterator[tuple[str, RunFolder]]:
    """Iterate over the runs set aside and not deleted yet, with the ids they had."""
    aside = home / "runs" / ASIDE
    if aside.is_dir() and not aside.is_symlink():
        for path in sorted(aside.iterdir()):
            yield path.name.partition(NUMBER_MARK)[0], RunFolder(path)


def delete(folder: RunFolder) -> None:
    """Delete a run that was set aside, whatever its permissions say. Raises OSError naming what could not be deleted."""
    path = folder.path
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        try:
            shutil.rmtree(path, ignore_errors=True)
            if path.exists():
                _open_up(path)
                with suppress(FileNotFoundError):
                    shutil.rmtree(path)
        except RecursionError:
            raise OSError(errno.ENAMETOOLONG, "its folders are nested too deep; `rm -r` it", str(path)) from None
    with suppress(OSError):
        path.parent.rmdir()


def _open_up(path: Path) -> None:
    """Give ourselves every real folder below: an agent's command may have taken the right to write away."""
    with suppress(OSError):
        path.chmod(0o700)
    with suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _open_up(Path(entry.path))


def disk_use(path: Path) -> int:
    """Count the bytes a folder takes on the disk; links count as links, a file of several names counts once."""
    seen: set[tuple[int, int]] = set()
    total, todo = 0, [str(path)]
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    if (found.st_dev, found.st_ino) not in seen:
                        seen.add((found.st_dev, found.st_ino))
                        total += found.st_blocks * 512
    return total
