"""Which values are keys and which are everyday words, such as people set where a local server asks for no key at all.

Law: pure. A value is left alone only if nobody could tell it from a word of the work: masking ``ollama`` would shred every text
about it and keep nothing secret.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SHORTEST = 8
"""The fewest characters of a value that is masked."""
LONGEST_WORDS = 20
"""The most characters of a value that counts as words; what is longer is masked, whatever it is made of."""

_WORD = r"(?:[A-Z]?[a-z]{1,15}|[A-Z]{1,15})"
_WORDS = re.compile(rf"{_WORD}(?:[-_.]{_WORD})*")


def is_telling(value: str) -> bool:
    """Tell whether a value is masked: eight characters or more, and no everyday words (``ollama``, ``sk-no-key-required``).

    Everyday words are letters alone, joined by ``-``, ``_`` or ``.``, each in lower case, in upper case or capitalised and of at
    most 15 letters, 20 characters in all.
    """
    if len(value) < SHORTEST:
        return False
    return len(value) > LONGEST_WORDS or _WORDS.fullmatch(value) is None


def told_apart(values: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Part values by what they are called: those that are masked, and the names of those that are not."""
    kept = {name: value for name, value in values.items() if is_telling(value)}
    return kept, tuple(name for name in values if name not in kept)


def left_alone(names: tuple[str, ...]) -> str:
    """Say that the values of some variables are not masked."""
    what = f"The value of {names[0]} is" if len(names) == 1 else f"The values of {', '.join(names)} are"
    return f"{what} short or everyday words: not masked in events, logs and prompts. Set a real key if it is to be kept secret."
