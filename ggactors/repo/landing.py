"""Moves the operator's checkout to the run's work (W10). Law: all or nothing, forward only, no byte of theirs written over."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from ggactors.protocol.git import Landing
from ggactors.repo.apply import Move, move_checkout
from ggactors.repo.collecting import no_collection
from ggactors.repo.conversions import WHY, new_conversion
from ggactors.repo.faults import GitFault, InTheWay, RefMoved, explain, show
from ggactors.repo.history import contains
from ggactors.repo.journal import recover
from ggactors.repo.operator import filter_set
from ggactors.repo.preflight import Preflight
from ggactors.repo.transfer import carry
from ggactors.repo.trees import diff, targets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ggactors.repo.index import Index
    from ggactors.repo.objects import Entry, Objects, Sha
    from ggactors.repo.place import Place

TRIES = 3


@frozen(kw_only=True)
class Held:
    """Why the operator's checkout does not move: a reason of ``checkout_moved``, the paths, and words for the operator."""

    reason: str
    detail: str
    paths: tuple[bytes, ...] = ()


@frozen(kw_only=True)
class Lander:
    """What landing needs to know. ``take_in`` merges the operator's tip into the run's main and answers main's tip or Held."""

    operator: Place
    store: Objects
    started_on: bytes | None
    untouched: Mapping[bytes, Entry | None]
    tip: Callable[[], Sha]
    take_in: Callable[[Sha], Sha | Held]

    def land(self) -> Landing:
        """Move the checkout, or say what holds it. Never raises for what the operator's repository is like."""
        source = b""
        try:
            head = self.operator.refs.head()
            source = head.commit or b""
            recover(self.operator)
            for _ in range(TRIES):
                found = self._once()
                if found is not None:
                    return found
            return self._held(source, Held(reason="diverged", detail="the branch keeps moving; try again"))
        except OSError as error:
            return self._held(source, Held(reason="write-failed", detail=explain(error)))
        except GitFault as error:
            return self._held(source, Held(reason="write-failed", detail=str(error)))

    def _once(self) -> Landing | None:
        """Try once; None when the branch moved meanwhile."""
        operator = self.operator
        head = operator.refs.head()
        tip = self.tip()
        source = head.commit
        if source is not None and contains(self.store, source, tip):
            return Landing(source=source.decode(), target=source.decode())
        held = self._standing_in_the_way(head.ref)
        if held is not None or source is None or head.ref is None:
            return self._held(source or b"", held or Held(reason="detached", detail="the workspace has no commit"))
        if not contains(self.store, tip, source):
            merged = self.take_in(source)
            if isinstance(merged, Held):
                return self._held(source, merged)
            tip = merged
        before = self.store.commit(source).tree
        after = self.store.commit(tip).tree
        changes = targets(diff(self.store, before, after))
        move = Move(
            ref=head.ref, old=source, new=tip, changes=changes, untouched=self.untouched,
            message=f"ggactors: landed {tip[:12].decode()}: Fast-forward",
        )  # fmt: skip
        try:
            index = operator.index()
            unfit = self._unfit(index, before, after)
            if unfit is not None:
                return self._held(source, unfit)
            Preflight(operator, index, before, changes, ends=operator.line_ends(index), untouched=self.untouched).run()
            with no_collection(operator):
                carry(self.store, operator.store, tip, (source,), has=operator.store.has)
                move_checkout(operator, move)
                carry(self.store, operator.store, tip, (source,), has=operator.store.has)  # a prune may heed no mark
        except InTheWay as error:
            return self._held(source, Held(reason="dirty", detail=str(error), paths=tuple(error.paths)))
        except RefMoved:
            return None
        return Landing(source=source.decode(), target=tip.decode())

    def _unfit(self, index: Index, before: Sha, after: Sha) -> Held | None:
        """Hold where the operator's git would convert what is landed, by attributes that came up since the run began (H14)."""
        found = filter_set(self.operator, index)
        if found is not None:
            where, setting = found
            return Held(reason="write-failed", detail=f"{show(where)} sets {show(setting)} now: {WHY}; take that out")
        why = new_conversion(evolve(self.operator, store=self.store), before, after)
        return None if why is None else Held(reason="write-failed", detail=f"{why}; take that line out")

    def _standing_in_the_way(self, ref: bytes | None) -> Held | None:
        operation = self.operator.operation()
        if operation is not None:
            return Held(
                reason="operation-in-progress",
                detail=f"a {operation.name} is going on in the workspace; end it with `{operation.way_out}`",
            )
        if ref is None:
            return Held(reason="detached", detail="the workspace is on no branch; `git switch` to one")
        if self.started_on is not None and ref != self.started_on:
            return Held(
                reason="branch-elsewhere",
                detail=f"the workspace is on {_short(ref)} now, the run began on {_short(self.started_on)}; switch back",
            )
        other = checked_out_elsewhere(self.operator, ref)
        if other is not None:
            return Held(
                reason="branch-elsewhere", detail=f"{_short(ref)} is also checked out in {show(other)}; switch that one"
            )
        return None

    @staticmethod
    def _held(source: Sha, held: Held) -> Landing:
        text = source.decode()
        paths = tuple(os.fsdecode(path) for path in held.paths)
        return Landing(source=text, target=text, held=paths, reason=held.reason, detail=held.detail)


def _short(ref: bytes) -> str:
    return show(ref.removeprefix(b"refs/heads/"))


def checked_out_elsewhere(place: Place, ref: bytes) -> bytes | None:
    """Find another working tree of this repository that stands on a branch; answer where it is."""
    admin = os.path.join(place.common, b"worktrees")
    gitdirs = [os.path.join(admin, name) for name in os.listdir(admin)] if os.path.isdir(admin) else []
    for gitdir in [place.common, *gitdirs]:
        if os.path.realpath(gitdir) == os.path.realpath(place.gitdir):
            continue
        try:
            with open(os.path.join(gitdir, b"HEAD"), "rb") as file:
                if file.read().strip() != b"ref: " + ref:
                    continue
            if gitdir == place.common:
                return os.path.dirname(gitdir)
            with open(os.path.join(gitdir, b"gitdir"), "rb") as file:
                root = os.path.dirname(file.read().strip())
        except OSError:
            continue
        if os.path.isdir(root):
            return root
    return None
