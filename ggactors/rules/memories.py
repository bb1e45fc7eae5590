"""What may become of a profile's memories (capability ``memories``). Law: pure; a refused change changes nothing, nothing is cut.

Bounded are how many there are, how large each is and all are together, and how much their names and descriptions, which stand in
every prompt, come to.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from ggactors.protocol.memories import Memory
from ggactors.protocol.values import Code, Refused
from ggactors.rules.shape import HYPHENED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.protocol.memories import MemoriesGrant

MOST_MEMORIES = 256
"""The most memories a crew may allow one profile."""
LARGEST_TEXT = 1 << 16
"""The most bytes a crew may allow the text of one memory."""
MOST_NAME = 64
MOST_DESCRIPTION = 256
"""Characters of a description."""
MOST_CODE = 32_768
"""Characters of a memory's code."""
MOST_INDEX = 16_384
"""Bytes that the names and descriptions of all memories have together."""
MOST_TOGETHER = 8 << 20
"""Bytes of all texts and all code."""
MOST_FOUND = 25
"""Memories a search gives."""

_WORDS = re.compile(r"\w+")

Memories = tuple[Memory, ...]
"""All memories of a profile, in the order they were made."""


@frozen(kw_only=True)
class Edit:
    """What of a memory is changed; None keeps what is there. ``code`` is the code that runs on use; empty takes it away."""

    description: str | None = None
    text: str | None = None
    code: str | None = None


def create(
    memories: Memories, name: str, edit: Edit, *, grant: MemoriesGrant, language: str | None
) -> Memories | Refused:
    """Add a memory of that name. ``language`` is the one its code is written in."""
    if len(name) > MOST_NAME or not HYPHENED.fullmatch(name):
        said = f"`name` must be up to {MOST_NAME} lower-case letters and digits joined by single hyphens, such as build-steps"
        return Refused(code=Code.INVALID_ARGUMENT, message=said)
    if _found(memories, name) is not None:
        return Refused(
            code=Code.CONFLICT, message=f"there is a memory {name!r} already; edit it, or choose another name"
        )
    if len(memories) >= grant.most:
        said = f"you have {len(memories)} memories and may have {grant.most}; delete or merge some that are no longer of use"
        return Refused(code=Code.LIMIT_EXCEEDED, message=said)
    blank = Memory(name=name, description="", text="")
    return _changed((*memories, blank), blank, edit, grant=grant, language=language)


def edit(
    memories: Memories, name: str, change: Edit, *, grant: MemoriesGrant, language: str | None
) -> Memories | Refused:
    """Change a memory; its place among the others stays."""
    old = _found(memories, name)
    return unknown(memories, name) if old is None else _changed(memories, old, change, grant=grant, language=language)


def delete(memories: Memories, name: str) -> Memories | Refused:
    """Forget a memory."""
    kept = tuple(one for one in memories if one.name != name)
    return unknown(memories, name) if len(kept) == len(memories) else kept


def read(memories: Memories, name: str) -> Memory | Refused:
    """Find a memory by its name."""
    found = _found(memories, name)
    return unknown(memories, name) if found is None else found


def search(memories: Memories, query: str) -> Memories:
    """Find memories that have every word of a query, the best first: names and descriptions count more. No words: all."""
    words = [word.lower() for word in _WORDS.findall(query)]
    scored = [(_score(one, words), one) for one in memories]
    return tuple(one for score, one in sorted(scored, key=lambda pair: -pair[0]) if score > 0 or not words)


def index(memories: Memories) -> str:
    """List names and descriptions, one memory a line."""
    return "\n".join(f"- {one.name}: {one.description}" for one in memories)


def unknown(memories: Memories, name: str) -> Refused:
    """Refuse a name no memory has, with the names there are."""
    names = ", ".join(one.name for one in memories[:MOST_FOUND])
    more = ", …" if len(memories) > MOST_FOUND else ""
    has = f"you have {names}{more}" if memories else "you have none"
    return Refused(code=Code.NOT_FOUND, message=f"there is no memory {name[:100]!r}; {has}")


def _found(memories: Memories, name: str) -> Memory | None:
    return next((one for one in memories if one.name == name), None)


def _score(one: Memory, words: list[str]) -> int:
    name, description, text = one.name.lower(), one.description.lower(), one.text.lower()
    scores = [5 * (word in name) + 3 * (word in description) + (word in text) for word in words]
    return sum(scores) if all(scores) else 0


def _changed(
    memories: Memories, old: Memory, change: Edit, *, grant: MemoriesGrant, language: str | None
) -> Memories | Refused:
    description = old.description if change.description is None else " ".join(change.description.split())
    text = old.text if change.text is None else change.text
    code = change.code or ""
    size = _bytes(text)
    # The description is looked at first: it is the part that every prompt pays for.
    for what, has, most, unit in (
        ("description", len(description), MOST_DESCRIPTION, "characters"),
        ("text", size, grant.most_bytes, "bytes"),
        ("on_use", len(code), MOST_CODE, "characters"),
    ):
        if has > most:
            said = f"`{what}` has {has} {unit} and may have {most}; write less, or split it over several memories"
            return Refused(code=Code.LIMIT_EXCEEDED, message=said)
    new = evolve(old, description=description, text=text, on_use=_code(old.on_use, change.code, language))
    made = tuple(new if one is old else one for one in memories)
    listed = _bytes(index(made))
    if listed > MOST_INDEX:
        said = f"names and descriptions of all memories would have {listed} bytes and may have {MOST_INDEX}; shorten or delete some"
        return Refused(code=Code.LIMIT_EXCEEDED, message=said)
    together = sum(_bytes(one.text) + sum(map(_bytes, one.on_use.values())) for one in made)
    if together > MOST_TOGETHER:
        said = f"all memories would have {together} bytes and may have {MOST_TOGETHER}; shorten or delete some"
        return Refused(code=Code.LIMIT_EXCEEDED, message=said)
    return made


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _code(old: Mapping[str, str], code: str | None, language: str | None) -> dict[str, str]:
    if code is None or language is None:
        return dict(old)
    kept = {written_in: source for written_in, source in old.items() if written_in != language}
    return {**kept, language: code} if code.strip() else kept
