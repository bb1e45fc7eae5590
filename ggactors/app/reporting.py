"""What a run's report needs of its repository: what each issue's merge changed, file by file. Law: looks only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.telemetry.reportboard import FileStat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ggactors.repo.objects import Objects
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.folds import RunView

MOST_ISSUES = 5000


def merged_changes(folder: RunFolder, view: RunView) -> Mapping[str, Sequence[FileStat]]:
    """Say for each merged issue what its merge changed in main, as far as the run's repository still tells. Blocking.

    Raises RepositoryBroken when the repository cannot be read at all.
    """
    from ggactors.app.aftermath import opened

    merges = {
        issue.id: issue.merge.commit
        for issue in view.issues.values()
        if issue.merge is not None and issue.merge.merged and issue.merge.commit
    }
    if not merges:
        return {}
    with opened(folder, view.workspace) as remains:
        if remains is None:
            return {}
        store = remains.grounds.store
        told = {issue: _files(store, commit) for issue, commit in list(merges.items())[:MOST_ISSUES]}
    return {issue: found for issue, found in told.items() if found is not None}


def _files(store: Objects, commit: str) -> tuple[FileStat, ...] | None:
    """Compare a commit with its first parent; None when the objects are gone."""
    from ggactors.repo.faults import GitFault
    from ggactors.repo.stats import file_changes

    try:
        made = store.commit(commit.encode())
        before = store.commit(made.parents[0]).tree if made.parents else None
        changes = file_changes(store, before, made.tree)
    except GitFault:
        return None
    return tuple(
        FileStat(
            path=(change.new or change.old or b"").decode("utf-8", "replace"),
            added=change.added,
            removed=change.removed,
        )
        for change in changes
    )
