"""What stands against a run on a workspace is said before anything is written (P2, W1)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repo_kit import disk_state, full_state, git, init, write

from ggactors.ports import LaunchRefused
from ggactors.protocol.git import Merged, MergeFailed, SealBlocked, Sealed, Signature
from ggactors.repo import operator
from ggactors.repo.service import inspect_workspace, open_repository

SIGN = Signature(agent="AUTH-1.0i", issue="AUTH-1", attempt=0)


def words(workspace, tmp_path, *, checkout="private", **more):
    return "\n".join(
        map(str, inspect_workspace(Path(workspace), checkout=checkout, run_state=tmp_path / "state", **more))
    )


def bare(ws):
    git(ws.parent, "init", "-q", "--bare", str(ws))


def submodule(ws):
    init(ws)
    init(ws.parent / "lib")
    git(ws, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(ws.parent / "lib"), "lib")
    git(ws, "commit", "-qm", "sub")


def gitlink(ws):
    init(ws)
    init(ws / "inner")
    git(ws, "add", "inner")
    git(ws, "commit", "-qm", "link")


def attributes(text, *, where=".gitattributes"):
    def make(ws):
        init(ws, {"a": "a", where: text} if not where.startswith(".git/") else None)
        if where.startswith(".git/"):
            write(ws, {where: text})

    return make


def sparse(ws):
    init(ws, {"a/b": "1", "c/d": "2"})
    git(ws, "sparse-checkout", "set", "a")


def sha256(ws):
    ws.mkdir()
    git(ws, "init", "-q", "--object-format=sha256")


def extension(ws):
    init(ws)
    git(ws, "config", "core.repositoryFormatVersion", "1")
    git(ws, "config", "extensions.fancyThing", "true")


def split_index(ws):
    init(ws)
    git(ws, "update-index", "--split-index")


def nested(ws):
    write(ws, {"a": "a"})
    init(ws / "vendor/lib")


REFUSED = {
    "absent": (lambda ws: None, "does not exist"),
    "a file": (lambda ws: ws.write_text(""), "not a folder"),
    "bare": (bare, "bare repository"),
    "submodule": (submodule, "submodules"),
    "gitlink": (gitlink, "submodules (inner)"),
    "lfs": (attributes("*.bin filter=lfs diff=lfs merge=lfs -text\n"), "filter=lfs"),
    "lfs in a folder": (attributes("* filter=x\n", where="d/e/.gitattributes"), "d/e/.gitattributes sets filter=x"),
    "a filter in info": (attributes("* filter=y\n", where=".git/info/attributes"), "filter=y"),
    "a filter through a macro": (attributes("[attr]m filter=z\n*.c m\n"), "filter=z"),
    "ident": (attributes("*.c ident\n"), "ident"),
    "re-encoding": (attributes("*.txt working-tree-encoding=UTF-16\n"), "working-tree-encoding"),
    "sparse": (sparse, "sparse"),
    "sha256": (sha256, "sha256"),
    "unknown extension": (extension, "fancything"),
    "split index": (split_index, "git update-index --no-split-index"),
    "nested in a first baseline": (nested, "vendor/lib"),
    "damaged index": (lambda ws: (init(ws), (ws / ".git/index").write_bytes(b"DIRCxxxx")), "damaged"),
    "damaged config": (lambda ws: (init(ws), (ws / ".git/config").write_text("[core\nx")), "configuration"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_cannot_be_handled_is_refused_with_the_reason_and_nothing_is_written(tmp_path, case):
    make, reason = REFUSED[case]
    workspace = tmp_path / "ws"
    make(workspace)
    before = disk_state(workspace, skip_git=False) if workspace.is_dir() else None
    assert reason in words(workspace, tmp_path)
    with pytest.raises(LaunchRefused) as refused:
        await open_repository(workspace, run_id="r", run_dir=tmp_path / "state/r", checkout="private")
    assert all(problem.path == "workspace" for problem in refused.value.problems)
    assert before == (disk_state(workspace, skip_git=False) if workspace.is_dir() else None)
    assert not (tmp_path / "state").exists()


def test_the_home_folder_the_root_and_a_folder_holding_the_state_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "home folder" in words(tmp_path, tmp_path / "elsewhere")
    assert "root folder" in words("/", tmp_path)
    (tmp_path / "ws/state").mkdir(parents=True)
    assert "own state" in words(tmp_path / "ws", tmp_path / "ws")


def test_a_baseline_beyond_the_limit_is_refused_unless_asked_for_W1(tmp_path, monkeypatch):
    monkeypatch.setattr(operator, "MOST_FILES", 3)
    write(tmp_path / "ws", dict.fromkeys("abcd", "x"))
    assert "--large-baseline" in words(tmp_path / "ws", tmp_path)
    assert words(tmp_path / "ws", tmp_path, large_baseline=True) == ""
    write(tmp_path / "ws", {".gitignore": "c\nd\n"})
    assert words(tmp_path / "ws", tmp_path) == ""


def test_an_operation_going_on_refuses_in_place_and_only_notes_in_private(tmp_path):
    workspace = init(tmp_path / "ws")
    git(workspace, "checkout", "-q", "-b", "x")
    write(workspace, {"b": "b"})
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "x")
    git(workspace, "checkout", "-q", "main")
    git(workspace, "merge", "-q", "--no-ff", "--no-commit", "x")
    assert words(workspace, tmp_path) == ""
    assert "a merge is going on" in words(workspace, tmp_path, checkout="inPlace")
    git(workspace, "merge", "--abort")
    git(workspace, "checkout", "-q", "--detach")
    assert "on no branch" in words(workspace, tmp_path, checkout="inPlace")


def test_a_workspace_its_repository_ignores_is_refused(tmp_path):
    init(tmp_path / "ws", {".gitignore": "out/\n", "a": "a"})
    write(tmp_path / "ws", {"out/app/f": "f"})
    assert "ignored by the repository" in words(tmp_path / "ws/out/app", tmp_path)


async def test_a_detached_workspace_runs_on_a_branch_called_main_and_holds_the_landing(tmp_path):
    workspace = init(tmp_path / "ws", branch="trunk")
    git(workspace, "checkout", "-q", "--detach")
    repo = await open_repository(workspace, run_id="r", run_dir=tmp_path / "state/r", checkout="private")
    assert repo.facts.branch == "main"
    opened = await repo.open_worktree("AUTH-1")
    write(Path(opened.root), {"x": "x"})
    sealed = await repo.seal("AUTH-1", SIGN, "m")
    await repo.merge("AUTH-1", sealed.commit, SIGN, "m")
    assert (await repo.land()).reason == "detached"
    await repo.close()


async def test_a_linked_worktree_of_the_operators_is_a_workspace_like_any_other(tmp_path):
    init(tmp_path / "repo")
    git(tmp_path / "repo", "worktree", "add", "-q", "-b", "topic", "../ws")
    repo = await open_repository(tmp_path / "ws", run_id="r", run_dir=tmp_path / "state/r", checkout="private")
    opened = await repo.open_worktree("AUTH-1")
    write(Path(opened.root), {"x": "x"})
    sealed = await repo.seal("AUTH-1", SIGN, "m")
    await repo.merge("AUTH-1", sealed.commit, SIGN, "m")
    assert (await repo.land()).reason is None
    assert (tmp_path / "ws/x").read_text() == "x"
    assert git(tmp_path / "ws", "status", "--porcelain") == b""
    assert not (tmp_path / "repo/x").exists()
    await repo.close()


async def test_a_shallow_clone_works_W8(tmp_path):
    origin = init(tmp_path / "origin")
    for n in range(3):
        git(origin, "commit", "-q", "--allow-empty", "-m", str(n))
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin}", "ws")
    repo = await open_repository(tmp_path / "ws", run_id="r", run_dir=tmp_path / "state/r", checkout="private")
    opened = await repo.open_worktree("AUTH-1")
    write(Path(opened.root), {"x": "x"})
    sealed = await repo.seal("AUTH-1", SIGN, "m")
    assert isinstance(await repo.merge("AUTH-1", sealed.commit, SIGN, "m"), Merged)
    git(repo.facts.main, "fsck", "--strict")
    git(repo.facts.main, "log")
    assert (await repo.land()).reason is None
    git(tmp_path / "ws", "fsck")
    await repo.close()


async def test_a_partial_clone_works_when_it_has_what_it_shows_W8(tmp_path):
    origin = init(tmp_path / "origin", {"a": "old\n"})
    write(origin, {"a": "new\n"})
    git(origin, "commit", "-qam", "new")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{origin}", "ws")
    repo = await open_repository(tmp_path / "ws", run_id="r", run_dir=tmp_path / "state/r", checkout="private")
    opened = await repo.open_worktree("AUTH-1")
    assert (Path(opened.root) / "a").read_text() == "new\n"
    write(Path(opened.root), {"a": "newer\n"})
    sealed = await repo.seal("AUTH-1", SIGN, "m")
    assert isinstance(await repo.merge("AUTH-1", sealed.commit, SIGN, "m"), Merged)
    assert (await repo.land()).reason is None
    await repo.close()


# -- in place -----------------------------------------------------------------------------------------------------------


async def in_place(tmp_path, **more):
    return await open_repository(tmp_path / "ws", run_id="r", run_dir=tmp_path / "state/r", checkout="inPlace", **more)


async def test_in_place_the_operators_folder_is_main_and_nothing_of_the_run_stays_registered_W8(tmp_path):
    workspace = init(tmp_path / "ws", {"a": "1\n"})
    repo = await in_place(tmp_path)
    assert repo.facts.main == str(workspace)
    opened = await repo.open_worktree("AUTH-1")
    write(Path(opened.root), {"a": "2\n", "new": "n"})
    sealed = await repo.seal("AUTH-1", SIGN, "m")
    merged = await repo.merge("AUTH-1", sealed.commit, SIGN, "Merge")
    assert isinstance(merged, Merged)
    assert git(workspace, "rev-parse", "main").decode().strip() == merged.commit
    assert (workspace / "a").read_text() == "2\n"
    assert git(workspace, "status", "--porcelain") == b""
    git(workspace, "fsck", "--strict")
    landing = await repo.land()
    assert landing.source == landing.target
    write(workspace, {"by-root": "r"})
    assert isinstance(await repo.commit_main(Signature(agent="root"), "root"), Sealed)
    second = await repo.open_worktree("AUTH-2")
    assert (Path(second.root) / "by-root").read_text() == "r"
    await repo.discard("AUTH-1", accepted=True)
    await repo.discard("AUTH-2", accepted=False)
    await repo.close()
    assert git(workspace, "worktree", "list").count(b"\n") == 1
    assert git(workspace, "branch", "--list").count(b"\n") == 1


async def test_in_place_the_operators_own_edits_never_go_into_a_commit_of_the_run_W11(tmp_path):
    workspace = init(tmp_path / "ws", {"a": "1\n", "b": "1\n", "c": "1\n", "d": "1\n"})
    write(workspace, {"a": "mine\n", "b": "staged\n", "u": "untracked\n", "d": None})
    git(workspace, "add", "b")
    write(workspace, {"b": "and more\n"})
    before = full_state(workspace)
    repo = await in_place(tmp_path)
    assert await repo.commit_main(Signature(agent="root"), "root") is None
    assert full_state(workspace)[0] == before[0]
    write(workspace, {"c": "by root\n"})
    sealed = await repo.commit_main(Signature(agent="root"), "root")
    assert isinstance(sealed, Sealed)
    assert git(workspace, "show", "--name-only", "--format=", "HEAD").split() == [b"c"]
    assert git(workspace, "status", "--porcelain").decode().split("\n")[:-1] == [" M a", "MM b", " D d", "?? u"]
    opened = await repo.open_worktree("AUTH-1")
    write(Path(opened.root), {"a": "run\n"})
    work = await repo.seal("AUTH-1", SIGN, "m")
    failed = await repo.merge("AUTH-1", work.commit, SIGN, "m")
    assert isinstance(failed, MergeFailed)
    assert (workspace / "a").read_text() == "mine\n"
    await repo.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="run as root, who reads everything")
async def test_a_file_that_cannot_be_read_is_handed_back(tmp_path):
    init(tmp_path / "ws")
    repo = await open_repository(tmp_path / "ws", run_id="r", run_dir=tmp_path / "state/r", checkout="private")
    opened = await repo.open_worktree("AUTH-1")
    write(Path(opened.root), {"secret": "s"})
    (Path(opened.root) / "secret").chmod(0)
    assert isinstance(await repo.seal("AUTH-1", SIGN, "m"), SealBlocked)
    await repo.close()
