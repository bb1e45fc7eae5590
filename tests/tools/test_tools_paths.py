"""File tools never leave the agent's root, whatever the links say, and reach everything inside it."""

from __future__ import annotations

import os
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.protocol.values import Code
from ggactors.tools import reading, writing
from ggactors.tools.paths import Declined, Ground

if TYPE_CHECKING:
    from ggactors.protocol.workbench import FileRead

OUTSIDE = "OUTSIDE-TEXT"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    (tmp_path / "root" / "in").mkdir(parents=True)
    (tmp_path / "root" / "in" / "a.txt").write_text("inside")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "out.txt").write_text("kept")
    (tmp_path / "secret.txt").write_text(OUTSIDE)
    return Ground(str(tmp_path / "root"), (str(tmp_path / "kept"),))


def read(ground: Ground, path: str) -> FileRead:
    return reading.read_file(ground, path, None, None)


def declined(ground: Ground, path: str, *, writing_it: bool = False) -> Code:
    with pytest.raises(Declined) as caught, ground.place(path, writing=writing_it, make_parents=writing_it):
        pass
    return caught.value.refused.code


@pytest.mark.parametrize(
    "path", ["in/a.txt", "./in//a.txt", "in/../in/a.txt", "../root/in/a.txt", "in/../../root/in/a.txt"]
)
def test_a_path_that_comes_out_inside_is_read(ground, path):
    assert read(ground, path).text == "inside"
    assert read(ground, path).path == "in/a.txt"


def test_an_absolute_path_inside_the_root_is_read(ground, tmp_path):
    assert read(ground, str(tmp_path / "root/in/a.txt")).text == "inside"
    assert read(ground, str(tmp_path / "kept/../root/in/a.txt")).text == "inside"


@pytest.mark.parametrize(
    "path", ["../secret.txt", "/etc/passwd", "in/../../secret.txt", "..", "/", "../root-not/x", "../nowhere"]
)
def test_a_path_that_comes_out_outside_is_refused(ground, path):
    assert declined(ground, path) is Code.REFUSED
    assert declined(ground, path, writing_it=True) is Code.REFUSED


def test_links_are_followed_inside_and_refused_outside(ground, tmp_path):
    root = tmp_path / "root"
    (root / "near").symlink_to("in/a.txt")
    (root / "in" / "up").symlink_to("../in")
    (root / "full").symlink_to(root / "in")
    (root / "out").symlink_to("../secret.txt")
    (root / "abs").symlink_to(tmp_path / "secret.txt")
    (root / "outdir").symlink_to(tmp_path)
    for path in ("near", "in/up/a.txt", "full/a.txt", "in/up/up/a.txt", "outdir/root/in/a.txt"):
        assert read(ground, path).text == "inside"
    for path in ("out", "abs", "outdir/secret.txt", "outdir"):
        assert declined(ground, path) is Code.REFUSED
        assert declined(ground, path, writing_it=True) is Code.REFUSED


def test_links_that_go_round_are_refused(ground, tmp_path):
    (tmp_path / "root" / "x").symlink_to("y")
    (tmp_path / "root" / "y").symlink_to("x")
    assert declined(ground, "x") is Code.REFUSED


def test_kept_outputs_are_read_but_not_written(ground, tmp_path):
    assert read(ground, str(tmp_path / "kept/out.txt")).text == "kept"
    assert declined(ground, str(tmp_path / "kept/out.txt"), writing_it=True) is Code.REFUSED
    (tmp_path / "root" / "k").symlink_to(tmp_path / "kept")
    assert read(ground, "k/out.txt").text == "kept"
    assert declined(ground, "k/new.txt", writing_it=True) is Code.REFUSED
    assert declined(ground, "../kept/new.txt", writing_it=True) is Code.REFUSED


@pytest.mark.parametrize("path", [".git", ".git/config", "in/.git/x", ".GIT/config", "in/../.git/HEAD"])
def test_the_inside_of_git_is_not_written(ground, path):
    assert declined(ground, path, writing_it=True) is Code.REFUSED


def test_a_link_into_git_is_not_written_through(ground, tmp_path):
    (tmp_path / "root" / ".git").mkdir()
    (tmp_path / "root" / "g").symlink_to(".git")
    assert declined(ground, "g/config", writing_it=True) is Code.REFUSED
    assert declined(ground, "in/../g/config", writing_it=True) is Code.REFUSED


def test_a_root_reached_by_a_link_is_as_good(ground, tmp_path):
    (tmp_path / "alias").symlink_to(tmp_path / "root")
    aliased = Ground(str(tmp_path / "alias"))
    assert read(aliased, "in/a.txt").text == "inside"
    assert read(aliased, str(tmp_path / "alias/in/a.txt")).text == "inside"
    assert read(aliased, str(tmp_path / "root/in/a.txt")).text == "inside"
    assert declined(aliased, "../secret.txt") is Code.REFUSED


def test_a_missing_directory_and_a_file_taken_for_one_are_told_apart(ground):
    assert declined(ground, "no/such/x") is Code.NOT_FOUND
    assert declined(ground, "in/a.txt/x") is Code.INVALID_ARGUMENT


def test_names_that_are_not_utf8_are_reached(ground, tmp_path):
    Path(os.fsdecode(os.fsencode(str(tmp_path / "root")) + b"/\xff.txt")).write_text("odd")
    assert read(ground, "\udcff.txt").text == "odd"


def test_no_directory_stays_open(ground):
    before = set(os.listdir("/proc/self/fd"))
    for path in ("in/a.txt", "../secret.txt", "no/x", "in/a.txt/x"):
        with suppress(Declined):
            read(ground, path)
    assert set(os.listdir("/proc/self/fd")) == before


# ---------------------------------------------------------------- generated trees

NAMES = ("a", "b", "c")
PLACES = [*NAMES, *(f"{one}/{two}" for one in NAMES for two in NAMES)]
TARGETS = st.sampled_from(
    [
        "a",
        "b",
        "../a",
        "../b/c",
        "../../secret.txt",
        "..",
        ".",
        "{root}/a",
        "{root}/b/c",
        "{outside}",
        "{outside}/secret.txt",
        "../..",
    ]
)
TREES = st.dictionaries(st.sampled_from(PLACES), st.one_of(st.just("file"), st.just("dir"), TARGETS), max_size=8)
PARTS = st.sampled_from([*NAMES, "..", ".", "secret.txt", "root", ".git"])
PATHS = st.tuples(st.booleans(), st.lists(PARTS, min_size=1, max_size=6))


def build(base: Path, tree: dict[str, str]) -> Path:
    root = base / "root"
    root.mkdir()
    (base / "secret.txt").write_text(OUTSIDE)
    for place in sorted(tree, key=lambda name: (name.count("/"), name)):
        here, what = root / place, tree[place]
        parent = here.parent
        if parent.is_symlink() or parent.is_file():
            continue
        parent.mkdir(exist_ok=True)
        if here.exists() or here.is_symlink():
            continue
        if what == "file":
            here.write_text(f"inside {place}")
        elif what == "dir":
            here.mkdir()
        else:
            here.symlink_to(what.format(root=root, outside=base))
    return root


def by_kernel(path: str) -> str | None:
    try:
        return Path(path).read_text()
    except OSError:
        return None


@settings(max_examples=150, deadline=None)
@given(tree=TREES, path=PATHS)
def test_reading_agrees_with_the_kernel_inside_and_refuses_outside(tree, path):
    absolute, parts = path
    with tempfile.TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder))
        root = build(base, tree)
        asked = "/".join([str(root), *parts] if absolute else parts)
        meant = os.path.join(root, asked)
        text, real = by_kernel(meant), os.path.realpath(meant)
        try:
            got, code = read(Ground(str(root)), asked).text, None
        except Declined as declined_:
            got, code = None, declined_.refused.code
        except OSError:
            got, code = None, Code.IO_ERROR
        inside = real == str(root) or real.startswith(f"{root}/")
        assert got is None or OUTSIDE not in got
        if text is not None:
            assert (got, code) == ((text, None) if inside else (None, Code.REFUSED))


@settings(max_examples=150, deadline=None)
@given(tree=TREES, path=PATHS)
def test_writing_never_changes_anything_outside(tree, path):
    absolute, parts = path
    with tempfile.TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder))
        root = build(base, tree)
        asked = "/".join([str(root), *parts] if absolute else parts)
        done = True
        try:
            writing.write_file(Ground(str(root)), str(base / "scratch"), asked, "new")
        except (Declined, OSError):
            done = False
        assert by_kernel(str(base / "secret.txt")) == OUTSIDE
        assert set(os.listdir(base)) <= {"root", "secret.txt", "scratch"}
        assert not any(os.listdir(base / "scratch")) if (base / "scratch").exists() else True
        assert not (root / ".git").exists()
        if done:
            assert by_kernel(os.path.realpath(os.path.join(root, asked))) == "new"


def test_a_link_swapped_in_between_check_and_use_leads_nowhere(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    for place in (root / "d", outside):
        place.mkdir(parents=True)
    (outside / "f").write_text(OUTSIDE)
    (root / "d" / "f").write_text("inside")
    (root / "evil").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(root / "d", root / "real")
            os.rename(root / "evil", root / "d")
            os.rename(root / "d", root / "evil")
            os.rename(root / "real", root / "d")

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[str] = set()
    try:
        ground = Ground(str(root))
        for number in range(400):
            try:
                seen.add(read(ground, "d/f").text)
                writing.edit_file(ground, str(tmp_path / "scratch"), "d/f", "inside", f"inside{number}", every=False)
            except (Declined, OSError) as error:
                seen.add(type(error).__name__)
    finally:
        stop.set()
        swapper.join()
    assert (outside / "f").read_text() == OUTSIDE
    assert os.listdir(outside) == ["f"]
    assert OUTSIDE not in seen
    assert any(text.startswith("inside") for text in seen)
