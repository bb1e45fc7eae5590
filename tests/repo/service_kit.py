"""Opens a run's repository and does an issue's work in it."""

from __future__ import annotations

from pathlib import Path

from repo_kit import write

from ggactors.protocol.git import Merged, Sealed, Signature
from ggactors.repo.service import open_repository

SIGN = Signature(agent="AUTH-1.0i", issue="AUTH-1", attempt=0)


async def start(place, **more):
    workspace, run_dir = place
    return await open_repository(workspace, run_id="261130-1405-abc", run_dir=run_dir, checkout="private", **more)


async def work(repo, issue, files, *, message="work"):
    """Do an issue's work and seal it."""
    opened = await repo.open_worktree(issue)
    write(Path(opened.root), files)
    sealed = await repo.seal(issue, SIGN, message)
    assert isinstance(sealed, Sealed), sealed
    return sealed


async def finish(repo, issue, files):
    """Do an issue's work, merge it and tear it down."""
    sealed = await work(repo, issue, files)
    merged = await repo.merge(issue, sealed.commit, SIGN, f"Merge {issue}")
    assert isinstance(merged, Merged), merged
    await repo.discard(issue, accepted=True)
    return merged
