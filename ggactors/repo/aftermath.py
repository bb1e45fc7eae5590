"""Git work after a run: landing what was held, bringing back what was saved, letting the operator's repository go (W5, W8, W10).

Law: the caller holds the run's lock. The operator's repository is given a whole branch or nothing, their checkout is moved by
``land`` alone; a branch of theirs is never moved off what it holds.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from ggactors.protocol.git import BroughtBack, Landing
from ggactors.repo import conflicts, own, worktrees
from ggactors.repo.collecting import no_collection
from ggactors.repo.commits import compose, snapshot, write_commit
from ggactors.repo.core import Core
from ggactors.repo.faults import GitFault, show
from ggactors.repo.history import contains
from ggactors.repo.journal import recover
from ggactors.repo.keep import keep_commit
from ggactors.repo.landing import checked_out_elsewhere
from ggactors.repo.leftovers import already_saved, beyond, branch_of, places, readable_index, uncommitted
from ggactors.repo.refs import HEADS, Refs, valid_name
from ggactors.repo.remains import SNAPSHOT, reached, size_of
from ggactors.repo.transfer import carry
from ggactors.repo.trees import diff, targets

if TYPE_CHECKING:
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place
    from ggactors.repo.remains import Remains


def settle(remains: Remains) -> None:
    """Clear away what a dead process left half done in the run's own repository: locks, a move, a conflicted merge (M4)."""
    worktrees.clear_stale_locks(remains.grounds.common)
    main = remains.main
    if remains.in_place or not worktrees.exists(main):
        return
    recover(main)
    pending = conflicts.read_record(main)
    if pending is not None:
        text = compose("What a merge agent left in the main workspace", remains.run_id, None)
        conflicts.abort(main, remains.vault, pending, text)


# ---------------------------------------------------------------- landing


def land(remains: Remains) -> Landing:
    """Move the operator's checkout forward to the run's branch as at the end of a run: all or nothing (W10).

    Raises GitFault when there is no checkout, and what the run's own repository is refused.
    """
    operator = remains.operator
    if operator is None or not remains.checkout:
        raise GitFault(remains.trouble)
    settle(remains)
    main, refs = remains.main, remains.vault.refs
    start, taken, tip = refs.read(own.START), refs.read(SNAPSHOT), refs.read(remains.main_ref)
    if start is None or tip is None:
        raise GitFault(f"{show(remains.grounds.common)} has lost the run's branch or where it began")
    if not worktrees.exists(main):
        worktrees.remove(main)
        worktrees.add(main, remains.main_ref.removeprefix(HEADS), tip, new_branch=False)
    store = remains.grounds.store
    untouched = {} if taken is None else targets(diff(store, store.commit(start).tree, store.commit(taken).tree))
    return Core(
        run_id=remains.run_id, operator=operator, grounds=remains.grounds, main=main, main_ref=remains.main_ref,
        started_on=own.began_on(remains.grounds.common), base=taken or start, main_tip=tip, in_place=False, untouched=untouched,
    ).land()  # fmt: skip


# ---------------------------------------------------------------- bringing work back


def keep_open_work(remains: Remains, name: str) -> bytes | None:
    """Put what lies in the worktree of an issue (or ``main``) and is kept nowhere under hidden refs; twice is once.

    Answer the commit that has the most of it, None when there was nothing.
    """
    settle(remains)
    owner, known = os.fsencode(name), remains.known
    if known is None:
        raise GitFault(f"{show(remains.grounds.common)} has lost where the run began")
    place = places(remains).get(name)
    head = None if place is None else place.refs.head().commit
    fullest = None if place is None else _keep_uncommitted(remains, name, place, head, known)
    for tip in (head, remains.vault.refs.read(branch_of(remains, name))):
        if tip is not None and beyond(remains, tip):
            keep_commit(remains.vault, owner, tip, known)
            fullest = fullest or tip
    return fullest


def _keep_uncommitted(remains: Remains, name: str, place: Place, head: Sha | None, known: Sha) -> Sha | None:
    changes = uncommitted(place)
    if not changes:
        return None
    kept = None if head is None else already_saved(remains, name, head, changes)
    if kept is not None:
        return kept
    tree = snapshot(place, readable_index(place), None if head is None else place.store.commit(head).tree)
    text = compose(f"What lay in the worktree of {name} when it was recovered", remains.run_id, None)
    made = write_commit(place, tree, [] if head is None else [head], text)
    keep_commit(remains.vault, os.fsencode(name), made, known)
    return made


def bring_back(remains: Remains, commit: str, branch: str, *, given: bool) -> BroughtBack:
    """Make a commit of the run a branch of the operator's repository, its objects copied.

    ``given``: the operator named the branch, which may then be moved forward; else a free name is chosen from ``branch`` on.
    Raises GitFault when that branch cannot take it, with nothing changed.
    """
    if remains.operator is None:
        raise GitFault(remains.trouble)
    operator, store, sha = remains.operator.place, remains.grounds.store, commit.encode()
    store.commit(sha)
    if not valid_name(HEADS + os.fsencode(branch)) or branch.startswith("-") or branch == "HEAD":
        raise GitFault(f"{branch!r} is no name for a branch")
    ref = HEADS + os.fsencode(branch)
    if not given:
        ref = _free(operator, ref, sha)
    before = operator.refs.read(ref)
    moved = before is None or not _inside(operator, before, sha)
    if moved:
        _refuse(remains, operator, ref, before, sha)
        known = remains.vault.refs.read(own.START)
        grounds = [known] if known is not None and _holds(operator, known) else []
        with no_collection(operator):
            carry(store, operator.store, sha, grounds, has=operator.store.has)
            operator.refs.move(ref, sha, before, f"ggactors: recovered from run {remains.run_id}")
    known = remains.known
    return BroughtBack(
        repository=os.fsdecode(operator.root),
        branch=os.fsdecode(ref.removeprefix(HEADS)),
        commit=commit,
        before=None if before is None else before.decode(),
        moved=moved,
        size="" if known is None else size_of(store, known, sha),
    )


def _free(operator: Place, ref: bytes, commit: Sha) -> bytes:
    """Choose the first name of a row that is free, or holds the commit already."""
    name, count = ref, 1
    while not _fits(operator, name, commit):
        count += 1
        name = b"%s-%d" % (ref, count)
    return name


def _fits(operator: Place, name: bytes, commit: Sha) -> bool:
    tip = operator.refs.read(name)
    return _clash(operator.refs, name) is None if tip is None else _inside(operator, tip, commit)


def _inside(operator: Place, tip: Sha, commit: Sha) -> bool:
    """Tell whether a tip of the operator's repository holds a commit."""
    return tip == commit or (operator.store.has(commit) and contains(operator.store, tip, commit))


def _clash(refs: Refs, name: bytes) -> bytes | None:
    """Find a branch that cannot be beside ``name``, one being the folder of the other."""
    above = name
    while (above := above.rpartition(b"/")[0]) != HEADS.rstrip(b"/"):
        if refs.read(above) is not None:
            return above
    return next(iter(sorted(refs.under(name + b"/"))), None)


def _refuse(remains: Remains, operator: Place, ref: bytes, before: Sha | None, commit: Sha) -> None:
    """Raise GitFault when a branch of the operator's cannot be made or moved without loss or surprise."""
    short = show(ref.removeprefix(HEADS))
    clash = _clash(operator.refs, ref)
    if clash is not None:
        raise GitFault(f"a branch {short} cannot be beside {show(clash.removeprefix(HEADS))}; choose another with --to")
    here = operator.root if operator.refs.head().ref == ref else checked_out_elsewhere(operator, ref)
    if here is not None:
        raise GitFault(f"{short} is checked out in {show(here)}, which is not touched; choose another branch with --to")
    if before is not None and not (
        remains.grounds.store.has(before) and contains(remains.grounds.store, commit, before)
    ):
        raise GitFault(
            f"{short} is at {before[:12].decode()}, which the work does not contain; choose another branch with --to"
        )


def _holds(operator: Place, commit: Sha) -> bool:
    """Tell whether the operator's repository keeps a commit with all its history, by its own refs or the run's base ref."""
    return commit in operator.refs.under(b"refs/ggactors/").values() or bool(reached(operator, {commit}))


# ---------------------------------------------------------------- letting go


def release(remains: Remains) -> None:
    """Remove the ref that held the run's base in the operator's repository; one that is gone is fine.

    Raises OSError or GitFault when their repository cannot be written.
    """
    if remains.operator is None:
        return
    refs, name = remains.operator.place.refs, own.base_ref(remains.run_id)
    if refs.read(name) != remains.vault.refs.read(own.START):
        return  # gone already, or a later run of this name holds something else by it
    refs.delete(name)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(refs.path(name)))
