"""``.gitattributes`` as git reads them. Law: attributes are looked at, never acted on: no filter and no driver they name is run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dulwich.attrs import parse_git_attributes
from dulwich.wildmatch import MalformedPattern, translate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Value = bytes | bool | None
Rule = tuple[re.Pattern[bytes], bool, dict[bytes, Value]]

NAME = b".gitattributes"
_BINARY: dict[bytes, Value] = {b"binary": True, b"diff": False, b"merge": False, b"text": False}


def parse(content: bytes, macros: dict[bytes, dict[bytes, Value]], *, top: bool) -> list[Rule]:
    """Read one attributes file; macros are only defined by top-level ones."""
    rules: list[Rule] = []
    for pattern, found in parse_git_attributes([line + b"\n" for line in content.split(b"\n")]):  # type: ignore[arg-type]
        given: dict[bytes, Value] = {}
        if pattern.startswith(b"[attr]"):
            if top:
                macros[pattern[6:]] = {pattern[6:]: True, **dict(found)}
            continue
        for name, value in found.items():
            if value is True and name in macros:
                given.update(macros[name])
            else:
                given[name] = value
        compiled = _compile(pattern)
        if compiled is not None:
            rules.append((*compiled, given))
    return rules


def _compile(pattern: bytes) -> tuple[re.Pattern[bytes], bool] | None:
    if pattern.startswith(b"!") or pattern.endswith(b"/"):
        return None  # git allows neither negated nor folder-only patterns here
    whole = b"/" in pattern
    try:
        return re.compile(translate(pattern.removeprefix(b"/")) + rb"\Z"), whole
    except MalformedPattern:
        return None


class Attributes:
    """Answers which attributes a path has. ``read`` gives a folder's file (folder ``b""`` or ending in no slash), or None."""

    def __init__(
        self, read: Callable[[bytes], bytes | None], *, person: bytes | None = None, info: bytes | None = None
    ) -> None:
        self._read = read
        self._macros: dict[bytes, dict[bytes, Value]] = {b"binary": _BINARY}
        self._person = parse(person, self._macros, top=True) if person else []
        self._folders: dict[bytes, list[Rule]] = {}
        self._folder(b"")
        self._info = parse(info, self._macros, top=True) if info else []

    def _folder(self, folder: bytes) -> list[Rule]:
        rules = self._folders.get(folder)
        if rules is None:
            content = self._read(folder)
            rules = parse(content, self._macros, top=not folder) if content else []
            self._folders[folder] = rules
        return rules

    def of(self, path: bytes) -> Mapping[bytes, Value]:
        """Collect the attributes of a file path; a later file and a later line win."""
        out: dict[bytes, Value] = {}
        _apply(out, self._person, path)
        _apply(out, self._folder(b""), path)
        at = path.find(b"/")
        while at >= 0:
            _apply(out, self._folder(path[:at]), path[at + 1 :])
            at = path.find(b"/", at + 1)
        _apply(out, self._info, path)
        return out


def _apply(out: dict[bytes, Value], rules: list[Rule], path: bytes) -> None:
    name = path.rpartition(b"/")[2]
    for pattern, whole, given in rules:
        if pattern.match(path if whole else name):
            for key, value in given.items():
                if value is None:
                    out.pop(key, None)
                else:
                    out[key] = value


def start_macros() -> dict[bytes, dict[bytes, Value]]:
    """Give the macros that git itself knows, to be added to."""
    return {b"binary": _BINARY}


def names_filter(
    content: bytes, macros: dict[bytes, dict[bytes, Value]] | None = None, *, top: bool = True
) -> bytes | None:
    """Find in an attributes file the first setting that needs a conversion this package does not do; None when there is none.

    ``macros`` are those known so far; what a top-level file defines is added.
    """
    for rule in parse(content, start_macros() if macros is None else macros, top=top):
        for key, value in rule[2].items():
            if value in (False, None):
                continue
            if key == b"filter":
                return b"filter=" + (value if isinstance(value, bytes) else b"")
            if key in (b"ident", b"working-tree-encoding"):
                return key
    return None
