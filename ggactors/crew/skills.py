"""Loading the skills a crew names. Law: they are read once, at launch, and used as they were then."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from ggactors.protocol.program import Language
from ggactors.protocol.skills import Skill
from ggactors.protocol.values import Problem
from ggactors.rules.skills import read_skill_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ggactors.protocol.skills import SkillsSpec

LARGEST = 256 * 1024
"""Bytes of one file of a skill."""
ON_USE = {
    Language.PYTHON: "scripts/on_use.py",
    Language.JAVASCRIPT: "scripts/on_use.js",
    Language.TYPESCRIPT: "scripts/on_use.ts",
}
"""Where a skill's on-use code lies in its folder, by language."""


@frozen(kw_only=True)
class LoadedSkills:
    """The skills of each ``dir`` a crew writes, the files of code among them, and a problem for each reason not."""

    skills: Mapping[str, tuple[Skill, ...]] = field(factory=dict)
    code: tuple[Path, ...] = ()
    problems: tuple[Problem, ...] = ()


def load_skills(specs: Iterable[SkillsSpec], folder: str) -> LoadedSkills:
    """Read every skill below the folders named. ``folder`` is the crew's. Blocking; raises nothing."""
    loaded: dict[str, tuple[Skill, ...]] = {}
    code: list[Path] = []
    problems: list[Problem] = []
    for spec in specs:
        if spec.dir not in loaded:
            loaded[spec.dir] = _load(spec, Path(folder) / spec.dir, code, problems)
    return LoadedSkills(skills=loaded, code=tuple(code), problems=tuple(problems))


def _load(spec: SkillsSpec, root: Path, code: list[Path], problems: list[Problem]) -> tuple[Skill, ...]:
    def wrong(what: str, remedy: str = "mend it, or take its folder away") -> None:
        problems.append(Problem(path=spec.path or spec.dir, what=what, remedy=remedy))

    skills: list[Skill] = []
    try:
        folders = sorted(one for one in root.iterdir() if one.is_dir() and not one.name.startswith("."))
    except OSError as error:
        wrong(f"the folder {spec.dir!r} cannot be read: {error.strerror}", "name a folder of skills")
        return ()
    if not folders:
        wrong(f"the folder {spec.dir!r} holds no skills", "put each skill in a folder of its own, with a SKILL.md")
    for one in folders:
        text, fault = _read(one / "SKILL.md")
        read = None if text is None else read_skill_text(text, one.name)
        for reason in (fault,) if read is None else read.reasons:
            wrong(f"the skill {one.name!r}: {reason}")
        on_use: dict[str, str] = {}
        for language, name in ON_USE.items():
            if not os.path.lexists(one / name):
                continue
            source, fault = _read(one / name)
            if source is None or not source.strip():
                wrong(f"the skill {one.name!r}: {fault or f'its {name} is empty'}")
                continue
            on_use[language.value] = source
            code.append(one / name)
        if read is not None and not read.reasons:
            skills.append(Skill(name=read.name, description=read.description, body=read.body, on_use=on_use))
    return tuple(skills)


def _read(path: Path) -> tuple[str | None, str | None]:
    """Read a file of a skill: its text, or why there is none."""
    try:
        if not path.is_file():
            return None, f"there is no {path.name}"
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            return None, f"its {path.name} is larger than {LARGEST} bytes"
        return content.decode(), None
    except UnicodeDecodeError:
        return None, f"its {path.name} is not UTF-8"
    except OSError as error:
        return None, f"its {path.name} cannot be read: {error.strerror}"
