"""Line endings between the store and the working tree, by git's rules for ``text``, ``eol`` and ``core.autocrlf``.

Source: git's convert.c. Law: a file git would not convert is not converted; nothing else is ever done to a file's bytes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ggactors.repo.attributes import NAME, Attributes, Value
from ggactors.repo.ignore import read_regular
from ggactors.repo.objects import LINK, Objects, Sha
from ggactors.repo.trees import lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ggactors.repo.settings import Settings

_PRINTABLE = bytes([*range(0x20, 0x7F), *range(0x80, 0x100), 0x08, 0x09, 0x1B, 0x0C])
_LINE_ENDS = b"\r\n"

BINARY, TEXT_LF, TEXT_CRLF, AUTO, AUTO_LF, AUTO_CRLF = range(6)
_AUTOS = (AUTO, AUTO_LF, AUTO_CRLF)


class Stats:
    """What git counts before it guesses."""

    def __init__(self, content: bytes) -> None:
        self.crlf = content.count(b"\r\n")
        self.lone_cr = content.count(b"\r") - self.crlf
        self.lone_lf = content.count(b"\n") - self.crlf
        odd = content.translate(None, _PRINTABLE + _LINE_ENDS)
        self.nul = b"\x00" in odd
        self.strange = len(odd) - (1 if content.endswith(b"\x1a") else 0)
        self.plain = len(content) - len(odd) - content.count(b"\r") - content.count(b"\n")

    @property
    def binary(self) -> bool:
        """Tell whether git would take this for binary."""
        return bool(self.lone_cr) or self.nul or (self.plain >> 7) < self.strange


class LineEnds:
    """Converts one working tree's files. ``active`` is False when nothing can ever be converted: the fast path."""

    def __init__(self, settings: Settings, attributes: Attributes | None) -> None:
        self._settings = settings
        self._attributes = attributes
        self.active = attributes is not None or settings.autocrlf != "false"

    def _text_is_crlf(self) -> bool:
        return self._settings.autocrlf == "true" or (
            self._settings.autocrlf == "false" and self._settings.eol == "crlf"
        )

    def _action(self, path: bytes) -> int:
        given: Mapping[bytes, Value] = self._attributes.of(path) if self._attributes is not None else {}
        text = given.get(b"text")
        if text not in (True, False, b"auto", b"input"):
            text = given.get(b"crlf")
        if text is False:
            return BINARY
        eol = given.get(b"eol")
        if text == b"auto":
            return AUTO_LF if eol == b"lf" else AUTO_CRLF if eol == b"crlf" else AUTO
        if text == b"input":
            return TEXT_LF
        if eol == b"lf":
            return TEXT_LF
        if eol == b"crlf":
            return TEXT_CRLF
        if text is True:
            return TEXT_CRLF if self._text_is_crlf() else TEXT_LF
        return {"true": AUTO_CRLF, "input": AUTO_LF}.get(self._settings.autocrlf, BINARY)

    def _writes_crlf(self, action: int) -> bool:
        return action in (TEXT_CRLF, AUTO_CRLF) or (action == AUTO and self._text_is_crlf())

    def to_store(self, path: bytes, mode: int, content: bytes, staged: Callable[[], bytes | None]) -> bytes:
        """Convert a file's bytes as ``git add`` would; ``staged`` gives the bytes the index has for it, if any."""
        if not self.active or mode == LINK or b"\r" not in content:
            return content
        action = self._action(path)
        if action == BINARY:
            return content
        if action in _AUTOS:
            stats = Stats(content)
            if stats.binary or not stats.crlf:
                return content
            before = staged()
            if before is not None and b"\r" in before:
                known = Stats(before)
                if not known.binary and known.crlf:
                    return content
        return content.replace(b"\r\n", b"\n")

    def to_disk(self, path: bytes, mode: int, content: bytes) -> bytes:
        """Convert a stored file's bytes as ``git checkout`` would."""
        if not self.active or mode == LINK or b"\n" not in content:
            return content
        action = self._action(path)
        if action == BINARY or not self._writes_crlf(action):
            return content
        stats = Stats(content)
        if not stats.lone_lf or (action in _AUTOS and (stats.lone_cr or stats.crlf or stats.binary)):
            return content
        return content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _read(path: bytes | None) -> bytes | None:
    return None if path is None else read_regular(path)


def attributes_on_disk(root: bytes, common: bytes, settings: Settings, *, any_tracked: bool) -> Attributes | None:
    """Make the attributes of a working tree as it stands; None when no attributes file exists anywhere it could matter."""
    person, info = _read(settings.attributes), _read(os.path.join(common, b"info", b"attributes"))
    if not (any_tracked or person or info or os.path.lexists(os.path.join(root, NAME))):
        return None
    return Attributes(lambda folder: _read(os.path.join(root, folder, NAME)), person=person, info=info)


def attributes_in_tree(store: Objects, tree: Sha, common: bytes, settings: Settings) -> Attributes | None:
    """Make the attributes a tree will have once it is checked out."""
    person, info = _read(settings.attributes), _read(os.path.join(common, b"info", b"attributes"))
    if not (person or info or store.names(tree, NAME)):
        return None

    def read(folder: bytes) -> bytes | None:
        entry = lookup(store, tree, folder + b"/" + NAME if folder else NAME)
        return store.blob(entry[1]) if entry is not None and entry[0] in (0o100644, 0o100755) else None

    return Attributes(read, person=person, info=info)
