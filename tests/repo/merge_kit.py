"""Merges carried out in a checkout, by git and by us, side by side."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from repo_kit import ENV, commit_tree, disk_state, git

from ggactors.repo import conflicts
from ggactors.repo.apply import Move, move_checkout
from ggactors.repo.commits import write_commit
from ggactors.repo.faults import InTheWay
from ggactors.repo.operator import find
from ggactors.repo.textmerge import Labels
from ggactors.repo.treemerge import merge_commits

if TYPE_CHECKING:
    from pathlib import Path

MAIN = b"refs/heads/main"


class Special(tuple):
    """A tree entry that is no plain file: mode and content."""

    __slots__ = ()


def run(content: str) -> Special:
    return Special(("100755", content.encode()))


def link(target: str) -> Special:
    return Special(("120000", target.encode()))


def repo(number: int) -> Special:
    return Special(("160000", b"%040x" % number))


@dataclass(frozen=True)
class Scene:
    """One merge: three trees, or a history; settings; what else is done to the checkout before."""

    base: dict
    ours: dict
    theirs: dict
    config: dict = field(default_factory=dict)
    before: object = None
    history: object = None
    """Makes the two tips itself, given ``commit(files, parents)``; for criss-cross histories."""
    differs: str = ""
    """Why we come to another outcome than git, where we do."""


def entries(files: dict) -> dict:
    """Turn a scene's files into what ``commit_tree`` takes."""
    out = {}
    for name, content in files.items():
        if isinstance(content, Special):
            out[name] = content
        elif content is not None:
            out[name] = ("100644", content if isinstance(content, bytes) else content.encode())
    return out


def changed(base: dict, changes: dict) -> dict:
    """Apply changes to a tree; None removes."""
    return {name: content for name, content in {**base, **changes}.items() if content is not None}


def stage(where: Path, scene: Scene) -> Path:
    """Build a scene's repository on ``main``, with ``side`` to be merged."""
    where.mkdir()
    git(where, "init", "-q", "-b", "main")
    for key, value in {"gc.auto": "0", **scene.config}.items():
        git(where, "config", key, value)
    if scene.history is not None:
        age = iter(range(100))

        def commit(files, *parents):
            return commit_tree(where, entries(files), parents, age=next(age))

        ours, theirs = scene.history(commit)
    else:
        below = commit_tree(where, entries(scene.base))
        ours, theirs = (
            commit_tree(where, entries(changed(scene.base, changes)), [below], age=age)
            for age, changes in ((1, scene.ours), (2, scene.theirs))
        )
    git(where, "update-ref", "refs/heads/side", theirs)
    git(where, "update-ref", "refs/heads/main", ours)
    git(where, "reset", "-q", "--hard")
    return where


def merge_as_git(where: Path) -> str:
    """Let git merge; answer ``merged``, ``conflict`` or ``refused``."""
    done = subprocess.run(["git", "merge", "-q", "--no-edit", "side"], cwd=where, env=ENV, capture_output=True)
    if not done.returncode:
        return "merged"
    return "conflict" if (where / ".git/MERGE_HEAD").exists() else "refused"


def merge_as_we(where: Path) -> str:
    """Merge as the runtime merges into its main workspace; answer the same words."""
    place = find(os.fsencode(where)).place
    store, ours, theirs = place.store, place.refs.read(MAIN), place.refs.read(b"refs/heads/side")
    try:
        tree = store.commit(ours).tree
        attributes = place.attributes_of(tree)
        labels = Labels(ours=b"HEAD", theirs=b"side")
        merged = merge_commits(store, ours, theirs, labels=labels, attributes=attributes)
        try:
            if not merged.clean:
                conflicts.begin(place, MAIN, theirs, merged, b"Merge branch 'side'\n", b"side")
                conflicts.drop_record(place)
                return "conflict"
            made = write_commit(place, merged.tree, [ours, theirs], b"Merge branch 'side'\n")
            move_checkout(place, Move(ref=MAIN, old=ours, new=made, changes=merged.changes, message="merge side"))
        except InTheWay:
            return "refused"
        return "merged"
    finally:
        store.close()


def outcome(where: Path) -> dict:
    """Give all of a checkout that a merge decides."""
    gitdir = where / ".git"
    notes = gitdir / "MERGE_MSG"
    return {
        "files": disk_state(where),
        "index": git(where, "ls-files", "-s", "-z"),
        "status": git(where, "status", "--porcelain", "-z", "--ignored"),
        "tree": git(where, "rev-parse", "HEAD^{tree}"),
        "parents": git(where, "log", "-1", "--format=%P") if not notes.exists() else b"",
        "state": {
            name: (gitdir / name).read_bytes()
            for name in ("MERGE_HEAD", "MERGE_MODE", "ORIG_HEAD", "AUTO_MERGE")
            if (gitdir / name).exists() and (notes.exists() or name == "MERGE_HEAD")
        },
        "listed": [line for line in notes.read_bytes().split(b"\n") if line.startswith(b"#")] if notes.exists() else [],
    }


def both(folder: Path, scene: Scene):
    """Carry a scene out twice; answer (git's word, its outcome), (ours, ours) and our checkout."""
    theirs = stage(folder / "git", scene)
    ours = folder / "ours"
    shutil.copytree(theirs, ours, symlinks=True)
    git(ours, "status")
    for where in (theirs, ours):
        if scene.before is not None:
            scene.before(where)
    found = [(word(where), outcome(where)) for where, word in ((theirs, merge_as_git), (ours, merge_as_we))]
    return found[0], found[1], ours
