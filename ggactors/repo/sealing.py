"""Commits an issue's work when its agent has finished (W4). Law: everything unignored is on the issue's branch, or nothing is
changed and the agent is told what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.git import SealBlocked, Sealed
from ggactors.repo.commits import gitlinks, stage_all, write_commit
from ggactors.repo.conversions import new_conversion
from ggactors.repo.faults import show
from ggactors.repo.history import contains, merge_bases
from ggactors.repo.refs import HEADS
from ggactors.repo.transfer import unsound
from ggactors.repo.trees import diff

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.repo.index import Index
    from ggactors.repo.objects import Entry, Objects, Sha
    from ggactors.repo.place import Place
    from ggactors.repo.scan import Scan


class Blocked(Exception):  # noqa: N818 - control flow inside this module and its callers
    """The tree cannot be committed as it stands; the text is for the agent."""


def seal(place: Place, branch: bytes, base: Sha, message: bytes, *, protected: bytes) -> Sealed | SealBlocked:
    """Commit everything of a worktree on ``branch`` (short name). ``protected`` is a ref no agent's work may move: main's."""
    try:
        tip = _seal(place, HEADS + branch, base, message, protected)
    except Blocked as blocked:
        return SealBlocked(reason=str(blocked))
    store = place.store
    changed = len(diff(store, store.commit(base).tree, store.commit(tip).tree))
    return Sealed(commit=tip.decode(), changed=changed, empty=changed == 0)


def _seal(place: Place, ref: bytes, base: Sha, message: bytes, protected: bytes) -> Sha:
    refuse_operation(place)
    refs, store = place.refs, place.store
    head = refs.head()
    branch_tip = refs.read(ref)
    if head.commit is None:
        raise Blocked(f"HEAD is on a branch without a commit; `git switch {_short(ref)}` and bring your files there")
    refuse_unsound(store, head.commit, base)
    if branch_tip is None:
        branch_tip = base if head.ref == ref or contains(store, head.commit, base) else None
    others = head.ref is not None and head.ref != ref and (head.ref == protected or head.ref.startswith(HEADS + b"gg-"))
    if others:
        raise Blocked(f"HEAD is on {_short(head.ref)}, which is not this issue's branch; `git switch {_short(ref)}`")
    if head.ref != ref and (branch_tip is None or not contains(store, head.commit, branch_tip)):
        where = f"on {_short(head.ref)}" if head.ref is not None else f"detached at {head.commit[:12].decode()}"
        raise Blocked(
            f"HEAD is {where}, which does not contain {_short(ref)}; "
            f"`git switch {_short(ref)}` and merge what belongs to the issue into it"
        )
    if not merge_bases(store, base, head.commit):
        raise Blocked(
            f"the branch shares no history with the commit it began from; `git rebase --onto {base[:12].decode()} --root`"
        )
    with place.lock() as lock:
        index = lock.read()
        refuse_unmerged(index)
        old_tree = store.commit(head.commit).tree
        staged = stage_all(place, index, old_tree)
        refuse_inner(place, index, staged.found, store.commit(base).tree)
        refuse_conversion(place, store.commit(base).tree, staged.tree)
        tip = head.commit
        if staged.tree != old_tree:
            tip = write_commit(place, staged.tree, [tip], message)
        if tip != head.commit or staged.found.anything:
            lock.stage(index)
        now = refs.read(ref)
        if now != tip:
            refs.move(ref, tip, now, "commit: work sealed")
        if head.ref != ref:
            refs.stand_on(ref, f"checkout: moving to {_short(ref)}")
            if head.ref is not None and head.ref.startswith(HEADS):
                refs.delete(head.ref, head.commit)
        elif tip != head.commit:
            refs.log(b"HEAD", head.commit, tip, "commit: work sealed")
        if lock.prepared:
            lock.commit()
    return tip


def commit_here(
    place: Place, message: bytes, *, leave: Mapping[bytes, Entry | None], base: Sha | None = None
) -> Sha | None:
    """Commit what changed in a working tree on the branch it is on (M6); None when nothing did. Raises Blocked.

    ``base`` is a commit whose attributes count as the operator's own; None takes HEAD's.
    """
    refuse_operation(place)
    store = place.store
    with place.lock() as lock:
        head = place.refs.head()
        index = lock.read()
        refuse_unmerged(index)
        old_tree = store.commit(head.commit).tree if head.commit is not None else None
        staged = stage_all(place, index, old_tree, leave=leave)
        refuse_inner(place, index, staged.found, old_tree)
        refuse_conversion(place, old_tree if base is None else store.commit(base).tree, staged.tree)
        if head.commit is None or staged.tree == old_tree:
            if staged.found.anything:
                lock.save(index)
            return None
        tip = write_commit(place, staged.tree, [head.commit], message)
        lock.stage(index)
        place.refs.move_head(tip, head.commit, "commit: work in the main workspace")
        lock.commit()
    return tip


def refuse_operation(place: Place) -> None:
    """Stop at an operation the agent left unfinished. Raises Blocked."""
    operation = place.operation()
    if operation is not None:
        raise Blocked(f"a {operation.name} is unfinished in the worktree; end it with `{operation.way_out}`")


def refuse_conversion(place: Place, old: Sha | None, new: Sha) -> None:
    """Stop at attributes, other than those of ``old``, that ask for what is not done here. Raises Blocked."""
    why = new_conversion(place, old, new)
    if why is not None:
        raise Blocked(f"{why}; take that line out")


def refuse_unsound(store: Objects, tip: Sha, known: Sha) -> None:
    """Stop at commits the agent brought that are not whole or that git refuses. Raises Blocked."""
    why = unsound(store, tip, (known,))
    if why is not None:
        raise Blocked(why)


def refuse_unmerged(index: Index) -> None:
    """Stop at unmerged paths. Raises Blocked."""
    if index.unmerged:
        names = ", ".join(show(path) for path in sorted(index.unmerged)[:5])
        raise Blocked(f"unmerged paths are left ({names}); resolve them and `git add` each")


def refuse_inner(place: Place, index: Index, found: Scan, base_tree: Sha | None) -> None:
    """Stop at repositories inside the worktree, whose files would never arrive (H16), and at files that cannot be read."""
    inner = [*found.nested, *(path for path in gitlinks(index) if not _known_link(place, base_tree, path))]
    if inner:
        names = ", ".join(show(path) for path in sorted(inner)[:3])
        raise Blocked(
            f"there is a repository inside the worktree ({names}), whose files would be lost; "
            "remove its .git (`git rm --cached` it if it was added) so that its files are committed here, or list it in .gitignore"
        )
    if found.unreadable:
        names = ", ".join(show(path) for path in sorted(found.unreadable)[:5])
        raise Blocked(f"these cannot be read: {names}; `chmod u+r` them, remove them, or list them in .gitignore")


def _known_link(place: Place, tree: Sha | None, path: bytes) -> bool:
    from ggactors.repo.trees import lookup

    return lookup(place.store, tree, path) is not None


def _short(ref: bytes | None) -> str:
    return show((ref or b"").removeprefix(HEADS))
