"""Saves work and puts working trees back. Law: all that is unignored is under a hidden ref before anything is taken away (W5)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ggactors.repo.commits import snapshot, write_commit
from ggactors.repo.faults import Malformed
from ggactors.repo.history import contains
from ggactors.repo.index import Index
from ggactors.repo.mend import make_readable
from ggactors.repo.own import next_saved
from ggactors.repo.retarget import Untracked, retarget
from ggactors.repo.transfer import adopt

if TYPE_CHECKING:
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place


def save_work(
    place: Place,
    vault: Place,
    owner: bytes,
    known: Sha,
    branch: bytes | None,
    message: bytes,
    *,
    base: Sha | None = None,
) -> bytes | None:
    """Put what a tree and its branch hold and ``known`` does not under hidden refs of ``vault``; answer the fullest, or None.

    ``base`` is a tree whose content counts as known too.
    """
    store = place.store
    head = place.refs.head().commit
    index = readable_index(place.index_path)
    tree = snapshot(place, index, store.commit(head).tree if head is not None else None, unlock=make_readable)
    worth: list[Sha] = []
    if tree != base and (head is None or tree != store.commit(head).tree):
        worth.append(write_commit(place, tree, [head] if head is not None else [], message))
    for tip in (head, place.refs.read(branch) if branch is not None else None):
        if tip is None or contains(store, known, tip) or any(contains(store, kept, tip) for kept in worth):
            continue
        worth.append(tip)
    names = [keep_commit(vault, owner, sha, known) for sha in worth]
    return names[0] if names else None


def keep_commit(vault: Place, owner: bytes, commit: Sha, known: Sha) -> bytes:
    """Put one commit, owned, under the next hidden ref of an owner; answer the ref."""
    adopt(vault.store, commit, (known,))
    name = next_saved(vault.refs, owner)
    vault.refs.move(name, commit, None, "saved")
    return name


def forget_operations(place: Place) -> None:
    """Drop whatever git operation is unfinished in a working tree; its files are not touched."""
    for name in _STATES:
        place.disk.forget(os.path.join(place.gitdir, name))
    for name in (b"rebase-merge", b"rebase-apply", b"sequencer"):
        place.disk.sweep(os.path.join(place.gitdir, name))


def put_back(place: Place, ref: bytes, commit: Sha, *, untracked: Untracked = Untracked.KEEP) -> None:
    """Make branch, HEAD, index and tracked files exactly ``commit`` again.

    Call only after ``save_work``: what is written over here is saved there.
    """
    forget_operations(place)
    retarget(place, place.store.commit(commit).tree, untracked=untracked)
    stand_at(place, ref, commit)


def stand_at(place: Place, ref: bytes, commit: Sha) -> None:
    """Put HEAD on a branch and the branch on a commit, wherever they were."""
    now = place.refs.read(ref)
    if now != commit:
        place.refs.move(ref, commit, now, "ggactors: put back")
    if place.refs.head().ref != ref:
        place.refs.stand_on(ref, "ggactors: put back")
    elif now != commit:
        place.refs.log(b"HEAD", now, commit, "ggactors: put back")


_STATES = (
    b"MERGE_HEAD", b"MERGE_MSG", b"MERGE_MODE", b"MERGE_RR", b"CHERRY_PICK_HEAD", b"REVERT_HEAD", b"AUTO_MERGE", b"BISECT_LOG",
    b"SQUASH_MSG",
)  # fmt: skip


def readable_index(path: bytes) -> Index:
    """Read an index; one that cannot be read counts as empty, so that everything is looked at anew."""
    try:
        return Index.read(path)
    except Malformed:
        return Index()
