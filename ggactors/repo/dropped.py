"""Commits that a command in main made and dropped again, read off main's own log (M6). Law: looks at what is new in the log,
saves what neither main nor anything saved holds, and moves nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ggactors.repo.history import contains
from ggactors.repo.keep import keep_commit
from ggactors.repo.own import SAVED
from ggactors.repo.refs import ZERO, head_log

if TYPE_CHECKING:
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place


def log_size(place: Place) -> int:
    """Say how long the log of a working tree's HEAD is (bytes); 0 when there is none."""
    try:
        return os.path.getsize(os.path.join(place.gitdir, b"logs", b"HEAD"))
    except OSError:
        return 0


def save_dropped(place: Place, vault: Place, known: Sha, since: int) -> bytes | None:
    """Save what HEAD stood on since the log was ``since`` bytes long and nothing holds; answer the fullest one's ref, or None.

    A commit whose files are exactly those of ``known`` was only written anew.
    """
    store = place.store
    holders = [known, *vault.refs.under(SAVED + b"main/").values()]
    first: bytes | None = None
    for _, sha in reversed(head_log(place.gitdir, since)):
        if sha == ZERO or not store.has(sha) or store.commit(sha).tree == store.commit(known).tree:
            continue
        if any(contains(store, holder, sha) for holder in holders if store.has(holder)):
            continue
        name = keep_commit(vault, b"main", sha, known)
        first = first or name
        holders.append(sha)
    return first
