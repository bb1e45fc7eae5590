"""Generated merges, put through git and through us: outcome, what is left in the working tree, and the index's stages."""

from __future__ import annotations

import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repo_kit import EFFORT, World, commit_tree, file_below_file, git, init, merge_both_ways, newest_likeness, tell

FAMILIES = {
    "edits": (1_000_000, "mmmaadrxl", 14, 5),
    "moves": (2_000_000, "MMNNrrmmdCT", 25, 7),
    "everything": (3_000_000, "mmmaadrrxlMMSTFCNNG", 20, 7),
}
"""First seed, kinds of edits, files in the base, edits on each side."""
EACH = 50


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    made = init(tmp_path_factory.mktemp("merges") / "r", {})
    yield made
    git(made, "fsck", "--strict", "--no-dangling")
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(autouse=True)
def likeness(monkeypatch):
    newest_likeness(monkeypatch)


def agree(where, left, right) -> str:
    """Compare; answer ``clean`` or ``conflict``, or ``aside`` where git's own index has a file below a file."""
    wanted, found, unclear = merge_both_ways(where, left, right)
    if unclear and wanted != found and file_below_file(wanted[2]):
        return "aside"
    assert found == wanted
    return "clean" if wanted[0] else "conflict"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.timeout(60 + 60 * EFFORT)
def test_generated_merges_come_out_as_gits_do_to_the_byte_and_stage_M1_M2(where, family):
    first, kinds, files, edits = FAMILIES[family]
    counts = {"clean": 0, "conflict": 0, "aside": 0}
    for seed in range(first, first + EACH * EFFORT):
        world = World(seed)
        base = world.base(files)
        below = commit_tree(where, base)
        tips = [commit_tree(where, world.edit(base, kinds=kinds, most=edits), [below]) for _ in range(2)]
        counts[agree(where, *tips)] += 1
    tell(f"{sum(counts.values())} generated merges, {family}, seeds from {first:,}: {counts}")
    assert min(counts["clean"], counts["conflict"]) > EACH // 10, counts
    assert counts["aside"] <= EACH * EFFORT // 100, counts


def mixed(world, base, one, other):
    """Merge two trees roughly, as a person might have."""
    out = dict(one)
    for name in sorted(other):
        if base.get(name) != other[name] and world.random.random() < 0.8:
            World.put(out, name, other[name])
    for name in sorted(one):
        if name in base and name not in other and world.random.random() < 0.8:
            out.pop(name, None)
    return out


@pytest.mark.timeout(60 + 60 * EFFORT)
def test_generated_merges_over_several_merge_bases_come_out_as_gits_do_M1(where):
    """Criss-cross histories: two or three commits, merged on both branches in another order, edited further."""
    counts = {"clean": 0, "conflict": 0, "aside": 0}
    for seed in range(4_000_000, 4_000_000 + EACH * EFFORT):
        world = World(seed)
        base = world.base()
        root = commit_tree(where, base)
        trees = [world.edit(base, kinds="mmmmmmadrMTFCSlx", most=4) for _ in range(world.random.choice((2, 2, 3)))]
        bases = [commit_tree(where, tree, [root], age=10 + at) for at, tree in enumerate(trees)]
        tips = []
        for order in (1, -1):
            merged = trees[::order][0]
            for tree in trees[::order][1:]:
                merged = mixed(world, base, merged, tree)
            tips.append(commit_tree(where, world.edit(merged, most=4), bases[::order], age=30 + order))
        counts[agree(where, *tips)] += 1
    tell(f"{sum(counts.values())} generated merges, over several merge bases, seeds from 4,000,000: {counts}")
    assert min(counts["clean"], counts["conflict"]) > EACH // 10, counts


NAMES = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "e/a", "e/b", "a/a", "d"])
TEXTS = st.lists(st.sampled_from([b"one", b"two", b"{", b"}", b"", b"three"]), max_size=7).map(
    lambda lines: b"".join(line + b"\n" for line in lines)
)
FILES = st.tuples(st.sampled_from(["100644", "100644", "100755"]), TEXTS) | st.tuples(
    st.just("120000"), st.sampled_from([b"x", b"y"])
)
TREES = st.dictionaries(NAMES, FILES, min_size=1, max_size=5)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), NAMES, FILES),
        st.tuples(st.just("move"), NAMES, NAMES),
        st.tuples(st.just("go"), NAMES, st.none()),
    ),
    max_size=4,
)


def whole(tree):
    """Leave of a drawn tree what can be together."""
    out: dict = {}
    for name, entry in tree.items():
        World.put(out, name, entry)
    return out


def edited(tree, edits):
    out = dict(tree)
    for what, name, more in edits:
        if what == "put":
            World.put(out, name, more)
        elif name in out:
            entry = out.pop(name)
            if what == "move":
                World.put(out, more, entry)
    return out


@settings(
    max_examples=60 * EFFORT,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(base=TREES, ours=EDITS, theirs=EDITS)
def test_small_merges_of_every_shape_come_out_as_gits_do_M1(where, base, ours, theirs):
    base = whole(base)
    below = commit_tree(where, base)
    tips = [commit_tree(where, edited(base, edits), [below]) for edits in (ours, theirs)]
    agree(where, *tips)
