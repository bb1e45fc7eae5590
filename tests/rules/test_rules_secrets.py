"""Everyday words are told from keys."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggactors.rules.secrets import LONGEST_WORDS, SHORTEST, is_telling, left_alone, told_apart

WORDS = (
    "ollama", "none", "EMPTY", "dummy", "lm-studio", "not-needed", "dummy-key", "sk-no-key-required", "no_key", "Placeholder",
    "changeme", "llama.cpp", "local", "x", "1234",
)  # fmt: skip
KEYS = (
    "sk-fakefakefake123456", "hunter22", "correct-horse-battery-staple", "abcdefghijklmnop", "aBcDeFgHiJkL", "pass word",
    "not/really", "--------", "0123456789abcdef",
)  # fmt: skip


@pytest.mark.parametrize("value", WORDS)
def test_a_word_that_local_servers_are_given_for_a_key_is_none(value):
    assert not is_telling(value)


@pytest.mark.parametrize("value", KEYS)
def test_whatever_is_no_everyday_word_is_a_key(value):
    assert is_telling(value)


@given(st.text(string.ascii_letters + string.digits + "-_.", min_size=SHORTEST).filter(lambda text: not text.isalpha()))
def test_a_value_of_eight_characters_with_a_digit_is_a_key(text):
    assert is_telling(f"{text}7")


@given(st.text(min_size=LONGEST_WORDS + 1))
def test_a_long_value_is_a_key_whatever_it_is_made_of(text):
    assert is_telling(text)


@given(st.dictionaries(st.sampled_from("ABCDEF"), st.one_of(st.sampled_from([*WORDS, *KEYS]), st.text(max_size=12))))
def test_every_value_is_masked_or_named_never_both(values):
    kept, left = told_apart(values)
    assert kept.keys() | set(left) == values.keys()
    assert not kept.keys() & set(left)
    assert all(is_telling(value) for value in kept.values())


def test_what_is_said_names_variables_and_quotes_no_value():
    _, left = told_apart({"A": "ollama", "B": "none"})
    assert left_alone(left).startswith("The values of A, B are short or everyday words: not masked")
    assert "ollama" not in left_alone(left)
    assert left_alone(("A",)).startswith("The value of A is ")
