"""Reading a ``SKILL.md``: front matter, then the body (agent-skills conventions). Law: what cannot be read exactly is a reason.

Of YAML the front matter may use what skills are written with: ``key: text``, quoted or not, block texts (``|`` and ``>``), and one
level of indented ``key: text`` under ``metadata``.
"""

from __future__ import annotations

import json
import re

from attrs import frozen

from ggactors.rules.shape import HYPHENED

_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_LINE = re.compile(r"([A-Za-z0-9_-]+):(?:[ \t]+(.*))?")
_MOST_NAME, _MOST_DESCRIPTION, _MOST_COMPATIBILITY = 64, 1024, 500


@frozen(kw_only=True)
class SkillText:
    """What a ``SKILL.md`` says. ``reasons`` lists why it is no skill; the rest counts only when there is none."""

    name: str = ""
    description: str = ""
    body: str = ""
    reasons: tuple[str, ...] = ()


def read_skill_text(text: str, folder: str) -> SkillText:
    """Read a ``SKILL.md`` that lies in a folder of that name."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return SkillText(reasons=("it has no front matter: begin it with a line ---",))
    end = next((index for index, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        return SkillText(reasons=("its front matter is not closed: end it with a line ---",))
    values, reasons = _front_matter(lines[1:end])
    name, description = values.get("name", ""), values.get("description", "")
    body = "\n".join(lines[end + 1 :]).strip()
    reasons += _about_name(name, folder)
    if not description.strip():
        reasons.append("it has no description")
    elif len(description) > _MOST_DESCRIPTION:
        reasons.append(f"its description has {len(description)} characters; at most {_MOST_DESCRIPTION} are allowed")
    if len(values.get("compatibility", "")) > _MOST_COMPATIBILITY:
        reasons.append(f"its compatibility has more than {_MOST_COMPATIBILITY} characters")
    if not body:
        reasons.append("it has no body: nothing follows the front matter")
    return SkillText(name=name, description=" ".join(description.split()), body=body, reasons=tuple(reasons))


def _about_name(name: str, folder: str) -> list[str]:
    if not name:
        return ["it has no name"]
    if len(name) > _MOST_NAME or not HYPHENED.fullmatch(name):
        return [f"its name {name[:100]!r} is not up to 64 lower-case letters and digits joined by single hyphens"]
    if name != folder:
        return [f"its name {name!r} is not that of its folder, {folder!r}"]
    return []


def _front_matter(lines: list[str]) -> tuple[dict[str, str], list[str]]:
    values: dict[str, str] = {}
    reasons: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line.rstrip())
        if found is None:
            reasons.append(f"line {index + 1} cannot be read: {line.strip()[:80]!r}; write `key: text`")
            continue
        key, written = found[1], found[2] or ""
        start = index
        while index < len(lines) and (not lines[index].strip() or lines[index][0] in " \t"):
            index += 1
        below = lines[start:index]
        if key not in _KEYS:
            reasons.append(f"unknown key {key!r}; known: {', '.join(_KEYS)}")
        elif key in values:
            reasons.append(f"{key!r} is written twice")
        value = _metadata(written, below) if key == "metadata" else _text(written, below)
        if value is None:
            reasons.append(f"the value of {key!r} cannot be read; write a text")
        values[key] = value or ""
    return values, reasons


def _metadata(written: str, below: list[str]) -> str | None:
    ok = not written and all(not line.strip() or _LINE.fullmatch(line.strip()) for line in below)
    return "" if ok else None


def _text(written: str, below: list[str]) -> str | None:
    """Read one text: a block, a quoted one, or a plain one that may go on in indented lines. None: none of these."""
    stripped = [line.strip() for line in below]
    if re.fullmatch(r"[|>][-+]?", written):
        return ("\n" if written[0] == "|" else " ").join(stripped).strip()
    joined = " ".join([written, *(line for line in stripped if line)]).strip()
    if joined.startswith('"'):
        try:
            return str(json.loads(joined))
        except ValueError:
            return None
    if joined.startswith("'"):
        quoted = re.fullmatch(r"'((?:[^']|'')*)'", joined)
        return quoted[1].replace("''", "'") if quoted else None
    plain = joined.partition(" #")[0].rstrip()
    return None if plain.startswith(("[", "{", "&", "*", "!", "%", "@", "`")) or ": " in plain else plain
