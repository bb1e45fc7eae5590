"""Opens a run's git work on a workspace. Law: what stands against it is said before anything is written (P2, W1)."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from ggactors.ports import LaunchRefused
from ggactors.protocol.git import RepositoryFacts
from ggactors.protocol.values import Problem
from ggactors.repo import aside, conflicts, own, worktrees
from ggactors.repo.baseline import commit_baseline, make_repository
from ggactors.repo.commits import compose, snapshot, write_commit
from ggactors.repo.core import Core
from ggactors.repo.faults import GitFault, explain, show
from ggactors.repo.journal import recover
from ggactors.repo.objects import GITLINK
from ggactors.repo.operator import Operator, find, inspect_workspace, uncommitted
from ggactors.repo.refs import HEADS
from ggactors.repo.sealing import commit_here
from ggactors.repo.settings import agent_environment
from ggactors.repo.transfer import adopt
from ggactors.repo.trees import diff, targets, walk
from ggactors.repo.worktrees import Grounds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ggactors.repo.disk import Disk
    from ggactors.repo.objects import Entry, Sha
    from ggactors.repo.place import Place

SNAPSHOT = b"refs/ggactors/snapshot"


@frozen(kw_only=True)
class Wish:
    """How a run wants its git work."""

    run_id: str
    run_dir: Path
    checkout: str
    include_dirty: bool = False
    large_baseline: bool = False


@frozen(kw_only=True)
class Opened:
    """The git work of a run, ready, and what is to be known of it."""

    core: Core
    facts: RepositoryFacts


def refuse(what: str, remedy: str) -> LaunchRefused:
    """Make the refusal of a workspace."""
    return LaunchRefused([Problem(path="workspace", what=what, remedy=remedy)])


def open_core(workspace: Path, wish: Wish, note: Callable[[str], None], disk: Disk) -> Opened:
    """Open, or open again, the run's repository on a workspace. Raises LaunchRefused, OSError, GitFault."""
    problems = inspect_workspace(
        workspace, checkout=wish.checkout, run_state=wish.run_dir, large_baseline=wish.large_baseline
    )
    if problems:
        raise LaunchRefused(problems)
    notes: list[str] = []

    def tell(text: str) -> None:
        notes.append(text)
        note(text)

    operator = _with_baseline(os.fsencode(workspace), disk, tell)
    _finish_interrupted(operator.place, tell)
    opener = _Opener(operator, wish, tell, disk)
    try:
        core = opener.core()
        root = os.path.join(core.main.root, operator.prefix) if operator.prefix else core.main.root
        os.makedirs(root, exist_ok=True)
    except BaseException:
        opener.let_go()
        raise
    facts = RepositoryFacts(
        main=os.fsdecode(core.main.root),
        root=os.fsdecode(root),
        base=core.base.decode(),
        branch=os.fsdecode(core.main_ref.removeprefix(HEADS)),
        repository=os.fsdecode(core.grounds.common),
        dirty=tuple(os.fsdecode(path) for path in sorted(opener.dirty)),
        notes=tuple(notes),
        git_env=agent_environment(core.grounds.settings),
    )
    return Opened(core=core, facts=facts)


def _with_baseline(workspace: bytes, disk: Disk, tell: Callable[[str], None]) -> Operator:
    """Find the operator's repository, making it and its first commit where there is none (W1)."""
    operator = find(workspace, disk=disk)
    made = operator is None
    if operator is None:
        operator = Operator(place=make_repository(os.path.realpath(workspace), disk), prefix=b"")
    if operator.place.refs.head().commit is None:
        try:
            commit_baseline(operator.place, b"Baseline before a crew's work\n")
        except BaseException:
            if made:
                disk.sweep(operator.place.gitdir)
            raise
        tell(
            f"{show(operator.place.root)} was {'no repository' if made else 'without a commit'}: "
            "a baseline commit of what is there was made"
        )
    return operator


def _finish_interrupted(place: Place, tell: Callable[[str], None]) -> None:
    outcome = recover(place)
    if outcome is not None:
        tell(f"a move of {show(place.root)} that a dead process left was {outcome}")


class _Opener:
    """The steps from an operator's repository to a run's core."""

    def __init__(self, operator: Operator, wish: Wish, tell: Callable[[str], None], disk: Disk) -> None:
        self._operator, self._wish, self._tell, self._disk = operator, wish, tell, disk
        self._path = os.path.join(os.fsencode(wish.run_dir), b"repo.git")
        self.dirty: dict[bytes, Entry | None] = {}
        self._held: Sha | None = None

    def let_go(self) -> None:
        """Take back the ref this launch made in the operator's repository: it was refused (P2)."""
        if self._held is not None:
            with suppress(OSError, GitFault):
                self._operator.place.refs.delete(own.base_ref(self._wish.run_id), self._held)

    def core(self) -> Core:
        operator, wish = self._operator, self._wish
        head = operator.place.refs.head()
        assert head.commit is not None
        base = head.commit
        self._check_tree(base)
        in_place = wish.checkout == "inPlace"
        self.dirty = uncommitted(operator.place, operator.place.store.commit(base).tree)
        again = os.path.isdir(self._path)
        branch = head.ref.removeprefix(HEADS) if in_place and head.ref is not None else own.branch_for(head.ref)
        if not again:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            self._hold(base)
            own.create(self._path, operator.place, base, branch, self._disk, private=not in_place)
        store, settings = own.open_own(self._path, self._disk)
        grounds = Grounds(
            common=self._path,
            folder=os.path.join(os.fsencode(wish.run_dir), b"worktrees"),
            store=store,
            settings=settings,
            disk=self._disk,
        )
        if again:
            worktrees.clear_stale_locks(self._path)
            worktrees.drop_half_made(grounds)
        if in_place:
            return self._in_place(grounds, base, branch)
        began = own.began_on(
            self._path
        )  # the operator may be on another branch by now: landing stays with this one (W10)
        return self._private(grounds, own.main_branch(self._path) or HEADS + branch, began)

    def _check_tree(self, commit: Sha) -> None:
        """Refuse what the commit itself holds and the index no longer shows; a partial clone must have the files it shows."""
        store = self._operator.place.store
        partial = any(name == "partialclone" for name, _ in self._operator.place.settings.extensions)
        for path, mode, sha in walk(store, store.commit(commit).tree):
            if mode == GITLINK:
                raise refuse(
                    f"the checked-out commit has a submodule at {show(path)}", "submodules do not work in this version"
                )
            if partial and not store.has(sha):
                raise refuse(
                    f"the partial clone lacks {show(path)} of the checked-out commit",
                    "`git checkout HEAD -- .` fetches it",
                )

    def _hold(self, base: Sha) -> None:
        """Keep the base from the operator's collections by one ref; a repository that cannot be written is told."""
        name = own.base_ref(self._wish.run_id)
        refs = self._operator.place.refs
        try:
            now = refs.read(name)
            if now != base:
                refs.move(name, base, now, "run: base")
                self._held = base
        except OSError as error:
            self._tell(
                f"the base commit could not be held in your repository ({explain(error)}); landing will be held as well"
            )

    def _private(self, grounds: Grounds, ref: bytes, started_on: bytes | None) -> Core:
        main = evolve(grounds.place(b"main"), root=os.path.join(os.fsencode(self._wish.run_dir), b"main"))
        refs = main.refs
        start = refs.read(own.START)
        assert start is not None
        if self._wish.include_dirty and self.dirty and refs.read(SNAPSHOT) is None:
            self._take_snapshot(main, ref, start)
        if not worktrees.exists(main):
            worktrees.remove(main)
            tip = refs.read(ref)
            assert tip is not None
            worktrees.add(main, ref.removeprefix(HEADS), tip, new_branch=False)
        _finish_interrupted(main, self._tell)
        self._take_back_conflict(main, grounds)
        taken = refs.read(SNAPSHOT)
        untouched: dict[bytes, Entry | None] = {}
        if taken is not None:
            store = main.store
            untouched = targets(diff(store, store.commit(start).tree, store.commit(taken).tree))
        elif self.dirty:
            self._tell(f"{len(self.dirty)} uncommitted path(s) of yours are left alone; --include-dirty takes them in")
        operation = self._operator.place.operation()
        if operation is not None:
            self._tell(
                f"a {operation.name} is going on in the workspace: the run starts from HEAD, landing is held until it has ended"
            )
        tip = refs.read(ref)
        assert tip is not None
        return Core(
            run_id=self._wish.run_id, operator=self._operator, grounds=grounds, main=main, main_ref=ref,
            started_on=started_on, base=taken or start, main_tip=tip, in_place=False, untouched=untouched,
        )  # fmt: skip

    def _take_back_conflict(self, main: Place, grounds: Grounds) -> None:
        """Abort a conflicted merge that a dead process left in place (M4)."""
        pending = conflicts.read_record(main)
        if pending is not None:
            text = compose("What a merge agent left in the main workspace", self._wish.run_id, None)
            conflicts.abort(main, grounds.place(b"main"), pending, text)
            if main.root == self._operator.place.root:
                aside.bring_back(main, grounds.common)
            self._tell("a conflicted merge that a dead process left in the main workspace was taken back")

    def _take_snapshot(self, main: Place, ref: bytes, start: Sha) -> None:
        """Make the operator's uncommitted work the run's first commit, in the run's own repository alone (W11)."""
        operator = evolve(self._operator.place, store=main.store)
        tree = snapshot(operator, operator.index(), main.store.commit(start).tree, into_nested=False)
        message = compose("Uncommitted work of the operator at the start", self._wish.run_id, None)
        commit = write_commit(main, tree, [start], message)
        adopt(main.store, commit, (start,))
        main.refs.move(SNAPSHOT, commit, None, "run: snapshot")
        main.refs.move(ref, commit, main.refs.read(ref), "run: snapshot of uncommitted work")

    def _in_place(self, grounds: Grounds, base: Sha, branch: bytes) -> Core:
        place = evolve(self._operator.place, locks="shared")
        ref = HEADS + branch
        self._take_back_conflict(place, grounds)
        leave = dict(self.dirty)
        self._tell("agents work in your own checkout (in place): what they and their commands do to it is not undone")
        if self._wish.include_dirty and self.dirty:
            message = compose("Uncommitted work of the operator at the start", self._wish.run_id, None)
            base = commit_here(place, message, leave={}) or base
            leave = {}
        tip = place.refs.read(ref) or base
        return Core(
            run_id=self._wish.run_id, operator=self._operator, grounds=grounds, main=place, main_ref=ref,
            started_on=ref, base=base, main_tip=tip, in_place=True, leave=leave,
        )  # fmt: skip
