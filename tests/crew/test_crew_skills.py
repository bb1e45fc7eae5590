"""Loading the skills a crew names."""

from __future__ import annotations

from ggactors.cli.consent import executed_files
from ggactors.crew.reading import reading_of
from ggactors.crew.skills import load_skills
from ggactors.protocol.program import Language
from ggactors.protocol.skills import SkillsSpec

SPEC = SkillsSpec(dir="skills", path="agents[0].capabilities[0].params.dir")


def write(tmp_path, name, text=None, **files):
    folder = tmp_path / "skills" / name
    (folder / "scripts").mkdir(parents=True)
    if text is not False:
        (folder / "SKILL.md").write_text(text or f"---\nname: {name}\ndescription: For {name}.\n---\nDo it.\n")
    for ending, content in files.items():
        (folder / "scripts" / f"on_use.{ending}").write_bytes(content)


def test_skills_are_loaded_in_order_with_their_code_by_language(tmp_path):
    write(tmp_path, "b", py=b"print(1)", js=b"1")
    write(tmp_path, "a")
    (tmp_path / "skills" / ".git").mkdir()
    (tmp_path / "skills" / "README.md").write_text("no skill")
    loaded = load_skills([SPEC, SPEC], str(tmp_path))
    assert loaded.problems == ()
    first, second = loaded.skills["skills"]
    assert (first.name, first.description, first.body, dict(first.on_use)) == ("a", "For a.", "Do it.", {})
    assert dict(second.on_use) == {Language.PYTHON: "print(1)", Language.JAVASCRIPT: "1"}
    assert [file.name for file in loaded.code] == ["on_use.py", "on_use.js"]


def test_a_folder_that_is_missing_or_empty_is_a_reason(tmp_path):
    (missing,) = load_skills([SPEC], str(tmp_path)).problems
    assert (missing.path, "cannot be read" in missing.what) == (SPEC.path, True)
    (tmp_path / "skills").mkdir()
    (empty,) = load_skills([SPEC], str(tmp_path)).problems
    assert "holds no skills" in empty.what


def test_every_skill_that_is_wrong_is_a_reason_of_its_own(tmp_path):
    write(tmp_path, "a", text="nothing")
    write(tmp_path, "b", text=False)
    write(tmp_path, "c", py=b"  \n")
    write(tmp_path, "d", js=b"\xff")
    write(tmp_path, "e", ts=b"x" * (256 * 1024 + 1))
    whats = [problem.what for problem in load_skills([SPEC], str(tmp_path)).problems]
    for what, said in zip(whats, ["no front matter", "no SKILL.md", "is empty", "not UTF-8", "larger"], strict=True):
        assert said in what


def test_a_found_crew_is_shown_with_the_code_its_skills_run(tmp_path):
    write(tmp_path, "a", py=b"print(1)")
    agent = {"id": "a", "root": True, "model": "script/s.json"}
    agent["capabilities"] = [{"id": "skills", "params": {"dir": "skills"}}]
    shown = executed_files(reading_of({"agents": [agent]}, folder=tmp_path))
    assert "when its skill is read" in shown[tmp_path / "skills" / "a" / "scripts" / "on_use.py"]
