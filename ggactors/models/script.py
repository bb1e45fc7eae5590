"""A model whose replies are written down in a file (docs/reference/scripted-models.md). Law: everything but the replies is real.

Keys are patterns over agent ids or ``profile:<id>``; the first that matches serves the agent. Each agent walks its own copy of the
list, one entry a provider attempt.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import trio
from attrs import field, frozen

from ggactors.models.entries import ENDED, Entry, read_script
from ggactors.protocol.model import ModelTraits
from ggactors.rules.document import parse
from ggactors.rules.shape import Place

if TYPE_CHECKING:
    from ggactors.protocol.model import ModelReply, ModelRequest, Usage
    from ggactors.protocol.values import Problem


@frozen
class Script:
    """A script as read: what serves whom. Shared by every agent; the walk is each agent's own."""

    label: str
    patterns: tuple[tuple[str, tuple[Entry, ...]], ...] = ()
    traits: ModelTraits = field(factory=ModelTraits)

    def model_for(self, agent: str, profile: str) -> ScriptModel:
        """Make the model of one agent, at the beginning of its list."""
        return ScriptModel(self.label, self.entries_for(agent, profile))

    def entries_for(self, agent: str, profile: str) -> tuple[Entry, ...]:
        """Find the list that serves an agent: the first pattern, in document order, that matches."""
        for pattern, entries in self.patterns:
            if pattern.startswith("profile:"):
                if pattern.removeprefix("profile:") == profile:
                    return entries
            elif fnmatchcase(agent, pattern):
                return entries
        return ()


class ScriptModel:
    """The walk of one agent through its list. Obeys ``ports.Model``."""

    def __init__(self, label: str, entries: tuple[Entry, ...]) -> None:
        """Stand before the first of ``entries``."""
        self.label = label
        self._entries = entries
        self._at = 0
        self._given = 0

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer with the next entry, after its delay. Raises the ModelFault it writes.

        Cancelled: the entry counts as used, as an attempt that a provider answered to nobody would.
        """
        entry = self._take()
        await trio.sleep(entry.delay)
        if entry.fault is not None:
            raise entry.fault.fault(self.label)
        return entry.reply(request.turn)

    def bound(self, request: ModelRequest) -> Usage | None:  # noqa: ARG002 - the port's shape
        """Give exactly what the next entry spends."""
        return self._next.usage

    @property
    def _next(self) -> Entry:
        return self._entries[self._at] if self._at < len(self._entries) else ENDED

    def _take(self) -> Entry:
        entry = self._next
        self._given += 1
        if self._given >= entry.repeat:
            self._at, self._given = self._at + 1, 0
        return entry


def script_of(content: bytes, file_name: str, label: str) -> tuple[Script, tuple[Problem, ...]]:
    """Read the content of a script file; problems carry paths inside it (``agents.root[0].calls[1].tool``)."""
    parsed = parse(content, file_name)
    if parsed.value is None and parsed.problems:
        return Script(label), parsed.problems
    found: list[Problem] = []
    patterns = read_script(Place(parsed.value, "", found))
    unreadable = {problem.path for problem in parsed.problems}
    return Script(label, patterns), (*parsed.problems, *(p for p in found if p.path not in unreadable))
