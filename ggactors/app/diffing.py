"""What an issue changed, as a diff out of the run's own repository. Law: looks only, beside a living run too."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.ports import RepositoryBroken

if TYPE_CHECKING:
    from ggactors.repo.objects import Sha
    from ggactors.repo.remains import Remains
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.folds import IssueView


@frozen
class IssueDiff:
    """A unified diff, line by line, or None and ``why`` there is none; ``of`` says what was compared."""

    lines: tuple[str, ...] | None
    why: str = ""
    of: str = ""


def diff_of(folder: RunFolder, workspace: str, issue: IssueView) -> IssueDiff:
    """Say what an issue's merge changed in main; before that, what its worktree holds against main; else what was saved of it.

    Blocking. Never raises for a repository that cannot be read: the answer says so.
    """
    from ggactors.app.aftermath import opened

    try:
        with opened(folder, workspace) as remains:
            if remains is None:
                return IssueDiff(None, "The run has no repository of its own, so there is nothing to compare.")
            return _compared(remains, issue)
    except RepositoryBroken as broken:
        return IssueDiff(None, str(broken))


def _compared(remains: Remains, issue: IssueView) -> IssueDiff:
    merge = issue.merge
    if merge is not None and merge.merged:
        if not merge.commit or merge.empty_change:
            return IssueDiff((), of="nothing changed")
        made = merge.commit.encode()
        parents = remains.grounds.store.commit(made).parents
        return _between(
            remains, parents[0] if parents else None, made, f"merge {merge.commit[:10]} against main before it"
        )
    from ggactors.repo.leftovers import branch_of, places

    place = places(remains).get(issue.id)
    tip = remains.vault.refs.read(branch_of(remains, issue.id)) if place is None else place.refs.head().commit
    if tip is None and merge is not None and merge.saved_ref:
        tip = remains.vault.refs.read(os.fsencode(merge.saved_ref))
    if tip is None:
        return IssueDiff(None, "Nobody has worked at it yet." if not issue.attempts else "Nothing is kept of its work.")
    base = _base(remains, tip)
    if place is None:
        return _between(remains, base, tip, "what was kept, against main")
    from ggactors.repo.leftovers import uncommitted
    from ggactors.repo.patch import patch
    from ggactors.repo.scan import read_file

    over = uncommitted(place)
    store = remains.grounds.store
    lines = patch(
        store,
        None if base is None else store.commit(base).tree,
        store.commit(tip).tree,
        over=over,
        read=lambda path: read_file(place.on_disk(path), (over[path] or (0o100644, b""))[0]),
    )
    return IssueDiff(tuple(lines), of="its worktree against main")


def _between(remains: Remains, old: Sha | None, new: Sha, of: str) -> IssueDiff:
    from ggactors.repo.patch import patch

    store = remains.grounds.store
    before = None if old is None else store.commit(old).tree
    return IssueDiff(tuple(patch(store, before, store.commit(new).tree)), of=of)


def _base(remains: Remains, tip: Sha) -> Sha | None:
    """Find where an issue's work left main."""
    from ggactors.repo.history import merge_bases

    if remains.known is None:
        return None
    found = merge_bases(remains.grounds.store, remains.known, tip)
    return found[0] if found else None
