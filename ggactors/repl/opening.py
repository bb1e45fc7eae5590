"""What a prompt is opened with: the crew as it was read and agreed to, where it works, and what to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ggactors.crew import Reading
    from ggactors.hooks.verify import Verification


@define(kw_only=True)
class Opening:
    """What runs of this prompt are launched with; crew and changes to it may become others between runs.

    ``read`` reads the crew anew, with ``overrides`` as ``--set`` takes them; with a path, another one that was named.
    """

    reading: Reading
    read: Callable[[str | None, Sequence[str]], Reading]
    workspace: str = "."
    overrides: list[str] = field(factory=list)
    tasks: tuple[str, ...] = ()
    """Tasks to begin with; more than one queue."""
    confirm: bool = False
    verification: Verification | None = None
    checkout: str | None = None
    include_dirty: bool = False
    large_baseline: bool = False
    land: str | None = None
    named: str | None = None
    """The crew's file, where the person took another at the prompt."""
    verbose: bool = False
    """Whether the log below warnings is told too."""
    once: bool = False
    """Whether the prompt closes with its first run, whose exit code is the prompt's (solo)."""

    def change(self, *overrides: str) -> Reading:
        """Read the crew with changes more, and take it when it has no problems. Answers the reading either way."""
        return self._take(self.named, [*self._without(map(_path_of, overrides)), *overrides])

    def drop(self, *paths: str) -> Reading:
        """Take changes back, as ``change`` makes them."""
        return self._take(self.named, self._without(paths))

    def other(self, path: str) -> Reading:
        """Take another crew, without the changes to this one. Answers its reading, which may have problems."""
        return self._take(path, [])

    def _without(self, paths: Iterable[str]) -> list[str]:
        gone = set(paths)
        return [one for one in self.overrides if _path_of(one) not in gone]

    def _take(self, named: str | None, overrides: list[str]) -> Reading:
        reading = self.read(named, overrides)
        if not reading.problems:
            self.named, self.overrides, self.reading = named, overrides, reading
        return reading


def _path_of(override: str) -> str:
    return override.partition("=")[0]
