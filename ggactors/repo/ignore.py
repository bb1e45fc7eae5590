"""Which untracked paths git would ignore. Law: the deepest file that says anything decides; below an ignored folder all is."""

from __future__ import annotations

import io
import os
import stat
from typing import TYPE_CHECKING

from dulwich.ignore import Pattern, read_ignore_patterns
from dulwich.wildmatch import MalformedPattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ggactors.repo.place import Place

NAME = b".gitignore"
Rules = tuple[Pattern, ...]


def read_regular(path: bytes) -> bytes | None:
    """Read a regular file, never through a link and never waiting on what is none; None when it is not there."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


class Ignore:
    """The ignore rules of one working tree as it lies on disk."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._files: dict[bytes, Rules] = {}
        self._excluded: dict[bytes, bool] = {b"": False}
        self._everywhere: list[Rules] | None = None

    def __call__(self, path: bytes, *, folder: bool) -> bool:
        """Tell whether an untracked path is ignored."""
        above = path.rpartition(b"/")[0]
        return self._folder_excluded(above) or self._decide(path, above, folder=folder)

    def _folder_excluded(self, folder: bytes) -> bool:
        known = self._excluded.get(folder)
        if known is None:
            above = folder.rpartition(b"/")[0]
            known = self._folder_excluded(above) or self._decide(folder, above, folder=True)
            self._excluded[folder] = known
        return known

    def _decide(self, path: bytes, above: bytes, *, folder: bool) -> bool:
        here = above
        while True:
            for pattern in self._rules(here):
                if pattern.matches(path[len(here) + 1 :] if here else path, folder):
                    return pattern.is_exclude
            if not here:
                break
            here = here.rpartition(b"/")[0]
        for rules in self._general():
            for pattern in rules:
                if pattern.matches(path, folder):
                    return pattern.is_exclude
        return False

    def _rules(self, folder: bytes) -> Rules:
        rules = self._files.get(folder)
        if rules is None:
            rules = self._load(os.path.join(self._place.root, folder, NAME))
            self._files[folder] = rules
        return rules

    def _general(self) -> Iterable[Rules]:
        if self._everywhere is None:
            person = self._place.settings.excludes
            paths = [os.path.join(self._place.common, b"info", b"exclude"), *([person] if person is not None else [])]
            self._everywhere = [self._load(os.path.realpath(path)) for path in paths]
        return self._everywhere

    def _load(self, path: bytes) -> Rules:
        content = read_regular(path)
        if not content:
            return ()
        lines = read_ignore_patterns(io.BytesIO(content.removeprefix(b"\xef\xbb\xbf")))
        return tuple(reversed([rule for line in lines if (rule := self._pattern(line)) is not None]))

    def _pattern(self, line: bytes) -> Pattern | None:
        try:
            return Pattern(line, self._place.settings.ignore_case)
        except MalformedPattern:
            return None  # git lets a malformed pattern match nothing
