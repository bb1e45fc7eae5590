"""The operator's repository as a run finds it. Law: looks only; what cannot be handled is named before anything is done (P2)."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.values import Problem
from ggactors.repo.attributes import names_filter
from ggactors.repo.commits import gitlinks
from ggactors.repo.disk import Disk
from ggactors.repo.faults import GitFault, Malformed, show
from ggactors.repo.ignore import Ignore
from ggactors.repo.index import sits_out
from ggactors.repo.objects import Objects
from ggactors.repo.place import Place
from ggactors.repo.scan import is_repository, scan
from ggactors.repo.settings import read_settings
from ggactors.repo.trees import against, targets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ggactors.repo.index import Index

MOST_FILES = 20_000
MOST_BYTES = 500_000_000
"""What a first baseline may hold without ``--large-baseline`` (W1)."""

_KNOWN_EXTENSIONS = frozenset(
    ("worktreeconfig", "partialclone", "noop", "preciousobjects", "objectformat", "refstorage")
)


@frozen(kw_only=True)
class Operator:
    """The repository a workspace lies in; ``prefix`` is the workspace's folder inside it (``b""``: its top)."""

    place: Place
    prefix: bytes


def find(workspace: bytes, *, disk: Disk | None = None) -> Operator | None:
    """Find the repository a folder belongs to, as git would from there; None when it belongs to none. Raises GitFault."""
    top = os.path.realpath(workspace)
    device = os.stat(top).st_dev
    folder = top
    while True:
        git = os.path.join(folder, b".git")
        if is_repository(folder):
            gitdir = _resolve(folder, git)
            prefix = b"" if folder == top else os.path.relpath(top, folder)
            return Operator(place=open_place(folder, gitdir, disk=disk), prefix=prefix)
        above = os.path.dirname(folder)
        if above == folder or os.stat(above).st_dev != device:
            return None
        folder = above


def _resolve(folder: bytes, git: bytes) -> bytes:
    if os.path.isdir(git):
        return git
    with open(git, "rb") as file:
        target = file.read().strip().removeprefix(b"gitdir: ")
    gitdir = os.path.normpath(os.path.join(folder, target))
    if not os.path.exists(os.path.join(gitdir, b"HEAD")):
        raise Malformed(
            f"{show(git)} points to {show(gitdir)}, which is not a git folder; `git worktree repair` may help"
        )
    return gitdir


def common_of(gitdir: bytes) -> bytes:
    """Find the folder a git folder shares refs and objects with."""
    try:
        with open(os.path.join(gitdir, b"commondir"), "rb") as file:
            return os.path.normpath(os.path.join(gitdir, file.read().strip()))
    except FileNotFoundError:
        return gitdir


def open_place(root: bytes, gitdir: bytes, *, disk: Disk | None = None) -> Place:
    """Open a working tree with its settings and objects."""
    common = common_of(gitdir)
    disk = disk or Disk()
    return Place(
        root=root,
        gitdir=gitdir,
        common=common,
        store=Objects(os.path.join(common, b"objects"), disk=disk),
        settings=read_settings(common, gitdir),
        disk=disk,
    )


def inspect_workspace(
    workspace: Path, *, checkout: str, run_state: Path, large_baseline: bool = False
) -> list[Problem]:
    """Say everything that stands against a run on this workspace, writing nothing (P2). ``checkout`` is private or inPlace."""
    folder = os.fsencode(workspace)
    problems = _folder_problems(folder, os.fsencode(run_state))
    if problems:
        return problems
    try:
        inside = _git_folder_of(os.path.realpath(folder))
        if inside is not None:
            return [
                _problem(f"{workspace} lies in the git folder {show(inside)}", "give a folder with a project's files")
            ]
        operator = find(folder)
        if operator is None:
            if _bare(os.path.realpath(folder)):
                return [
                    _problem(
                        f"{workspace} is a bare repository", "give a folder with checked-out files (`git clone` it)"
                    )
                ]
            return _baseline_problems(None, folder, large=large_baseline)
        try:
            return _repository_problems(operator, checkout=checkout, large=large_baseline)
        finally:
            operator.place.store.close()
    except (GitFault, OSError) as error:
        return [_problem(f"{workspace} cannot be read: {error}", "repair it or choose another folder")]


def _problem(what: str, remedy: str) -> Problem:
    return Problem(path="workspace", what=what, remedy=remedy)


def _folder_problems(folder: bytes, state: bytes) -> list[Problem]:
    name = show(folder)
    if not os.path.exists(folder):
        return [_problem(f"{name} does not exist", "create it or give another folder")]
    if not os.path.isdir(folder):
        return [_problem(f"{name} is not a folder", "give a folder")]
    if not os.access(folder, os.R_OK | os.X_OK):
        return [_problem(f"{name} cannot be read", "check its permissions")]
    real = os.path.realpath(folder)
    home = os.path.realpath(os.path.expanduser(b"~"))
    if real in (b"/", home):
        return [
            _problem(
                f"{name} is {'the root folder' if real == b'/' else 'your home folder'}", "give a project's folder"
            )
        ]
    if os.path.commonpath((real, os.path.realpath(state))) == real:
        return [
            _problem(
                f"{name} holds the runs' own state ({show(state)})",
                "give a project's folder or set GGACTORS_HOME elsewhere",
            )
        ]
    return []


def _git_folder_of(folder: bytes) -> bytes | None:
    """Find the git folder a folder is, or lies in."""
    while True:
        if os.path.basename(folder) == b".git" and _bare(folder):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _bare(folder: bytes) -> bool:
    return os.path.isfile(os.path.join(folder, b"HEAD")) and all(
        os.path.isdir(os.path.join(folder, name)) for name in (b"objects", b"refs")
    )


def _repository_problems(operator: Operator, *, checkout: str, large: bool) -> list[Problem]:
    place = operator.place
    problems = _format_problems(place)
    if problems:
        return problems
    index = place.index()
    problems += _content_problems(place, index)
    head = place.refs.head()
    if head.commit is None:
        return problems + _baseline_problems(place, place.root, large=large)
    if operator.prefix and Ignore(place)(operator.prefix, folder=True):
        tracked = any(path.startswith(operator.prefix + b"/") for path in index.records)
        if not tracked:
            problems.append(
                _problem(
                    f"{show(operator.prefix)} is ignored by the repository at {show(place.root)}, so no worktree would hold it",
                    "run `git init` in it, or give the repository's top folder",
                )
            )
    if checkout == "inPlace":
        problems += _in_place_problems(place, index)
    return problems


def _format_problems(place: Place) -> list[Problem]:
    settings, out = place.settings, []
    where = show(place.root)
    known = dict(settings.extensions)
    if settings.format > 1:
        out.append(_problem(f"{where} is a repository of format {settings.format}", "only formats 0 and 1 are known"))
    if known.get("objectformat", "sha1").lower() != "sha1":
        out.append(
            _problem(
                f"{where} uses {known['objectformat']} object names", "only SHA-1 repositories work in this version"
            )
        )
    if known.get("refstorage", "files").lower() != "files":
        out.append(
            _problem(
                f"{where} keeps refs as {known['refstorage']}", "`git refs migrate --ref-format=files` converts it"
            )
        )
    if settings.format == 1:
        odd = sorted(set(known) - _KNOWN_EXTENSIONS)
        out += [
            _problem(f"{where} uses the repository extension {name}", "it is not known to this version") for name in odd
        ]
    if settings.sparse:
        out.append(_problem(f"{where} is a sparse checkout", "`git sparse-checkout disable` undoes it"))
    if not settings.symlinks:
        out.append(_problem(f"{where} sets core.symlinks=false", "remove that setting"))
    if settings.bare and not os.path.exists(os.path.join(place.gitdir, b"commondir")):
        out.append(_problem(f"{where} is marked bare", "`git config core.bare false` if it has checked-out files"))
    if settings.worktree is not None and os.path.realpath(os.path.join(place.gitdir, settings.worktree)) != place.root:
        out.append(_problem(f"{where} sets core.worktree to {show(settings.worktree)}", "remove that setting"))
    return out


def _content_problems(place: Place, index: Index) -> list[Problem]:
    out = []
    links = gitlinks(index)
    if links or b".gitmodules" in index.records or os.path.lexists(place.on_disk(b".gitmodules")):
        names = ", ".join(show(path) for path in links[:3]) or ".gitmodules"
        out.append(_problem(f"the repository has submodules ({names})", "submodules do not work in this version"))
    if any(sits_out(raw) for raw in index.records.values()):
        out.append(
            _problem("the index leaves paths out of the checkout (sparse)", "`git sparse-checkout disable` undoes it")
        )
    for where, setting in _filters_set(place, index):
        out.append(
            _problem(f"{show(where)} sets {show(setting)}", "filters, LFS and re-encoding do not work in this version")
        )
    return out


def filter_set(place: Place, index: Index) -> tuple[bytes, bytes] | None:
    """Find an attributes file that asks for a conversion not done here, and what it sets; None when there is none."""
    return next(_filters_set(place, index), None)


def _filters_set(place: Place, index: Index) -> Iterator[tuple[bytes, bytes]]:
    for where, content in _attribute_files(place, index):
        found = names_filter(content)
        if found is not None:
            yield where, found


def _attribute_files(place: Place, index: Index) -> list[tuple[bytes, bytes]]:
    paths = {path for path in index.records if path.rpartition(b"/")[2] == b".gitattributes"} | {b".gitattributes"}
    places = [(path, place.on_disk(path)) for path in sorted(paths)]
    places.append((b"info/attributes", os.path.join(place.common, b"info", b"attributes")))
    if place.settings.attributes is not None:
        places.append((place.settings.attributes, place.settings.attributes))
    out = []
    for name, path in places:
        entry = index.entry(name)
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, "rb") as file:
                out.append((name, file.read()))
        elif entry is not None:
            out.append((name, place.store.blob(entry[1])))
    return out


def _in_place_problems(place: Place, index: Index) -> list[Problem]:
    out = []
    operation = place.operation()
    if operation is not None or index.unmerged:
        name, way_out = (operation.name, operation.way_out) if operation else ("merge", "git merge --abort")
        out.append(
            _problem(
                f"a {name} is going on in {show(place.root)}", f"end it with `{way_out}`, or run without --in-place"
            )
        )
    if place.refs.head().ref is None:
        out.append(
            _problem(
                f"{show(place.root)} is on no branch (detached HEAD)", "`git switch` to one, or run without --in-place"
            )
        )
    if not os.access(place.root, os.W_OK):
        out.append(
            _problem(f"{show(place.root)} cannot be written", "check its permissions, or run without --in-place")
        )
    return out


def _baseline_problems(place: Place | None, folder: bytes, *, large: bool) -> list[Problem]:
    """Look at what a first baseline would take in: how much, and no repository inside."""
    probe = place or Place(
        root=os.path.realpath(folder),
        gitdir=os.path.join(folder, b".git"),
        common=os.path.join(folder, b".git"),
        store=Objects(os.path.join(folder, b".git", b"objects")),
        settings=read_settings(None),
        disk=Disk(),
    )
    out = []
    if not os.access(folder, os.W_OK):
        out.append(
            _problem(f"{show(folder)} is no repository and cannot be written to make it one", "check its permissions")
        )
    files, size, nested, odd = measure(probe)
    if nested:
        names = ", ".join(show(path) for path in nested[:3])
        out.append(
            _problem(
                f"there are repositories inside ({names})", "list them in .gitignore, or give one of them as workspace"
            )
        )
    out += odd
    if not large and (files > MOST_FILES or size > MOST_BYTES):
        out.append(
            _problem(
                f"a first baseline would take in {files:,}+ files, {size / 1e6:,.0f} MB",
                "list what does not belong in .gitignore, or give --large-baseline",
            )
        )
    return out


def measure(place: Place) -> tuple[int, int, list[bytes], list[Problem]]:
    """Count files and bytes a baseline would hold (stopping soon after the limit), repositories inside, and filters set."""
    ignored, files, size = Ignore(place), 0, 0
    nested: list[bytes] = []
    odd: list[Problem] = []
    stack = [(place.root, b"")]
    while stack and files <= MOST_FILES * 10:
        folder, prefix = stack.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                path = prefix + entry.name
                if entry.name == b".git" or ignored(path, folder=entry.is_dir(follow_symlinks=False)):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if is_repository(entry.path):
                        nested.append(path)
                    else:
                        stack.append((entry.path, path + b"/"))
                    continue
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
                    files, size = files + 1, size + found.st_size
                if entry.name == b".gitattributes" and stat.S_ISREG(found.st_mode):
                    with open(entry.path, "rb") as file:
                        setting = names_filter(file.read())
                    if setting is not None:
                        odd.append(
                            _problem(f"{show(path)} sets {show(setting)}", "filters do not work in this version")
                        )
    return files, size, nested, odd


def uncommitted(place: Place, head_tree: bytes) -> dict[bytes, tuple[int, bytes] | None]:
    """Map the paths the operator has changed, staged or added to what is on disk there (None: deleted); nothing is written."""
    index = place.index()
    out = targets(against(place.store, index, head_tree))
    found = scan(place, index)
    out.update(found.changes())
    out.update(dict.fromkeys(index.unmerged))
    return out
