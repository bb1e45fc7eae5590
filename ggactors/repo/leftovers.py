"""Work of an ended run that is under no hidden ref yet: in worktrees of issues in flight, and on branches nobody merged (D5, W5).

Law: looks only; a worktree that cannot be read counts as holding work.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ggactors.protocol.git import OpenWork
from ggactors.repo import worktrees
from ggactors.repo.faults import GitFault, Malformed, MissingObject, explain, show
from ggactors.repo.history import contains, new_commits
from ggactors.repo.index import Index, file_mode
from ggactors.repo.own import SAVED
from ggactors.repo.refs import HEADS
from ggactors.repo.scan import only_name, read_file, scan
from ggactors.repo.trees import diff, lookup, targets, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.repo.objects import Entry, Sha
    from ggactors.repo.place import Place
    from ggactors.repo.remains import Remains
    from ggactors.repo.trees import Changes

ISSUE_BRANCH = HEADS + b"gg-"
STASH = b"refs/stash"
MAIN = "main"


def open_work(remains: Remains) -> tuple[OpenWork, ...]:
    """List what lies in worktrees and on branches of the run and is neither in main nor saved."""
    out = []
    for name, place in sorted(places(remains).items()):
        work = _open_work(remains, name, place)
        if work is not None:
            out.append(work)
    refs = remains.vault.refs.under(HEADS)
    stash = remains.vault.refs.read(STASH)
    if stash is not None:
        refs[STASH] = stash
    for ref, sha in sorted(refs.items()):
        if ref == remains.main_ref or os.fsdecode(ref.removeprefix(ISSUE_BRANCH)) in places(remains):
            continue
        try:
            count = _commits_beyond(remains, {sha})
        except GitFault as error:
            out.append(OpenWork(name=os.fsdecode(ref), where=os.fsdecode(ref), size=f"cannot be read: {error}"))
            continue
        if count:
            name = os.fsdecode(ref.removeprefix(ISSUE_BRANCH) if ref.startswith(ISSUE_BRANCH) else ref)
            out.append(OpenWork(name=name, where=os.fsdecode(ref), size=_counted(count, "commit")))
    return tuple(out)


def places(remains: Remains) -> Mapping[str, Place]:
    """Map the issues that have a worktree, and ``main``, to it."""
    admin = os.path.join(remains.grounds.common, b"worktrees")
    names = os.listdir(admin) if os.path.isdir(admin) else []
    found = {os.fsdecode(name): remains.grounds.place(name) for name in names if name != b"main"}
    if not remains.in_place:
        found[MAIN] = remains.main
    return {name: place for name, place in found.items() if worktrees.exists(place)}


def branch_of(remains: Remains, name: str) -> bytes:
    """Name the branch that belongs to a worktree."""
    return remains.main_ref if name == MAIN else ISSUE_BRANCH + os.fsencode(name)


def _open_work(remains: Remains, name: str, place: Place) -> OpenWork | None:
    where = os.fsdecode(place.root)
    try:
        head = place.refs.head().commit
        paths = uncommitted(place)
        if head is not None and paths and already_saved(remains, name, head, paths) is not None:
            paths = {}
        tips = {tip for tip in (head, place.refs.read(branch_of(remains, name))) if tip is not None}
        commits = _commits_beyond(remains, tips)
    except OSError as error:
        return OpenWork(name=name, where=where, size=f"cannot be read: {explain(error)}")
    except GitFault as error:
        return OpenWork(name=name, where=where, size=f"cannot be read: {error}")
    parts = [_counted(count, what) for count, what in ((commits, "commit"), (len(paths), "uncommitted path")) if count]
    return OpenWork(name=name, where=where, size=", ".join(parts)) if parts else None


def uncommitted(place: Place) -> Changes:
    """Map the paths of a worktree that are unignored and not as its HEAD has them to what is on disk; nothing is written."""
    store, head = place.store, place.refs.head().commit
    index = readable_index(place)
    found = scan(place, index, into_nested=True)
    if found.unreadable:
        raise Malformed(f"{show(found.unreadable[0])} cannot be read")
    try:
        tree = None if head is None else store.commit(head).tree
        staged = index.against(walk(store, tree) if tree is not None else iter(()))
    except MissingObject:
        # What the run borrowed is gone with the operator's repository: the index alone can tell.
        return found.changes() | dict.fromkeys(index.unmerged)
    changes: Changes = {path: after for path, (_, after) in staged.items()}
    changes.update((path, _on_disk(place, path)) for path in index.unmerged)
    changes.update(found.changes())
    return {path: entry for path, entry in changes.items() if lookup(store, tree, path) != entry}


def _on_disk(place: Place, path: bytes) -> Entry | None:
    target = place.on_disk(path)
    try:
        mode = file_mode(os.lstat(target).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return None if mode is None else (mode, only_name(read_file(target, mode)))


def readable_index(place: Place) -> Index:
    """Read a worktree's index; a spoilt one counts as empty, and everything on disk is looked at anew."""
    try:
        return Index.read(place.index_path)
    except Malformed:
        return Index()


def already_saved(remains: Remains, name: str, head: Sha, changes: Changes) -> Sha | None:
    """Find saved work that is exactly these changes on top of ``head``."""
    store = remains.grounds.store
    tree = store.commit(head).tree
    for sha in remains.vault.refs.under(SAVED + os.fsencode(name) + b"/").values():
        commit = store.commit(sha)
        if commit.parents[:1] == (head,) and targets(diff(store, tree, commit.tree)) == changes:
            return sha
    return None


def _commits_beyond(remains: Remains, tips: set[Sha]) -> int:
    """Count the commits of these tips that neither main nor anything saved holds."""
    return len({sha for tip in tips for sha in beyond(remains, tip)})


def beyond(remains: Remains, tip: Sha) -> list[Sha]:
    """List the commits up to ``tip`` that neither main nor anything saved holds; none when something holds the tip itself."""
    store, known = remains.grounds.store, remains.known
    holders = [*([known] if known is not None else []), *remains.vault.refs.under(SAVED).values()]
    if any(contains(store, holder, tip) for holder in holders):
        return []
    return new_commits(store, tip, holders)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"
