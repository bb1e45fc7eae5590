"""Making commits out of working trees. Law: everything that is not ignored is in the commit or the commit is not made (W4);
no hook, filter or signing program runs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.repo.index import file_mode
from ggactors.repo.objects import BLOB, COMMIT, GITLINK, Entry, Sha, commit_bytes
from ggactors.repo.scan import Scan, read_file, scan, take_up
from ggactors.repo.trees import against, apply, targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ggactors.protocol.git import Signature
    from ggactors.repo.index import Index
    from ggactors.repo.place import Place


@frozen(kw_only=True)
class Staged:
    """A working tree taken up in its index: the tree it comes to, and what the walk found."""

    tree: Sha
    found: Scan


def write_commit(place: Place, tree: Sha, parents: Iterable[Sha], message: bytes) -> Sha:
    """Store a commit signed off by the operator's identity or the fallback (H4), now."""
    stamp = place.settings.stamp()
    return place.store.write(
        COMMIT, commit_bytes(tree=tree, parents=parents, author=stamp, committer=stamp, message=message)
    )


def compose(message: str, run_id: str, signature: Signature | None) -> bytes:
    """Write a commit message with the trailers that locate the work."""
    lines = [f"GGActors-Run: {run_id}"]
    if signature is not None:
        if signature.issue is not None:
            lines.append(f"GGActors-Issue: {signature.issue}")
        lines.append(f"GGActors-Agent: {signature.agent}")
        if signature.attempt is not None:
            lines.append(f"GGActors-Attempt: {signature.attempt}")
    body = message.replace("\x00", "").strip() or "Work of a crew"
    return (body + "\n\n" + "\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def stage_all(
    place: Place, index: Index, head_tree: Sha | None, *, leave: Mapping[bytes, Entry | None] | None = None
) -> Staged:
    """Take everything unignored up in the index, storing its bytes; answer the tree a commit of it has.

    ``leave`` names paths that stay out of the commit while they hold exactly that (the operator's own edits, W11).
    """
    store = place.store
    found = scan(place, index, keep=lambda content: store.write(BLOB, content))
    held = _held(index, found, leave or {})
    for path in held:
        found.changed.pop(path, None)
        found.fresh.pop(path, None)
    found.deleted = [path for path in found.deleted if path not in held]
    changes = {**targets(against(store, index, head_tree)), **found.changes()}
    tree = apply(store, head_tree, {path: after for path, after in changes.items() if path not in held})
    take_up(index, found)
    if not held:
        index.tree = tree
    return Staged(tree=tree, found=found)


def _held(index: Index, found: Scan, leave: Mapping[bytes, Entry | None]) -> set[bytes]:
    """Name the paths of ``leave`` that are on disk exactly as they were."""
    deleted = set(found.deleted)
    held = set()
    for path, entry in leave.items():
        now = found.changed.get(path) or found.fresh.get(path)
        if (now[1] if now is not None else None if path in deleted else index.entry(path)) == entry:
            held.add(path)
    return held


def gitlinks(index: Index) -> list[bytes]:
    """Name tracked repositories inside this one."""
    mark = GITLINK.to_bytes(4, "big")
    return [path for path, raw in index.records.items() if raw[24:28] == mark]


def snapshot(
    place: Place,
    index: Index,
    head_tree: Sha | None,
    *,
    into_nested: bool = True,
    unlock: Callable[[bytes], None] | None = None,
) -> Sha:
    """Write the tree of everything unignored as it lies on disk, index and refs untouched (W5).

    ``into_nested``: the files of repositories inside are taken in as well, in the place of what would only point to a commit.
    ``unlock`` is called with the tree's top when something cannot be read, and then it is looked at once more.
    """
    store = place.store

    def look() -> Scan:
        def keep(content: bytes) -> Sha:
            return store.write(BLOB, content)

        return scan(place, index, keep=keep, into_nested=into_nested, through_links=into_nested)

    found = look()
    if found.unreadable and unlock is not None:
        unlock(place.root)
        found = look()
    changes = targets(against(store, index, head_tree))
    unmerged = {path: _on_disk(place, path) for path in index.unmerged}
    changes.update(unmerged)
    changes.update(found.changes())
    return apply(store, head_tree, changes)


def _on_disk(place: Place, path: bytes) -> Entry | None:
    target = place.on_disk(path)
    try:
        mode = file_mode(os.lstat(target).st_mode)
    except OSError:
        return None
    return None if mode is None else (mode, place.store.write(BLOB, read_file(target, mode)))
