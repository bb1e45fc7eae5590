"""Two versions of one file into one, by mode, kind and attributes. Law: nothing an attribute names is run: a driver that is not
git's own counts as the ordinary text merge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.repo.objects import BLOB, GITLINK, LINK, Entry, Objects, Sha
from ggactors.repo.textmerge import Labels, looks_binary, merge_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.repo.attributes import Attributes, Value

REGULAR = 0o100000
MARKER = 7


@frozen(kw_only=True)
class Versions:
    """A file in the base, ours and theirs, and what each calls it."""

    base: Entry | None
    ours: Entry
    theirs: Entry
    names: tuple[bytes, bytes, bytes]


@frozen(kw_only=True)
class MergedFile:
    """What came of it; ``clean`` is false when a person must look, and ``entry`` is then what lies in the working tree."""

    entry: Entry
    clean: bool


def kind_of(entry: Entry | None) -> int:
    """Reduce an entry to file, link, folder or gitlink; 0 for none."""
    return 0 if entry is None else entry[0] & 0o170000


class FileMerger:
    """Merges files with one pair of labels. ``depth`` counts how deep in merges of merge bases we are."""

    def __init__(self, store: Objects, labels: Labels, attributes: Attributes | None, depth: int) -> None:
        self._store, self._labels, self._attributes, self._depth = store, labels, attributes, depth

    def __call__(self, path: bytes, versions: Versions, *, wider: int = 0) -> MergedFile:
        """Merge. Both sides must be of one kind; a base of another counts as none. ``wider`` widens the markers."""
        base, ours, theirs = versions.base, versions.ours, versions.theirs
        mode, clean = _mode(base, ours, theirs)
        if ours[1] == theirs[1] or (base is not None and ours[1] == base[1]):
            return MergedFile(entry=(mode, theirs[1]), clean=clean)
        if base is not None and theirs[1] == base[1]:
            return MergedFile(entry=(mode, ours[1]), clean=clean)
        if kind_of(ours) in (LINK, GITLINK):
            return self._indivisible(base, ours, mode)
        below = base[1] if base is not None and kind_of(base) == kind_of(ours) else None
        sha, agreed = self._content(path, (below, ours[1], theirs[1]), versions.names, wider)
        return MergedFile(entry=(mode, sha), clean=clean and agreed)

    def _indivisible(self, base: Entry | None, ours: Entry, mode: int) -> MergedFile:
        """A link or gitlink both changed: ours stays; between merge bases, theirs does."""
        if not self._depth or base is None:
            return MergedFile(entry=(mode, ours[1]), clean=False)
        if kind_of(ours) == LINK or kind_of(base) != GITLINK:
            return MergedFile(entry=base, clean=False)
        return MergedFile(entry=(mode, base[1]), clean=False)

    def _content(
        self, path: bytes, shas: tuple[Sha | None, Sha, Sha], names: tuple[bytes, bytes, bytes], wider: int
    ) -> tuple[Sha, bool]:
        """Merge bytes; answer the blob and whether it is clean. What is binary is not merged: ours, or the base, stands."""
        given: Mapping[bytes, Value] = self._attributes.of(path) if self._attributes is not None else {}
        base, ours, theirs = (b"" if sha is None else self._store.blob(sha) for sha in shas)
        how = given.get(b"merge")
        if how is False or how == b"binary" or any(map(looks_binary, (base, ours, theirs))):
            if self._depth:
                return (shas[0] if shas[0] is not None else self._store.write(BLOB, b"")), True
            return shas[1], False
        labels = self._labels_for(names, given.get(b"conflict-marker-size"), wider)
        merged = merge_text(base, ours, theirs, labels, union=how == b"union")
        return self._store.write(BLOB, merged.content), not merged.conflicts

    def _labels_for(self, names: tuple[bytes, bytes, bytes], size: Value, wider: int) -> Labels:
        """Say at the markers which path each side has, where they differ, as git does."""
        ours, theirs = self._labels.ours, self._labels.theirs
        if len(set(names)) > 1:
            ours, theirs = ours + b":" + names[1], theirs + b":" + names[2]
        plain = int(size) if isinstance(size, bytes) and size.isdigit() and int(size) else MARKER
        return Labels(ours=ours, theirs=theirs, size=plain + 2 * self._depth + wider)


def _mode(base: Entry | None, ours: Entry, theirs: Entry) -> tuple[int, bool]:
    below = base[0] if base is not None else 0
    if ours[0] in (theirs[0], below):
        return theirs[0], True
    return ours[0], theirs[0] == below
