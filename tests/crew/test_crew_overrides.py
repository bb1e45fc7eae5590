"""``--set PATH=VALUE`` reaches every value of the document, and says so when it does not (docs/reference/cli.md)."""

from __future__ import annotations

import json

import pytest
from crew_samples import lines, valid

from ggactors.crew import crew_from_document, reading_of
from ggactors.crew.overrides import override


def after(*overrides):
    document = valid()
    assert override(document, overrides) == []
    return document


def test_values_are_read_as_json_and_else_as_text():
    document = after(
        "limits.maxParallel=2", "limits.maxTurns=null", 'name="quoted"', "land=never", "agents.coder.name=A b=c"
    )
    assert document["limits"]["maxParallel"] == 2
    assert document["limits"]["maxTurns"] is None
    assert (document["name"], document["land"]) == ("quoted", "never")
    assert document["agents"][1]["name"] == "A b=c"


@pytest.mark.parametrize("value", ["{", "01", "NaN", '{"a":1,"a":2}', "", "tru", "1 2"])
def test_what_is_no_strict_json_is_text(value):
    assert after(f"name={value}")["name"] == value


@pytest.mark.parametrize(
    "path",
    ["agents.coder.model", "agents[1].model", "agents.1.model", 'agents["coder"].model', '["agents"].coder["model"]'],
)
def test_an_element_of_a_list_is_named_by_id_or_index(path):
    assert after(f"{path}=script/x.json")["agents"][1]["model"] == "script/x.json"


def test_capabilities_and_roster_entries_have_names_too():
    document = after(
        "agents.lead.capabilities.project-management.params.maxRetries=5",
        "agents.lead.roster.critic.description=strict",
    )
    assert document["agents"][0]["capabilities"][2]["params"]["maxRetries"] == 5
    assert document["agents"][0]["roster"][1]["description"] == "strict"


def test_keys_with_odd_characters_are_quoted():
    document = after('models["my.model"]={"provider":"script","name":"s.json"}', 'models["my.model"].name=t.json')
    assert document["models"]["my.model"]["name"] == "t.json"


def test_an_optional_object_that_is_absent_begins_empty():
    document = {"agents": [{"id": "solo", "root": True, "model": "script/s.json"}]}
    crew = crew_from_document(document, folder=".", overrides=["limits.maxTurns=5"])
    assert crew.limits.max_turns == 5
    assert document == {"agents": [{"id": "solo", "root": True, "model": "script/s.json"}]}


def test_overrides_are_applied_in_order():
    assert after("limits.maxTurns=5", "limits.maxTurns=6")["limits"]["maxTurns"] == 6


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("limits.maxTurns", "has no '='"),
        ("=5", "names nothing"),
        (".limits=5", "is no path"),
        ("limits..maxTurns=5", "is no path"),
        ("limits.=5", "is no path"),
        ("agents[x].name=5", "is no path"),
        ("agents[0=5", "is no path"),
        ("agents[9].name=x", "has no element 9"),
        ("agents[4]={}", "has no element 4"),
        ("agents.codr.name=x", "did you mean 'coder'"),
        ("agents.zzz.name=x", "lead, coder, critic, merger"),
        ("agents.lead.hooks.first.name=x", "by its index"),
        ("name.first=x", "no object before 'first'"),
        ("name[0]=x", "no list before [0]"),
        ("limits[0]=x", "no list before [0]"),
        ("limits[0].x=x", "no list before [0]"),
        ("name.first.second=x", "no object before 'first'"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_problem_that_does_not_repeat_the_value(written, word):
    document = valid()
    (problem,) = override(document, [written.replace("=x", "=secret")])
    assert problem.path == f"--set {written.partition('=')[0]}"
    assert word in str(problem)
    assert problem.remedy
    assert "secret" not in str(problem)
    assert document == valid()


def test_bad_overrides_stand_beside_the_documents_own_problems_P2():
    reading = reading_of({**valid(), "colour": 1}, folder=".", overrides=["agents.nobody.model=x", "land=soon"])
    assert [p.path for p in reading.problems] == ["--set agents.nobody.model", "colour", "land"], lines(
        reading.problems
    )


def test_an_override_of_a_document_that_is_no_object_is_a_problem():
    reading = reading_of([1], folder=".", overrides=["land=end"])  # type: ignore[arg-type]
    assert reading.crew is None
    assert {p.path for p in reading.problems} == {"--set land", "document"}


def test_the_crew_carries_the_document_as_changed():
    crew = crew_from_document(valid(), folder=".", overrides=["limits.maxParallel=1"])
    assert crew.document["limits"]["maxParallel"] == 1
    assert json.loads(json.dumps(crew.document)) == crew.document
