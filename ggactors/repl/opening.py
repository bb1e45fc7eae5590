"""What a prompt is opened with: the crew as it was read and agreed to, where it works, and what to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    command: str = "repl"
    overrides: list[str] = field(factory=list)
    tasks: tuple[str, ...] = ()
    """Tasks to begin with; more than one queue."""
    confirm: bool = False
    verification: Verification | None = None
    checkout: str | None = None
    include_dirty: bool = False
    large_baseline: bool = False
    land: str | None = None
    events: str | None = None
    named: str | None = None
    """The crew's file, where the person took another at the prompt."""
    verbose: bool = False
    """Whether the log below warnings is told too."""
    once: bool = False
    """Whether the prompt closes with its first run, whose exit code is the prompt's (solo)."""

    def change(self, *overrides: str) -> Reading:
        """Read the crew with changes more, and take it when it has no problems. Answers the reading either way."""
        paths = {one.partition("=")[0] for one in overrides}
        kept = [one for one in self.overrides if one.partition("=")[0] not in paths]
        reading = self.read(self.named, [*kept, *overrides])
        if not reading.problems:
            self.overrides, self.reading = [*kept, *overrides], reading
        return reading

    def drop(self, path: str) -> Reading:
        """Take a change back."""
        kept = [one for one in self.overrides if one.partition("=")[0] != path]
        reading = self.read(self.named, kept)
        if not reading.problems:
            self.overrides, self.reading = kept, reading
        return reading

    def other(self, path: str) -> Reading:
        """Take another crew, without the changes to this one. Answers its reading, which may have problems."""
        reading = self.read(path, [])
        if not reading.problems:
            self.named, self.overrides, self.reading = path, [], reading
        return reading
