"""Arguments held against a server's schema: what it says is asked for, what it does not say is not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.tools.mcparguments import misfit

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": ["number", "null"]},
        "all": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "more": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        "any": True,
    },
    "required": ["path"],
}
CLOSED = {**SCHEMA, "additionalProperties": False}


@pytest.mark.parametrize(
    "args",
    [
        {"path": ""},
        {"path": "a", "count": 3, "ratio": 0.5, "all": False, "names": [1], "more": 7, "any": {}},
        {"path": "a", "count": 3.0, "ratio": None},
        {"path": "a", "ratio": 2},
        {"path": "a", "count": None, "names": None},
        {"path": "a", "unknown": 1},
    ],
)
def test_what_a_schema_allows_or_does_not_speak_of_is_passed_on(args: dict):
    assert misfit(SCHEMA, args) is None


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "`path` is missing; it takes `path`, `count`?"),
        ({"path": None}, "`path` must be string"),
        ({"path": 1}, "`path` must be string"),
        ({"path": "a", "count": "3"}, "`count` must be integer"),
        ({"path": "a", "count": 3.5}, "`count` must be integer"),
        ({"path": "a", "count": True}, "`count` must be integer"),
        ({"path": "a", "ratio": True}, "`ratio` must be number or null"),
        ({"path": "a", "all": 1}, "`all` must be boolean"),
        ({"path": "a", "names": "b"}, "`names` must be array"),
        ({"names": {}}, "`path` is missing, `names` must be array"),
    ],
)
def test_what_a_schema_does_not_allow_is_said_with_what_it_takes_B10(args: dict, said: str):
    assert said in (misfit(SCHEMA, args) or "")


def test_a_closed_schema_refuses_what_it_does_not_know():
    assert "`txt` is not known" in (misfit(CLOSED, {"path": "a", "txt": 1}) or "")
    assert misfit({**CLOSED, "patternProperties": {"^t": {}}}, {"path": "a", "txt": 1}) is None
    assert misfit({"additionalProperties": False}, {"x": 1}) == "`x` is not known; it takes no arguments"


def test_many_faults_and_long_names_stay_one_short_line():
    said = misfit({"required": [f"{n}{'x' * 500}" for n in range(100)]}, {})
    assert said is not None
    assert "and 94 more" in said
    assert len(said) < 1200
    assert "\n" not in said


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_NAMES = st.sampled_from(["a", "b", "type", "properties"])


@given(
    schema=st.dictionaries(
        st.sampled_from(["type", "properties", "required", "additionalProperties", "patternProperties"]), _JSON
    ),
    args=st.dictionaries(_NAMES, _JSON, max_size=3),
)
@settings(max_examples=100, deadline=None)
def test_a_schema_that_is_anything_at_all_breaks_nothing(schema: dict, args: dict):
    assert misfit(schema, args) is None or isinstance(misfit(schema, args), str)


@given(names=st.lists(_NAMES, unique=True), given=st.dictionaries(_NAMES, st.integers(), max_size=4))
@settings(max_examples=60, deadline=None)
def test_arguments_lack_something_exactly_when_a_required_one_is_not_among_them(names: list[str], given: dict):
    assert (misfit({"required": names}, given) is None) == (set(names) <= set(given))
