"""Filters and encodings that come up while a run goes on: nothing is stored or landed wrong by them (W4, W10, H14)."""

from __future__ import annotations

from pathlib import Path

import pytest
from repo_kit import full_state, git, init, write
from service_kit import SIGN, finish, start, work

from ggactors.protocol.git import ConflictLeft, Merged, MergeFailed, SealBlocked, Sealed, Unresolved
from ggactors.repo.service import open_repository

BASE = {"a": "1\n2\n3\n", "d/b": "b\n", ".gitattributes": "*.txt text\n"}


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        (".gitattributes", "*.txt text\n\n*.bin filter=lfs diff=lfs\n", "line 3 of .gitattributes sets filter=lfs"),
        ("d/.gitattributes", "*.u working-tree-encoding=UTF-16LE", "line 1 of d/.gitattributes sets working-tree-encoding"),
        ("new/.gitattributes", "# x\n* ident\n", "line 2 of new/.gitattributes sets ident"),
        (".gitattributes", "[attr]big filter=x -text\n*.bin big\n", "line 2 of .gitattributes sets filter=x"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("committed", [False, True])
async def test_a_conversion_that_an_agents_attributes_bring_holds_the_ending_naming_the_line_W4(
    place, path, text, said, committed
):
    init(place[0], BASE)
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    write(root, {path: text, "a.bin": "x"})
    if committed:
        git(root, "add", "-A")
        git(root, "commit", "-qm", "mine")
    blocked = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(blocked, SealBlocked)
    assert said in blocked.reason
    write(root, {path: "*.bin binary -filter\n"})
    assert isinstance(await repo.seal("AUTH-1", SIGN, "work"), Sealed)
    await repo.close()


async def test_a_macro_of_the_top_is_known_below_it_W4(place):
    init(place[0], {**BASE, ".gitattributes": "[attr]big filter=x\n"})
    repo = await start(place)
    root = Path((await repo.open_worktree("AUTH-1")).root)
    write(root, {"d/.gitattributes": "*.bin big\n"})
    blocked = await repo.seal("AUTH-1", SIGN, "work")
    assert isinstance(blocked, SealBlocked)
    assert "line 1 of d/.gitattributes sets filter=x" in blocked.reason
    await repo.close()


async def test_two_works_that_make_a_conversion_only_together_are_not_merged_M4(place):
    init(place[0], BASE)
    repo = await start(place)
    one = await work(repo, "AUTH-1", {".gitattributes": "[attr]big filter=x\n"})
    two = await work(repo, "AUTH-2", {"d/.gitattributes": "*.bin big\n"})
    assert isinstance(await repo.merge("AUTH-1", one.commit, SIGN, "Merge"), Merged)
    failed = await repo.merge("AUTH-2", two.commit, SIGN, "Merge")
    assert isinstance(failed, MergeFailed)
    assert "sets filter=x" in failed.reason
    await repo.close()


async def test_a_merge_agent_that_brings_a_conversion_has_not_concluded_M3(place):
    init(place[0], BASE)
    repo = await start(place)
    one = await work(repo, "AUTH-1", {"a": "ONE\n"})
    two = await work(repo, "AUTH-2", {"a": "TWO\n"})
    assert isinstance(await repo.merge("AUTH-1", one.commit, SIGN, "Merge"), Merged)
    assert isinstance(await repo.begin_conflict("AUTH-2", two.commit, SIGN, "Merge"), ConflictLeft)
    main = place[1] / "main"
    write(main, {"a": "BOTH\n", ".gitattributes": "* ident\n"})
    git(main, "add", "-A")
    git(main, "commit", "-q", "--no-edit")
    found = await repo.resolution()
    assert isinstance(found, Unresolved)
    assert "line 1 of .gitattributes sets ident" in found.reason
    await repo.close()


@pytest.mark.parametrize("checkout", ["private", "inPlace"])
async def test_a_conversion_of_those_who_work_in_main_is_held_back_M6(place, checkout):
    init(place[0], BASE)
    repo = await open_repository(place[0], run_id="r", run_dir=place[1], checkout=checkout)
    write(Path(repo.facts.main), {".gitattributes": "* filter=x\n"})
    blocked = await repo.commit_main(SIGN, "work")
    assert isinstance(blocked, SealBlocked)
    assert "line 1 of .gitattributes sets filter=x" in blocked.reason
    await repo.close()


def in_info(workspace):
    write(workspace, {".git/info/attributes": "*.bin filter=x\n"})


def on_disk(workspace):
    write(workspace, {"d/.gitattributes": "*.bin filter=x\n"})
    git(workspace, "add", "d")


def in_a_commit(workspace):
    write(workspace, {".gitattributes": "*.bin filter=x\n"})
    git(workspace, "commit", "-qam", "meanwhile")
    write(workspace, {".gitattributes": "*.txt text\n"})
    git(workspace, "commit", "-qam", "taken out")
    git(workspace, "reset", "-q", "--soft", "HEAD~1")


@pytest.mark.parametrize("bring", [in_info, on_disk, in_a_commit])
async def test_a_conversion_the_operator_sets_meanwhile_holds_the_landing_until_it_is_gone_W10(place, bring):
    init(place[0], BASE)
    repo = await start(place)
    await finish(repo, "AUTH-1", {"a.bin": "hello\n"})
    bring(place[0])
    before = full_state(place[0])
    landing = await repo.land()
    assert landing.reason == "write-failed"
    assert "sets filter=x" in landing.detail
    assert full_state(place[0]) == before
    if bring is in_info:
        (place[0] / ".git/info/attributes").unlink()
        assert (await repo.land()).reason is None
        assert git(place[0], "status", "--porcelain") == b""
    await repo.close()
