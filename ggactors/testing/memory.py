"""A repository and workbenches in memory that obey the ports: whole runs under the virtual clock, without a disk or a thread.

Law: a tree is a mapping from path to text, a commit names its tree and its parents, and a merge works path by path: a path that
both sides changed differently is a conflict. Faults are injected by name through ``faults``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from attrs import define, field, frozen

from ggactors.ports import RepositoryBroken
from ggactors.protocol.git import (
    ChangeSummary,
    ConflictLeft,
    FileChange,
    Landing,
    MainRestored,
    Merged,
    MergeFailed,
    OpenedWorktree,
    RepositoryFacts,
    Resolved,
    SealBlocked,
    Sealed,
    Signature,
    Unresolved,
)
from ggactors.protocol.values import Code, Refused
from ggactors.protocol.workbench import DirEntry, DirListed, FileEdited, FileRead, FileWritten, SearchDone, ShellDone

if TYPE_CHECKING:
    from collections.abc import Callable

Tree = dict[str, str]


@frozen(kw_only=True)
class Commit:
    """One commit of the memory repository."""

    id: str
    tree: Tree
    parents: tuple[str, ...]
    signature: Signature | None
    message: str


@define(kw_only=True)
class _Worktree:
    branch: str
    base: str
    tip: str
    files: Tree


@frozen(kw_only=True)
class _Conflict:
    issue: str
    commit: str
    signature: Signature
    message: str
    tip: str
    files: Tree
    paths: tuple[str, ...]


def _no_fault(_: str) -> None:
    return None


@define
class MemoryRepository:
    """Obeys ``ports.Repository``. ``faults(step)`` is called before each step and may raise RepositoryBroken."""

    start: Tree = field(factory=dict)
    faults: Callable[[str], None] = _no_fault
    commits: dict[str, Commit] = field(factory=dict, init=False)
    saved: dict[str, str] = field(factory=dict, init=False)
    """Hidden refs and the commits they hold."""
    files: Tree = field(init=False)
    """The files of the main workspace, as its agents see them."""
    tip: str = field(init=False)
    operator: str = field(init=False)
    """The commit the operator's checkout stands on."""
    worktrees: dict[str, _Worktree] = field(factory=dict, init=False)
    merged: list[tuple[str, str]] = field(factory=list, init=False)
    """The issues merged into main and the commits that were merged, in order."""
    facts: RepositoryFacts = field(init=False)
    conflict: _Conflict | None = field(default=None, init=False)
    """The merge that lies unconcluded in main."""
    _in_main: set[str] = field(factory=set, init=False)
    """The commits reachable from main's tip, as far as anybody asked."""
    _concluded: tuple[_Conflict, Resolved] | None = field(default=None, init=False)
    """The last conflict and what it came to, until main is next moved."""

    def __attrs_post_init__(self) -> None:
        """Make the first commit."""
        self.tip = self.operator = self._commit(dict(self.start), (), None, "the beginning")
        self.files = dict(self.start)
        self.facts = RepositoryFacts(
            main="memory", root="memory", base=self.tip, branch="main", repository="memory", dirty=(), notes=()
        )

    def _commit(self, tree: Tree, parents: tuple[str, ...], signature: Signature | None, message: str) -> str:
        commit = Commit(
            id=f"c{len(self.commits)}", tree=dict(tree), parents=parents, signature=signature, message=message
        )
        self.commits[commit.id] = commit
        return commit.id

    async def _step(self, name: str) -> None:
        await trio.lowlevel.checkpoint()
        self.faults(name)

    def contains(self, tip: str, commit: str) -> bool:
        """Tell whether ``commit`` is reachable from ``tip``. Of main it is known without walking."""
        if tip == self.tip:
            if tip not in self._in_main:
                self._in_main |= self._behind(tip, self._in_main)
            return commit in self._in_main
        return commit in self._behind(tip, set())

    def _behind(self, tip: str, known: set[str]) -> set[str]:
        """Find what is reachable from a commit, beyond what is known to be."""
        todo, seen = [tip], set()
        while todo:
            one = todo.pop()
            if one not in seen and one not in known:
                seen.add(one)
                todo.extend(self.commits[one].parents)
        return seen

    # ------------------------------------------------------------ worktrees

    async def open_worktree(self, issue: str) -> OpenedWorktree:
        """Make the issue's worktree from main's tip, or give back the one it has."""
        await self._step("open_worktree")
        tree = self.worktrees.get(issue)
        if tree is None:
            tree = _Worktree(branch=f"gg-{issue}", base=self.tip, tip=self.tip, files=dict(self.commits[self.tip].tree))
            self.worktrees[issue] = tree
        return OpenedWorktree(
            issue=issue,
            path=f"memory/{issue}",
            root=f"memory/{issue}",
            branch=tree.branch,
            base=tree.base,
            base_ref=f"refs/ggactors/base/{issue}",
        )

    def branch_of(self, issue: str) -> str | None:
        """Give the branch of the issue's worktree, or None."""
        tree = self.worktrees.get(issue)
        return None if tree is None else tree.branch

    async def seal(self, issue: str, signature: Signature, message: str) -> Sealed | SealBlocked:
        """Commit the issue's files."""
        await self._step("seal")
        tree = self.worktrees[issue]
        if tree.files != self.commits[tree.tip].tree:
            tree.tip = self._commit(tree.files, (tree.tip,), signature, message)
        base = self.commits[tree.base].tree
        changed = sum(base.get(path) != tree.files.get(path) for path in {*base, *tree.files})
        return Sealed(commit=tree.tip, changed=changed, empty=changed == 0)

    async def describe(self, issue: str) -> str:
        """Say what the issue's worktree holds against its base."""
        await self._step("describe")
        tree = self.worktrees.get(issue)
        if tree is None:
            return ""
        base = self.commits[tree.base].tree
        changed = sorted(path for path in {*base, *tree.files} if base.get(path) != tree.files.get(path))
        return f"{len(changed)} changed: {', '.join(changed)}" if changed else "nothing changed"

    async def discard(self, issue: str, *, accepted: bool) -> str | None:
        """Tear the worktree down, keeping under a hidden ref what main does not hold."""
        await self._step("discard")
        tree = self.worktrees.pop(issue, None)
        if tree is None:
            return None
        if tree.files != self.commits[tree.tip].tree:
            tree.tip = self._commit(tree.files, (tree.tip,), None, "left behind")
        if accepted and self.contains(self.tip, tree.tip):
            return None
        if tree.tip == tree.base:
            return None
        ref = f"refs/ggactors/saved/{issue}/{len(self.saved)}"
        self.saved[ref] = tree.tip
        return ref

    async def changes(self, issue: str, commit: str) -> ChangeSummary:
        """Summarise a commit of the issue against its base."""
        await self._step("changes")
        tree = self.worktrees[issue]
        base, new = self.commits[tree.base].tree, self.commits[commit].tree
        files = tuple(
            FileChange(
                path=path,
                kind="added" if path not in base else "deleted" if path not in new else "modified",
                added=new.get(path, "").count("\n"),
                removed=base.get(path, "").count("\n"),
            )
            for path in sorted({*base, *new})
            if base.get(path) != new.get(path)
        )
        return ChangeSummary(commit=commit, base=tree.base, base_ref=f"refs/ggactors/base/{issue}", files=files)

    async def check_out(self, issue: str, commit: str) -> str | None:
        """Make the worktree exactly that commit again, keeping what differed under a hidden ref."""
        await self._step("check_out")
        tree = self.worktrees[issue]
        if tree.files == self.commits[commit].tree and tree.tip == commit:
            return None
        ref = f"refs/ggactors/saved/{issue}/{len(self.saved)}"
        self.saved[ref] = self._commit(tree.files, (tree.tip,), None, "a reviewer's edits")
        tree.files, tree.tip = dict(self.commits[commit].tree), commit
        return ref

    # ------------------------------------------------------------ main

    async def commit_main(self, signature: Signature, message: str) -> Sealed | SealBlocked | None:
        """Commit what agents changed in main."""
        await self._step("commit_main")
        if self.conflict is not None:
            return SealBlocked(reason="a merge is unfinished in the main workspace")
        self._concluded = None
        if self.files == self.commits[self.tip].tree:
            return None
        self.tip = self._commit(self.files, (self.tip,), signature, message)
        return Sealed(commit=self.tip, changed=1, empty=False)

    async def guard_main(self) -> MainRestored | None:
        """Have nothing to put back: nobody can rewind this main."""
        await self._step("guard_main")
        return None

    async def leave_main(self) -> None:
        """Have nothing to note: nobody else can write to this main."""
        await self._step("leave_main")

    async def restore_main(self) -> MainRestored | None:
        """Have nothing to put back: nobody else can write to this main."""
        await self._step("restore_main")
        return None

    async def merge(self, issue: str, commit: str, signature: Signature, message: str) -> Merged | MergeFailed:
        """Merge a commit into main, path by path."""
        await self._step("merge")
        if self.conflict is not None:
            return MergeFailed(reason="a merge is unfinished in the main workspace")
        self._concluded = None
        if self.contains(self.tip, commit):
            self.merged.append((issue, commit))
            return Merged(commit=self.tip)
        base = self.commits[self.worktrees[issue].base].tree
        ours, theirs = self.commits[self.tip].tree, self.commits[commit].tree
        result, conflicts = dict(ours), []
        for path in sorted({*base, *theirs}):
            was, new, mine = base.get(path), theirs.get(path), ours.get(path)
            if new in (was, mine):
                continue
            if mine != was:
                conflicts.append(path)
            elif new is None:
                result.pop(path, None)
            else:
                result[path] = new
        if conflicts:
            return MergeFailed(reason="the merge conflicts", conflicts=tuple(conflicts))
        self.tip = self._commit(result, (self.tip, commit), signature, message)
        self.files = dict(result)
        self.merged.append((issue, commit))
        return Merged(commit=self.tip)

    async def begin_conflict(
        self, issue: str, commit: str, signature: Signature, message: str
    ) -> ConflictLeft | Merged | MergeFailed:
        """Leave the conflicting paths in main with markers in them."""
        await self._step("begin_conflict")
        outcome = await self.merge(issue, commit, signature, message)
        if isinstance(outcome, Merged) or not outcome.conflicts:
            return outcome
        ours, theirs = self.commits[self.tip].tree, self.commits[commit].tree
        base = self.commits[self.worktrees[issue].base].tree
        self.conflict = _Conflict(
            issue=issue,
            commit=commit,
            signature=signature,
            message=message,
            tip=self.tip,
            files=dict(self.files),
            paths=outcome.conflicts,
        )
        for path in {*base, *theirs}:
            if theirs.get(path) == base.get(path) or path in outcome.conflicts:
                continue
            if path in theirs:
                self.files[path] = theirs[path]
            else:
                self.files.pop(path, None)
        for path in outcome.conflicts:
            self.files[path] = f"<<<<<<<\n{ours.get(path, '')}=======\n{theirs.get(path, '')}>>>>>>>\n"
        return ConflictLeft(conflicts=outcome.conflicts)

    async def resolution(self) -> Resolved | Unresolved:
        """Conclude the merge when no marker is left in a conflicted path."""
        await self._step("resolution")
        left = self.conflict
        if left is None:
            if self._concluded is not None:
                return self._concluded[1]
            return Unresolved(reason="no merge is left in place")
        marked = [path for path in left.paths if "<<<<<<<" in self.files.get(path, "")]
        if marked:
            return Unresolved(reason=f"conflict markers are left in {', '.join(marked)}")
        sides = (self.commits[left.tip].tree, self.commits[left.commit].tree)
        kept = [all(self.files.get(path) == side.get(path) for path in left.paths) for side in sides]
        self.tip = self._commit(self.files, (left.tip, left.commit), left.signature, left.message)
        self.merged.append((left.issue, left.commit))
        resolved = Resolved(commit=self.tip, one_sided=any(kept))
        self.conflict, self._concluded = None, (left, resolved)
        return resolved

    async def abort_conflict(self) -> str | None:
        """Put main back as it was."""
        await self._step("abort_conflict")
        left = self.conflict
        if left is None and self._concluded is not None:
            left = self._concluded[0]
            self.merged.remove((left.issue, left.commit))
        if left is not None:
            self.tip, self.files, self.conflict, self._concluded = left.tip, left.files, None, None
            self._in_main.clear()
        return None

    async def land(self) -> Landing:
        """Move the operator forward."""
        await self._step("land")
        source, self.operator = self.operator, self.tip
        return Landing(source=source, target=self.tip)

    async def close(self) -> None:
        """Have nothing to leave behind."""

    def bench(self, issue: str | None) -> MemoryBench:
        """Give a workbench on the files of an issue's worktree, or of main."""
        return MemoryBench(self.files_of(issue))

    def files_of(self, issue: str | None) -> Callable[[], Tree]:
        """Give the function that finds the live files of an issue's worktree, or of main."""
        return lambda: self.files if issue is None else self.worktrees[issue].files


@define
class MemoryBench:
    """Obeys ``ports.Workbench`` on a tree in memory; it has files and no shell."""

    tree: Callable[[], Tree]

    async def read_file(self, path: str, offset: int | None = None, limit: int | None = None) -> FileRead | Refused:
        """Read a whole file."""
        await trio.lowlevel.checkpoint()
        text = self.tree().get(path)
        if text is None:
            return Refused(code=Code.NOT_FOUND, message=f"there is no file {path}")
        lines = text.count("\n")
        return FileRead(path=path, text=text, size=len(text.encode()), last=lines, total=lines)

    async def write_file(self, path: str, contents: str) -> FileWritten | Refused:
        """Write a file."""
        await trio.lowlevel.checkpoint()
        self.tree()[path] = contents
        return FileWritten(path=path, bytes=len(contents.encode()))

    async def edit_file(self, path: str, old: str, new: str, *, every: bool = False) -> FileEdited | Refused:
        """Replace a text in a file."""
        edited = await self.preview_edit(path, old, new, every=every)
        if isinstance(edited, Refused):
            return edited
        replacements = self.tree()[path].count(old) if every else 1
        self.tree()[path] = edited
        return FileEdited(path=path, replacements=replacements, lines=())

    async def preview_edit(self, path: str, old: str, new: str, *, every: bool = False) -> str | Refused:
        """Give what the file would hold after that edit."""
        await trio.lowlevel.checkpoint()
        text = self.tree().get(path)
        if text is None or old not in text:
            return Refused(code=Code.NOT_FOUND, message=f"that text is not in {path}")
        return text.replace(old, new, -1 if every else 1)

    async def list_dir(self, path: str = ".") -> DirListed | Refused:
        """List every file of the tree, whatever the directory."""
        await trio.lowlevel.checkpoint()
        return DirListed(path=path, entries=tuple(DirEntry(name=name, kind="file") for name in sorted(self.tree())))

    async def search_files(self, pattern: str, path: str = ".", glob: str | None = None) -> SearchDone | Refused:
        """Refuse: nothing is searched in memory."""
        await trio.lowlevel.checkpoint()
        return Refused(code=Code.UNAVAILABLE, message="there is no search in memory")

    async def run(self, command: str, seconds: float = 120.0) -> ShellDone | Refused:
        """Refuse: there is no shell in memory."""
        await trio.lowlevel.checkpoint()
        return Refused(code=Code.UNAVAILABLE, message="there is no shell in memory")

    def keep(self, label: str, text: str) -> str | None:
        """Keep nothing."""
        return None

    async def close(self) -> None:
        """Have nothing to remove."""


def broken(step: str) -> RepositoryBroken:
    """Make the error of a disk that refuses at a step."""
    return RepositoryBroken(f"no space left on the disk of the test, at {step}")
