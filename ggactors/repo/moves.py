"""What renames make of a merge: files of one side meet the other side's where they went. Law: the outcome is git's, renames of
whole folders, two names for one file and two files for one name included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

from ggactors.repo.foldermoves import FolderCounts, Following, parent
from ggactors.repo.mergefile import REGULAR, Versions, kind_of
from ggactors.repo.renames import find_renames
from ggactors.repo.threeway import BASE, OURS, THEIRS, Side, Sides, Spot

if TYPE_CHECKING:
    from ggactors.repo.mergefile import FileMerger, MergedFile
    from ggactors.repo.objects import Entry, Objects


@frozen(kw_only=True)
class Move:
    """A file of one side that has another name there than in the base. ``target`` is where it goes in the end."""

    source: bytes
    target: bytes
    side: int


class Moves:
    """Finds the renames of both sides and works them into the spots of a merge."""

    def __init__(self, store: Objects, sides: Sides, merge: FileMerger, *, depth: int) -> None:
        self._store, self._sides, self._merge = store, sides, merge
        self._spots = sides.spots
        self._depth = depth
        self.unclear: list[bytes] = []
        """Paths at which a folder's move could not be followed: the merge is not clean, though no path is left unmerged."""

    def run(self) -> None:
        """Find and apply all renames."""
        pairs: list[dict[bytes, bytes]] = [{}, {}, {}]
        moved: list[dict[bytes, bytes]] = [{}, {}, {}]
        for side in (OURS, THEIRS):
            pairs[side], counts = self._find(self._sides.sides[side])
            if not self._depth:
                moved[side], split = counts.moves()
                self.unclear += split
        for folder in moved[OURS].keys() & moved[THEIRS].keys():
            del moved[OURS][folder], moved[THEIRS][folder]
        moves = [
            move
            for side in (OURS, THEIRS)
            for move in self._followed(side, pairs[side], Following(moved[3 - side], moved[side]))
        ]
        moves.sort(key=lambda move: move.source)
        while moves:
            move = moves.pop(0)
            spot = self._spots.get(move.source)
            if spot is None or spot.settled or spot.files[BASE] is None:
                continue
            if moves and moves[0].source == move.source:
                self._both_moved(spot, move, moves.pop(0))
            else:
                self._moved(spot, move)

    def _find(self, side: Side) -> tuple[dict[bytes, bytes], FolderCounts]:
        counts = FolderCounts(side.away)
        if not side.relevant or not side.came:
            return {}, counts
        found = find_renames(self._store, side.gone, side.came, empties=False, relevant=side.relevant, folders=counts)
        return found, counts

    # -- folders that moved ---------------------------------------------------------------------------------------------

    def _followed(self, side: int, pairs: dict[bytes, bytes], following: Following) -> list[Move]:
        """List a side's renames; what it has put into folders the other side moved goes along, to be confirmed."""
        sources = {new: old for old, new in pairs.items()}
        came = sorted(self._sides.sides[side].came)
        if following.moves:
            following.expect(came)
        out = []
        for path in came:
            target = self._follow(side, path, following) if following.moves else None
            if target is not None or path in sources:
                out.append(Move(source=sources.get(path, path), target=target or path, side=side))
        return out

    def _follow(self, side: int, path: bytes, following: Following) -> bytes | None:
        target, rivals = following.place_of(path)
        if target is None:
            return None
        if len(rivals) > 1 or self._taken(target, side):
            self.unclear.append(path)
            return None
        self._relocate(path, target, side)
        return target

    def _taken(self, path: bytes, side: int) -> bool:
        """Tell whether a side, or everybody, has something at a path, or a file where a folder above it must be."""
        spot = self._spots.get(path)
        taken = spot.settled or bool((spot.present | spot.folders) & 1 << side) if spot else self._sides.unchanged(path)
        above = parent(path)
        while above and not taken:
            spot = self._spots.get(above)
            taken = bool(spot.present) if spot is not None else self._sides.unchanged(above, file=True)
            above = parent(above)
        return taken

    def _relocate(self, path: bytes, target: bytes, side: int) -> None:
        """Take a side's added file to where its folder went, beside what others have there."""
        spot = self._spots[path]
        entry = spot.files[side]
        if spot.folders:
            self._spots[path] = evolve(spot, files=[None, None, None])
        else:
            del self._spots[path]
        there = self._spots.get(target)
        if there is None:
            there = Spot(files=[None, None, None], names=[target, target, target])
            self._spots[target] = there
        there.files[side] = entry
        there.names[side] = path
        there.disputed, there.kind = True, "file location"

    # -- files that moved -----------------------------------------------------------------------------------------------

    def _both_moved(self, base: Spot, ours: Move, theirs: Move) -> None:
        left, right = self._spots[ours.target], self._spots[theirs.target]
        if ours.target == theirs.target:
            left.files[BASE] = base.files[BASE]
            base.settle(None)
            return
        merged = self._merged(ours.source, base, left, right, (ours.source, ours.target, theirs.target))
        second: Entry | None = merged.entry
        if not merged.clean and merged.entry == left.files[OURS]:
            second = right.files[THEIRS]  # neither could be merged: each path keeps its own
        left.files[OURS], right.files[THEIRS] = merged.entry, second
        for spot in (base, left, right):
            spot.disputed, spot.kind = True, "rename/rename"

    def _merged(
        self, path: bytes, base: Spot, left: Spot, right: Spot, names: tuple[bytes, bytes, bytes]
    ) -> MergedFile:
        """Merge the contents of a file that a rename took elsewhere; its markers are wider, since it may be merged again."""
        ours, theirs = left.files[OURS], right.files[THEIRS]
        assert ours is not None
        assert theirs is not None
        versions = Versions(base=base.files[BASE], ours=ours, theirs=theirs, names=names)
        return self._merge(path, versions, wider=1)

    def _moved(self, old: Spot, move: Move) -> None:
        """One side moved a file; the other changed it, removed it or put something else in its place."""
        side, other = move.side, 3 - move.side
        new = self._spots[move.target]
        mine, changed = new.files[side], old.files[other]
        removed = old.present == 1
        if not removed and changed is None:
            return
        meets = new.files[other] is not None
        other_kind = not removed and (kind_of(changed) == REGULAR) != (kind_of(mine) == REGULAR)
        if other_kind:
            meets = False
        if meets and not removed:
            self._meets(old, new, move)
        elif meets:
            new.disputed, new.kind = True, "rename/delete"
        else:
            new.files[BASE] = old.files[BASE]
            new.names[BASE] = move.source
            if other_kind:
                old.files[BASE] = None
            elif removed:
                new.disputed, new.kind = True, "rename/delete"
            else:
                new.files[other], new.names[other] = changed, move.source
        if not other_kind:
            old.settle(None)

    def _meets(self, old: Spot, new: Spot, move: Move) -> None:
        """The moved file, merged with the other side's changes, meets another file of that side at its new name."""
        names = [move.source, move.source, move.source]
        names[move.side] = move.target
        left, right = (new, old) if move.side == OURS else (old, new)
        merged = self._merged(move.source, old, left, right, (names[0], names[1], names[2]))
        new.files[move.side] = merged.entry
        if not merged.clean:
            new.kind = "rename/add"
