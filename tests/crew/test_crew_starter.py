"""The crew that ``ggactors init`` writes runs as it stands, and what is commented out in it is well-formed (reference/cli.md)."""

from __future__ import annotations

import re

import pytest
from crew_samples import lines as said

from ggactors.crew import FoundModel, builtin_reading, load_crew, models_found, read_crew, starter_crew
from ggactors.models.resolve import check_specs
from ggactors.protocol.crew import Limits

ANTHROPIC = FoundModel("anthropic", "claude-sonnet-5-5", "ANTHROPIC_API_KEY", installed=True)
OPENAI = FoundModel("openai", "gpt-6.2-sol", "OPENAI_API_KEY", installed=False)
FOUND = {"none": (), "one": (ANTHROPIC,), "another": (OPENAI,), "both": (OPENAI, ANTHROPIC)}


def write(folder, found=()):
    files = starter_crew(found)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "crew.toml"


def uncommented(text):
    return re.sub(r"(?m)^#(?=\S)", "", text).replace("\n#\n", "\n\n")


def test_the_starter_crew_loads_and_its_script_is_in_order(tmp_path):
    crew = load_crew(write(tmp_path))
    assert check_specs(crew.models, crew.folder) == []
    assert [profile.id for profile in crew.profiles] == ["lead", "coder", "critic", "merger"]
    assert crew.board is not None


@pytest.mark.parametrize("found", FOUND.values(), ids=FOUND)
def test_every_line_switched_on_makes_a_crew(tmp_path, found):
    path = write(tmp_path, found)
    path.write_text(uncommented(path.read_text(encoding="utf-8")), encoding="utf-8")
    reading = read_crew(path)
    assert reading.crew is not None, said(reading.problems)


def test_the_ceilings_shown_as_defaults_are_the_defaults(tmp_path):
    path = write(tmp_path)
    lines = uncommented(path.read_text(encoding="utf-8")).splitlines()
    shown = "\n".join(line for line in lines if not re.match("(max(Runtime|Cost|Tokens)|per(Issue|Epic))", line))
    limits = re.search(r"(?ms)^\[limits\]\n.*?(?=^\[models)", shown)
    assert limits is not None
    document = f'{limits[0]}\n[[agents]]\nid="a"\nroot=true\nmodel="script/crew-script.toml"\n'
    path.write_text(document, encoding="utf-8")
    assert load_crew(path).limits == Limits()


def test_every_profile_of_the_script_exists_in_the_crew(tmp_path):
    crew = load_crew(write(tmp_path))
    named = re.findall(r'"profile:([^"<]+)"', (tmp_path / "crew-script.toml").read_text(encoding="utf-8"))
    assert named
    assert {name for name in named if crew.profile(name) is None} == set()


@pytest.mark.parametrize(("found", "model"), [((ANTHROPIC,), ANTHROPIC), ((OPENAI, ANTHROPIC), OPENAI)])
def test_on_models_found_it_needs_no_script_and_every_agent_works_on_the_first(tmp_path, found, model):
    crew = load_crew(write(tmp_path, found))
    assert [path.name for path in tmp_path.iterdir()] == ["crew.toml"]
    assert {(profile.model.provider, profile.model.name) for profile in crew.profiles} == {(model.provider, model.name)}
    assert len(crew.models) == 1, "a model that stands by costs no key"
    text = (tmp_path / "crew.toml").read_text(encoding="utf-8")
    assert f"with the key in {model.variable}" in text
    assert ("pip install 'ggactors[openai]'" in text) == (model is OPENAI)


def test_a_model_is_found_where_its_key_is_set_those_with_a_client_first(monkeypatch):
    there = {"anthropic"}
    monkeypatch.setattr("ggactors.crew.builtin.util.find_spec", lambda name: name if name in there else None)
    both = {"ANTHROPIC_API_KEY": "a-fake-key", "OPENAI_API_KEY": "another-fake-key"}
    assert models_found({"ANTHROPIC_API_KEY": " ", "PATH": "/bin"}) == ()
    assert [model.provider for model in models_found(both)] == ["anthropic", "openai"]
    there.clear()
    there.add("openai")
    assert [(model.provider, model.installed) for model in models_found(both)] == [
        ("openai", True),
        ("anthropic", False),
    ]
    assert "fake-key" not in repr(models_found(both))


@pytest.mark.parametrize("model", [ANTHROPIC, OPENAI])
def test_the_built_in_crew_is_lead_coder_critic_and_merger_on_one_model(model):
    reading = builtin_reading(model)
    assert reading.problems == ()
    crew = reading.crew
    assert crew is not None
    assert [profile.id for profile in crew.profiles] == ["lead", "coder", "critic", "merger"]
    assert {profile.model.key for profile in crew.profiles} == {model.reference}
    assert crew.root.id == "lead"
    assert crew.board is not None
    assert crew.board.merge_agent_id == "merger"


def test_values_of_the_built_in_crew_can_be_set_like_any_others():
    reading = builtin_reading(ANTHROPIC, ["limits.maxCost=2.5", "agents.coder.model=openai/gpt-6-luna"])
    assert reading.crew is not None
    assert reading.crew.limits.max_cost == 2.5
    assert [spec.name for spec in reading.crew.models].count("gpt-6-luna") == 1
    assert builtin_reading(ANTHROPIC, ["agents.coder.modle=x"]).crew is None
