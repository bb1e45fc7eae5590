"""Generated trees, texts and edits, put through git and through us."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest
from repo_kit import EFFORT, ENV, World, commit_tree, git, init, newest_likeness, tell, write

from ggactors.repo.checkout import fresh, unsafe_name
from ggactors.repo.commits import stage_all
from ggactors.repo.disk import Disk
from ggactors.repo.faults import UnsafePath
from ggactors.repo.index import Index
from ggactors.repo.objects import BLOB, TREE, Objects, tree_bytes
from ggactors.repo.operator import find
from ggactors.repo.stats import file_changes
from ggactors.repo.textmerge import Labels, merge_text
from ggactors.repo.worktrees import Grounds, add


def place_of(where):
    return find(os.fsencode(where)).place


@pytest.mark.timeout(60 + 60 * EFFORT)
@pytest.mark.parametrize("alphabet", ["unique", "repetitive"])
def test_generated_texts_merge_as_gits_do(tmp_path, alphabet):
    r = random.Random(11)
    where = init(tmp_path / "r", {})
    words = [f"x{n}" for n in range(900)] if alphabet == "unique" else ["{", "}", "", "a", "b", "return"]
    same = total = 0
    for _ in range(60 * EFFORT):
        base = [r.choice(words) for _ in range(r.randint(0, 30))]
        texts = [_text(r, lines) for lines in (base, _edit(r, base, words), _edit(r, base, words))]
        commits = [commit_tree(where, {"f": ("100644", texts[0])})]
        commits += [commit_tree(where, {"f": ("100644", text)}, commits[:1]) for text in texts[1:]]
        done = subprocess.run(
            ["git", "merge-tree", "--write-tree", "--no-messages", *commits[1:]],
            cwd=where,
            env=ENV,
            capture_output=True,
        )
        tree = done.stdout.split()[0].decode()
        wanted = git(where, "show", tree + ":f")
        labels = Labels(ours=commits[1].encode(), theirs=commits[2].encode())
        found = merge_text(*texts, labels) if texts[1] != texts[2] else None
        if found is None or texts[0] in texts[1:]:
            continue
        total += 1
        assert (done.returncode == 0) == (found.conflicts == 0), texts
        if not found.conflicts:
            assert found.content == wanted, texts
        same += found.content == wanted
    tell(f"{total} generated texts, {alphabet} lines, seed 11: {same} to the byte")
    assert same == total


def _edit(r, lines, words):
    out = list(lines)
    for _ in range(r.randint(0, 4)):
        at = r.randint(0, len(out))
        match r.choice("idr"):
            case "i":
                out[at:at] = [r.choice(words) for _ in range(r.randint(1, 3))]
            case "d":
                del out[at : at + r.randint(1, 3)]
            case _:
                out[at : at + 1] = [r.choice(words)]
    return out


def _text(r, lines):
    return ("\n".join(lines) + ("\n" if lines and r.random() < 0.9 else "")).encode()


def _mutate(r, root):
    """Do to a checkout what an agent might."""
    files = [p for p in root.rglob("*") if ".git" not in p.parts and (p.is_file() or p.is_symlink())]
    for _ in range(r.randint(1, 6)):
        files = [p for p in files if p.is_symlink() or p.is_file()]
        target = r.choice(files) if files else root / "only"
        match r.choice(
            ["edit", "touch", "delete", "chmod", "link", "new", "folder", "swap", "ignore", "add", "rm", "ita", "same"]
        ):
            case "edit" if target.is_file() and not target.is_symlink():
                target.write_bytes(target.read_bytes() + b"more\n")
            case "touch" if target.is_file() and not target.is_symlink():
                os.utime(target)
            case "delete":
                target.unlink(missing_ok=True)
            case "chmod" if target.is_file() and not target.is_symlink():
                target.chmod(0o755 if not target.stat().st_mode & 0o100 else 0o644)
            case "link":
                target.unlink(missing_ok=True)
                os.symlink(r.choice(["a", "..", "/etc"]), target)
            case "new":
                write(root, {f"n{r.randint(0, 9)}/{r.randint(0, 9)}": "n"})
            case "folder" if target.exists() and not target.is_symlink():
                target.unlink()
                write(root, {str(target.relative_to(root)) + "/in": "in"})
            case "swap" if target.parent != root:
                shutil.rmtree(target.parent)
                os.symlink("elsewhere", target.parent)
                return
            case "ignore":
                write(
                    root,
                    {r.choice(["", "a/"]) + ".gitignore": r.choice(["n*\n", "*\n!*.txt\n", "a/\n", "/b\n", "!x\n"])},
                )
                return
            case "add":
                git(root, "add", "-A")
            case "rm" if target.exists():
                git(root, "rm", "-q", "-f", "--cached", "--ignore-unmatch", str(target.relative_to(root)))
            case "ita":
                write(root, {"ita": ""})
                git(root, "add", "-N", "ita")
            case "same" if target.is_file() and not target.is_symlink():
                content = target.read_bytes()
                target.unlink()
                target.write_bytes(content)


@pytest.mark.timeout(60 + 60 * EFFORT)
def test_staging_everything_comes_to_the_tree_of_git_add_all_W4(tmp_path):
    template = init(
        tmp_path / "t", {"a/x": "1\n", "a/y": "2\n", "b/c/d": "3\n", "e": "4\n", "f.txt": "5\n", ".gitignore": "*.o\n"}
    )
    compared = 0
    for seed in range(60 * EFFORT):
        where = tmp_path / f"w{seed}"
        shutil.copytree(template, where, symlinks=True)
        r = random.Random(seed)
        try:
            _mutate(r, where)
        except (NotADirectoryError, IsADirectoryError):
            continue
        place = place_of(where)
        head = place.store.commit(place.refs.head().commit).tree
        found = stage_all(place, Index.read(place.index_path), head)
        git(where, "add", "-A")
        assert git(where, "write-tree").strip() == found.tree, (seed, git(where, "status", "--short"))
        compared += 1
        place.store.close()
        shutil.rmtree(where)
    tell(f"{compared} generated working trees staged, seeds from 0: all of them git's tree")
    assert compared > 50 * EFFORT


@pytest.mark.parametrize("version", [2, 3, 4])
def test_an_index_of_every_version_is_read_and_written_back_as_git_has_it(tmp_path, version):
    where = init(tmp_path / "r", {f"{'d' * n}/f{n}": str(n) for n in range(1, 40)} | {"x" * 200: "long"})
    if version == 3:
        write(where, {"new": ""})
        git(where, "add", "-N", "new")
    git(where, "update-index", f"--index-version={version}")
    before = git(where, "ls-files", "-s", "--debug")
    path = os.fsencode(where / ".git/index")
    index = Index.read(path)
    assert index.version == version
    (where / ".git/index").write_bytes(index.dump())
    assert git(where, "ls-files", "-s", "--debug") == before
    git(where, "fsck", "--strict")


@pytest.mark.timeout(60 + 60 * EFFORT)
def test_per_file_statistics_are_those_of_git_numstat_with_renames(tmp_path, monkeypatch):
    newest_likeness(monkeypatch)
    where, files = init(tmp_path / "r", {}), 0
    for seed in range(9_000, 9_000 + 40 * EFFORT):
        world = World(seed)
        base = world.base()
        old = commit_tree(where, base)
        new = commit_tree(where, world.edit(base, kinds="mmmaadrrxlMSTCG"), [old])
        listed = git(where, "diff", "--numstat", "-M", "-z", "--no-ext-diff", old, new).split(b"\0")
        wanted = []
        while len(listed) > 1:
            added, removed, path = listed.pop(0).split(b"\t")
            pair = (path, path) if path else (listed.pop(0), listed.pop(0))
            wanted.append((None if added == b"-" else int(added), None if removed == b"-" else int(removed), pair[1]))
        store = Objects(os.fsencode(where / ".git/objects"))
        found = file_changes(store, store.commit(old.encode()).tree, store.commit(new.encode()).tree)
        store.close()
        mine = [(change.added, change.removed, change.new or change.old) for change in found]
        assert sorted(mine, key=lambda row: row[2]) == sorted(wanted, key=lambda row: row[2]), seed
        files += len(wanted)
    tell(f"{files} changed files counted in {40 * EFFORT} commits, seeds from 9,000: all of them git's numbers")


ATTRIBUTES = [
    "",
    "* text=auto\n",
    "*.txt text\n",
    "* text eol=crlf\n",
    "*.txt eol=lf\n*.bin -text\n",
    "*.bin binary\n* text=auto eol=crlf\n",
    "[attr]mine text eol=crlf\nd/*.txt mine\n*.bin !text\n",
]
CONFIGS = [{}, {"core.autocrlf": "true"}, {"core.autocrlf": "input"}, {"core.eol": "crlf"}]
CONTENTS = [
    b"a\nb\n", b"a\r\nb\r\n", b"a\r\nb\n", b"a\rb\n", b"\x00\r\n\n", b"", b"\n", b"\r\n", b"x\x1a",
    b"caf\xe9\r\n", b"a\r\n" * 50 + b"\x01",
]  # fmt: skip


@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_line_endings_are_stored_and_checked_out_as_gits_are(tmp_path, attributes, config):
    where = init(tmp_path / "r", {"seed": "s"})
    for key, value in config.items():
        git(where, "config", key, value)
    files = {f"d/f{n}{ending}": content for n, content in enumerate(CONTENTS) for ending in (".txt", ".bin", "")}
    write(where, {".gitattributes": attributes, **files})
    place = place_of(where)
    head = place.store.commit(place.refs.head().commit).tree
    staged = stage_all(place, Index.read(place.index_path), head)
    git(where, "add", "-A")
    assert git(where, "write-tree").strip() == staged.tree
    git(where, "commit", "-qm", "files")
    commit = git(where, "rev-parse", "HEAD").strip()
    git(where, "worktree", "add", "-q", "--detach", "../theirs")
    grounds = Grounds(
        common=os.fsencode(where / ".git"), folder=os.fsencode(tmp_path / "ours"), store=place.store,
        settings=place.settings, disk=Disk(),
    )  # fmt: skip
    mine = grounds.place(b"w")
    add(mine, b"w", commit)
    for name in files:
        assert (tmp_path / "ours/w" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name
    assert git(tmp_path / "ours/w", "status", "--porcelain") == b""
    place.store.close()


@pytest.mark.parametrize(
    "name",
    [b".git", b".GIT", b".Git", b"..", b".", b"", b"a/b", b"git~1", b"GIT~1", b".git ", b".git.", b".git::$INDEX_ALLOCATION",
     b".g\xe2\x80\x8cit", b"x\x00y"],
)  # fmt: skip
def test_names_that_could_reach_a_git_folder_are_never_written(name):
    assert unsafe_name(name)


@pytest.mark.parametrize(
    "name", [b".gitignore", b"git", b".github", b"...", b"a b", b"\xff", b"\\", b".gi", "é.git".encode()]
)
def test_ordinary_names_are_written(name):
    assert not unsafe_name(name)


@pytest.mark.parametrize("hostile", [(b"..", b"x"), (b".git", b"config"), (b"a", b".GIT")])
def test_a_hostile_tree_is_refused_before_anything_is_written(tmp_path, hostile):
    where = init(tmp_path / "r")
    place = place_of(where)
    blob = place.store.write(BLOB, b"evil")
    inner = place.store.write(TREE, tree_bytes({hostile[1]: (0o100644, blob), b"fine": (0o100644, blob)}))
    tree = place.store.write(TREE, tree_bytes({hostile[0]: (0o040000, inner), b"ok": (0o100644, blob)}))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UnsafePath):
        fresh(place, tree)
    assert sorted(tmp_path.rglob("*")) == before
    place.store.close()
