"""The checker answers every document with problems or a crew, whatever is in it (P2)."""

from __future__ import annotations

import copy
import json
from typing import Any

from crew_samples import check_document, lines, valid
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ggactors.crew import reading_of
from ggactors.crew.overrides import override
from ggactors.rules.document import parse_json, plain
from ggactors.rules.shape import join

WHOLE = valid()
WHOLE["models"]["big"] = {
    "provider": "openai-compatible",
    "name": "x",
    "baseUrl": "http://127.0.0.1:1/v1",
    "apiKeyEnv": "KEY",
    "contextWindow": 1000,
    "price": {"inputPerMTok": 0.0, "outputPerMTok": 0.0},
}
WHOLE["stuckDetection"] = {"enabled": True, "repeatThreshold": 3, "maxNudges": 2}
WHOLE["hooks"] = [{"event": "session-end", "action": {"type": "command", "command": "true", "timeoutSecs": 3}}]
WHOLE["agents"][1]["operations"] = ["files.read_file"]
WHOLE["agents"][1]["hooks"] = [{"event": "agent-stop", "action": {"type": "script", "file": "gate.py"}}]
WHOLE["agents"][2]["capabilities"].append(
    {"id": "responses-as-code", "enabled": False, "params": {"language": "python"}}
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the path of every value inside a document, itself excepted."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, element in inside for found in [(*path, key), *places(element, (*path, key))]]


PLACES = places(WHOLE)

plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["lead", "coder", "script/x.json"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
OVERRIDE = r'(agents|limits|models)[.\[\]"a-z0-9]{0,12}=[a-z0-9{}\[\]"]{0,6}'
strange_values = plain_values | st.binary(max_size=3) | st.dates() | st.tuples(plain_values) | st.builds(object)


def mutated(path: tuple[Any, ...], value: Any, *, delete: bool) -> dict[str, Any]:
    document: Any = copy.deepcopy(WHOLE)
    here = document
    for step in path[:-1]:
        here = here[step]
    if delete:
        del here[path[-1]]
    else:
        here[path[-1]] = value
    return document


def test_every_single_deletion_is_answered_by_problems_or_a_crew():
    for path in PLACES:
        for problem in check_document(mutated(path, None, delete=True)):
            assert problem.path
            assert problem.what
            assert problem.remedy


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(path=st.sampled_from(PLACES), value=strange_values)
def test_every_single_retyping_is_answered_by_problems_or_a_crew(path, value):
    reading = reading_of(mutated(path, value, delete=False), folder=".")
    assert (reading.crew is None) == bool(reading.problems)
    assert all(problem.path and problem.what and problem.remedy for problem in reading.problems), lines(
        reading.problems
    )


def test_an_object_in_any_place_is_named_there_or_below():
    for path in PLACES:
        at = ""
        for step in path:
            at = join(at, step)
        named = [problem.path for problem in check_document(mutated(path, {"?": 1}, delete=False))]
        assert any(name == at or name.startswith((f"{at}.", f"{at}[")) for name in named), (at, named)


@settings(max_examples=100, deadline=None)
@given(value=plain_values)
def test_a_plain_copy_is_json_and_equal_or_says_why_not(value):
    copied = plain(value)
    if not copied.problems:
        assert copied.value == value
    assert parse_json(json.dumps(copied.value), "x").value == copied.value


@settings(max_examples=100, deadline=None)
@given(written=st.text(max_size=30) | st.from_regex(OVERRIDE, fullmatch=True))
def test_no_override_crashes_and_a_refused_one_changes_nothing(written):
    document = copy.deepcopy(WHOLE)
    problems = override(document, [written])
    assert len(problems) <= 1
    if problems:
        assert document == WHOLE
    check_document(document)
