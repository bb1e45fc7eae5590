"""AGENTS.md: the root's at the beginning, the nearest one where an agent first works, and nothing from outside."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from toolskit import call

from ggactors.tools.guides import MOST, Guides

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "c").mkdir()
    (root / "AGENTS.md").write_text("of the root")
    (root / "a" / "AGENTS.md").write_text("of a")
    (tmp_path / "AGENTS.md").write_text("from outside")
    return root


def test_the_roots_guide_opens_and_is_told_once(root):
    guides = Guides(root)
    assert guides.opening() == "of the root"
    assert guides.near(call("read_file", path="c/x.py")) is None


def test_the_nearest_guide_is_told_where_an_agent_first_works(root):
    guides = Guides(root)
    guides.opening()
    told = guides.near(call("write_file", path="a/b/new.py"))
    assert "of a" in told
    assert "a/AGENTS.md" in told
    assert guides.near(call("edit_file", path=str(root / "a" / "other.py"))) is None
    assert guides.near(call("list_dir", path="a")) is None


def test_a_guide_that_appears_later_is_told_then(root):
    guides = Guides(root)
    guides.opening()
    assert guides.near(call("read_file", path="c/x")) is None
    (root / "c" / "AGENTS.md").write_text("of c")
    assert "of c" in guides.near(call("read_file", path="c/x"))


def test_no_guide_comes_from_outside_or_through_a_link(root):
    (root / "AGENTS.md").unlink()
    (root / "AGENTS.md").symlink_to("../AGENTS.md")
    (root / "out").symlink_to("..")
    guides = Guides(root)
    assert guides.opening() is None
    for path in ("../x", "out/x", "a/../../x", "/etc/x"):
        assert guides.near(call("read_file", path=path)) is None


def test_what_is_no_file_is_passed_over_and_what_is_long_is_cut(root):
    (root / "AGENTS.md").unlink()
    os.mkfifo(root / "AGENTS.md")
    (root / "c" / "AGENTS.md").write_bytes(b"\xff" + b"x" * MOST)
    guides = Guides(root)
    assert guides.opening() is None
    told = guides.near(call("read_file", path="c/x"))
    assert "\ufffdxxx" in told
    assert "cut after" in told


@pytest.mark.parametrize(
    "made", [call("shell", command="ls a"), call("read_file"), call("read_file", path=3), call("read_file", path="a\0")]
)
def test_calls_without_a_usable_path_tell_nothing(root, made):
    assert Guides(root).near(made) is None


@pytest.mark.parametrize("path", ["\ud800", "/" * 5000, "a\nb", "c/\udfff/x"])
def test_a_path_no_file_can_have_has_no_guide_and_harms_nobody(root, path):
    guides = Guides(root)
    guides.opening()
    assert guides.near(call("read_file", path=path)) is None


@pytest.mark.parametrize("path", ["a/\udfff/x", "a/" + "x" * 300])
def test_a_path_no_file_can_have_still_tells_the_guide_of_the_folder_it_begins_in(root, path):
    guides = Guides(root)
    guides.opening()
    assert "of a" in guides.near(call("read_file", path=path))


def test_after_a_compaction_a_guide_is_told_again_where_the_agent_works_but_not_the_roots_own(root):
    guides = Guides(root)
    guides.opening()
    assert guides.near(call("read_file", path="a/x"))
    guides.forget()
    assert "of a" in guides.near(call("read_file", path="a/x"))
    assert guides.near(call("read_file", path="c/x")) is None
