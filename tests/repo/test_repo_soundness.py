"""History that agents bring from elsewhere: whole and fit for git, or it is not taken up (W4, W8, W10)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repo_kit import git, init, write
from service_kit import SIGN, start

from ggactors.protocol.git import Merged, MergeFailed, SealBlocked, Sealed
from ggactors.repo.faults import Unsound
from ggactors.repo.objects import Objects
from ggactors.repo.soundness import check_tree
from ggactors.repo.transfer import carry, unsound

BASE = {"a": "1\n2\n3\n", ".gitignore": "*.o\n"}


def upstream(place) -> Path:
    """Make a repository two commits ahead of the workspace."""
    other = place[0].parent / "up"
    git(place[0].parent, "clone", "-q", place[0], other)
    for text in ("1", "2"):
        write(other, {"u": text})
        git(other, "add", "-A")
        git(other, "commit", "-qm", f"up{text}")
    return other


def shallow(root, other):
    git(root, "fetch", "-q", "--depth", "1", f"file://{other}", "main")
    git(root, "merge", "-q", "--allow-unrelated-histories", "-m", "mm", "FETCH_HEAD")


def forgotten(root, other):
    shallow(root, other)
    (root.parent.parent / "repo.git/shallow").unlink()


@pytest.mark.parametrize("fetch", [shallow, forgotten])
async def test_a_history_cut_off_by_a_shallow_fetch_is_held_back_until_it_is_whole_W8(place, fetch):
    init(place[0], BASE)
    other = upstream(place)
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    fetch(root, other)
    blocked = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(blocked, SealBlocked)
    assert "cut off by a shallow fetch" in blocked.reason
    if fetch is shallow:
        git(root, "fetch", "-q", "--unshallow", f"file://{other}", "main")
    else:
        git(root, "reset", "-q", "--hard", "HEAD~1")
        git(root, "fetch", "-q", "--refetch", f"file://{other}", "main")
        git(root, "merge", "-q", "FETCH_HEAD")
    sealed = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(sealed, Sealed)
    assert isinstance(await repo.merge("AUTH-1", sealed.commit, SIGN, "Merge"), Merged)
    assert (await repo.land()).reason is None
    git(place[0], "fsck", "--strict")
    assert b"up1" in git(place[0], "log", "--format=%s")
    await repo.close()


@pytest.mark.parametrize("fetch", [shallow, forgotten])
async def test_work_on_a_history_that_is_cut_off_is_saved_when_it_is_given_up_W5(place, fetch):
    init(place[0], BASE)
    other = upstream(place)
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    fetch(root, other)
    write(root, {"n": "precious"})
    assert isinstance(await repo.seal("AUTH-1", SIGN, "work"), SealBlocked)
    saved = await repo.discard("AUTH-1", accepted=False)
    assert saved is not None
    assert git(place[1] / "repo.git", "show", f"{saved}:n") == b"precious"
    assert not root.exists()
    await repo.close()


async def test_a_shallow_fetch_that_the_work_leaves_out_again_blocks_nothing_W4(place):
    init(place[0], BASE)
    other = upstream(place)
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    git(root, "fetch", "-q", "--depth", "1", f"file://{other}", "main")
    git(root, "checkout", "FETCH_HEAD", "--", "u")
    assert isinstance(await repo.seal("AUTH-1", SIGN, "work"), Sealed)
    await repo.close()


async def test_work_on_a_shallow_clone_of_the_operators_is_whole_at_its_own_edge_W8(place):
    init(place[0].parent / "full", BASE)
    git(place[0].parent / "full", "commit", "-q", "--allow-empty", "-m", "second")
    git(place[0].parent, "clone", "-q", "--depth", "1", f"file://{place[0].parent / 'full'}", place[0])
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    write(root, {"n": "n"})
    git(root, "add", "n")
    git(root, "commit", "-qm", "mine")
    sealed = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(sealed, Sealed)
    assert isinstance(await repo.merge("AUTH-1", sealed.commit, SIGN, "Merge"), Merged)
    assert (await repo.land()).reason is None
    git(place[0], "fsck")
    await repo.close()


def test_what_is_carried_into_a_store_is_whole_or_nothing_is_W8(place):
    init(place[0], BASE)
    other = upstream(place)
    mine = place[0].parent / "mine.git"
    git(place[0].parent, "clone", "-q", "--bare", "--shared", place[0], mine)
    git(mine, "fetch", "-q", "--depth", "1", f"file://{other}", "main")
    tip, known = (git(mine, "rev-parse", name).strip() for name in ("FETCH_HEAD", "main"))
    source = Objects(os.fsencode(mine / "objects"), guest=True)
    target = Objects(os.fsencode(place[0] / ".git/objects"))
    with pytest.raises(Unsound, match="cut off"):
        carry(source, target, tip, (known,), has=target.has)
    assert not target.has(tip)
    assert not list((place[0] / ".git/objects/pack").glob("tmp*"))


def evil(root: Path, *entries: bytes) -> str:
    """Commit a tree of these names on HEAD, and on top of it the old tree again."""
    blob = bytes.fromhex(git(root, "hash-object", "-w", "--stdin", data=b"x").decode())
    content = b"".join(b"100644 " + name + b"\0" + blob for name in entries)
    tree = git(root, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=content).decode().strip()
    top = git(root, "mktree", data=f"040000 tree {tree}\tsub\n".encode()).decode().strip()
    made = git(root, "commit-tree", top, "-p", "HEAD", "-m", "evil").decode().strip()
    made = git(root, "commit-tree", "HEAD^{tree}", "-p", made, "-m", "good again").decode().strip()
    git(root, "update-ref", "HEAD", made)
    return made


BAD = [(b".git",), (b"..",), (b".",), (b".GIT ",), (b"git~1",), (b"a/b",), (b"",), (b"a", b"a"), (b"b", b"a")]


@pytest.mark.parametrize("entries", BAD)
async def test_a_tree_that_git_refuses_is_refused_in_an_ancestor_too_W10(place, entries):
    init(place[0], BASE)
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    before = git(root, "rev-parse", "HEAD").decode().strip()
    made = evil(root, *entries)
    blocked = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(blocked, SealBlocked)
    assert "git refuses to check out or to push" in blocked.reason
    failed = await repo.merge("AUTH-1", made, SIGN, "Merge")
    assert isinstance(failed, MergeFailed)
    store = Objects(os.fsencode(place[1] / "repo.git/objects"))
    target = Objects(os.fsencode(place[0] / ".git/objects"))
    assert unsound(store, made.encode(), (before.encode(),)) == blocked.reason == failed.reason
    with pytest.raises(Unsound):
        carry(store, target, made.encode(), (before.encode(),), has=target.has)
    git(root, "reset", "-q", "--soft", before)
    write(root, {"n": "n"})
    assert isinstance(await repo.seal("AUTH-1", SIGN, "work"), Sealed)
    await repo.close()


def test_a_tree_that_is_cut_off_in_an_entry_is_refused_and_an_empty_one_is_not():
    check_tree(b"0" * 40, b"")
    with pytest.raises(Unsound, match="cut off"):
        check_tree(b"0" * 40, b"100644 a\0" + b"x" * 19)


async def test_a_command_in_main_that_takes_up_such_history_is_undone_M6(place):
    init(place[0], BASE)
    repo = await start(place)
    main = place[1] / "main"
    before = git(main, "rev-parse", "HEAD")
    evil(main, b"..")
    restored = await repo.guard_main()
    assert restored is not None
    assert "git refuses" in restored.what
    assert git(main, "rev-parse", "HEAD") == before
    assert git(main, "status", "--porcelain") == b""
    assert await repo.guard_main() is None
    await repo.close()
