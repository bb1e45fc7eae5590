"""Packs what lies loose in the run's own store. Law: nothing is dropped, reachable or not. A loose file goes only once a pack that
is safely on the disk holds the same bytes: a reflog, an index or a worktree finds all that it names at every moment.
"""

from __future__ import annotations

import os
from binascii import unhexlify
from typing import TYPE_CHECKING

from ggactors.repo.faults import Malformed
from ggactors.repo.packwriter import PackWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ggactors.repo.objects import Objects, Sha

LEAST = 1_000
"""Loose objects worth a pack."""
MOST = 5_000
"""Objects of one pack: what comes meanwhile waits for half a second, not for minutes."""
LARGEST = 32 << 20
"""Bytes of a loose file that stays one: to pack it would take its whole content into memory."""

_HEX = frozenset(b"0123456789abcdef")


def loose_objects(folder: bytes) -> Iterator[Sha]:
    """Name every object that lies loose in an object folder."""
    for number in range(256):
        part = b"%02x" % number
        try:
            names = os.listdir(os.path.join(folder, part))
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield from (part + name for name in names if len(name) == 38 and _HEX.issuperset(name))


def pack_loose(store: Objects, *, least: int = LEAST, most: int = MOST) -> int:
    """Move loose objects of the store's own folder into one new pack if there are ``least``; answer how many went. Raises OSError.

    Killed at any moment: what was loose is loose, packed, or both. A damaged object stays where it is.
    """
    names = []
    for sha in loose_objects(store.folder):
        names.append(sha)
        if len(names) == most:
            break
    if len(names) < max(least, 1):
        return 0
    packed: list[Sha] = []
    with PackWriter(store.folder, store.disk) as pack:
        for sha in names:
            found = _read(store, sha)
            if found is not None and pack.add(*found) == sha:
                packed.append(sha)
        base = pack.finish()
    if base is None:
        return 0
    _settle(os.path.dirname(base))
    store.look_again()
    safe = [sha for sha in packed if store.packed_in(base, unhexlify(sha))]
    for sha in safe:
        store.disk.forget(store.loose_path(sha))
    return len(safe)


def _read(store: Objects, sha: Sha) -> tuple[int, bytes] | None:
    try:
        if os.path.getsize(store.loose_path(sha)) > LARGEST:
            return None
        return store.loose(sha)
    except (FileNotFoundError, Malformed):
        return None


def _settle(folder: bytes) -> None:
    """Make the names in a folder outlast a loss of power, before what they replace is removed."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
