"""The crew that ``ggactors init`` writes runs as it stands, and what is commented out in it is well-formed (contract section 1)."""

from __future__ import annotations

import re

from crew_samples import lines as said

from ggactors.crew import load_crew, read_crew, starter_crew
from ggactors.models.resolve import check_specs
from ggactors.protocol.crew import Limits


def write(folder):
    files = starter_crew()
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


def test_every_line_switched_on_makes_a_crew(tmp_path):
    path = write(tmp_path)
    path.write_text(uncommented(path.read_text(encoding="utf-8")), encoding="utf-8")
    reading = read_crew(path)
    assert reading.crew is not None, said(reading.problems)


def test_the_ceilings_shown_as_defaults_are_the_defaults(tmp_path):
    path = write(tmp_path)
    lines = uncommented(path.read_text(encoding="utf-8")).splitlines()
    shown = "\n".join(line for line in lines if not re.match("max(Runtime|Cost|Tokens)", line))
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
