"""Saves work and puts working trees back. Law: all that is unignored is under a hidden ref before anything is taken away (W5)."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from ggactors.repo.commits import snapshot, write_commit
from ggactors.repo.history import contains
from ggactors.repo.index import Index
from ggactors.repo.own import next_saved

if TYPE_CHECKING:
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place


def save_work(place: Place, owner: bytes, main_tip: Sha, branch: bytes | None, message: bytes) -> bytes | None:
    """Put what a working tree and its branch hold and main does not under hidden refs; answer the fullest ref, or None."""
    head = place.refs.head().commit
    index = Index.read(place.index_path)
    tree = snapshot(place, index, place.store.commit(head).tree if head is not None else None)
    worth: list[Sha] = []
    if head is None or tree != place.store.commit(head).tree:
        worth.append(write_commit(place, tree, [head] if head is not None else [], message))
    for tip in (head, place.refs.read(branch) if branch is not None else None):
        if (
            tip is not None
            and not contains(place.store, main_tip, tip)
            and not any(contains(place.store, kept, tip) for kept in worth)
        ):
            worth.append(tip)
    names = [keep_commit(place, owner, sha) for sha in worth]
    return names[0] if names else None


def keep_commit(place: Place, owner: bytes, commit: Sha) -> bytes:
    """Put one commit under the next hidden ref of an owner; answer the ref."""
    name = next_saved(place.refs, owner)
    place.refs.move(name, commit, None, "saved")
    return name


def put_back(place: Place, ref: bytes, commit: Sha) -> None:
    """Make branch, HEAD, index and tracked files exactly ``commit`` again; untracked files stay unless they stand in the way.

    Call only after ``save_work``: what is written over here is saved there.
    """
    from ggactors.repo.retarget import retarget

    for name in (
        b"MERGE_HEAD",
        b"MERGE_MSG",
        b"MERGE_MODE",
        b"CHERRY_PICK_HEAD",
        b"REVERT_HEAD",
        b"AUTO_MERGE",
        b"BISECT_LOG",
    ):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(place.gitdir, name))
    for name in (b"rebase-merge", b"rebase-apply", b"sequencer"):
        place.disk.sweep(os.path.join(place.gitdir, name))
    retarget(place, place.store.commit(commit).tree, clear_untracked=False)
    now = place.refs.read(ref)
    if now != commit:
        place.refs.move(ref, commit, now, "ggactors: put back")
    if place.refs.head().ref != ref:
        place.refs.stand_on(ref, "ggactors: put back")
