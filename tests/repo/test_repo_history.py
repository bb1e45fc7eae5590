"""Who descends from whom, against git on generated histories, clocks that went wrong included."""

from __future__ import annotations

import os
import random

import pytest
from repo_kit import git, git_code, init

from ggactors.repo.history import contains, merge_bases, new_commits
from ggactors.repo.objects import COMMIT, EMPTY_TREE, TREE, Objects, commit_bytes


def _history(store: Objects, seed: int, *, wrong_clocks: bool) -> list[bytes]:
    """Store a history of a few lines that fork and meet; answer its commits, parents before children."""
    chance = random.Random(seed)
    made: list[bytes] = []
    for number in range(chance.randint(3, 18)):
        near = made[-chance.randint(1, 6) :]
        parents = chance.sample(near, min(len(near), chance.choice((1, 1, 1, 2, 2, 3))))
        second = chance.randint(0, 40) if wrong_clocks else number
        stamp = b"Person <person@example.org> %d +0000" % (1_700_000_000 + second)
        text = commit_bytes(tree=EMPTY_TREE, parents=parents, author=stamp, committer=stamp, message=b"c%d\n" % number)
        made.append(store.write(COMMIT, text))
    return made


@pytest.mark.parametrize("wrong_clocks", [False, True], ids=["clocks-right", "clocks-wrong"])
def test_merge_bases_and_descent_are_gits_on_generated_histories(tmp_path, wrong_clocks):
    where = init(tmp_path / "r", {})
    store = Objects(os.fsencode(where / ".git/objects"))
    store.write(TREE, b"")
    asked = 0
    for seed in range(25):
        made = _history(store, seed, wrong_clocks=wrong_clocks)
        chance = random.Random(seed)
        for _ in range(2):
            left, right = chance.choice(made), chance.choice(made)
            theirs = git(where, "merge-base", "--all", left.decode(), right.decode(), check=False).split()
            assert sorted(merge_bases(store, left, right)) == sorted(theirs), (seed, left, right)
            below = git_code(where, "merge-base", "--is-ancestor", left.decode(), right.decode()) == 0
            assert contains(store, right, left) is below, (seed, left, right)
            asked += bool(theirs)
    assert asked > 30
    store.close()


@pytest.mark.parametrize("wrong_clocks", [False, True], ids=["clocks-right", "clocks-wrong"])
def test_what_is_new_is_never_left_out_and_known_only_where_clocks_are_wrong(tmp_path, wrong_clocks):
    where = init(tmp_path / "r", {})
    store = Objects(os.fsencode(where / ".git/objects"))
    store.write(TREE, b"")
    for seed in range(25):
        made = _history(store, 100 + seed, wrong_clocks=wrong_clocks)
        chance = random.Random(seed)
        tip, *known = (chance.choice(made) for _ in range(3))
        theirs = set(git(where, "rev-list", tip.decode(), *(f"^{one.decode()}" for one in known)).split())
        ours = new_commits(store, tip, known)
        assert theirs <= set(ours), (seed, tip, known)
        assert wrong_clocks or theirs == set(ours), (seed, tip, known)
        assert len(ours) == len(set(ours))
    store.close()


def test_asking_about_a_long_history_reads_only_what_the_two_sides_do_not_share(tmp_path):
    where = init(tmp_path / "r", {})
    store = Objects(os.fsencode(where / ".git/objects"))
    store.write(TREE, b"")
    line: list[bytes] = []
    for number in range(300):
        stamp = b"Person <person@example.org> %d +0000" % (1_700_000_000 + number)
        text = commit_bytes(tree=EMPTY_TREE, parents=line[-1:], author=stamp, committer=stamp, message=b"%d\n" % number)
        line.append(store.write(COMMIT, text))
    read: list[bytes] = []
    commit = store.commit
    store.commit = lambda sha: read.append(sha) or commit(sha)
    assert merge_bases(store, line[-1], line[-3]) == [line[-3]]
    assert new_commits(store, line[-1], [line[-4]]) == line[:-4:-1]
    assert contains(store, line[-1], line[-5])
    assert set(read) <= set(line[-8:])
    store.close()
