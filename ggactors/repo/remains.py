"""What an ended run has left: its own repository, and the operator's as far as it can still be found (W5, W8, W10).

Law: looks only, also beside a living run; what cannot be read is said and never taken for nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from ggactors.protocol.git import SavedWork, Standing
from ggactors.repo import own
from ggactors.repo.disk import Disk
from ggactors.repo.faults import GitFault, Malformed, MissingObject, explain, show
from ggactors.repo.history import contains, merge_bases
from ggactors.repo.leftovers import open_work
from ggactors.repo.objects import TAG
from ggactors.repo.operator import Operator, find, open_place
from ggactors.repo.refs import HEADS
from ggactors.repo.stats import file_changes, summary
from ggactors.repo.worktrees import Grounds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ggactors.repo.objects import Objects, Sha
    from ggactors.repo.place import Place

SNAPSHOT = b"refs/ggactors/snapshot"
OURS = b"refs/ggactors/"
LATE_LOOKED_AT = 20_000


@frozen(kw_only=True)
class Remains:
    """A run's repository and the operator's. ``checkout`` is false when the operator's working tree is gone and only refs and
    objects were found; ``trouble`` says what could not be found.
    """

    run_id: str
    grounds: Grounds
    main: Place
    in_place: bool
    main_ref: bytes
    operator: Operator | None
    checkout: bool
    trouble: str

    @property
    def vault(self) -> Place:
        """Give the run's repository as a place that keeps refs."""
        return self.grounds.place(b"main")

    @property
    def tip(self) -> Sha | None:
        """Read where the run's main branch is; None in place."""
        return None if self.in_place else self.vault.refs.read(self.main_ref)

    @property
    def known(self) -> Sha | None:
        """Give the commit that all work is compared with: main's tip, in place what the run began with."""
        return self.tip or self.vault.refs.read(SNAPSHOT) or self.vault.refs.read(own.START)

    def close(self) -> None:
        """Let mapped packs go."""
        self.grounds.store.close()
        if self.operator is not None:
            self.operator.place.store.close()


def find_remains(run_id: str, run_dir: Path, workspace: str | None, *, disk: Disk | None = None) -> Remains | None:
    """Find what a run left in its folder; None when it had no repository of its own. Raises OSError, GitFault."""
    folder = os.fsencode(run_dir)
    path = os.path.join(folder, b"repo.git")
    if not os.path.isdir(path):
        left = os.path.join(folder, b"worktrees")
        if os.path.isdir(left) and os.listdir(left):
            raise Malformed(
                f"{show(path)} is gone, and files of its worktrees still lie in {show(left)}; take what you need"
            )
        return None
    disk = disk or Disk()
    store, settings = own.open_own(path, disk)
    grounds = Grounds(common=path, folder=os.path.join(folder, b"worktrees"), store=store, settings=settings, disk=disk)
    main = evolve(grounds.place(b"main"), root=os.path.join(folder, b"main"))
    refs = main.refs
    main_ref = own.main_branch(path)
    if main_ref is None:
        raise Malformed(f"{show(path)} is on no branch; `git symbolic-ref HEAD refs/heads/…` names the run's own")
    operator, checkout, trouble = _find_operator(workspace, store, disk)
    start = refs.read(own.START)
    if operator is not None and start is not None and not operator.place.store.has(start):
        operator.place.store.close()
        trouble = f"{show(operator.place.root)} does not hold the commit the run began from; it is another repository"
        operator, checkout = None, False
    return Remains(
        run_id=run_id, grounds=grounds, main=main, main_ref=main_ref, operator=operator, checkout=checkout,
        in_place=not (own.is_private(path) or os.path.isdir(main.gitdir)) and refs.read(main_ref) == start, trouble=trouble,
    )  # fmt: skip


def _find_operator(workspace: str | None, store: Objects, disk: Disk) -> tuple[Operator | None, bool, str]:
    """Find the repository the run borrows from: by its workspace, else by the objects it borrows."""
    borrowed = store.borrowed[0] if store.borrowed else None
    trouble = "the run does not say its workspace"
    if workspace:
        try:
            found = find(os.fsencode(workspace), disk=disk)
        except OSError as error:
            found, trouble = None, explain(error)
        except GitFault as error:
            found, trouble = None, str(error)
        else:
            trouble = f"{workspace} is in no repository any more"
        if found is not None:
            if borrowed is None or os.path.realpath(found.place.store.folder) == borrowed:
                return found, True, ""
            found.place.store.close()
            trouble = f"{workspace} is in another repository than the one the run began from"
    common = os.path.dirname(borrowed) if borrowed is not None else b""
    if not common or not os.path.exists(os.path.join(common, b"HEAD")):
        gone = f"; its repository {show(common)} is gone" if common and not os.path.isdir(common) else ""
        return None, False, trouble + gone
    try:
        root = os.path.dirname(common) if os.path.basename(common) == b".git" else common
        return Operator(place=open_place(root, common, disk=disk), prefix=b""), False, trouble
    except (OSError, GitFault) as error:
        return None, False, str(error)


# ---------------------------------------------------------------- where it stands


def standing(remains: Remains, *, deep: bool) -> Standing:
    """Say where the run's work stands. ``deep`` also looks into its worktrees and at the size of what is saved.

    Raises OSError and GitFault for what the run's own repository is like; the operator's is told as trouble.
    """
    refs = remains.vault.refs
    tip = remains.tip
    merged = tip is not None and tip not in (refs.read(own.START), refs.read(SNAPSHOT))
    saved = _saved(remains, sized=deep)
    trouble = remains.trouble if remains.operator is None else ""
    held_by: bytes | None = None
    landed = False
    if remains.operator is not None:
        try:
            goals = {work.commit.encode() for work in saved}
            found = reached(remains.operator.place, goals)
            saved = tuple(evolve(work, recovered=work.commit.encode() in found) for work in saved)
            if merged and tip is not None:
                held_by, landed = _holder(remains, remains.operator.place, tip)
        except (OSError, GitFault) as error:
            trouble = explain(error) if isinstance(error, OSError) else str(error)
    return Standing(
        repository=os.fsdecode(remains.grounds.common),
        branch=None if remains.in_place else os.fsdecode(remains.main_ref),
        commit=None if tip is None else tip.decode(),
        merged=merged,
        held_by=None if held_by is None else os.fsdecode(held_by),
        landed=landed,
        saved=saved,
        open=open_work(remains) if deep else None,
        operator=None if remains.operator is None else os.fsdecode(remains.operator.place.root),
        trouble=trouble,
    )  # fmt: skip


def _holder(remains: Remains, operator: Place, tip: Sha) -> tuple[bytes | None, bool]:
    """Name a ref of the operator's that holds the run's work, and whether it is the checkout's or the one it began on."""
    store = operator.store
    if not store.has(tip):
        return None, False
    head = operator.refs.head()
    began = own.began_on(remains.grounds.common)
    near = [(head.ref or b"HEAD", head.commit), *([(began, operator.refs.read(began))] if began is not None else [])]
    for name, commit in near:
        if commit is not None and contains(store, commit, tip):
            return name, True
    others = {name: _peeled(store, sha) for name, sha in operator.refs.under(b"refs/").items()}
    others = {name: sha for name, sha in others.items() if sha is not None and not name.startswith(OURS)}
    if tip not in _reached(store, filter(None, others.values()), {tip}):
        return None, False
    order = sorted(others.items(), key=lambda item: (not item[0].startswith(HEADS), item[0]))
    return next((name for name, sha in order if sha is not None and contains(store, sha, tip)), None), False


def reached(place: Place, goals: set[Sha]) -> set[Sha]:
    """Say which of these commits a ref or HEAD of a repository holds; the runs' own refs do not count."""
    store = place.store
    goals = {sha for sha in goals if store.has(sha)}
    if not goals:
        return goals
    shas = {sha for name, sha in place.refs.under(b"refs/").items() if not name.startswith(OURS)}
    if goals <= shas:
        return goals
    tips = {_peeled(store, sha) for sha in shas} | {place.refs.head().commit}
    return _reached(store, filter(None, tips), goals)


def _reached(store: Objects, tips: Iterable[Sha], goals: set[Sha]) -> set[Sha]:
    """Walk back from all tips at once; commits older than every goal are looked at last, and not for ever."""
    seen = set(tips)
    found = goals & seen
    horizon = min((store.commit(goal).time for goal in goals - found), default=0)
    todo, looked = list(seen), 0
    late: list[Sha] = []
    while found != goals and (todo or (late and looked < LATE_LOOKED_AT)):
        looked += not todo
        current = todo.pop() if todo else late.pop()
        try:
            parents = store.commit(current).parents
        except (MissingObject, Malformed):
            continue
        for parent in parents:
            if parent not in seen:
                seen.add(parent)
                found |= goals & {parent}
                recent = not store.has(parent) or store.commit(parent).time >= horizon
                (todo if recent else late).append(parent)
    return found


def _peeled(store: Objects, sha: Sha) -> Sha | None:
    """Follow annotated tags to a commit; None for what is none."""
    try:
        kind, content = store.raw(sha)
        while kind == TAG:
            sha = content[7:47]
            kind, content = store.raw(sha)
        store.commit(sha)
    except (MissingObject, Malformed):
        return None
    return sha


# ---------------------------------------------------------------- what is saved


def _saved(remains: Remains, *, sized: bool) -> tuple[SavedWork, ...]:
    """List the work under hidden refs, by issue, oldest first."""
    found = []
    known = remains.known if sized else None
    for ref, sha in remains.vault.refs.under(own.SAVED).items():
        owner, _, number = ref[len(own.SAVED) :].rpartition(b"/")
        place = os.fsdecode(owner) or None
        work = SavedWork(
            ref=os.fsdecode(ref),
            commit=sha.decode("ascii", "replace"),
            issue=place,
            subject="",
            name=f"{place}#{os.fsdecode(number)}",
        )
        order = (place or "", int(number) if number.isdigit() else -1)
        found.append((order, _told(remains.grounds.store, work, known)))
    return tuple(work for _, work in sorted(found, key=lambda pair: pair[0]))


def _told(store: Objects, work: SavedWork, known: Sha | None) -> SavedWork:
    """Add what the commit says of itself; a damaged one says that."""
    sha = work.commit.encode()
    try:
        commit = store.commit(sha)
    except GitFault as error:
        return evolve(work, subject=f"({error})")
    lines = commit.message.decode("utf-8", "surrogateescape").splitlines()
    agents = [line.partition(": ")[2] for line in lines if line.startswith("GGActors-Agent: ")]
    return evolve(
        work,
        subject=lines[0] if lines else "",
        agent=agents[-1] if agents else None,
        when=commit.time,
        size="" if known is None else size_of(store, known, sha),
    )


def size_of(store: Objects, known: Sha, commit: Sha) -> str:
    """Say in a line what a commit changes against the point where it left ``known``."""
    try:
        bases = merge_bases(store, known, commit)
        before = store.commit(bases[0]).tree if bases else None
        return summary(file_changes(store, before, store.commit(commit).tree))
    except GitFault as error:
        return f"cannot be read: {error}"
