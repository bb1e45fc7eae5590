"""The object store of one repository and what it borrows. Law: written objects are whole before they have a name, and go to
the store's own folder even when a borrowed one has them, so that a collection over there takes nothing from the run (W8).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
import zlib
from binascii import hexlify, unhexlify
from typing import TYPE_CHECKING

from attrs import frozen
from dulwich.objects import parse_tree

from ggactors.repo.disk import Disk, make_folders
from ggactors.repo.faults import Malformed, MissingObject, show
from ggactors.repo.packs import Packs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Sha = bytes
"""An object's id: forty hexadecimal digits."""
Entry = tuple[int, Sha]
"""What a tree says of a name: mode and id."""

COMMIT, TREE, BLOB, TAG = 1, 2, 3, 4
NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob", TAG: b"tag"}
KINDS = {name: kind for kind, name in NAMES.items()}

DIRECTORY = 0o040000
FILE = 0o100644
EXECUTABLE = 0o100755
LINK = 0o120000
GITLINK = 0o160000

EMPTY_TREE = b"4b825dc642cb6eb9a060e54bf8d69288fbee4904"
TEXT_KEPT, TEXTS_KEPT = 1 << 16, 8 << 20
"""Bytes of a file that is kept at hand, and of all that are."""
TREES_KEPT = 300_000
"""Tree entries kept parsed; with 50,000 files in 1,000 folders every worktree of a run fits."""


@frozen(kw_only=True)
class Commit:
    """The parts of a commit that decide anything."""

    tree: Sha
    parents: tuple[Sha, ...]
    time: int
    message: bytes


def digest(kind: int, content: bytes) -> Sha:
    """Name an object by its content, as git does."""
    return hexlify(binary_digest(kind, content))


def binary_digest(kind: int, content: bytes) -> bytes:
    """Name an object by its content, in twenty bytes."""
    head = b"%s %d\x00" % (NAMES[kind], len(content))
    if len(content) < 1 << 16:
        return hashlib.sha1(head + content, usedforsecurity=False).digest()
    seed = hashlib.sha1(head, usedforsecurity=False)
    seed.update(content)
    return seed.digest()


def canonical(mode: int) -> int:
    """Reduce a mode found in a tree to one git itself writes."""
    kind = mode & 0o170000
    if kind == 0o100000:
        return EXECUTABLE if mode & 0o100 else FILE
    return kind


class _Edge:
    """The commits a ``shallow`` file names: there a history may end without its parents."""

    def __init__(self, path: bytes) -> None:
        self._path = path
        self._read: tuple[int, frozenset[bytes]] = (-1, frozenset())

    def commits(self) -> frozenset[bytes]:
        """Read them, again when the file has changed."""
        try:
            stamp = os.stat(self._path).st_mtime_ns
        except FileNotFoundError:
            return frozenset()
        if self._read[0] != stamp:
            with open(self._path, "rb") as file:
                self._read = (stamp, frozenset(file.read().split()))
        return self._read[1]


class Objects:
    """Reads and writes objects; safe from any thread and beside other git processes."""

    def __init__(
        self, folder: bytes, borrowed: Iterable[bytes] = (), *, disk: Disk | None = None, guest: bool = False
    ) -> None:
        """``guest``: agents write here, so that only the lender's word counts for where history may end.

        Where it ends elsewhere nevertheless, it is read up to there, and ``severed`` tells.
        """
        self.folder = folder
        self.disk = disk or Disk()
        self.borrowed = tuple(borrowed) or alternates(folder)
        self._folders = (folder, *self.borrowed)
        self._own = Packs((folder,))
        self._packs = Packs(self.borrowed) if self.borrowed else self._own
        self._trees: dict[Sha, Mapping[bytes, Entry]] = {}
        self._commits: dict[Sha, Commit] = {}
        self._named: dict[tuple[Sha, bytes], bool] = {}
        self._weight = 0
        self._texts: dict[Sha, bytes] = {}
        self._texts_size = 0
        self._made: set[bytes] = set()
        self._names = 0
        self._born = time.monotonic_ns()
        self._lock = threading.Lock()
        lender = self.borrowed[0] if guest and self.borrowed else folder
        self._shallow = _Edge(os.path.join(os.path.dirname(lender), b"shallow"))
        self._guest = guest

    def raw(self, sha: Sha) -> tuple[int, bytes]:
        """Read an object's kind and bytes. Raises MissingObject."""
        found = self._get(sha)
        if found is None:
            raise MissingObject(sha)
        return found

    def _get(self, sha: Sha) -> tuple[int, bytes] | None:
        kept = self._texts.get(sha)
        if kept is not None:
            return BLOB, kept
        binary = unhexlify(sha)
        found = self._packs.get(binary, known=True) or self._own.get(binary, known=True)
        for folder in self._folders if found is None else ():
            found = _loose(folder, sha)
            if found is not None:
                break
        return found or self._packs.get(binary) or self._own.get(binary)

    def _keep_text(self, sha: Sha, content: bytes) -> None:
        """Keep a file that was just stored at hand: other working trees will want it soon."""
        if len(content) > TEXT_KEPT:
            return
        with self._lock:
            if self._texts_size > TEXTS_KEPT:
                self._texts, self._texts_size = {}, 0
            self._texts[sha] = content
            self._texts_size += len(content)

    def has(self, sha: Sha) -> bool:
        """Tell whether the object can be read, borrowed ones included."""
        binary = unhexlify(sha)
        return (
            self._packs.holds(binary)
            or self._own.holds(binary)
            or any(os.path.exists(_path(folder, sha)) for folder in self._folders)
            or self._packs.holds(binary)  # packed between the two looks
            or self._own.holds(binary)
        )

    def owns(self, sha: Sha) -> bool:
        """Tell whether the object lies in the store's own folder."""
        return os.path.exists(_path(self.folder, sha)) or self._own.holds(unhexlify(sha))

    def blob(self, sha: Sha) -> bytes:
        """Read a file's bytes."""
        kept = self._texts.get(sha)
        return self.raw(sha)[1] if kept is None else kept

    def tree(self, sha: Sha) -> Mapping[bytes, Entry]:
        """Read a folder: name to mode and id, modes canonical. Do not change the answer."""
        known = self._trees.get(sha)
        if known is not None:
            return known
        kind, content = (TREE, b"") if sha == EMPTY_TREE else self.raw(sha)
        if kind != TREE:
            raise Malformed(f"{show(sha)} is a {show(NAMES[kind])}, not a tree")
        entries = {
            name: (mode if mode in _USUAL else canonical(mode), child) for name, mode, child in parse_tree(content, 20)
        }
        if self._weight > TREES_KEPT:
            self._trees = {}
            self._weight = 0
        self._trees[sha] = entries
        self._weight += len(entries)
        return entries

    def names(self, tree: Sha, name: bytes) -> bool:
        """Tell whether a file of this name lies anywhere below a tree."""
        known = self._named.get((tree, name))
        if known is None:
            entries = self.tree(tree)
            known = name in entries or any(
                self.names(child, name) for mode, child in entries.values() if mode == DIRECTORY
            )
            if len(self._named) > TREES_KEPT:
                self._named = {}
            self._named[(tree, name)] = known
        return known

    def commit(self, sha: Sha) -> Commit:
        """Read a commit; one at the edge of a shallow history has no parents."""
        known = self._commits.get(sha)
        if known is not None:
            return known
        kind, content = self.raw(sha)
        if kind != COMMIT:
            raise Malformed(f"{show(sha)} is a {show(NAMES[kind])}, not a commit")
        head, _, message = content.partition(b"\n\n")
        tree, parents, time = b"", [], 0
        for line in head.split(b"\n"):
            key, _, value = line.partition(b" ")
            if key == b"tree":
                tree = value
            elif key == b"parent":
                parents.append(value)
            elif key == b"committer":
                with contextlib.suppress(ValueError, IndexError):
                    time = int(value.rsplit(b" ", 2)[1])
        if parents and self._ends_at(sha, parents):
            return Commit(tree=tree, parents=(), time=time, message=message)  # not kept: history may be deepened
        found = Commit(tree=tree, parents=tuple(parents), time=time, message=message)
        if len(self._commits) > 20_000:
            self._commits = {}
        self._commits[sha] = found
        return found

    def _ends_at(self, sha: Sha, parents: Iterable[Sha]) -> bool:
        return sha in self._shallow.commits() or (self._guest and not all(map(self.has, parents)))

    def severed(self, sha: Sha) -> bool:
        """Tell whether a commit's parents are missing although they are not in the repository that lends the rest to this one."""
        if not self._guest or self.commit(sha).parents or sha in self._shallow.commits():
            return False
        return b"\nparent " in self.raw(sha)[1].partition(b"\n\n")[0]

    def write(self, kind: int, content: bytes) -> Sha:
        """Store an object and answer its id; storing it again is free."""
        sha = digest(kind, content)
        if kind == BLOB:
            self._keep_text(sha, content)
        path = _path(self.folder, sha)
        if os.path.exists(path) or self._own.holds(unhexlify(sha)):
            return sha
        folder = os.path.dirname(path)
        if folder not in self._made:
            make_folders(self.disk, folder)
            self._made.add(folder)
        with self._lock:
            self._names += 1
            temporary = b"%s/tmp_obj_%d_%d_%d" % (folder, os.getpid(), self._born, self._names)
        body = zlib.compress(b"%s %d\x00" % (NAMES[kind], len(content)) + content, 1)
        try:
            self.disk.make(temporary, body, mode=0o444)
        except FileExistsError:
            os.unlink(temporary)  # a namesake of a process that is gone
            self.disk.make(temporary, body, mode=0o444)
        except FileNotFoundError:
            make_folders(self.disk, folder)  # a collection removed the empty folder
            self.disk.make(temporary, body, mode=0o444)
        try:
            self.disk.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        return sha

    def write_tree(self, entries: Mapping[bytes, Entry]) -> Sha:
        """Store a folder."""
        return self.write(TREE, tree_bytes(entries))

    def loose_path(self, sha: Sha) -> bytes:
        """Say where an object of the store's own lies when it lies loose."""
        return _path(self.folder, sha)

    def loose(self, sha: Sha) -> tuple[int, bytes] | None:
        """Read an object that lies loose in the store's own folder; None when it does not. Raises Malformed."""
        return _loose(self.folder, sha)

    def look_again(self) -> None:
        """Take notice of packs of the store's own that have appeared."""
        self._own.refresh(sure=True)

    def packed_in(self, base: bytes, raw: bytes) -> bool:
        """Tell whether the pack of this name is on disk and holds a binary id."""
        return self._own.holds(raw, base)

    def close(self) -> None:
        """Let mapped packs go."""
        self._packs.close()
        self._own.close()


_USUAL = frozenset((DIRECTORY, FILE, EXECUTABLE, LINK, GITLINK))


def tree_bytes(entries: Mapping[bytes, Entry]) -> bytes:
    """Serialise a folder in git's order (a folder sorts as if its name ended in a slash)."""
    order = sorted(entries.items(), key=lambda item: item[0] + b"/" if item[1][0] == DIRECTORY else item[0])
    return b"".join(b"%o %s\x00%s" % (mode, name, unhexlify(sha)) for name, (mode, sha) in order)


def commit_bytes(*, tree: Sha, parents: Iterable[Sha], author: bytes, committer: bytes, message: bytes) -> bytes:
    """Serialise a commit; ``author`` and ``committer`` are ``Name <mail> seconds zone``."""
    lines = [
        b"tree " + tree,
        *(b"parent " + parent for parent in parents),
        b"author " + author,
        b"committer " + committer,
    ]
    return b"\n".join(lines) + b"\n\n" + message


def alternates(folder: bytes) -> tuple[bytes, ...]:
    """Name every object folder this one borrows from, near ones first, each once."""
    found: list[bytes] = []
    todo = [folder]
    while todo:
        current = todo.pop(0)
        try:
            with open(os.path.join(current, b"info", b"alternates"), "rb") as file:
                lines = file.read().split(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            continue
        for line in lines:
            if not line or line.startswith(b"#"):
                continue
            path = os.path.normpath(os.path.join(current, line))
            if path not in found and path != folder:
                found.append(path)
                todo.append(path)
    return tuple(found)


def _path(folder: bytes, sha: Sha) -> bytes:
    return b"%s/%s/%s" % (folder, sha[:2], sha[2:])


def _loose(folder: bytes, sha: Sha) -> tuple[int, bytes] | None:
    try:
        with open(_path(folder, sha), "rb") as file:
            body = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        plain = zlib.decompress(body)
        head, _, content = plain.partition(b"\x00")
        name, _, size = head.partition(b" ")
        kind, whole = KINDS[name], len(content) == int(size)
    except (zlib.error, ValueError, KeyError):
        kind, content, whole = 0, b"", False
    if not whole:
        raise Malformed(f"object {show(sha)} in {show(folder)} is damaged; `git fsck` shows more")
    return kind, content
