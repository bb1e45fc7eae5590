"""How much changed between two trees, file by file. Law: renames and lines are counted as ``git diff --numstat -M`` does."""

from __future__ import annotations

from attrs import frozen

from ggactors.repo.objects import GITLINK, Entry, Objects, Sha
from ggactors.repo.renames import find_renames
from ggactors.repo.textdiff import count_lines
from ggactors.repo.textmerge import looks_binary, split
from ggactors.repo.trees import diff


@frozen(kw_only=True)
class FileChange:
    """One file of a difference; ``added`` and ``removed`` are None for a binary one; a missing path is None."""

    old: bytes | None
    new: bytes | None
    added: int | None
    removed: int | None


def file_changes(store: Objects, old: Sha | None, new: Sha | None) -> list[FileChange]:
    """List what differs between two trees, renames found, in path order."""
    gone: dict[bytes, Entry] = {}
    came: dict[bytes, Entry] = {}
    out: list[FileChange] = []
    for path, (before, after) in sorted(diff(store, old, new).items()):
        if before is not None and after is not None:
            out.append(_change(store, path, path, before, after))
        elif after is not None:
            came[path] = after
        elif before is not None:
            gone[path] = before
    for source, target in find_renames(store, gone, came).items():
        out.append(_change(store, source, target, gone.pop(source), came.pop(target)))
    out += [_change(store, None, path, None, entry) for path, entry in came.items()]
    out += [_change(store, path, None, entry, None) for path, entry in gone.items()]
    return sorted(out, key=lambda change: change.new or change.old or b"")


def _change(
    store: Objects, old: bytes | None, new: bytes | None, before: Entry | None, after: Entry | None
) -> FileChange:
    left, right = _content(store, before), _content(store, after)
    if looks_binary(left) or looks_binary(right):
        return FileChange(old=old, new=new, added=None, removed=None)
    if left == right:
        return FileChange(old=old, new=new, added=0, removed=0)
    added, removed = count_lines(split(left), split(right))
    return FileChange(old=old, new=new, added=added, removed=removed)


def _content(store: Objects, entry: Entry | None) -> bytes:
    if entry is None:
        return b""
    return b"Subproject commit " + entry[1] + b"\n" if entry[0] == GITLINK else store.blob(entry[1])


def summary(changes: list[FileChange]) -> str:
    """Say it in one line."""
    if not changes:
        return "no changes"
    added = sum(change.added or 0 for change in changes)
    removed = sum(change.removed or 0 for change in changes)
    count = len(changes)
    return f"{count} file{'s' if count != 1 else ''} changed, +{added} \N{MINUS SIGN}{removed} lines"
