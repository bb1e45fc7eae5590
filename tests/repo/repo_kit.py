"""Real git as the oracle, and small worlds to compare in."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

from ggactors.repo import renames
from ggactors.repo.objects import BLOB, COMMIT, Objects, commit_bytes
from ggactors.repo.textmerge import Labels
from ggactors.repo.treemerge import merge_commits
from ggactors.repo.trees import apply

ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "Person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

EFFORT = int(os.environ.get("GGACTORS_TEST_EFFORT", "1"))
"""How many times the usual number of generated cases a run puts through git."""


def tell(line: str) -> None:
    """Say what was compared: `pytest -rP` shows it, and docs/git.md repeats it."""
    sys.stdout.write(f"{line}\n")


def newest_likeness(monkeypatch) -> None:
    """Score likeness as the git at hand does: until 2.44 it left a last line without an end out."""
    version = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    monkeypatch.setattr(renames, "LAST_LINE_COUNTS", tuple(map(int, version.split(".")[:2])) >= (2, 44))


def git(where, *args, check=True, data=None, env=None):
    """Run git, answer its stdout as bytes."""
    done = subprocess.run(["git", *args], cwd=where, input=data, capture_output=True, env={**ENV, **(env or {})})
    if check and done.returncode:
        raise AssertionError(f"git {args} in {where}: {done.returncode}\n{done.stdout!r}\n{done.stderr!r}")
    return done.stdout


def git_code(where, *args):
    """Run git, answer its exit code."""
    return subprocess.run(["git", *args], cwd=where, capture_output=True, env=ENV).returncode


def init(
    where: Path, files: dict[str, str | bytes] | None = None, *, branch: str = "main", commit: bool = True
) -> Path:
    """Make a repository with one commit."""
    where.mkdir(parents=True, exist_ok=True)
    git(where, "init", "-q", "-b", branch)
    git(where, "config", "gc.auto", "0")
    write(where, files if files is not None else {"a.txt": "one\ntwo\nthree\n"})
    if commit:
        git(where, "add", "-A")
        git(where, "commit", "-q", "--allow-empty", "-m", "base")
    return where


def write(where: Path, files) -> None:
    """Write files; None removes one."""
    for name, content in files.items():
        path = Path(os.fsdecode(os.path.join(os.fsencode(where), os.fsencode(name))))
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def disk_state(where: Path, *, skip_git: bool = True):
    """Map every path below to its kind, mode and bytes."""
    out = {}
    root = os.fsencode(where)
    for folder, names, files in os.walk(root):
        if skip_git and b".git" in names:
            names.remove(b".git")
        inside = os.path.relpath(folder, root)
        for name in (*files, *names):
            path = os.path.join(folder, name)
            key = os.path.normpath(os.path.join(inside, name))
            if skip_git and name == b".git":
                continue
            if os.path.islink(path):
                out[key] = ("link", os.readlink(path))
            elif os.path.isdir(path):
                out[key] = ("folder", b"")
            else:
                with open(path, "rb") as file:
                    out[key] = ("file", os.stat(path).st_mode & 0o777, file.read())
    return out


def full_state(where: Path):
    """Everything of a checkout a person could lose or see changed: files, index, HEAD, branches."""
    return (
        disk_state(where),
        git(where, "ls-files", "-s", "-z"),
        git(where, "rev-parse", "HEAD"),
        git(where, "symbolic-ref", "-q", "HEAD", check=False),
        git(where, "for-each-ref", "refs/heads"),
        git(where, "status", "--porcelain", "-z", "--ignored"),
    )


class World:
    """A random small tree of files, and random edits to it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def lines(self) -> list[str]:
        r = self.random
        if r.random() < 0.3:
            return [r.choice(("{", "}", "", "  return", "pass")) for _ in range(r.randint(0, 25))]
        return [f"line {r.randint(0, 10_000)}" for _ in range(r.randint(0, 25))]

    def content(self) -> bytes:
        r = self.random
        if r.random() < 0.06:
            return bytes(r.randrange(256) for _ in range(40)) + b"\x00"
        text = "\n".join(self.lines())
        return (text + ("\n" if r.random() < 0.9 else "")).encode()

    def name(self) -> str:
        r = self.random
        parts = [r.choice("abc") for _ in range(r.randint(0, 2))]
        return "/".join([*parts, r.choice(("f", "g", "h", "i", "j", "sp ace", "ü")) + str(r.randint(0, 3))])

    def base(self, most: int = 14) -> dict[str, tuple[str, bytes]]:
        tree: dict[str, tuple[str, bytes]] = {}
        for _ in range(self.random.randint(1, most)):
            self.put(tree, self.name(), self.entry())
        return tree

    def entry(self, *, gitlinks: bool = False) -> tuple[str, bytes]:
        r = self.random
        if r.random() < 0.08:
            return "120000", r.choice((b"target", b"../out", b"/etc/hosts"))
        if gitlinks and r.random() < 0.1:
            return "160000", b"%040x" % r.randint(1, 4)
        return ("100755" if r.random() < 0.15 else "100644"), self.content()

    @staticmethod
    def put(tree, name, entry) -> None:
        for other in list(tree):
            if other.startswith(name + "/") or name.startswith(other + "/"):
                del tree[other]
        tree[name] = entry

    def edit(self, tree, *, kinds: str = "mmmaadrxl", most: int = 5) -> dict[str, tuple[str, bytes]]:
        """Edit a tree: modify, add, delete, rename, chmod, link; ``M`` moves a folder, ``S`` swaps two names, ``T`` takes
        another file's name over, ``F`` makes a folder of a file, ``C`` copies, ``N`` adds beside others, ``G`` is a gitlink.
        """
        r = self.random
        out = dict(tree)
        for _ in range(r.randint(0, most)):
            what = r.choice(kinds)
            name = r.choice(sorted(out)) if out else None
            if what == "a" or name is None:
                self.put(out, self.name(), self.entry())
            elif what in "MSTFCNG":
                self._larger(out, what, name)
            else:
                self._small(out, what, name)
        return out

    def _small(self, out, what: str, name: str) -> None:
        r = self.random
        plain = out[name][0] not in ("120000", "160000")
        if what == "m" and plain:
            out[name] = (out[name][0], self.edited(out[name][1]))
        elif what == "d":
            del out[name]
        elif what == "r":
            entry = out.pop(name)
            if r.random() < 0.4 and plain:
                entry = (entry[0], self.edited(entry[1]))
            self.put(out, self.name(), entry)
        elif what == "x" and plain:
            out[name] = ("100644" if out[name][0] == "100755" else "100755", out[name][1])
        elif what == "l":
            out[name] = ("120000", r.choice((b"elsewhere", b"x")))

    def _larger(self, out, what: str, name: str) -> None:
        r = self.random
        folder = name.rpartition("/")[0]
        if what == "M" and folder:
            target = r.choice(("a", "b", "c", "d", "e", "a/b", "d/e", ""))
            for old in [path for path in sorted(out) if path.startswith(folder + "/")]:
                if r.random() < 0.93:
                    entry = out.pop(old)
                    self.put(out, f"{target}/{old[len(folder) + 1 :]}".lstrip("/"), entry)
        elif what == "S":
            other = r.choice(sorted(out))
            out[name], out[other] = out[other], out[name]
        elif what == "T":
            entry = out.pop(name)
            self.put(out, r.choice(sorted(out)) if out else name, entry)
        elif what == "F":
            entry = out.pop(name)
            self.put(out, name + "/in", entry)
        elif what == "C":
            self.put(out, self.name(), out[name])
        elif what == "N" and folder:
            self.put(out, f"{folder}/new{r.randint(0, 3)}", self.entry())
        elif what == "G":
            self.put(out, name if r.random() < 0.5 else self.name(), ("160000", b"%040x" % r.randint(1, 4)))

    def edited(self, content: bytes) -> bytes:
        r = self.random
        lines = content.split(b"\n")
        for _ in range(r.randint(1, 3)):
            at = r.randint(0, len(lines))
            what = r.random()
            if what < 0.4:
                lines[at:at] = [b"new %d" % r.randint(0, 999)]
            elif what < 0.7:
                lines[at : at + 1] = [b"changed %d" % r.randint(0, 999)]
            else:
                del lines[at : at + r.randint(1, 2)]
        return b"\n".join(lines)


def commit_tree(where: Path, tree, parents=(), *, age: int | None = None) -> str:
    """Store a tree as a commit, by our own writer (the tests that use it let ``git fsck`` judge it); answer its id."""
    store = Objects(os.fsencode(where / ".git" / "objects"))
    files = {
        name.encode(): (int(mode, 8), content if mode == "160000" else store.write(BLOB, content))
        for name, (mode, content) in tree.items()
    }
    stamp = b"Person <person@example.org> %d +0000" % (1_700_000_000 + (len(parents) if age is None else age))
    content = commit_bytes(
        tree=apply(store, None, files),
        parents=[parent.encode() for parent in parents],
        author=stamp,
        committer=stamp,
        message=b"made\n",
    )
    sha = store.write(COMMIT, content).decode()
    store.close()
    return sha


def merge_both_ways(where: Path, left: str, right: str):
    """Merge two commits by git and by us: (clean, tree, stages) of each, and what we could not place.

    The tree holds what is left in the working tree, markers included; the stages are index lines.
    """
    done = subprocess.run(
        ["git", "merge-tree", "--write-tree", "-z", "--no-messages", left, right],
        cwd=where, env=ENV, capture_output=True,
    )  # fmt: skip
    assert done.returncode in (0, 1), done
    tree, *stages = done.stdout.split(b"\0")
    store = Objects(os.fsencode(where / ".git/objects"))
    try:
        merged = merge_commits(
            store, left.encode(), right.encode(), labels=Labels(ours=left.encode(), theirs=right.encode())
        )
        mine = apply(store, store.commit(left.encode()).tree, merged.all_changes())
    finally:
        store.close()
    lines = [
        b"%06o %s %d\t%s" % (mode, sha, stage, path)
        for path, conflict in merged.conflicts.items()
        for stage, (mode, sha) in conflict.stages.items()
    ]
    theirs = (done.returncode == 0, tree, sorted(line for line in stages if line))
    return theirs, (merged.clean, mine, sorted(lines)), merged.unclear


def file_below_file(stages) -> bool:
    """Tell whether git's own index has a file below a file: it then loses one of the two from the working tree."""
    paths = {line.split(b"\t", 1)[1] for line in stages}
    return any(path.startswith(other + b"/") for path in paths for other in paths if other != path)
