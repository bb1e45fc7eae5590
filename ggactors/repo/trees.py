"""Whole trees as changes by path. Law: only folders that differ are ever read or written."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ggactors.repo.faults import MissingObject
from ggactors.repo.objects import DIRECTORY, Entry, Objects, Sha

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ggactors.repo.index import Index

Differences = dict[bytes, tuple[Entry | None, Entry | None]]
"""What paths are in one place and in another."""
Changes = dict[bytes, Entry | None]
"""What becomes of paths: their new entry, or None when they go."""


def folders(store: Objects, tree: Sha, prefix: bytes = b"") -> Iterator[tuple[bytes, Mapping[bytes, Entry]]]:
    """Yield every folder of a tree, those above first: its path with a slash at the end (the top: none) and what is in it."""
    stack = [(prefix, tree)]
    while stack:
        path, sha = stack.pop()
        entries = store.tree(sha)
        yield path, entries
        stack += [(path + name + b"/", child) for name, (mode, child) in entries.items() if mode == DIRECTORY]


def walk(store: Objects, tree: Sha, prefix: bytes = b"") -> Iterator[tuple[bytes, int, Sha]]:
    """Yield every file below a tree: path, mode, id."""
    for folder, entries in folders(store, tree, prefix):
        for name, (mode, child) in entries.items():
            if mode != DIRECTORY:
                yield folder + name, mode, child


def flatten(store: Objects, tree: Sha | None) -> dict[bytes, Entry]:
    """Map every file's path to its entry."""
    return {} if tree is None else {path: (mode, sha) for path, mode, sha in walk(store, tree)}


def lookup(store: Objects, tree: Sha | None, path: bytes) -> Entry | None:
    """Find what a tree holds at a path; a folder counts, an absent path is None."""
    entry: Entry | None = None if tree is None else (DIRECTORY, tree)
    for part in path.split(b"/") if path else ():
        if entry is None or entry[0] != DIRECTORY:
            return None
        entry = store.tree(entry[1]).get(part)
    return entry


def diff(store: Objects, old: Sha | None, new: Sha | None) -> Differences:
    """Map each file path that differs to its entry before and after."""
    out: Differences = {}
    stack: list[tuple[bytes, Sha | None, Sha | None]] = [(b"", old, new)]
    nothing: Mapping[bytes, Entry] = {}
    while stack:
        prefix, left, right = stack.pop()
        if left == right:
            continue
        before = nothing if left is None else store.tree(left)
        after = nothing if right is None else store.tree(right)
        for name, entry in before.items():
            other = after.get(name)
            if entry != other:
                _differ(out, stack, prefix + name, entry, other)
        for name, entry in after.items():
            if name not in before:
                _differ(out, stack, prefix + name, None, entry)
    return out


def _differ(
    out: Differences,
    stack: list[tuple[bytes, Sha | None, Sha | None]],
    path: bytes,
    before: Entry | None,
    after: Entry | None,
) -> None:
    old_folder = before[1] if before is not None and before[0] == DIRECTORY else None
    new_folder = after[1] if after is not None and after[0] == DIRECTORY else None
    if old_folder is not None or new_folder is not None:
        stack.append((path + b"/", old_folder, new_folder))
    old_file = None if old_folder is not None else before
    new_file = None if new_folder is not None else after
    if old_file is not None or new_file is not None:
        out[path] = (old_file, new_file)


def against(store: Objects, index: Index, tree: Sha | None) -> Differences:
    """Compare an index with a tree: differing paths to (in the tree, in the index). Unmerged paths count as absent."""
    if tree is not None and index.tree is not None:
        if index.tree == tree:
            return {}
        if store.has(index.tree):
            with contextlib.suppress(MissingObject):
                return diff(store, tree, index.tree)
    return index.against(walk(store, tree) if tree is not None else iter(()))


def targets(changes: Mapping[bytes, tuple[Entry | None, Entry | None]]) -> Changes:
    """Keep of a difference what each path becomes."""
    return {path: after for path, (_, after) in changes.items()}


def apply(store: Objects, tree: Sha | None, changes: Changes) -> Sha:
    """Write the tree that ``tree`` becomes by ``changes``; answer its id."""
    return _apply(store, tree, changes) or store.write_tree({})


def _apply(store: Objects, tree: Sha | None, changes: Changes) -> Sha | None:
    entries = dict(store.tree(tree)) if tree is not None else {}
    below: dict[bytes, Changes] = {}
    for path, entry in changes.items():
        name, slash, rest = path.partition(b"/")
        if slash:
            below.setdefault(name, {})[rest] = entry
        elif entry is not None:
            entries[name] = entry
        elif name in entries and entries[name][0] != DIRECTORY:
            del entries[name]
    for name, inner in below.items():
        now = entries.get(name)
        folder = now[1] if now is not None and now[0] == DIRECTORY else None
        if folder is None and now is not None and all(entry is None for entry in inner.values()):
            continue  # a file took the folder's place; what was below it goes with it
        made = _apply(store, folder, inner)
        if made is not None:
            entries[name] = (DIRECTORY, made)
        elif folder is not None:
            del entries[name]
    if not entries:
        return None
    if tree is not None and entries == store.tree(tree):
        return tree
    return store.write_tree(entries)
