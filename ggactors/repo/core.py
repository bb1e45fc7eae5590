"""The git work of one run, synchronous; its callers take turns (``service``). Law: each step is whole or did not happen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import Factory, define, evolve

from ggactors.protocol.git import (
    ConflictLeft,
    Landing,
    MainRestored,
    Merged,
    MergeFailed,
    Resolved,
    SealBlocked,
    Sealed,
    Unresolved,
)
from ggactors.repo import aside, conflicts, dropped, mend, strangers, worktrees
from ggactors.repo.apply import Move, move_checkout
from ggactors.repo.commits import compose, write_commit
from ggactors.repo.conversions import new_conversion
from ggactors.repo.faults import InTheWay, RefMoved, show
from ggactors.repo.history import contains, merge_bases
from ggactors.repo.issues import branch_of
from ggactors.repo.keep import put_back, save_work
from ggactors.repo.landing import Held, Lander
from ggactors.repo.pool import Pool
from ggactors.repo.refs import HEADS
from ggactors.repo.retarget import Untracked
from ggactors.repo.sealing import Blocked, commit_here
from ggactors.repo.textmerge import Labels
from ggactors.repo.transfer import adopt, carry, unsound
from ggactors.repo.treemerge import TreeMerge, merge_commits
from ggactors.repo.trees import diff

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.protocol.git import Signature
    from ggactors.repo.conflicts import Pending
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

    pool: Pool = Factory(lambda self: Pool(self.grounds), takes_self=True)
    conflict: Pending | None = None
    """A conflicted merge left in place, until main is next moved."""
    left: Sha | None = None
    """The tree that was in main when those who work in it were last done; None for the tip's own."""
    looked: int = Factory(lambda self: dropped.log_size(self.main), takes_self=True)
    """How long main's log was when main was last looked at."""

    def place_of(self, issue: str) -> Place:
        """Describe an issue's worktree, made or not."""
        return self.grounds.place(worktrees.flat_name(issue))

    @property
    def vault(self) -> Place:
        """Give the run's own repository as a place to keep refs in, whatever main is."""
        return self.grounds.place(b"main")

    # -- main -----------------------------------------------------------------------------------------------------------

    def commit_main(self, signature: Signature | None, message: str) -> Sealed | SealBlocked | None:
        """Commit what was changed in main (M6). None when there was nothing."""
        self._mend()
        try:
            commit_here(self.main, compose(message, self.run_id, signature), leave=self.leave, base=self.base)
        except Blocked as blocked:
            return SealBlocked(reason=str(blocked))
        self.conflict = self.left = None
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
        mended = self._mend()
        self._straighten()
        head = self.main.refs.head()
        tip = self.main.refs.read(self.main_ref)
        store = self.grounds.store
        why = None if tip is None else unsound(self.main.store, tip, (self.main_tip,))
        if head.ref == self.main_ref and tip is not None and why is None and contains(store, tip, self.main_tip):
            self.main_tip = tip
            kept = self._keep_dropped()
            if kept is None:
                return None if mended is None else MainRestored(what=mended, saved_ref=None)
            return MainRestored(what="commits it had made itself are dropped again", saved_ref=kept, undone=False)
        if head.ref != self.main_ref:
            what = f"HEAD was put on {show(head.ref.removeprefix(HEADS)) if head.ref else 'no branch'}"
        else:
            what = why or f"the branch {show(self.main_ref.removeprefix(HEADS))} was moved off its work"
        message = compose("What a command left in the main workspace", self.run_id, None)
        saved = save_work(self.main, self.vault, b"main", self.main_tip, self.main_ref, message)
        also = self._keep_dropped()
        saved = saved or (None if also is None else also.encode())
        put_back(self.main, self.main_ref, self.main_tip)
        self.looked = dropped.log_size(self.main)
        return MainRestored(
            what=f"{what}; it is back at {self.main_tip[:12].decode()}",
            saved_ref=None if saved is None else saved.decode(),
        )

    def _mend(self) -> str | None:
        """Make main a working tree that git knows again when a command removed it (M6); say so, None when it was whole."""
        if self.in_place or mend.whole(self.main):
            return None
        done = mend.put_together(self.main, self.main_ref.removeprefix(HEADS), self.main_tip)
        self.looked = dropped.log_size(self.main)
        return f"the main workspace or its .git file was gone: {done}"

    def _straighten(self) -> None:
        """Make main's branch a plain one again when a command made it symbolic: it may point to itself, and stop every merge."""
        if self.main.refs.is_symbolic(self.main_ref):
            self.main.refs.put_plain(self.main_ref, self.main_tip)

    def leave_main(self) -> None:
        """Take note of main as those who work in it leave it: the commit it is on, and what lies there uncommitted."""
        if self.in_place or self.conflict is not None:
            return
        self._mend()
        self._straighten()
        head, store = self.main.refs.head(), self.grounds.store
        whole = head.commit is not None and unsound(store, head.commit, (self.main_tip,)) is None
        if (
            head.ref == self.main_ref
            and head.commit is not None
            and whole
            and contains(store, head.commit, self.main_tip)
        ):
            self.main_tip = head.commit
        self.left = strangers.lying(self.main, self.main_tip)

    def restore_main(self) -> MainRestored | None:
        """Put main back as it was left (M6, R7). In place it is the operator's own, and a merge in it is its agent's."""
        if self.in_place or self.conflict is not None:
            return None
        mended = self._mend()
        self._straighten()
        message = compose("What was written into the main workspace by none of its agents", self.run_id, None)
        found = strangers.put_back(self.main, self.vault, self.main_ref, self.main_tip, self.left, message)
        self.looked = dropped.log_size(self.main) if found is not None else self.looked
        if mended is None:
            return found
        if found is None:
            return MainRestored(what=mended, saved_ref=None)
        return evolve(found, what=f"{mended}; {found.what}")

    def _keep_dropped(self) -> str | None:
        """Save what a command committed and dropped since main was last looked at; answer the hidden ref, or None."""
        since, self.looked = self.looked, dropped.log_size(self.main)
        kept = dropped.save_dropped(self.main, self.vault, self.main_tip, since) if self.looked > since else None
        return None if kept is None else kept.decode()

    def merge(self, issue: str, commit: str, signature: Signature, message: str) -> Merged | MergeFailed:
        """Merge exactly ``commit`` into main, or leave main exactly as it was (M1, M4)."""
        theirs, tip, store = commit.encode(), self.main_tip, self.grounds.store
        self._mend()
        if contains(store, tip, theirs):
            return Merged(commit=tip.decode())
        why = unsound(store, theirs, (tip,))
        if why is not None:
            return MergeFailed(reason=why)
        if not merge_bases(store, tip, theirs):
            return MergeFailed(reason="the branch shares no history with main")
        branch = branch_of(issue)
        self.conflict = None
        outcome = self._compute(tip, theirs, branch)
        if not outcome.clean:
            return MergeFailed(reason="conflict", conflicts=tuple(os.fsdecode(path) for path in outcome.paths))
        assert outcome.tree is not None
        why = self._conversion(outcome.tree)
        if why is not None:
            return MergeFailed(reason=why)
        return self._advance(theirs, outcome, compose(message, self.run_id, signature), f"merge {branch.decode()}")

    def _compute(self, ours: Sha, theirs: Sha, label: bytes) -> TreeMerge:
        store = self.grounds.store
        tree = store.commit(ours).tree
        attributes = self.main.attributes_of(tree)
        return merge_commits(store, ours, theirs, labels=Labels(ours=b"HEAD", theirs=label), attributes=attributes)

    def _conversion(self, tree: Sha) -> str | None:
        """Say what a tree of main would ask for that is not done here, beyond what the run began with."""
        return new_conversion(self.vault, self.grounds.store.commit(self.base).tree, tree)

    def _advance(self, theirs: Sha, outcome: TreeMerge, message: bytes, log: str) -> Merged | MergeFailed:
        tip, store = self.main_tip, self.grounds.store
        assert outcome.tree is not None
        made = write_commit(self.vault, outcome.tree, [tip, theirs], message)
        if self.in_place:
            carry(store, self.main.store, made, (tip,), has=self.main.store.has)
        try:
            move_checkout(self.main, Move(ref=self.main_ref, old=tip, new=made, changes=outcome.changes, message=log))
        except InTheWay as error:
            return MergeFailed(reason=str(error))
        except RefMoved as error:
            return MergeFailed(reason=str(error))
        self.main_tip = made
        if self.left is not None:
            self.left = strangers.lying(self.main, made)
        return Merged(commit=made.decode())

    # -- a conflict left in place ---------------------------------------------------------------------------------------

    def begin_conflict(
        self, issue: str, commit: str, signature: Signature, message: str
    ) -> ConflictLeft | Merged | MergeFailed:
        """Leave the conflicted merge of ``commit`` in place in main, as git would (M2); one that is clean is simply made."""
        theirs, branch = commit.encode(), branch_of(issue)
        self._mend()
        tip, store = self.main_tip, self.grounds.store
        if contains(store, tip, theirs) or not merge_bases(store, tip, theirs):
            return self.merge(issue, commit, signature, message)
        outcome = self._compute(tip, theirs, branch)
        if outcome.clean:
            return self.merge(issue, commit, signature, message)
        if self.in_place:
            carry(store, self.main.store, theirs, (tip,), has=self.main.store.has)
            self._carry_blobs(outcome)
            aside.set_aside(self.main, self.grounds.common)
        text = compose(message, self.run_id, signature)
        try:
            self.conflict = conflicts.begin(self.main, self.main_ref, theirs, outcome, text, branch)
        except (InTheWay, RefMoved) as error:
            return MergeFailed(reason=str(error))
        return ConflictLeft(conflicts=tuple(os.fsdecode(path) for path in self.conflict.paths))

    def _carry_blobs(self, outcome: TreeMerge) -> None:
        """In place: give the operator's store the texts the merge made, which only the run's has."""
        entries = [entry for entry in outcome.changes.values() if entry is not None]
        entries += [conflict.left for conflict in outcome.conflicts.values() if conflict.left is not None]
        for _, sha in entries:
            if not self.main.store.has(sha):
                self.main.store.write(*self.grounds.store.raw(sha))

    def resolution(self) -> Resolved | Unresolved:
        """Ask git whether the merge left in place is concluded as it must be (M3); new untracked leftovers are saved and go."""
        if self.conflict is None:
            return Unresolved(reason="no merge is left in place")
        self._mend()
        found = conflicts.resolution(self.main, self.conflict)
        if isinstance(found, Unresolved):
            return found
        tip = found.commit.encode()
        why = unsound(self.main.store, tip, (self.conflict.tip, self.conflict.theirs)) or self._conversion(
            self.grounds.store.commit(tip).tree
        )
        if why is not None:
            return Unresolved(reason=why)
        saved = None
        if not self.in_place:
            text = compose("What a merge agent left in the main workspace", self.run_id, None)
            saved = save_work(self.main, self.vault, b"main", tip, None, text)
            if saved is not None:
                put_back(self.main, self.main_ref, tip, untracked=Untracked.UNIGNORED_GO)
        if self.in_place:
            aside.bring_back(self.main, self.grounds.common)
        adopt(self.grounds.store, tip, (self.conflict.tip,))
        self.main_tip, self.left = tip, None
        conflicts.drop_record(self.main)
        return evolve(found, saved_ref=None if saved is None else saved.decode())

    def abort_conflict(self) -> str | None:
        """Put main back exactly as it was before the conflict (M4), saving to a hidden ref what that drops."""
        if self.conflict is None:
            return None
        self._mend()
        text = compose("What a merge agent left in the main workspace", self.run_id, None)
        saved = conflicts.abort(self.main, self.vault, self.conflict, text)
        if self.in_place:
            aside.bring_back(self.main, self.grounds.common)
        self.main_tip = self.conflict.tip
        self.conflict = self.left = None
        return None if saved is None else saved.decode()

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
        if not outcome.clean:
            return Held(
                reason="diverged",
                detail="the branch gained commits that conflict with the run's work; merge the run's branch by hand",
                paths=outcome.paths,
            )
        assert outcome.tree is not None
        why = self._conversion(outcome.tree)
        if why is not None:
            return Held(reason="write-failed", detail=f"with the branch's new commits {why}; take that line out")
        adopt(store, source, (self.base,))
        message = compose("Merge what the operator committed meanwhile", self.run_id, None)
        merged = self._advance(source, outcome, message, "merge operator's commits")
        if isinstance(merged, MergeFailed):
            return Held(reason="diverged", detail=merged.reason)
        return self.main_tip

    def close(self) -> None:
        """Leave nothing of the run registered or locked, no waiting worktree and no trash."""
        self.pool.close()
        self.operator.place.store.close()
        self.grounds.store.close()
