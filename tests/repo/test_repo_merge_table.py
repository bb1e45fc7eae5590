"""The hand-made table: every scene through git and through us, compared in outcome, index, bytes, modes, status and fsck."""

from __future__ import annotations

import pytest
from merge_kit import both
from merge_scenes import SCENES
from repo_kit import git

SAME = [name for name, scene in SCENES.items() if not scene.differs]
OTHER = [name for name, scene in SCENES.items() if scene.differs]


@pytest.mark.parametrize("name", SAME)
def test_a_merge_made_by_hand_comes_out_as_gits_does_M1_M2(tmp_path, name):
    (word, wanted), (mine, found), ours = both(tmp_path, SCENES[name])
    assert (mine, found) == (word, wanted)
    git(ours, "fsck", "--strict", "--no-dangling")


@pytest.mark.parametrize("name", OTHER)
def test_where_we_differ_from_git_nothing_runs_and_nothing_of_the_operators_is_lost_W8(tmp_path, name):
    (word, wanted), (mine, found), ours = both(tmp_path, SCENES[name])
    assert (mine, found) != (word, wanted)
    assert not (ours / "ran").exists()
    git(ours, "fsck", "--strict", "--no-dangling")
