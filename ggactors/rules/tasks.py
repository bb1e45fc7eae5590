"""An agent's own list of tasks, a graph of what is blocked by what (capability ``tasks``). Law: a refused change changes nothing.

The list belongs to one agent and nothing of it reaches the board; ids are the model's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, evolve, field, frozen

from ggactors.protocol.values import Code, Refused
from ggactors.rules.dag import Dag

if TYPE_CHECKING:
    from collections.abc import Sequence

STATUSES = ("pending", "in_progress", "done")
MOST_TASKS = 1000
MOST_TITLE = 1000
"""Characters of an id or a title."""
MOST_DESCRIPTION = 20_000
"""Characters of a description."""


@frozen(kw_only=True)
class Task:
    """One task. ``blocked_by`` are the ids it waits for; ``ready``: it is not done and nothing unfinished blocks it."""

    id: str
    title: str
    description: str
    status: str
    blocked_by: tuple[str, ...]
    ready: bool


@frozen(kw_only=True)
class _Entry:
    title: str
    description: str = ""
    status: str = "pending"


@define
class TaskList:
    """The tasks of one agent, in the order they were added."""

    _entries: dict[str, _Entry] = field(factory=dict, init=False)
    _graph: Dag = field(factory=Dag, init=False)

    def tasks(self) -> tuple[Task, ...]:
        """List every task."""
        return tuple(self._task(key) for key in self._entries)

    def add(self, key: str, title: str, description: str = "", blocked_by: Sequence[str] = ()) -> Task | Refused:
        """Add a task. A taken id or a task blocked by itself is a conflict, an unknown blocker not found."""
        if key in self._entries:
            return _refused(Code.CONFLICT, f"there is a task {key!r} already; update it, or choose another id")
        if len(self._entries) >= MOST_TASKS:
            return _refused(Code.LIMIT_EXCEEDED, f"there are {MOST_TASKS} tasks already; remove some that are done")
        wrong = _too_long(key, title, description)
        if wrong is None and key in blocked_by:
            wrong = _refused(Code.CONFLICT, f"a task cannot be blocked by itself: {key} -> {key}")
        wrong = wrong or self._unknown(blocked_by)
        if wrong is not None:
            return wrong
        self._graph.add(key, blocked_by)
        self._entries[key] = _Entry(title=title, description=description)
        return self._task(key)

    def update(
        self, key: str, *, title: str | None = None, description: str | None = None, status: str | None = None
    ) -> Task | Refused:
        """Change what is given of a task; None keeps what is there."""
        wrong = self._unknown([key]) or _too_long("", title or "", description or "")
        if wrong is not None:
            return wrong
        given = {"title": title, "description": description, "status": status}
        self._entries[key] = evolve(self._entries[key], **{name: new for name, new in given.items() if new is not None})
        return self._task(key)

    def set_blocked_by(self, key: str, blocked_by: Sequence[str]) -> Task | Refused:
        """Replace what a task is blocked by. A circle is a conflict that names its path."""
        wrong = self._unknown([key, *blocked_by])
        if wrong is not None:
            return wrong
        circle = self._graph.set_blockers(key, blocked_by)
        if circle is not None:
            return _refused(Code.CONFLICT, f"the tasks would block each other: {' -> '.join(circle)}")
        return self._task(key)

    def remove(self, key: str) -> Refused | None:
        """Remove a task; whatever it blocked is not blocked by it any more."""
        wrong = self._unknown([key])
        if wrong is None:
            self._graph.remove(key)
            del self._entries[key]
        return wrong

    def _task(self, key: str) -> Task:
        entry, blockers = self._entries[key], self._graph.blockers(key)
        free = all(self._entries[one].status == "done" for one in blockers)
        return Task(
            id=key,
            title=entry.title,
            description=entry.description,
            status=entry.status,
            blocked_by=blockers,
            ready=entry.status != "done" and free,
        )

    def _unknown(self, keys: Sequence[str]) -> Refused | None:
        missing = next((key for key in keys if key not in self._entries), None)
        return None if missing is None else _refused(Code.NOT_FOUND, f"there is no task {missing[:100]!r}")


def _too_long(key: str, title: str, description: str) -> Refused | None:
    for name, text, most in (
        ("id", key, MOST_TITLE),
        ("title", title, MOST_TITLE),
        ("description", description, MOST_DESCRIPTION),
    ):
        if len(text) > most:
            return _refused(Code.LIMIT_EXCEEDED, f"`{name}` has {len(text)} characters; it may have {most}")
    return None


def _refused(code: Code, message: str) -> Refused:
    return Refused(code=code, message=message)
