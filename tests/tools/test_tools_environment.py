"""What an agent's commands find in their environment, and how git behaves under it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
import toolskit

from ggactors.tools.environment import agent_environment
from ggactors.tools.strays import MARK
from ggactors.tools.workbench import LocalWorkbench

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = {
    "PATH": os.environ["PATH"],
    "HOME": "/home/o",
    "LANG": "C.UTF-8",
    "LC_TIME": "C",
    "TZ": "UTC",
    "ANTHROPIC_API_KEY": "sk-1",
    "GIT_DIR": "/elsewhere",
    "LD_PRELOAD": "x",
    "EXTRA": "yes",
    "MORE": "no",
}


def test_only_what_is_listed_is_passed_on():
    env = agent_environment("AUTH-1.0i", toolskit.profile(shell_env=("EXTRA", "UNSET")), SOURCE)
    kept = {name for name in env if not name.startswith(("GIT_", "GGACTORS_"))}
    assert kept == {"PATH", "HOME", "LANG", "LC_TIME", "TZ", "EXTRA", "PAGER"}
    assert "GIT_DIR" not in env
    assert "sk-1" not in env.values()


def test_the_git_identity_is_the_operators_or_the_agents_own():
    env = agent_environment("AUTH-1.0i", toolskit.profile(), SOURCE)
    assert env["GIT_AUTHOR_NAME"] == env["GIT_COMMITTER_NAME"] == env["GGACTORS_AGENT"] == "AUTH-1.0i"
    named = agent_environment(
        "root", toolskit.profile(), SOURCE | {"GIT_AUTHOR_NAME": "O", "GIT_AUTHOR_EMAIL": "o@example.org"}
    )
    assert (named["GIT_AUTHOR_NAME"], named["GIT_AUTHOR_EMAIL"], named["GIT_COMMITTER_NAME"]) == (
        "O",
        "o@example.org",
        "root",
    )


def test_an_outer_runtimes_mark_is_passed_on():
    assert agent_environment("a", toolskit.profile(), SOURCE | {MARK: "m"})[MARK] == "m"


def test_a_ceiling_keeps_git_from_looking_further_up():
    assert (
        agent_environment("a", toolskit.profile(), SOURCE, ceiling="/srv/tree")["GIT_CEILING_DIRECTORIES"]
        == "/srv/tree"
    )


@pytest.fixture
def bench(tmp_path: Path, own_home: Path) -> LocalWorkbench:
    (tmp_path / "root").mkdir()
    (own_home / ".gitconfig").write_text(
        "[commit]\n\tgpgsign = true\n[user]\n\tuseConfigOnly = true\n[core]\n\teditor = false\n"
    )
    env = agent_environment("AUTH-1.0i", toolskit.profile(), os.environ)
    return LocalWorkbench(tmp_path / "root", scratch=tmp_path / "scratch", env=env)


async def test_git_commits_without_asking_signing_or_an_identity_of_its_own(tmp_path, bench):
    done = await bench.run(
        "git init -q . && echo a > a && git add a && git commit -q --allow-empty-message -m x && git log --format=%an,%cn"
    )
    assert done.output == "AUTH-1.0i,AUTH-1.0i\n"
    assert (await bench.run("git commit -q --amend && git rebase -q -i --root && git config gc.auto")).output == "0\n"


async def test_git_trusts_a_tree_of_another_owner(tmp_path, bench):
    if os.geteuid() != 0:
        pytest.skip("only the superuser can give a tree away")
    subprocess.run(["git", "init", "-q", tmp_path / "root"], check=True)
    for folder, _, files in os.walk(tmp_path / "root"):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            os.chown(path, 12345, 12345)
    assert (await bench.run("git status --short")).exit_code == 0
