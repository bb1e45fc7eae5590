"""What programs open for their model to read next turn, and the documentation they search and open (X3).

Law: a view is text with a label, handed over once, before the turn that follows. Opening a label again replaces what it held;
what is closed before it was handed over is never seen. A size that is passed is refused, never cut.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, assert_never

from attrs import define, evolve, field, frozen

from ggactors.protocol.program import FieldSpec, ResultSpec, Returned, ValueType
from ggactors.protocol.values import Code, Refused
from ggactors.rules.briefs import heading
from ggactors.tools.operation import Operation, Param, Shape

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ggactors.protocol.program import DocPage, ProgramAnswer

MOST_BODY = 64 * 1024
"""Bytes of one view."""
MOST_LABEL = 200
"""Bytes of a label."""
MOST_TURN = 8 * 1024 * 1024
"""Bytes of all views that are handed over together."""
MOST_HELD = 16
"""Views whose text is held after they were handed over, for a conversation that is compacted."""
MOST_OPEN = 500
"""Views that are open together. Those that were handed over longest ago make room; if there are none, one more is refused."""
MOST_FOUND = 20
"""Pages a search gives."""

OPEN_TEXT = Operation(
    id="views.open_text",
    tool="open_text",
    doc="Show yourself a text: you read it, under its label, in your next turn. The same label replaces what it held.",
    params=(
        Param(name="label", doc="What the text is, in a few words."),
        Param(name="body", doc="The text, up to 64 KiB.", blank=True, nul=True),
    ),
)
OPEN_FILE = Operation(
    id="views.open_file",
    tool="open_file",
    doc="Show yourself a file, or lines of it: you read it in your next turn, under its path as the label.",
    params=(
        Param(name="path", doc="The file.", shape=Shape.PATH),
        Param(
            name="offset", doc="The line to begin with, counted from 1.", shape=Shape.INTEGER, required=False, least=1
        ),
        Param(name="limit", doc="How many lines.", shape=Shape.INTEGER, required=False, least=1),
    ),
)
CLOSE = Operation(
    id="views.close",
    tool="close",
    doc="Close a view: one opened since your last turn is not shown. What you have read already stays read.",
    params=(Param(name="label", doc="Its label."),),
    result=ResultSpec(type=ValueType.INTEGER, doc="How many views were closed, 0 or 1."),
)
CURRENT = Operation(
    id="views.current",
    tool="current",
    doc="List the views that are open.",
    result=ResultSpec(
        type=ValueType.RECORDS,
        fields=(
            FieldSpec(name="label", type=ValueType.TEXT, doc="The label."),
            FieldSpec(name="bytes", type=ValueType.INTEGER, doc="The size of the text."),
            FieldSpec(name="shown", type=ValueType.FLAG, doc="Whether you have read it."),
        ),
    ),
)
SEARCH = Operation(
    id="docs.search",
    tool="search",
    doc=f"Find pages of this documentation by words, the best {MOST_FOUND} first; show them with `views.open_text`.",
    params=(
        Param(name="query", doc="Words; empty lists all pages.", blank=True),
        Param(name="module", doc="Only this module's pages, such as files.", required=False),
    ),
    result=ResultSpec(
        type=ValueType.RECORDS,
        fields=(
            FieldSpec(name="name", type=ValueType.TEXT, doc="What `docs.open` takes."),
            FieldSpec(name="summary", type=ValueType.TEXT, doc="The page in one line."),
        ),
    ),
)
OPEN = Operation(
    id="docs.open",
    tool="open",
    doc="Show yourself a page of this documentation: a module, an operation, or `errors`. You read it in your next turn.",
    params=(Param(name="name", doc="The page, such as files or files.read_file."),),
)
VIEWING = (OPEN_TEXT, OPEN_FILE, CLOSE, CURRENT, SEARCH, OPEN)
"""The operations of ``views`` and ``docs``."""
_BY_ID = {operation.id: operation for operation in VIEWING}


@frozen
class View:
    """A text that was opened: its heading, the text, its size in bytes, whether it was handed over."""

    title: str
    body: str
    size: int
    shown: bool = False


@define(kw_only=True)
class AgentViews:
    """One agent's views; obeys ``ports.Views``. ``granted`` are the ids it has; ``search`` and ``page`` look the SDK up."""

    granted: frozenset[str]
    search: Callable[[str, str | None], Sequence[DocPage]]
    page: Callable[[str], DocPage | None]
    _views: dict[str, View] = field(factory=dict)

    def take_opened(self) -> tuple[str, ...]:
        """Take what was opened since the last time, as texts for the model."""
        opened = [(label, view) for label, view in self._views.items() if not view.shown]
        for label, view in opened:
            self._views[label] = evolve(view, shown=True)
        for label in [label for label, view in self._views.items() if view.shown][:-MOST_HELD]:
            self._views[label] = evolve(self._views[label], body="")  # the conversation holds the text
        return tuple(heading(view.title, view.body) for _, view in opened)

    def still_open(self) -> tuple[str, ...]:
        """Give the views that were handed over and are still open, the latest last; of older ones that there is one."""
        return tuple(
            heading(view.title, view.body or "[open it again to see it]") for view in self._views.values() if view.shown
        )

    async def serve(
        self,
        operation: str,
        args: Mapping[str, Any],
        read: Callable[[str, Mapping[str, Any]], Awaitable[ProgramAnswer]],
    ) -> ProgramAnswer:
        """Carry out a call of ``views`` or ``docs``. ``read`` serves the operation that reads a file."""
        declared = _BY_ID.get(operation)
        if declared is None or operation not in self.granted:
            return Refused(code=Code.UNAVAILABLE, message=f"you do not have `{operation}`.")
        checked = declared.check(args, program=True)
        if isinstance(checked, Refused):
            return checked
        match operation:
            case "views.open_text":
                return self._open(checked["label"], f"View: {checked['label']}", checked["body"])
            case "views.open_file":
                return await self._open_file(checked, read)
            case "views.close":
                return Returned(value=0 if self._views.pop(checked["label"], None) is None else 1)
            case "views.current":
                return Returned(
                    value=[
                        {"label": label, "bytes": view.size, "shown": view.shown} for label, view in self._views.items()
                    ]
                )
            case "docs.search":
                found = self.search(checked["query"], checked["module"])[:MOST_FOUND]
                return Returned(value=[{"name": page.name, "summary": page.summary} for page in found])
            case _:
                return self._open_page(checked["name"])

    async def _open_file(
        self, checked: dict[str, Any], read: Callable[[str, Mapping[str, Any]], Awaitable[ProgramAnswer]]
    ) -> ProgramAnswer:
        path, offset = checked["path"], checked["offset"] or 1
        answer = await read("files.read_file", checked)
        match answer:
            case Refused():
                return answer
            case Returned(value=value):
                text = str(value)
                lines = text.count("\n") + (not text.endswith("\n") and bool(text))
                return self._open(path, f"File: {path}:{offset}-{offset + max(lines, 1) - 1}", text)
            case _ as never:
                assert_never(never)

    def _open_page(self, name: str) -> ProgramAnswer:
        page = self.page(name)
        if page is None:
            message = f"docs.open: there is no page {json.dumps(name[:80])}; find one with docs.search"
            return Refused(code=Code.NOT_FOUND, message=message)
        title = f"Documentation: {page.name}"
        return Returned() if title in self._views else self._open(title, title, page.text)

    def _open(self, label: str, title: str, body: str) -> ProgramAnswer:
        view = View(" ".join(title.split()), body, len(body.encode("utf-8", "replace")))
        if len(label.encode("utf-8", "replace")) > MOST_LABEL and title.startswith("View: "):
            return _too_large(f"the label is longer than {MOST_LABEL} bytes; shorten it")
        if view.size > MOST_BODY:
            return _too_large(f"the text is {view.size} bytes and a view holds {MOST_BODY}; show a part of it")
        others = sum(one.size for name, one in self._views.items() if name != label and not one.shown)
        if others + view.size > MOST_TURN:
            return _too_large(f"the views of one turn hold {MOST_TURN} bytes together; show less")
        self._views.pop(label, None)
        if len(self._views) >= MOST_OPEN:
            oldest = next((name for name, one in self._views.items() if one.shown), None)
            if oldest is None:
                return _too_large(f"{MOST_OPEN} views are open that you have not read yet; show less at a time")
            del self._views[oldest]
        self._views[label] = view
        return Returned()


def _too_large(what: str) -> Refused:
    return Refused(code=Code.LIMIT_EXCEEDED, message=f"views: {what}")
