"""What a run does with an issue's worktree (W2-W5, R2, R8). Law: a worktree belongs to its issue, and nothing in it is lost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ggactors.protocol.git import ChangeSummary, FileChange, OpenedWorktree, SealBlocked, Sealed
from ggactors.repo import mend, worktrees
from ggactors.repo.commits import compose, snapshot
from ggactors.repo.history import contains
from ggactors.repo.keep import keep_commit, put_back, save_work
from ggactors.repo.own import BASES
from ggactors.repo.refs import HEADS
from ggactors.repo.retarget import Untracked
from ggactors.repo.sealing import seal as seal_worktree
from ggactors.repo.stats import file_changes, summary
from ggactors.repo.transfer import adopt
from ggactors.repo.trees import lookup

if TYPE_CHECKING:
    from ggactors.protocol.git import Signature
    from ggactors.repo.core import Core
    from ggactors.repo.objects import Objects, Sha
    from ggactors.repo.place import Place
    from ggactors.repo.stats import FileChange as Counted


def branch_of(issue: str) -> bytes:
    """Name an issue's branch: flat, so that it clashes with no other as folder and file."""
    return b"gg-" + worktrees.flat_name(issue)


def _base_ref(issue: str) -> bytes:
    return BASES + worktrees.flat_name(issue)


def open_worktree(core: Core, issue: str) -> OpenedWorktree:
    """Make an issue's worktree from main's tip (W2), or give back the one it has (W3)."""
    place, branch, base_name = core.place_of(issue), branch_of(issue), _base_ref(issue)
    base = place.refs.read(base_name)
    if base is None or not worktrees.exists(place):
        _clear_remains(core, place, issue)
        base = core.main_tip
        if core.in_place:
            adopt(core.grounds.store, base, (core.base,))
        core.pool.make(place, branch, base)
        place.refs.move(base_name, base, place.refs.read(base_name), "worktree: base")
    root = os.path.join(place.root, core.operator.prefix) if core.operator.prefix else place.root
    os.makedirs(root, exist_ok=True)
    return OpenedWorktree(
        issue=issue,
        path=os.fsdecode(place.root),
        root=os.fsdecode(root),
        branch=branch.decode(),
        base=base.decode(),
        base_ref=base_name.decode(),
    )


def _clear_remains(core: Core, place: Place, issue: str) -> None:
    """Make room for a worktree where one was broken or only begun: what its branch holds is saved first."""
    ref = HEADS + branch_of(issue)
    tip = place.refs.read(ref)
    if tip is not None:
        if not contains(core.grounds.store, core.main_tip, tip):
            keep_commit(core.vault, worktrees.flat_name(issue), tip, core.main_tip)
        place.refs.delete(ref, tip)
    trash = worktrees.remove(place)
    if trash is not None:
        core.grounds.disk.sweep(trash)


def seal(core: Core, issue: str, signature: Signature, message: str) -> Sealed | SealBlocked:
    """Commit everything unignored of an issue's worktree on its branch (W4)."""
    place = core.place_of(issue)
    base = place.refs.read(_base_ref(issue)) or core.base
    if not mend.whole(place):
        what = mend.put_together(place, branch_of(issue), base)
        return SealBlocked(
            reason=f"the worktree {os.fsdecode(place.root)} or its .git file was gone and git knows it again now: {what}. "
            "Look at `git status`, do what is missing there, and finish again"
        )
    mend.put_branch_back(place, HEADS + branch_of(issue), base)
    text = compose(message, core.run_id, signature)
    sealed = seal_worktree(place, branch_of(issue), base, text, protected=core.main_ref)
    if isinstance(sealed, Sealed):
        adopt(place.store, sealed.commit.encode(), (base,))
    return sealed


def describe(core: Core, issue: str) -> str:
    """Say what an issue's worktree holds against its base (D5)."""
    place = core.place_of(issue)
    base = place.refs.read(_base_ref(issue))
    if base is None or not worktrees.exists(place):
        return "there is no worktree yet"
    store = place.store
    head = place.refs.head().commit or base
    tree = snapshot(place, place.index(), store.commit(head).tree)
    text = summary(file_changes(store, store.commit(base).tree, tree))
    if tree != store.commit(head).tree:
        text += ", some of it not committed"
    operation = place.operation()
    return text if operation is None else f"{text}; a {operation.name} is unfinished"


def changes(core: Core, issue: str, commit: str) -> ChangeSummary:
    """Summarise, path by path, what a commit of an issue changes against the issue's base (R2)."""
    store, name = core.grounds.store, _base_ref(issue)
    base = core.vault.refs.read(name) or core.base
    old, new = store.commit(base).tree, store.commit(commit.encode()).tree
    return ChangeSummary(
        commit=commit,
        base=base.decode(),
        base_ref=name.decode(),
        files=tuple(_told(store, old, new, change) for change in file_changes(store, old, new)),
    )


def _told(store: Objects, old: Sha, new: Sha, change: Counted) -> FileChange:
    path = change.new if change.new is not None else change.old
    assert path is not None
    renamed = change.old is not None and change.new is not None and change.old != change.new
    before = lookup(store, old, change.old) if change.old is not None else None
    after = lookup(store, new, change.new) if change.new is not None else None
    if before is None:
        kind = "added"
    elif after is None:
        kind = "deleted"
    elif renamed:
        kind = "renamed"
    elif before[0] & 0o170000 != after[0] & 0o170000:
        kind = "type"
    elif before[1] == after[1]:
        kind = "mode"
    else:
        kind = "modified"
    return FileChange(
        path=os.fsdecode(path),
        kind=kind,
        added=change.added,
        removed=change.removed,
        old_path=os.fsdecode(change.old) if renamed and change.old is not None else None,
    )


def check_out(core: Core, issue: str, commit: str) -> str | None:
    """Make an issue's worktree and branch exactly ``commit`` again, saving what differed (R8); answer the hidden ref or None."""
    place, sha, ref = core.place_of(issue), commit.encode(), HEADS + branch_of(issue)
    if not mend.fit_to_save(place, branch_of(issue), place.refs.read(_base_ref(issue))):
        return None
    text = compose(f"What was changed in the worktree of {issue} beside its commit", core.run_id, None)
    saved = save_work(place, core.vault, worktrees.flat_name(issue), sha, ref, text, base=place.store.commit(sha).tree)
    put_back(place, ref, sha, untracked=Untracked.UNIGNORED_GO)
    return None if saved is None else saved.decode()


def discard(core: Core, issue: str, *, accepted: bool) -> str | None:
    """Tear an issue's worktree and branch down (W5); answer the hidden ref of what was not in main, or None."""
    place, ref = core.place_of(issue), HEADS + branch_of(issue)
    owner = worktrees.flat_name(issue)
    saved: bytes | None = None
    if mend.fit_to_save(place, branch_of(issue), place.refs.read(_base_ref(issue))):
        ending = "accepted" if accepted else "given up"
        text = compose(f"What was left of {issue} when it was {ending}", core.run_id, None)
        saved = save_work(place, core.vault, owner, core.main_tip, ref, text)
    else:
        tip = core.vault.refs.read(ref)
        if tip is not None and not contains(core.grounds.store, core.main_tip, tip):
            saved = keep_commit(core.vault, owner, tip, core.main_tip)
    core.pool.take_back(place)
    core.vault.refs.delete(ref)
    core.vault.refs.delete(_base_ref(issue))
    return None if saved is None else saved.decode()
