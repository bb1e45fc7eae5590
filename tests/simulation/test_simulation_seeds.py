"""Hundreds of seeds: whatever agents do, whatever the world refuses, whoever runs when, every law holds; and git agrees."""

import subprocess
import sys

import pytest

PART = 150
"""Seeds of one part. Thousands more at a time: ``python -m ggactors.testing.sim --seeds 0..3000 --jobs 2 --git``."""


def play(*options):
    done = subprocess.run(
        [sys.executable, "-m", "ggactors.testing.sim", *options], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, 4 * PART, PART))
def test_no_seed_breaks_a_law_and_one_in_fifty_comes_to_the_same_over_real_git(first):
    code, said = play("--seeds", f"{first}..{first + PART}", "--jobs", "2", "--git")
    assert code == 0, f"\n{said}"
    assert said.count(" 0 broke a law") == 2, said
