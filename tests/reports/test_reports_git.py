"""What users of such systems reported of git and worktrees, as whole runs: the behaviour that would have been right (H numbers)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ggactors.ports import LaunchRefused
from ggactors.testing.crews import finish, issue, run_to_end, shell, turn, wait, write, write_crew
from ggactors.testing.repos import Repo, make_repo, tree_bytes

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "state"


def one_issue(*turns, review: bool = False):
    """Write a script of one issue whose agent takes these turns and finishes."""
    more = {"reviewers": ["critic"]} if review else {}
    script = {"root": [turn(issue("A", **more)), wait("ISSUE-1"), finish()], "ISSUE-1.0i": [*turns, finish()]}
    if review:
        script["ISSUE-1.0i.0r"] = [turn(("approve", {}))]
    return script


def own(outcome) -> Repo:
    """Give the run's own repository."""
    return Repo(Path(outcome.folder) / "repo.git")


def results(events, agent):
    return [event.output for event in events if event.type == "tool_result" and event.agent == agent]


async def test_twenty_four_issues_at_once_collide_on_no_lock_and_leave_nothing_behind_H1(tmp_path, home):
    make_repo(tmp_path / "upstream", {"README.md": "hello\n"})
    Repo(tmp_path).git("clone", "-q", "upstream", "repo")
    repo, count = Repo(tmp_path / "repo"), 24
    names = [f"ISSUE-{number + 1}" for number in range(count)]
    script = {"root": [turn(*(issue(name) for name in names)), wait(*names), finish()]}
    for name in names:
        command = shell(f"echo {name} > {name}.txt && git add -A && git commit -qm {name}")
        script[f"{name}.*"] = [turn(command, write(f"{name}.more", "more\n")), finish()]
    crew = write_crew(tmp_path / "crew", script, limits={"maxParallel": count})
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert set(outcome.issues.values()) == {"done"}
    assert len(outcome.issues) == count
    assert outcome.exit_code == 0
    assert {f"{name}.txt" for name in names} | {f"{name}.more" for name in names} <= set(repo.files())
    assert repo.status() == ""
    assert len(repo.git("worktree", "list").splitlines()) == 1
    assert repo.git("branch", "--format=%(refname:short)") == "main"
    assert own(outcome).git("branch", "--list", "gg-*") == ""
    assert not list(repo.path.glob(".git/**/*.lock")) + list(own(outcome).path.rglob("*.lock"))
    assert not [event for event in events if event.type == "log" and event.level == "error"]


async def test_commit_signing_that_cannot_work_stops_no_commit_of_the_runtime_H2(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    for name, value in (("commit.gpgsign", "true"), ("gpg.program", "false"), ("tag.gpgsign", "true")):
        repo.git("config", name, value)
    crew = write_crew(tmp_path / "crew", one_issue(turn(write("a", "a\n"), shell("git add -A && git commit -qm own"))))
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    assert repo.show("a") == "a"
    assert "gpgsig" not in repo.git("cat-file", "-p", "HEAD")
    assert not (repo.path / ".git/MERGE_HEAD").exists()
    assert "failed" not in "".join(results(events, "ISSUE-1.0i"))


async def test_hooks_that_refuse_bind_an_agents_own_commits_and_none_of_the_runtimes_H3(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    for name in ("pre-commit", "commit-msg", "pre-merge-commit", "post-checkout", "reference-transaction"):
        hook = repo.path / ".git/hooks" / name
        hook.write_text(
            f"#!/bin/sh\necho {name} >> {tmp_path}/ran\nexit {0 if name.startswith(('post', 'ref')) else 1}\n"
        )
        hook.chmod(0o755)
    own_commit = shell("git add -A; git commit -qm own || echo refused > refused.txt")
    crew = write_crew(tmp_path / "crew", one_issue(turn(write("a", "a\n"), own_commit)))
    outcome, _ = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    assert (repo.show("a"), repo.show("refused.txt")) == ("a", "refused")
    ran = (tmp_path / "ran").read_text().split()
    assert set(ran) <= {"pre-commit", "reference-transaction"}, "what the agent's own git ran"
    assert ran.count("pre-commit") == 1


async def test_without_an_identity_a_fallback_signs_and_no_setting_is_written_H4(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    repo.git("config", "user.useConfigOnly", "true")
    before = (repo.path / ".git/config").read_bytes()
    crew = write_crew(tmp_path / "crew", one_issue(turn(write("a", "a\n"), shell("git add -A && git commit -qm own"))))
    outcome, _ = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    names = set(repo.git("log", "--format=%an <%ae>", "HEAD~1..HEAD").splitlines())
    assert names == {"ggactors <ggactors@localhost>"}
    assert (repo.path / ".git/config").read_bytes() == before
    assert not list(Path(os.environ["HOME"]).glob(".gitconfig"))


@pytest.mark.parametrize("kind", ["no repository", "an unborn branch"])
async def test_what_has_no_commit_yet_gets_a_baseline_and_isolation_all_the_same_H5(tmp_path, home, kind):
    folder = tmp_path / "repo"
    folder.mkdir()
    repo = Repo(folder)
    if kind == "an unborn branch":
        repo.git("init", "-q", "-b", "trunk")
    repo.write({"here": "before\n", ".gitignore": "*.o\n", "x.o": "ignored"})
    crew = write_crew(tmp_path / "crew", one_issue(turn(write("a", "a\n"), shell("pwd > where"))))
    outcome, _ = await run_to_end(crew, folder, home=home)
    assert outcome.exit_code == 0
    assert sorted(repo.files()) == [".gitignore", "a", "here", "where"]
    assert "/worktrees/" in repo.show("where")
    assert repo.git("branch", "--show-current") == ("trunk" if kind == "an unborn branch" else "main")
    assert (folder / "x.o").read_text() == "ignored"


async def test_a_repository_with_submodules_is_refused_at_launch_by_name_H7(tmp_path, home):
    inner = make_repo(tmp_path / "inner", {"lib": "x\n"})
    repo = make_repo(tmp_path / "repo")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.path), "vendor/inner")
    repo.commit("with a submodule")
    before = tree_bytes(repo.path, skip=())
    crew = write_crew(tmp_path / "crew", one_issue())
    with pytest.raises(LaunchRefused) as refused:
        await run_to_end(crew, repo.path, home=home)
    assert "has submodules (vendor/inner)" in str(refused.value)
    assert tree_bytes(repo.path, skip=()) == before


async def test_the_operators_add_all_in_mid_run_takes_in_nothing_of_the_run_H9(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    staged = []

    def during(_, event):
        if event.type == "tool_result" and event.agent == "ISSUE-1.0i":
            repo.git("add", "-A")
            staged.append(repo.status())

    crew = write_crew(tmp_path / "crew", one_issue(turn(write("a", "a\n")), turn(write("b", "b\n"))))
    outcome, _ = await run_to_end(crew, repo.path, home=home, during=during)
    assert set(staged) == {""}
    assert outcome.exit_code == 0
    assert all(line.split()[1] == "blob" for line in repo.git("ls-tree", "-r", "HEAD").splitlines())


@pytest.mark.parametrize("branch", ["gg", "gg-issue-1", "gg-ISSUE-1", "feature/x"])
async def test_branch_names_of_the_operators_never_collide_with_the_runs_H10(tmp_path, home, branch):
    repo = make_repo(tmp_path / "repo")
    for other in ("gg-ISSUE-1/deeper", "GG-ISSUE-1", "issue"):
        if not other.lower().startswith(branch.lower() + "/"):
            repo.git("branch", other)
    repo.git("switch", "-q", "-c", branch) if branch != "gg-ISSUE-1" else repo.git("switch", "-q", "GG-ISSUE-1")
    here = repo.git("branch", "--show-current")
    before = repo.git("branch", "--format=%(refname)")
    crew = write_crew(tmp_path / "crew", one_issue(turn(write("a", "a\n"))))
    outcome, _ = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    assert repo.git("branch", "--show-current") == here
    assert repo.git("branch", "--format=%(refname)") == before
    assert repo.show("a") == "a"


async def test_long_paths_and_another_spelling_of_the_workspace_are_no_trouble_H11(tmp_path, home):
    deep = "/".join("n" * 60 for _ in range(6)) + "/file.txt"
    repo = make_repo(tmp_path / "repo", {deep: "long\n"})
    (tmp_path / "spelled").symlink_to(tmp_path / "repo")
    crew = write_crew(tmp_path / "crew", one_issue(turn(write(deep, "changed\n"), write(f"{deep}.more", "x\n"))))
    outcome, _ = await run_to_end(crew, tmp_path / "spelled" / "." / ".." / "spelled", home=home)
    assert outcome.exit_code == 0
    assert (repo.path / deep).read_text() == "changed\n"
    assert repo.status() == ""


async def test_a_branch_that_is_checked_out_elsewhere_holds_the_landing_and_says_where_H12(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    second = tmp_path / "second"

    def during(_, event):
        if event.type == "agent_spawned" and event.agent == "ISSUE-1.0i":
            repo.git("worktree", "add", "-q", "--force", str(second), "main")

    crew = write_crew(tmp_path / "crew", one_issue(turn(write("a", "a\n"))))
    outcome, _ = await run_to_end(crew, repo.path, home=home, during=during)
    assert outcome.issues == {"ISSUE-1": "done"}
    assert outcome.landed["reason"] == "branch-elsewhere"
    assert (repo.status(), Repo(second).status()) == ("", "")
    landing = [sys.executable, "-m", "ggactors", "land", "last"]
    env = {**os.environ, "GGACTORS_HOME": str(home), "PYTHONPATH": str(ROOT)}
    held = subprocess.run(landing, cwd=repo.path, env=env, capture_output=True, text=True)
    assert held.returncode == 1
    assert str(second) in held.stdout
    repo.git("worktree", "remove", "--force", str(second))
    landed = subprocess.run(landing, cwd=repo.path, env=env, capture_output=True, text=True)
    assert landed.returncode == 0, landed
    assert repo.show("a") == "a"


@pytest.mark.parametrize("conflicting", [False, True])
async def test_a_base_that_moved_is_taken_in_or_holds_the_landing_alone_H13(tmp_path, home, conflicting):
    repo = make_repo(tmp_path / "repo", {"f": "one\n"})

    def during(_, event):
        if event.type == "tool_result" and event.agent == "ISSUE-1.0i":
            repo.commit("the operator's", {"f" if conflicting else "theirs": "the operator's\n"})

    crew = write_crew(tmp_path / "crew", one_issue(turn(write("f", "the agent's\n"))))
    outcome, _ = await run_to_end(crew, repo.path, home=home, during=during)
    assert outcome.issues == {"ISSUE-1": "done"}, "the issue itself has nothing to do with it"
    assert repo.status() == ""
    if conflicting:
        assert outcome.landed["reason"] == "diverged"
        assert repo.show("f") == "the operator's"
    else:
        assert outcome.landed["reason"] is None
        assert (repo.show("f"), repo.show("theirs")) == ("the agent's", "the operator's")


async def test_after_landing_the_checkout_shows_no_inverse_change_H14(tmp_path, home):
    repo = make_repo(tmp_path / "repo", {"f": "one\n", "gone": "x\n", "run": "#!/bin/sh\n"})
    before = repo.head()
    crew = write_crew(tmp_path / "crew", one_issue(turn(write("f", "two\n"), shell("rm gone; chmod +x run"))))
    outcome, _ = await run_to_end(crew, repo.path, home=home)
    assert outcome.landed["reason"] is None
    assert repo.head() != before
    assert (repo.status(), repo.git("diff", "HEAD"), repo.git("diff", "--cached")) == ("", "", "")
    assert (repo.path / "f").read_text() == "two\n"
    assert not (repo.path / "gone").exists()


def test_a_killed_run_leaves_nothing_locked_and_its_open_work_can_be_brought_back_H15(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    names = [f"ISSUE-{number + 1}" for number in range(5)]
    script = {"root": [turn(*(issue(name) for name in names)), wait(*names), finish()]}
    script |= {f"{name}.*": [turn(write(f"{name}.txt", name)), turn(text="hm", delaySecs=600)] for name in names}
    crew = write_crew(tmp_path / "crew", script, limits={"maxParallel": 5})
    env = {**os.environ, "GGACTORS_HOME": str(home), "PYTHONPATH": str(ROOT)}
    ggactors = [sys.executable, "-m", "ggactors"]
    command = [*ggactors, "run", str(crew), "--task", "work", "--events", "-"]
    with subprocess.Popen(command, cwd=repo.path, env=env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        written = set()
        for line in process.stdout:
            event = json.loads(line)
            if event["type"] == "tool_result" and event["agent"] != "root":
                written.add(event["agent"])
            if len(written) == 5:
                break
        process.kill()
    assert len(written) == 5
    assert repo.status() == ""
    assert len(repo.git("worktree", "list").splitlines()) == 1
    assert not list(repo.path.glob(".git/**/*.lock"))
    back = subprocess.run(
        [*ggactors, "recover", "last", "ISSUE-3"], cwd=repo.path, env=env, capture_output=True, text=True
    )
    assert back.returncode == 0, back
    branch = next(line for line in repo.git("branch", "--format=%(refname:short)").splitlines() if "ISSUE-3" in line)
    assert repo.show("ISSUE-3.txt", branch) == "ISSUE-3"
    repo.git("add", "-A")
    repo.commit("the operator goes on")
    again = write_crew(tmp_path / "again", one_issue(turn(write("a", "a\n"))))
    second = [*ggactors, "run", str(again), "--task", "work"]
    ran = subprocess.run(second, cwd=repo.path, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ran.returncode == 0, ran
    assert repo.show("a") == "a"


async def test_a_repository_made_inside_a_worktree_is_told_and_its_files_arrive_in_the_end_H16(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    inner = (
        "git init -q sub && cd sub && echo x > f && git add -A && git -c user.name=a -c user.email=a@b commit -qm in"
    )
    script = one_issue(turn(shell(inner)), finish("too early"), turn(shell("rm -rf sub/.git")))
    outcome, events = await run_to_end(write_crew(tmp_path / "crew", script), repo.path, home=home)
    assert outcome.issues == {"ISSUE-1": "done"}
    told = "\n".join(results(events, "ISSUE-1.0i"))
    assert "there is a repository inside the worktree (sub)" in told
    assert repo.git("ls-tree", "-r", "HEAD", "sub").split()[1:2] == ["blob"]
    assert repo.show("sub/f") == "x"


async def test_an_issue_is_done_only_once_its_merge_is_reachable_and_failed_work_is_kept_H17(tmp_path, home):
    repo = make_repo(tmp_path / "repo", {"f": "one\n"})
    script = {
        "root": [turn(issue("A"), issue("B")), wait("ISSUE-1", "ISSUE-2"), finish()],
        "ISSUE-1.0i": [turn(write("f", "one's\n")), finish()],
        "ISSUE-2.0i": [
            turn(write("f", "two's\n")),
            turn(shell(f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done")),
            finish(),
        ],
        "ISSUE-*m": [turn(text="no idea")],
    }
    reachable = {}

    def during(run, event):
        if event.type == "board_changed" and event.issue is not None and event.issue["state"] == "done":
            merged = Repo(Path(run.folder) / "repo.git").git("log", "--format=%B", "refs/heads/main")
            reachable[event.issue["id"]] = f"GGActors-Issue: {event.issue['id']}" in merged
            (tmp_path / "go").touch()

    crew = write_crew(tmp_path / "crew", script, limits={"maxTurns": 4}, params={"maxRetries": 0})
    outcome, events = await run_to_end(crew, repo.path, home=home, during=during)
    assert outcome.issues == {"ISSUE-1": "done", "ISSUE-2": "failed"}
    assert reachable == {"ISSUE-1": True}
    (failed,) = [event for event in events if event.type == "worktree_merged" and not event.merged]
    assert own(outcome).show("f", failed.saved_ref) == "two's"
    assert repo.show("f") == "one's"


async def test_an_id_is_never_given_twice_not_even_after_a_removal_H22(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    blocked = {"blockedBy": ["ISSUE-1"]}
    script = {
        "root": [
            turn(issue("One"), issue("Two", **blocked), issue("Three", **blocked)),
            turn(("remove_issue", {"issueId": "ISSUE-3"})),
            turn(issue("Four", **blocked)),
            wait("ISSUE-1", "ISSUE-2", "ISSUE-4"),
            finish(),
        ],
        "ISSUE-1.*": [turn(shell(f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done")), finish()],
        "ISSUE-*i": [finish()],
    }

    def during(_, event):
        if event.type == "board_changed" and event.issue is not None and event.issue["id"] == "ISSUE-4":
            (tmp_path / "go").touch()

    outcome, _ = await run_to_end(write_crew(tmp_path / "crew", script), repo.path, home=home, during=during)
    assert outcome.issues == {"ISSUE-1": "done", "ISSUE-2": "done", "ISSUE-4": "done"}


async def test_bytes_that_are_no_text_break_nothing_from_the_shell_to_the_review_H49(tmp_path, home):
    repo = make_repo(tmp_path / "repo", {"bin": b"\x00\x01\xff", "text": "a\n"})
    command = "printf '\\360'; printf 'x' > \"$(printf 'n\\377ame')\"; printf '\\000\\376' > bin; printf '\\351t\\351\\n' > text"
    crew = write_crew(tmp_path / "crew", one_issue(turn(shell(command)), review=True))
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.issues == {"ISSUE-1": "done"}
    assert os.path.exists(os.fsencode(repo.path) + b"/n\xffame")
    assert (repo.path / "bin").read_bytes() == b"\x00\xfe"
    assert "\ufffd" in results(events, "ISSUE-1.0i")[0]
    json.dumps([event.type for event in events])
    assert repo.status() == ""
