"""A conflicted merge left in place, as git leaves it (M2), asked about (M3) and taken back (M4).

Law: what main was is on record before anything is written, so that taking back is exact whatever was done meanwhile; and whether
a merge is concluded is read off the repository, never off anybody's word.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.git import Resolved, Unresolved
from ggactors.repo.apply import Move, move_checkout
from ggactors.repo.commits import snapshot
from ggactors.repo.faults import show
from ggactors.repo.history import contains
from ggactors.repo.index import Index
from ggactors.repo.keep import forget_operations, save_work, stand_at
from ggactors.repo.refs import HEADS
from ggactors.repo.restore import restore
from ggactors.repo.scan import scan
from ggactors.repo.trees import against, apply, lookup

if TYPE_CHECKING:
    from ggactors.repo.objects import Entry, Objects, Sha
    from ggactors.repo.place import Place
    from ggactors.repo.treemerge import TreeMerge
    from ggactors.repo.trees import Changes

_RECORD = b"ggactors-conflict.json"
_INDEX = b"ggactors-conflict.index"
_MARK = re.compile(rb"(<{3,}|>{3,}) ([^:\r]*)")
"""A line that opens or closes a conflict: attributes and merges of merges change its length."""


@frozen(kw_only=True)
class Pending:
    """A conflicted merge that is left in place: main's former tip, the other tip, what main held, the paths, the labels."""

    ref: bytes
    tip: Sha
    theirs: Sha
    before: Sha
    """The tree of everything unignored that lay in main."""
    paths: tuple[bytes, ...]
    label: bytes


def begin(place: Place, ref: bytes, theirs: Sha, merged: TreeMerge, message: bytes, label: bytes) -> Pending:
    """Leave the merge in place in one step. Raises InTheWay or OSError with everything as it was."""
    store, refs = place.store, place.refs
    tip = refs.read(ref)
    assert tip is not None
    index = place.index()
    before = snapshot(place, index, store.commit(tip).tree, into_nested=False)
    pending = Pending(ref=ref, tip=tip, theirs=theirs, before=before, paths=merged.paths, label=label)
    _write_record(place, pending)
    tree = store.commit(tip).tree
    changes: Changes = dict(merged.changes)
    for path, conflict in merged.conflicts.items():
        if conflict.left != lookup(store, tree, path):
            changes[path] = conflict.left
    changes = {
        path: entry for path, entry in changes.items() if entry is not None or lookup(store, tree, path) is not None
    }
    unmerged = sorted(path for path, conflict in merged.conflicts.items() if conflict.stages)
    listing = b"".join(b"#\t" + path.replace(b"\n", b"\n#") + b"\n" for path in unmerged)
    move = Move(
        ref=ref,
        old=tip,
        new=tip,
        changes=changes,
        message="",
        stages={path: conflict.stages for path, conflict in merged.conflicts.items() if conflict.stages},
        notes={
            b"ORIG_HEAD": tip + b"\n",
            b"MERGE_MSG": message.rstrip(b"\n") + b"\n\n# Conflicts:\n" + listing,
            b"MERGE_MODE": b"",
            b"AUTO_MERGE": apply(store, tree, merged.all_changes()) + b"\n",
            b"MERGE_HEAD": theirs + b"\n",
        },
    )
    try:
        move_checkout(place, move)
    except BaseException:
        drop_record(place)
        raise
    return pending


def _write_record(place: Place, pending: Pending) -> None:
    with open(place.index_path, "rb") as file:
        place.disk.put(os.path.join(place.gitdir, _INDEX), file.read(), sync=True)
    content = {
        "ref": pending.ref, "tip": pending.tip, "theirs": pending.theirs, "before": pending.before, "label": pending.label,
    }  # fmt: skip
    text = json.dumps(
        {
            **{key: value.decode("latin-1") for key, value in content.items()},
            "paths": [p.decode("latin-1") for p in pending.paths],
        }
    )
    place.disk.put(os.path.join(place.gitdir, _RECORD), text.encode(), sync=True)


def drop_record(place: Place) -> None:
    """Forget that a merge was left in place."""
    place.disk.forget(os.path.join(place.gitdir, _RECORD))
    place.disk.forget(os.path.join(place.gitdir, _INDEX))


def read_record(place: Place) -> Pending | None:
    """Find a merge that a dead process left in place."""
    try:
        with open(os.path.join(place.gitdir, _RECORD), "rb") as file:
            found = json.loads(file.read())
    except FileNotFoundError:
        return None
    plain = {key: found[key].encode("latin-1") for key in ("ref", "tip", "theirs", "before", "label")}
    return Pending(**plain, paths=tuple(path.encode("latin-1") for path in found["paths"]))


def abort(place: Place, vault: Place, pending: Pending, message: bytes) -> bytes | None:
    """Make main exactly what it was (M4); answer the hidden ref of what that drops, or None."""
    saved = save_work(place, vault, b"main", pending.tip, pending.ref, message, base=pending.before)
    forget_operations(place)
    original = Index.read(os.path.join(place.gitdir, _INDEX)) if _has_index(place) else None
    restore(place, pending.before, original)
    stand_at(place, pending.ref, pending.tip)
    drop_record(place)
    return saved


def _has_index(place: Place) -> bool:
    return os.path.exists(os.path.join(place.gitdir, _INDEX))


def resolution(place: Place, pending: Pending) -> Resolved | Unresolved:
    """Ask git whether the merge is concluded (M3); what is untracked and new is for the caller to clear away."""
    reason = _not_concluded(place, pending)
    if reason is not None:
        return Unresolved(reason=reason)
    tip = place.refs.read(pending.ref)
    assert tip is not None
    return Resolved(commit=tip.decode(), one_sided=_one_sided(place.store, pending, tip))


def _not_concluded(place: Place, pending: Pending) -> str | None:
    store, head = place.store, place.refs.head()
    branch = show(pending.ref.removeprefix(HEADS))
    index = place.index()
    if index.unmerged:
        return f"unmerged paths are left ({_names(sorted(index.unmerged))}); resolve each and `git add` it"
    if head.ref != pending.ref:
        return f"HEAD is not on {branch} any more; `git switch {branch}`"
    operation = place.operation()
    if operation is not None:
        how = "`git commit` concludes it" if operation.name == "merge" else f"end it with `{operation.way_out}`"
        return f"a {operation.name} is still going on; {how}"
    if head.commit is None or not contains(store, head.commit, pending.tip):
        return f"{branch} no longer contains what it was at ({pending.tip[:12].decode()}); merge on top of it"
    if not contains(store, head.commit, pending.theirs):
        commit = pending.theirs[:12].decode()
        return f"the issue's commit {commit} is not merged into {branch}; `git merge {commit}`"
    tree = store.commit(head.commit).tree
    left = [path for path in pending.paths if _marked(store, tree, path, pending)]
    if left:
        return f"conflict markers are left in {_names(left)}; resolve them and commit"
    found = scan(place, index, fresh=False)
    dirty = sorted({*found.changed, *found.deleted, *against(store, index, tree)})
    if dirty:
        return f"changes are not committed ({_names(dirty)}); `git add` and `git commit --amend --no-edit`, or restore them"
    return None


def _names(paths: list[bytes]) -> str:
    return ", ".join(show(path) for path in paths[:5]) + (" …" if len(paths) > 5 else "")


def _marked(store: Objects, tree: Sha, path: bytes, pending: Pending) -> bool:
    """Tell whether a marker line of this merge stands in a file, more often than either side had it."""
    entry = lookup(store, tree, path)
    if entry is None or entry[0] not in (0o100644, 0o100755):
        return False
    count = _markers(store.blob(entry[1]), pending.label)
    return bool(count) and count > max(
        (_markers(store.blob(side[1]), pending.label) for side in _sides(store, pending, path)), default=0
    )


def _markers(content: bytes, label: bytes) -> int:
    found = (_MARK.match(line) for line in content.split(b"\n"))
    return sum(1 for mark in found if mark is not None and mark[2] in (b"HEAD", label))


def _sides(store: Objects, pending: Pending, path: bytes) -> list[Entry]:
    found = (lookup(store, store.commit(tip).tree, path) for tip in (pending.tip, pending.theirs))
    return [entry for entry in found if entry is not None and entry[0] in (0o100644, 0o100755)]


def _one_sided(store: Objects, pending: Pending, tip: Sha) -> bool:
    """Tell whether everything in conflict was settled by keeping one and the same side whole."""
    tree = store.commit(tip).tree
    sides = [store.commit(side).tree for side in (pending.tip, pending.theirs)]
    if tree in sides:
        return True
    return any(all(lookup(store, tree, path) == lookup(store, side, path) for path in pending.paths) for side in sides)
