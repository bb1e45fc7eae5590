"""Skills: folders of instructions an agent reads when it needs them (capability ``skills``). Law: as they were at launch."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - cattrs needs it at run time

from attrs import field, frozen


@frozen(kw_only=True)
class SkillsSpec:
    """Where a profile's skills lie: ``dir`` as the crew writes it, relative to the crew's folder; ``path`` is where it does."""

    dir: str
    path: str = ""


@frozen(kw_only=True)
class Skill:
    """One skill. ``on_use`` is the code that runs on every use, by the language it is written in (E6)."""

    name: str
    description: str
    body: str
    on_use: Mapping[str, str] = field(factory=dict)
