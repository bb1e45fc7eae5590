"""The git work of one run, synchronous; its callers take turns (``service``). Law: each step is whole or did not happen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import Factory, define

from ggactors.protocol.git import Landing, MainRestored, Merged, MergeFailed, OpenedWorktree, SealBlocked, Sealed
from ggactors.repo import worktrees
from ggactors.repo.apply import Move, move_checkout
from ggactors.repo.commits import compose, snapshot, write_commit
from ggactors.repo.faults import InTheWay, RefMoved, show
from ggactors.repo.history import contains, merge_bases
from ggactors.repo.index import Index
from ggactors.repo.keep import keep_commit, put_back, save_work
from ggactors.repo.landing import Held, Lander
from ggactors.repo.own import BASES
from ggactors.repo.refs import HEADS
from ggactors.repo.sealing import Blocked, commit_here, seal
from ggactors.repo.stats import file_changes, summary
from ggactors.repo.textmerge import Labels
from ggactors.repo.transfer import adopt, carry
from ggactors.repo.treemerge import TreeMerge, merge_commits
from ggactors.repo.trees import diff, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.protocol.git import Signature
    from ggactors.repo.objects import Entry, Sha
    from ggactors.repo.operator import Operator
    from ggactors.repo.place import Place
    from ggactors.repo.worktrees import Grounds


@define(kw_only=True)
class Core:
    """A run's repository, its main workspace and the operator's checkout."""

    run_id: str
    operator: Operator
    grounds: Grounds
    main: Place
    main_ref: bytes
    started_on: bytes | None
    base: Sha
    main_tip: Sha
    in_place: bool
    untouched: Mapping[bytes, Entry | None] = Factory(dict)
    leave: Mapping[bytes, Entry | None] = Factory(dict)

    # -- issues ---------------------------------------------------------------------------------------------------------

    def open_worktree(self, issue: str) -> OpenedWorktree:
        """Make an issue's worktree from main's tip (W2), or give back the one it has (W3)."""
        name = worktrees.flat_name(issue)
        place, branch = self.grounds.place(name), b"gg-" + name
        base_name = BASES + name
        base = place.refs.read(base_name)
        if base is None or not worktrees.exists(place):
            self._clear_remains(place, branch)
            base = self.main_tip
            self._borrow(base)
            worktrees.add(place, branch, base)
            place.refs.move(base_name, base, place.refs.read(base_name), "worktree: base")
        root = os.path.join(place.root, self.operator.prefix) if self.operator.prefix else place.root
        os.makedirs(root, exist_ok=True)
        return OpenedWorktree(
            issue=issue,
            path=os.fsdecode(place.root),
            root=os.fsdecode(root),
            branch=branch.decode(),
            base=base.decode(),
            base_ref=base_name.decode(),
        )

    def _clear_remains(self, place: Place, branch: bytes) -> None:
        """Make room for a worktree where one was broken or begun: what its branch holds is saved first."""
        tip = place.refs.read(HEADS + branch)
        if tip is not None:
            if not contains(self.grounds.store, self.main_tip, tip):
                keep_commit(self.main_of_run, os.path.basename(place.gitdir), tip)
            place.refs.delete(HEADS + branch, tip)
        trash = worktrees.remove(place)
        if trash is not None:
            self.grounds.disk.sweep(trash)

    @property
    def main_of_run(self) -> Place:
        """Give the run's own repository as a place to keep refs in, whatever main is."""
        return self.grounds.place(b"main")

    def _borrow(self, commit: Sha) -> None:
        """In place: own what main's commits brought, so that worktrees do not hang on the operator's store."""
        if self.in_place:
            adopt(self.grounds.store, commit, (self.base,))

    def seal(self, issue: str, signature: Signature, message: str) -> Sealed | SealBlocked:
        """Commit everything unignored of an issue's worktree on its branch (W4)."""
        name = worktrees.flat_name(issue)
        place = self.grounds.place(name)
        base = place.refs.read(BASES + name) or self.base
        sealed = seal(place, b"gg-" + name, base, compose(message, self.run_id, signature), protected=self.main_ref)
        if isinstance(sealed, Sealed):
            adopt(place.store, sealed.commit.encode(), (base,))
        return sealed

    def describe(self, issue: str) -> str:
        """Say what an issue's worktree holds against its base (D5)."""
        name = worktrees.flat_name(issue)
        place = self.grounds.place(name)
        base = place.refs.read(BASES + name)
        if base is None or not worktrees.exists(place):
            return "there is no worktree yet"
        store = place.store
        head = place.refs.head().commit or base
        tree = snapshot(place, Index.read(place.index_path), store.commit(head).tree)
        text = summary(file_changes(store, store.commit(base).tree, tree))
        if tree != store.commit(head).tree:
            text += ", some of it not committed"
        operation = place.operation()
        return text if operation is None else f"{text}; a {operation.name} is unfinished"

    def discard(self, issue: str, *, accepted: bool) -> tuple[str | None, bytes | None]:
        """Tear an issue's worktree and branch down (W5); answer the hidden ref and the folder that waits to be deleted."""
        name = worktrees.flat_name(issue)
        place, branch = self.grounds.place(name), HEADS + b"gg-" + name
        saved: bytes | None = None
        if worktrees.exists(place):
            ending = "accepted" if accepted else "given up"
            message = compose(f"What was left of {issue} when it was {ending}", self.run_id, None)
            saved = save_work(place, name, self.main_tip, branch, message)
        else:
            tip = self.main_of_run.refs.read(branch)
            if tip is not None and not contains(self.grounds.store, self.main_tip, tip):
                saved = keep_commit(self.main_of_run, name, tip)
        trash = worktrees.remove(place)
        refs = self.main_of_run.refs
        refs.delete(branch)
        refs.delete(BASES + name)
        return (None if saved is None else saved.decode()), trash

    # -- main -----------------------------------------------------------------------------------------------------------

    def commit_main(self, signature: Signature | None, message: str) -> Sealed | SealBlocked | None:
        """Commit what was changed in main (M6). None when there was nothing."""
        try:
            commit_here(self.main, compose(message, self.run_id, signature), leave=self.leave)
        except Blocked as blocked:
            return SealBlocked(reason=str(blocked))
        before = self.main_tip
        head = self.main.refs.head()
        if head.ref == self.main_ref and head.commit is not None and contains(self.main.store, head.commit, before):
            self.main_tip = head.commit
        if self.main_tip == before:
            return None
        adopt(self.grounds.store, self.main_tip, (before,))
        store = self.grounds.store
        changed = len(diff(store, store.commit(before).tree, store.commit(self.main_tip).tree))
        return Sealed(commit=self.main_tip.decode(), changed=changed, empty=changed == 0)

    def guard_main(self) -> MainRestored | None:
        """Put main's branch back when it was rewound, switched or lost (M6); what was made is saved."""
        head = self.main.refs.head()
        tip = self.main.refs.read(self.main_ref)
        store = self.grounds.store
        if head.ref == self.main_ref and tip is not None and contains(store, tip, self.main_tip):
            self.main_tip = tip
            return None
        if head.ref != self.main_ref:
            what = f"HEAD was put on {show(head.ref.removeprefix(HEADS)) if head.ref else 'no branch'}"
        else:
            what = f"the branch {show(self.main_ref.removeprefix(HEADS))} was moved off its work"
        message = compose("What a command left in the main workspace", self.run_id, None)
        saved = save_work(self.main, b"main", self.main_tip, self.main_ref, message)
        put_back(self.main, self.main_ref, self.main_tip)
        return MainRestored(
            what=f"{what}; it is back at {self.main_tip[:12].decode()}",
            saved_ref=None if saved is None else saved.decode(),
        )

    def merge(self, issue: str, commit: str, signature: Signature, message: str) -> Merged | MergeFailed:
        """Merge exactly ``commit`` into main, or leave main exactly as it was (M1, M4)."""
        theirs, tip, store = commit.encode(), self.main_tip, self.grounds.store
        if contains(store, tip, theirs):
            return Merged(commit=tip.decode())
        if not merge_bases(store, tip, theirs):
            return MergeFailed(reason="the branch shares no history with main")
        branch = b"gg-" + worktrees.flat_name(issue)
        outcome = self._compute(tip, theirs, branch)
        if outcome.conflicts:
            return MergeFailed(
                reason="conflict", conflicts=tuple(os.fsdecode(path) for path in sorted(outcome.conflicts))
            )
        return self._advance(theirs, outcome, compose(message, self.run_id, signature), f"merge {branch.decode()}")

    def _compute(self, ours: Sha, theirs: Sha, label: bytes) -> TreeMerge:
        store = self.grounds.store
        tree = store.commit(ours).tree
        attributes = self.main.attributes_of(tree, (path for path, _, _ in walk(store, tree)))
        return merge_commits(store, ours, theirs, labels=Labels(ours=b"HEAD", theirs=label), attributes=attributes)

    def _advance(self, theirs: Sha, outcome: TreeMerge, message: bytes, log: str) -> Merged | MergeFailed:
        tip, store = self.main_tip, self.grounds.store
        assert outcome.tree is not None
        made = write_commit(self.main_of_run, outcome.tree, [tip, theirs], message)
        if self.in_place:
            carry(store, self.main.store, made, (tip,), has=self.main.store.has)
        try:
            move_checkout(self.main, Move(ref=self.main_ref, old=tip, new=made, changes=outcome.changes, message=log))
        except InTheWay as error:
            return MergeFailed(reason=str(error))
        except RefMoved as error:
            return MergeFailed(reason=str(error))
        self.main_tip = made
        return Merged(commit=made.decode())

    # -- the operator ---------------------------------------------------------------------------------------------------

    def land(self) -> Landing:
        """Move the operator's checkout forward to main's tip, all or nothing (W10). In place there is nothing to move."""
        if self.in_place:
            tip = self.main_tip.decode()
            return Landing(source=tip, target=tip)
        return Lander(
            operator=self.operator.place,
            store=self.grounds.store,
            started_on=self.started_on,
            untouched=self.untouched,
            tip=lambda: self.main_tip,
            take_in=self._take_in,
        ).land()

    def _take_in(self, source: Sha) -> Sha | Held:
        """Merge the operator's tip into the run's main at tree level (W10); a conflict holds the landing."""
        store, tip = self.grounds.store, self.main_tip
        if not merge_bases(store, tip, source):
            return Held(reason="diverged", detail="the branch shares no history with the run's work any more")
        outcome = self._compute(tip, source, b"operator")
        if outcome.conflicts:
            return Held(
                reason="diverged",
                detail="the branch gained commits that conflict with the run's work; merge the run's branch by hand",
                paths=tuple(sorted(outcome.conflicts)),
            )
        adopt(store, source, (self.base,))
        message = compose("Merge what the operator committed meanwhile", self.run_id, None)
        merged = self._advance(source, outcome, message, "merge operator's commits")
        if isinstance(merged, MergeFailed):
            return Held(reason="diverged", detail=merged.reason)
        return self.main_tip

    def close(self) -> None:
        """Leave nothing of the run registered or locked."""
        self.operator.place.store.close()
        self.grounds.store.close()
