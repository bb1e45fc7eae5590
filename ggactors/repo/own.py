"""The run's own repository (W8). Law: what an agent does to it with git never reaches the operator's; it borrows objects and
gives nothing back but through landing.
"""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

from ggactors.repo.disk import Disk, make_folders
from ggactors.repo.faults import Malformed
from ggactors.repo.objects import Objects
from ggactors.repo.refs import HEADS, Refs, valid_name
from ggactors.repo.settings import Settings, config_text, read_settings

if TYPE_CHECKING:
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place

SAVED = b"refs/ggactors/saved/"
BASES = b"refs/ggactors/base/"
START = b"refs/ggactors/start"
MAIN_NAME = b"main"
_BEGAN_ON = b"ggactors-began-on"
_PRIVATE = b"ggactors-private"
"""Marks the repository of a run whose agents do not work in the operator's checkout."""


def base_ref(run_id: str) -> bytes:
    """Name the ref that holds the run's base in the operator's repository, so that no collection drops it."""
    return b"refs/ggactors/%s/base" % run_id.encode()


def branch_for(operator_ref: bytes | None) -> bytes:
    """Choose the name of the run's main branch: the operator's own, unless it could be an issue's."""
    name = operator_ref.removeprefix(HEADS) if operator_ref is not None and operator_ref.startswith(HEADS) else b""
    if not name or name.lower().startswith(b"gg-") or not valid_name(HEADS + name):
        return MAIN_NAME
    return name


def create(path: bytes, operator: Place, base: Sha, branch: bytes, disk: Disk, *, private: bool = False) -> None:
    """Make the repository at ``path``, complete or not at all, with ``branch`` at ``base``."""
    aside = path + b".making"
    disk.sweep(aside)
    for name in (b"objects/info", b"objects/pack", b"refs/heads", b"refs/tags", b"info", b"worktrees", b"hooks"):
        make_folders(disk, os.path.join(aside, name))
    borrowed = os.path.join(operator.common, b"objects")
    disk.make(os.path.join(aside, b"objects", b"info", b"alternates"), os.path.realpath(borrowed) + b"\n")
    disk.make(os.path.join(aside, b"config"), config_text(operator.settings))
    disk.make(os.path.join(aside, b"HEAD"), b"ref: " + HEADS + branch + b"\n")
    disk.make(os.path.join(aside, _BEGAN_ON), (operator.refs.head().ref or b"") + b"\n")
    if private:
        disk.make(os.path.join(aside, _PRIVATE), b"")
    for name in (b"info/exclude", b"info/attributes", b"shallow"):
        source = os.path.join(operator.common, name)
        if os.path.isfile(source):
            with open(source, "rb") as file:
                disk.make(os.path.join(aside, name), file.read())
    _copy_hooks(operator, os.path.join(aside, b"hooks"))
    refs = Refs(aside, disk=disk, ident=operator.settings.ident)
    refs.move(HEADS + branch, base, None, "run: base")
    refs.move(START, base, None, "run: base")
    disk.rename(aside, path)


def _copy_hooks(operator: Place, target: bytes) -> None:
    """Give agents' own commits the operator's hooks, as copies: what becomes of them here never reaches the operator's (H3)."""
    source = os.path.join(operator.common, b"hooks")
    for name in os.listdir(source) if os.path.isdir(source) else ():
        path = os.path.join(source, name)
        if name.endswith(b".sample") or not os.path.isfile(path) or not os.access(path, os.X_OK):
            continue
        copy = os.path.join(target, name)
        shutil.copyfile(path, copy)
        os.chmod(copy, stat.S_IMODE(os.stat(path).st_mode) | 0o700)


def is_private(path: bytes) -> bool:
    """Tell whether the run's main is its own; False too for a run of an earlier version, which did not say."""
    return os.path.exists(os.path.join(path, _PRIVATE))


def began_on(path: bytes) -> bytes | None:
    """Read which branch the operator was on when the run began, None for a detached HEAD: where later landings belong (W10)."""
    try:
        with open(os.path.join(path, _BEGAN_ON), "rb") as file:
            return file.read().strip() or None
    except FileNotFoundError:
        return main_branch(path)


def main_branch(path: bytes) -> bytes | None:
    """Read the full name of the run's main branch off its repository."""
    return Refs(path).head().ref


def open_own(path: bytes, disk: Disk) -> tuple[Objects, Settings]:
    """Open the run's repository: its objects and its settings.

    The runtime wrote its configuration and needs nothing of it, so one that an agent spoilt does not lock the run's work in.
    """
    try:
        settings = read_settings(path)
    except Malformed:
        settings = read_settings(None)
    return Objects(os.path.join(path, b"objects"), disk=disk, guest=True), settings


def next_saved(refs: Refs, owner: bytes) -> bytes:
    """Choose the next free hidden ref for an owner's work (an issue, or main)."""
    prefix = SAVED + owner + b"/"
    taken = [int(name[len(prefix) :]) for name in refs.under(prefix) if name[len(prefix) :].isdigit()]
    return prefix + b"%d" % (max(taken, default=-1) + 1)
