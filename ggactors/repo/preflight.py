"""May a checkout be moved? Law: looks only; every byte of somebody's that the move would touch is named, or the move may go on."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from ggactors.repo.faults import InTheWay
from ggactors.repo.index import Index, file_mode, stat_fields
from ggactors.repo.objects import GITLINK, LINK, Entry
from ggactors.repo.scan import only_name, read_file
from ggactors.repo.trees import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.repo.eol import LineEnds
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place
    from ggactors.repo.trees import Changes


class Preflight:
    """One look over the paths a move of a checkout would write."""

    def __init__(
        self,
        place: Place,
        index: Index,
        tree: Sha,
        changes: Changes,
        *,
        ends: LineEnds,
        untouched: Mapping[bytes, Entry | None],
    ) -> None:
        self._place, self._index, self._tree, self._changes = place, index, tree, changes
        self._ends, self._untouched = ends, untouched
        self._gone = {path for path, entry in changes.items() if entry is None}
        self._parents: dict[bytes, bool] = {}
        self._bad: list[bytes] = []

    def run(self) -> dict[bytes, Entry]:
        """Answer, for each path that exists now, the entry its bytes must still be when it is moved away. Raises InTheWay."""
        present: dict[bytes, Entry] = {}
        for path, target in self._changes.items():
            if not self._parents_fine(path):
                self._bad.append(path)
                continue
            entry = self._path(path, target)
            if entry is not None:
                present[path] = entry
        if self._bad:
            raise InTheWay(self._bad, "changed, staged or untracked files are in the way")
        return present

    def _parents_fine(self, path: bytes) -> bool:
        folder = path.rpartition(b"/")[0]
        if not folder:
            return True
        known = self._parents.get(folder)
        if known is None:
            known = self._parents_fine(folder)
            if known:
                try:
                    mode = os.lstat(self._place.on_disk(folder)).st_mode
                    known = stat.S_ISDIR(mode) or folder in self._gone
                except (FileNotFoundError, NotADirectoryError):
                    known = True
            self._parents[folder] = known
        return known

    def _path(self, path: bytes, target: Entry | None) -> Entry | None:
        before = lookup(self._place.store, self._tree, path)
        if before is not None and before[0] == 0o040000:
            before = None
        staged = self._index.entry(path)
        wanted = self._untouched.get(path)
        snapped = path in self._untouched
        if path in self._index.unmerged or (staged != before and not (snapped and staged == wanted)):
            self._bad.append(path)
            return None
        on_disk = self._place.on_disk(path)
        try:
            found = os.lstat(on_disk)
        except (FileNotFoundError, NotADirectoryError):
            if staged is not None and not (snapped and wanted is None):
                self._bad.append(path)  # deleted here
            return None
        if stat.S_ISDIR(found.st_mode):
            link = staged if staged is not None and staged[0] == GITLINK else None
            if link is None or (target is not None and target[0] != GITLINK):
                self._folder(path, on_disk, target, tracked=staged is not None and link is None)
            return link  # what is inside another repository is its own affair
        for entry in (staged, wanted):
            if entry is not None and self._holds(path, on_disk, found, entry):
                return entry
        self._bad.append(path)
        return None

    def _folder(self, path: bytes, on_disk: bytes, target: Entry | None, *, tracked: bool) -> None:
        if tracked:
            self._bad.append(path)
        elif target is not None:
            for folder, _, names in os.walk(on_disk):
                inside = folder[len(self._place.root) + 1 :]
                self._bad += [inside + b"/" + name for name in names if inside + b"/" + name not in self._gone]

    def _holds(self, path: bytes, on_disk: bytes, found: os.stat_result, entry: Entry) -> bool:
        raw = self._index.records.get(path)
        mode = file_mode(found.st_mode)
        if mode is None:
            return False
        if not self._place.settings.file_mode and mode != LINK != entry[0]:
            mode = entry[0]
        if (
            raw is not None
            and self._index.entry(path) == entry
            and raw[:40] == stat_fields(found, mode)
            and found.st_mtime_ns < self._index.stamp
        ):
            return True
        return holds(self._place, self._ends, on_disk, path, entry, mode)


def holds(place: Place, ends: LineEnds, on_disk: bytes, path: bytes, entry: Entry, mode: int | None) -> bool:
    """Tell whether the file at ``on_disk`` is what ``entry`` would be in the working tree, byte for byte and in mode."""
    if mode != entry[0]:
        return False
    try:
        content = read_file(on_disk, mode)
    except OSError:
        return False
    return only_name(ends.to_store(path, mode, content, lambda: place.store.blob(entry[1]))) == entry[1]
