"""Histories of every shape: merge bases, descent and what is new, against git."""

from __future__ import annotations

import os
import random

import pytest
from repo_kit import EFFORT, commit_tree, git, git_code, init

from ggactors.repo.history import contains, merge_bases, new_commits
from ggactors.repo.objects import Objects


@pytest.mark.parametrize("clock", ["right", "wrong"])
@pytest.mark.timeout(60 + 60 * EFFORT)
def test_bases_and_descent_are_gits_also_where_clocks_went_wrong_and_nothing_new_is_missed(tmp_path, clock):
    where = init(tmp_path / "r", {})
    several = 0
    for seed in range(5 * EFFORT):
        r = random.Random(seed)
        made = [commit_tree(where, {"f": ("100644", b"%d" % seed)}, age=1)]
        for number in range(r.randint(3, 20)):
            parents = r.sample(made[-4:], min(len(made[-4:]), r.choice((1, 2, 2, 3))))
            age = r.randint(1, 40) if clock == "wrong" else number + 2
            made.append(commit_tree(where, {"f": ("100644", b"%d/%d" % (seed, number))}, parents, age=age))
        crossed = r.sample(made[1:], 2)
        made += [commit_tree(where, {"f": ("100644", b"x")}, crossed[::way], age=50 + way) for way in (1, -1)]
        store = Objects(os.fsencode(where / ".git/objects"))
        for left, right in (made[-2:], *(r.sample(made, 2) for _ in range(5))):
            a, b = left.encode(), right.encode()
            bases = merge_bases(store, a, b)
            assert sorted(bases) == sorted(git(where, "merge-base", "--all", left, right, check=False).split())
            several += len(bases) > 1
            assert contains(store, a, b) == (git_code(where, "merge-base", "--is-ancestor", right, left) == 0)
            wanted = git(where, "rev-list", left, "^" + right).split()
            found = set(new_commits(store, a, [b]))
            assert found == set(wanted) if clock == "right" else found >= set(wanted), (seed, left, right)
        store.close()
    assert several


def test_no_more_is_read_than_what_two_sides_do_not_share(tmp_path):
    """A long history behind both is never walked: that is what keeps a merge's cost flat."""
    where = init(tmp_path / "r", {})
    stem = commit_tree(where, {"f": ("100644", b"0")}, age=1)
    for number in range(200):
        stem = commit_tree(where, {"f": ("100644", b"%d" % number)}, [stem], age=number + 2)
    left = commit_tree(where, {"f": ("100644", b"l")}, [stem], age=500)
    right = commit_tree(where, {"f": ("100644", b"r")}, [stem], age=501)
    store = Objects(os.fsencode(where / ".git/objects"))
    read = set()
    original = store.commit
    store.commit = lambda sha: read.add(sha) or original(sha)
    assert merge_bases(store, left.encode(), right.encode()) == [stem.encode()]
    assert not contains(store, left.encode(), right.encode())
    assert new_commits(store, left.encode(), [right.encode()]) == [left.encode()]
    assert len(read) <= 4
    store.close()
