"""Crew files: JSON and TOML, what is no such file, and where a crew is looked for (docs/reference/crew.md, cli.md)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from crew_samples import lines, valid

from ggactors.crew import find_crew, load_crew, read_crew
from ggactors.ports import LaunchRefused
from ggactors.rules.document import LARGEST

SOLO_TOML = """
name = "small"
[limits]
maxTurns = 60.0
[[agents]]
id = "solo"
root = true
model = "script/s.json"
"""


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def the_problem(path):
    reading = read_crew(path)
    assert reading.crew is None
    assert len(reading.problems) == 1, lines(reading.problems)
    return reading.problems[0]


def test_a_json_crew_loads_and_knows_its_folder(tmp_path):
    crew = load_crew(written(tmp_path, "team.json", json.dumps(valid())))
    assert crew.name == "sample"
    assert crew.folder == str(tmp_path)


def test_a_toml_crew_has_the_same_keys(tmp_path):
    crew = load_crew(str(written(tmp_path, "crew.toml", SOLO_TOML)))
    assert (crew.name, crew.limits.max_turns, crew.root.id) == ("small", 60, "solo")


def test_a_crew_without_a_name_is_called_like_its_file(tmp_path):
    document = {"agents": [{"id": "solo", "root": True, "model": "script/s.json"}]}
    assert load_crew(written(tmp_path, "night.shift.json", json.dumps(document))).name == "night.shift"


def test_a_relative_path_gives_an_absolute_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "crew.toml", SOLO_TOML)
    assert load_crew("crew.toml").folder == str(tmp_path)


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    path = written(tmp_path, "crew.json", b"\xef\xbb\xbf" + json.dumps(valid()).encode())
    assert load_crew(path).name == "sample"


def test_a_missing_file_is_one_problem_under_its_own_name(tmp_path):
    problem = the_problem(tmp_path / "none.json")
    assert problem.path == str(tmp_path / "none.json")
    assert "does not exist" in problem.what


def test_a_directory_a_pipe_and_an_impossible_name_are_no_crews(tmp_path):
    assert "directory" in the_problem(tmp_path).what
    os.mkfifo(tmp_path / "crew.json")
    assert "regular file" in the_problem(tmp_path / "crew.json").what
    assert the_problem("bad\0name.json").remedy
    assert the_problem(tmp_path / ("n" * 300 + ".json")).remedy


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file whose reading fails for everybody")
def test_a_file_whose_reading_fails_says_so(tmp_path):
    path = tmp_path / "crew.json"
    path.symlink_to("/proc/self/mem")
    assert "cannot be read: Input/output error" in the_problem(path).what


def test_another_ending_is_refused(tmp_path):
    assert ".json or .toml" in the_problem(written(tmp_path, "crew.yaml", "a: 1")).remedy
    assert ".json or .toml" in the_problem(written(tmp_path, "crew", "{}")).remedy


@pytest.mark.parametrize(
    ("name", "content", "place", "word"),
    [
        ("crew.json", '{\n  "name": "x",,\n}', "crew.json:2:15", "not valid JSON"),
        ("crew.json", "", "crew.json:1:1", "not valid JSON"),
        ("crew.json", '{"name": "x"', "crew.json:1:13", "not valid JSON"),
        ("crew.toml", 'name = "x"\nland = \n', "crew.toml:2:8", "not valid TOML"),
        ("crew.toml", 'name = "x"\n[limits', "crew.toml:2:8", "not valid TOML"),
        ("crew.toml", 'name = "x"\nname = "y"\n', "crew.toml:2:11", "not valid TOML"),
        ("crew.json", b'{\n "name": "\xff"}', "crew.json:2:11", "not UTF-8"),
        ("crew.toml", b"\xff", "crew.toml:1:1", "not UTF-8"),
        ("crew.json", "[" * 100_000, "crew.json", "nested too deep"),
        ("crew.json", '{"limits": {"maxTurns": ' + "1" * 5000 + "}}", "crew.json", "too many digits"),
        ("crew.toml", "a = " + "[" * 100_000, "crew.toml", "nested too deep"),
        ("crew.toml", "a = " + "1" * 5000, "crew.toml", "too many digits"),
        ("crew.json", b" " * (LARGEST + 1), "crew.json", "larger than"),
    ],
)
def test_a_text_that_cannot_be_read_is_one_problem_with_line_and_column_P2(tmp_path, name, content, place, word):
    problem = the_problem(written(tmp_path, name, content))
    assert problem.path == place
    assert word in problem.what


def test_a_document_that_is_no_object_says_so(tmp_path):
    assert "must be an object" in the_problem(written(tmp_path, "crew.json", "[1]")).what
    assert "must be an object" in the_problem(written(tmp_path, "crew.json", "null")).what


def test_a_key_written_twice_is_named_where_it_stands(tmp_path):
    text = json.dumps(valid()).replace('"maxTurns": 60', '"maxTurns": 60, "maxTurns": 61, "maxTurns": 62')
    problem = the_problem(written(tmp_path, "crew.json", text))
    assert (problem.path, problem.what) == ("limits.maxTurns", "is written twice")


@pytest.mark.parametrize(
    ("value", "word"),
    [("NaN", "finite"), ("-Infinity", "finite"), ("1e999", "finite"), ('"\\ud83d"', "surrogate")],
)
def test_what_json_alone_cannot_mean_is_named_once_where_it_stands(tmp_path, value, word):
    text = json.dumps(valid()).replace('"maxTurns": 60', f'"maxTurns": {value}')
    problem = the_problem(written(tmp_path, "crew.json", text))
    assert problem.path == "limits.maxTurns"
    assert word in problem.what


def test_deep_nesting_that_the_parser_bears_is_still_a_problem(tmp_path):
    text = json.dumps(valid()).replace('"hooks": []', '"hooks": ' + "[" * 80 + "]" * 80, 1)
    reading = read_crew(written(tmp_path, "crew.json", text))
    assert any("nests deeper" in problem.what for problem in reading.problems)


def test_a_date_in_toml_is_named_where_it_stands(tmp_path):
    problem = the_problem(written(tmp_path, "crew.toml", SOLO_TOML.replace('"small"', "2026-01-01")))
    assert problem.path == "name"
    assert "date" in problem.what


def test_load_crew_raises_one_refusal_with_every_problem_P2(tmp_path):
    path = written(tmp_path, "crew.toml", SOLO_TOML.replace("root = true", 'root = true\ncolour = "red"\nname = 3'))
    with pytest.raises(LaunchRefused) as refused:
        load_crew(path, overrides=["land=never", "limits.maxTurns=0"])
    assert [p.path for p in refused.value.problems] == ["limits.maxTurns", "agents[0].colour", "agents[0].name"]


def test_a_crew_is_looked_for_in_the_order_of_the_contract(tmp_path):
    here, config = tmp_path / "here", tmp_path / "config"
    env = {"XDG_CONFIG_HOME": str(config), "HOME": str(tmp_path / "home")}
    order = [
        config / "ggactors" / "crew.json",
        config / "ggactors" / "crew.toml",
        here / ".ggactors" / "crew.json",
        here / ".ggactors" / "crew.toml",
        here / "crew.json",
        here / "crew.toml",
    ]
    here.mkdir()
    assert find_crew(here, env) is None
    for place in order:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("")
        assert find_crew(here, env) == place


def test_without_xdg_the_users_configuration_is_under_home_and_a_relative_xdg_is_ignored(tmp_path):
    place = tmp_path / ".config" / "ggactors" / "crew.toml"
    place.parent.mkdir(parents=True)
    place.write_text("")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert find_crew(str(empty), {"HOME": str(tmp_path)}) == place
    assert find_crew(empty, {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "config"}) == place
    assert find_crew(empty, {"HOME": "relative"}) is None
    assert find_crew(empty, {}) is None


def test_a_directory_called_like_a_crew_is_passed_over(tmp_path):
    (tmp_path / "crew.toml").mkdir()
    (tmp_path / "crew.json").write_text("{}")
    assert find_crew(tmp_path, {}) == tmp_path / "crew.json"
    assert find_crew(Path(tmp_path), {}) == tmp_path / "crew.json"
