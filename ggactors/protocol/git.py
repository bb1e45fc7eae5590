"""What git work is asked for and what it came to. Law: commits and refs are text (hex, full names), paths are text
decoded with ``surrogateescape`` (a name that is not UTF-8 keeps its bytes).
"""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Signature:
    """Who a commit of the runtime names as author: an agent's id and the trailers that locate the work."""

    agent: str
    issue: str | None = None
    attempt: int | None = None


@frozen(kw_only=True)
class OpenedWorktree:
    """An issue's worktree, made or found again. ``base`` is the commit it was made from; ``root`` the folder agents work in
    (the worktree, or the workspace's subdirectory of it, W11).
    """

    issue: str
    path: str
    root: str
    branch: str
    base: str
    base_ref: str


@frozen(kw_only=True)
class Sealed:
    """Everything unignored in a worktree is committed: ``commit`` is the tip. ``changed`` counts paths against the base."""

    commit: str
    changed: int
    empty: bool


@frozen(kw_only=True)
class SealBlocked:
    """The work cannot be committed as it stands; the reason is handed to the agent (W4)."""

    reason: str


@frozen(kw_only=True)
class Merged:
    """The work is in main. ``commit`` is main's tip (the merge commit, or unchanged when there was nothing to merge)."""

    commit: str


@frozen(kw_only=True)
class MergeFailed:
    """Main is exactly as it was. ``conflicts`` lists the paths; empty when something else stood in the way."""

    reason: str
    conflicts: tuple[str, ...] = ()


@frozen(kw_only=True)
class MainRestored:
    """A command rewound or switched main's branch: it was put back, what it made is kept under ``saved_ref``.

    ``undone`` False: nothing was put back, the command dropped commits of its own, and those are kept.
    """

    what: str
    saved_ref: str | None
    undone: bool = True


@frozen(kw_only=True)
class Landing:
    """What became of the operator's checkout (W10): ``source``/``target`` are the commits before and after (equal when held).

    ``reason`` is None when it moved or nothing had to, else one of ``dirty``, ``diverged``, ``detached``,
    ``branch-elsewhere``, ``operation-in-progress``, ``write-failed``; ``held`` the paths in the way; ``branch`` and
    ``repository`` say where the work lies.
    """

    source: str
    target: str
    held: tuple[str, ...] = ()
    reason: str | None = None
    detail: str = ""


@frozen(kw_only=True)
class RepositoryFacts:
    """What a run should know of the workspace it was opened on (W1, W11)."""

    main: str
    """The main workspace: the top folder of its worktree."""
    root: str
    """Where agents rooted in main work (W11: the same subdirectory)."""
    base: str
    """The commit the run starts from."""
    branch: str
    """The branch main is on."""
    repository: str
    """The git directory that holds the run's branches, for the git commands told to the operator."""
    dirty: tuple[str, ...] = ()
    """The operator's uncommitted paths, left alone (W11)."""
    notes: tuple[str, ...] = ()
    """What the operator should be told: a baseline was made, landing will be held, …"""
    git_env: tuple[tuple[str, str], ...] = ()
    """Variables agents' commands run git with: an identity, and settings that keep git quiet (O4)."""


@frozen(kw_only=True)
class FileChange:
    """One path that differs from an issue's base. ``kind``: added, deleted, modified, renamed, mode, type.

    ``added`` and ``removed`` count lines, None for a binary file; ``old_path`` is set for a rename.
    """

    path: str
    kind: str
    added: int | None
    removed: int | None
    old_path: str | None = None


@frozen(kw_only=True)
class ChangeSummary:
    """What an issue's commit changes against its base: the map a reviewer is given, never the patch (R2)."""

    commit: str
    base: str
    base_ref: str
    files: tuple[FileChange, ...]


@frozen(kw_only=True)
class ConflictLeft:
    """A conflicted merge was left in place in main, as git would have left it (M2)."""

    conflicts: tuple[str, ...]


@frozen(kw_only=True)
class Unresolved:
    """Git does not agree that the merge is concluded; ``reason`` is told to the merge agent (M3)."""

    reason: str


@frozen(kw_only=True)
class Resolved:
    """The merge is concluded at ``commit``. ``one_sided``: one side was kept whole. ``saved_ref`` holds leftovers (M3)."""

    commit: str
    one_sided: bool = False
    saved_ref: str | None = None


@frozen(kw_only=True)
class SavedWork:
    """Work kept under a hidden ref: of a failed or discarded attempt, a reviewer's edits, a merge's leftovers (W5).

    ``name`` is how ``ggactors recover`` calls it (``AUTH-1#0``), ``issue`` whose it is (``main`` for the main workspace's);
    ``when`` are seconds since the epoch; ``size`` says what it changes, empty where that was not looked at; ``recovered`` tells
    whether a ref of the operator's repository holds it.
    """

    ref: str
    commit: str
    issue: str | None
    subject: str
    name: str = ""
    agent: str | None = None
    when: int = 0
    size: str = ""
    recovered: bool = False


@frozen(kw_only=True)
class OpenWork:
    """Work of an ended run that is neither in main nor under a hidden ref yet: a worktree's, or a branch's nobody merged.

    ``name`` is the issue, ``main``, or the full ref of a branch; ``where`` the worktree, or the ref; ``size`` says what there is.
    """

    name: str
    where: str
    size: str


@frozen(kw_only=True)
class Standing:
    """Where a run's work stands, read off its own repository and the operator's (W5, W10).

    ``branch`` and ``commit`` are the run's main branch and its tip, None when main is the operator's own (in place).
    ``merged`` tells whether the run brought anything into it; ``held_by`` is the operator's ref that holds all of it, ``landed``
    whether that is where it belongs. ``operator`` is the operator's repository, None when it is not to be found, and then
    ``trouble`` says why. ``open`` is None where it was not looked at.
    """

    repository: str
    branch: str | None = None
    commit: str | None = None
    merged: bool = False
    held_by: str | None = None
    landed: bool = False
    saved: tuple[SavedWork, ...] = ()
    open: tuple[OpenWork, ...] | None = None
    operator: str | None = None
    trouble: str = ""

    @property
    def unlanded(self) -> bool:
        """Tell whether the run's branch holds work that no ref of the operator's repository does."""
        return self.merged and self.held_by is None

    @property
    def unrecovered(self) -> tuple[SavedWork, ...]:
        """Give the saved work that no ref of the operator's repository holds."""
        return tuple(work for work in self.saved if not work.recovered)


@frozen(kw_only=True)
class BroughtBack:
    """Work brought back as a branch of the operator's repository: ``before`` is where the branch was, None for a new one;
    ``moved`` is false when it held the work already.
    """

    repository: str
    branch: str
    commit: str
    before: str | None
    moved: bool
    size: str
