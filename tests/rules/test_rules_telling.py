"""How much the stream is told of a program's calls: bounded in number and size, and what is left out is counted."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.rules.telling import MOST_ARGS, MOST_CALLS, MOST_TEXT, MOST_TOGETHER, Allowance, told_args, told_text

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=10), PLAIN, max_size=MOST_ARGS))
def test_what_is_small_is_told_as_it_is(args):
    assert told_args(args)[0] == args


def test_what_is_large_is_told_by_its_beginning_and_its_length():
    told, size = told_args({"text": "x" * 1_000_000, "list": [0] * 100_000, "n": 5, "k" * 5000: None})
    assert told["text"] == "x" * MOST_TEXT + "… [1000000 characters in all]"
    assert told["list"].startswith("[0, 0,")
    assert told["n"] == 5
    assert max(map(len, told)) < 300
    assert size < 3 * MOST_TEXT
    many, _ = told_args({str(number): number for number in range(10_000)})
    assert len(many) == MOST_ARGS + 1
    assert many["…"] == "9968 more"
    assert told_text("short") == "short"


def test_a_flood_of_calls_is_told_by_its_first_ones_and_counted():
    told = Allowance()
    seen = sum(told.begins({"path": "a"}) is not None for _ in range(100_000))
    assert (seen, told.calls, told.untold) == (MOST_CALLS, 100_000, 100_000 - MOST_CALLS)


def test_large_calls_use_the_allowance_up_sooner():
    told = Allowance()
    length = 0
    large = {"path": "x" * 500_000, "rest": list(range(10_000))}
    for _ in range(400):
        args = told.begins(large)
        if args is not None:
            length += len(json.dumps(args)) + len(told.ends("y" * 500_000))
    assert MOST_TOGETHER <= length < MOST_TOGETHER + 4 * MOST_TEXT
    assert told.untold > 300
