"""A model that cannot be had is a problem under the path where the crew names it (P2, P4)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ggactors.crew import crew_from_document, reading_of
from ggactors.models.resolve import check_specs, resolve, resolve_all
from ggactors.ports import LaunchRefused
from ggactors.protocol.crew import ModelSpec

GOOD = json.dumps({"agents": {"root": [{"text": "hi"}]}})


def crew(folder, *models, declared=None):
    agents = [{"id": f"a{n}", "root": n == 0, "model": model} for n, model in enumerate(models)]
    return crew_from_document({"models": declared or {}, "agents": agents}, folder=folder)


def problems_of(made):
    return check_specs(made.models, made.folder)


def test_models_that_can_be_had_make_no_problem_and_are_shared(tmp_path):
    (tmp_path / "s.json").write_text(GOOD)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "m.py").write_text("def answer(r): ...\n")
    main = {"main": {"provider": "script", "name": "s.json"}}
    made = crew(tmp_path, "script/s.json", "python/sub/m.py:answer", "main", declared=main)
    assert problems_of(made) == []
    resolution = resolve_all(made.models, made.folder)
    sources = [resolution.source(profile.model) for profile in made.profiles]
    assert sources[0] is sources[2]
    assert [source.label for source in sources if source] == [
        "script/s.json",
        "python/sub/m.py:answer",
        "script/s.json",
    ]


def test_an_absolute_name_and_one_above_the_folder_are_found(tmp_path):
    (tmp_path / "s.json").write_text(GOOD)
    (tmp_path / "sub").mkdir()
    assert problems_of(crew(tmp_path / "sub", f"script/{tmp_path}/s.json", "script/../s.json")) == []


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ("script/none.json", "does not exist"),
        ("script/folder.json", "is a directory"),
        ("script/broken.json", "broken.json: line 1, column 12: not valid JSON"),
        ("script/latin.toml", "latin.toml: line 1, column 5: not UTF-8"),
        ("script/wrong.json", "wrong.json: agents.root[0].txt: unknown key"),
        ("python/none.py:answer", "does not exist"),
        ("python/folder.py:answer", "is a directory"),
        ("python/syntax.py:answer", "SyntaxError"),
        ("python/raises.py:answer", "cannot be loaded: ValueError: at import"),
        ("python/exits.py:answer", "cannot be loaded: SystemExit"),
        ("python/imports.py:answer", "No module named 'not_there_at_all'"),
        ("python/good.py:other", "has no 'other'"),
        ("python/good.py:answer.deeper", "has no 'answer.deeper'"),
        ("python/good.py:number", "is a int, not a callable"),
    ],
)
def test_what_is_in_the_way_of_a_model_is_said_under_its_path_P4(tmp_path, model, word):
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "broken.json").write_text('{"agents": ')
    (tmp_path / "latin.toml").write_bytes(b"a = \xe9\n")
    (tmp_path / "wrong.json").write_text('{"agents": {"root": [{"txt": 1}]}}')
    (tmp_path / "syntax.py").write_text("def answer(r)\n")
    (tmp_path / "raises.py").write_text("raise ValueError('at import')\n")
    (tmp_path / "exits.py").write_text("raise SystemExit\n")
    (tmp_path / "imports.py").write_text("import not_there_at_all\n")
    (tmp_path / "good.py").write_text("number = 5\ndef answer(r): ...\n")
    (problem,) = problems_of(crew(tmp_path, model))
    assert problem.path == "agents[0].model"
    assert word in str(problem)
    assert problem.remedy


def test_every_mistake_of_a_script_is_told_once_however_many_name_it_P2(tmp_path):
    (tmp_path / "s.json").write_text('{"agents": {"root": [{"txt": 1, "repeat": 0}]}, "x": 1}')
    problems = problems_of(
        crew(tmp_path, "main", "script/s.json", declared={"main": {"provider": "script", "name": "s.json"}})
    )
    assert [p.path for p in problems] == ["models.main"] * 3 + ["agents[1].model"]
    assert "as said at models.main" in problems[-1].what


def test_files_are_checked_also_when_the_document_is_refused_P2(tmp_path):
    document = {"colour": 1, "agents": [{"id": "a", "root": True, "model": "script/none.json"}]}
    reading = reading_of(document, folder=tmp_path)
    assert reading.crew is None
    assert [p.path for p in reading.problems] == ["colour"]
    assert [p.path for p in check_specs(reading.models, reading.folder)] == ["agents[0].model"]


def test_a_file_whose_reading_fails_says_so(tmp_path):
    if not Path("/proc/self/mem").exists():
        pytest.skip("needs a file whose reading fails for everybody")
    (tmp_path / "s.json").symlink_to("/proc/self/mem")
    (problem,) = problems_of(crew(tmp_path, "script/s.json"))
    assert "cannot be read: Input/output error" in problem.what


def test_a_file_python_cannot_import_is_refused(tmp_path):
    (tmp_path / "m.txt").write_text("def answer(r): ...\n")
    with pytest.raises(LaunchRefused) as refused:
        resolve(ModelSpec(key="k", provider="python", name="m.txt:answer"), tmp_path)
    assert [str(p) for p in refused.value.problems] == [
        "k: m.txt is no Python file; repair the file, or name another callable"
    ]


def test_two_files_of_one_name_are_two_modules_and_the_path_is_left_alone(tmp_path):
    before = list(sys.path)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.py").write_text(f"def answer(r): return {folder!r}\n")
    sources = [resolve(ModelSpec(key="k", provider="python", name="m.py:answer"), tmp_path / f) for f in ("one", "two")]
    assert [source.answer(None) for source in sources] == ["one", "two"]  # type: ignore[attr-defined]
    assert sys.path == before


def test_a_module_that_fails_to_load_is_not_left_behind(tmp_path):
    (tmp_path / "m.py").write_text("raise ValueError\n")
    before = set(sys.modules)
    assert problems_of(crew(tmp_path, "python/m.py:answer"))
    assert {name for name in set(sys.modules) - before if name.startswith("ggactors_crew")} == set()
