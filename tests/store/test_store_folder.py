"""Run folders, the state home, and which folders may not be workspaces."""

from __future__ import annotations

import os
import re
import stat
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from ggactors.ports import LaunchRefused
from ggactors.store.folder import RunUnknown, find_run, list_runs, make_run_folder, refuse_workspace, state_home

NOW = datetime(2026, 11, 30, 14, 5, 59, tzinfo=UTC)


def make(home: Path, seed: int = 1, run_id: str | None = None):
    return make_run_folder(home, now=NOW, random=Random(seed), run_id=run_id)


def test_the_state_home_is_the_first_that_is_named():
    assert state_home({"GGACTORS_HOME": "/a", "XDG_STATE_HOME": "/b", "HOME": "/c"}) == Path("/a")
    assert state_home({"XDG_STATE_HOME": "/b", "HOME": "/c"}) == Path("/b/ggactors")
    assert state_home({"HOME": "/c"}) == Path("/c/.local/state/ggactors")
    assert state_home({"GGACTORS_HOME": "", "XDG_STATE_HOME": "relative", "HOME": "/c"}) == Path(
        "/c/.local/state/ggactors"
    )


def test_a_run_id_is_time_and_three_characters(tmp_path):
    folder = make(tmp_path / "home")
    assert re.fullmatch(r"261130-1405-[a-z2-9]{3}", folder.id)
    assert folder.path == tmp_path / "home" / "runs" / folder.id
    assert folder.events.name == "events.jsonl"


def test_a_taken_id_is_passed_over(tmp_path):
    first, second = make(tmp_path), make(tmp_path)
    assert first.id != second.id, "the same clock and the same randomness still give two runs"


def test_every_folder_is_the_operators_alone(tmp_path):
    old = os.umask(0)
    try:
        folder = make(tmp_path / "a" / "b")
    finally:
        os.umask(old)
    for path in (folder.path, folder.path.parent, tmp_path / "a" / "b", tmp_path / "a"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize("bad", ["", "last", "../x", "a/b", "-x", ".x", "x" * 65, "a b", "a\n"])
def test_a_given_id_that_is_none_is_refused(tmp_path, bad):
    with pytest.raises(LaunchRefused, match="--run-id"):
        make(tmp_path, run_id=bad)
    assert list_runs(tmp_path) == ()


def test_a_given_id_is_used_once(tmp_path):
    assert make(tmp_path, run_id="mine").id == "mine"
    with pytest.raises(LaunchRefused, match="there is a run 'mine' already"):
        make(tmp_path, run_id="mine")


def test_a_home_that_cannot_be_made_is_a_refusal(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LaunchRefused, match="set GGACTORS_HOME"):
        make(tmp_path / "file" / "home")


def test_a_run_is_found_by_id_by_part_and_as_the_last(tmp_path):
    for age, name in enumerate(["261130-1405-abc", "261130-1406-abd", "custom"]):
        folder = make(tmp_path, run_id=name)
        folder.crew.write_text("{}")
        os.utime(folder.crew, (age, age))
    assert find_run(tmp_path, "261130-1405-abc").id == "261130-1405-abc"
    assert find_run(tmp_path, "abd").id == "261130-1406-abd"
    assert find_run(tmp_path, "last").id == "custom"
    assert [folder.id for folder in list_runs(tmp_path)] == ["261130-1405-abc", "261130-1406-abd", "custom"]
    with pytest.raises(RunUnknown, match="2 runs have '261130' in their id: 261130-1405-abc, 261130-1406-abd"):
        find_run(tmp_path, "261130")
    with pytest.raises(RunUnknown, match="no run has 'zzz'"):
        find_run(tmp_path, "zzz")
    with pytest.raises(RunUnknown, match="no run has ''"):
        find_run(tmp_path, "")


def test_an_id_that_is_part_of_another_is_still_found(tmp_path):
    make(tmp_path, run_id="a")
    make(tmp_path, run_id="ab")
    assert find_run(tmp_path, "a").id == "a"


def test_without_runs_it_is_said_how_to_make_one(tmp_path):
    with pytest.raises(RunUnknown, match="ggactors run"):
        find_run(tmp_path, "last")


def test_home_root_and_the_states_own_folder_are_no_workspaces(tmp_path):
    own, project = tmp_path / "own", tmp_path / "own" / "project"
    project.mkdir(parents=True)
    (tmp_path / "link").symlink_to(own)
    home = own / ".local" / "state" / "ggactors"

    def refused(workspace: Path, home: Path = home) -> str:
        problem = refuse_workspace(workspace, home=home, environ={"HOME": str(own)})
        return problem.what if problem else ""

    assert "root of the file system" in refused(Path("/"))
    assert "home folder" in refused(own)
    assert "home folder" in refused(tmp_path / "link")
    assert "holds the state" in refused(tmp_path)
    assert "holds the state" in refused(project, project / "state")
    assert refused(project) == ""
