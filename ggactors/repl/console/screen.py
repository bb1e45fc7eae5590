"""The picture of the console: a run's fold and what a person looks at, as rows of painted pieces.

Law: the same fold, the same choices and the same size give the same picture, live or after the run. Only what is seen is
worded; what is costly to lay out is kept until the fold says that it changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field, frozen

from ggactors.protocol.values import IssueState
from ggactors.repl.console.kept import Kept, Same
from ggactors.repl.console.legend import help_lines
from ggactors.repl.console.painting import Line, fitted, from_cells, from_painted
from ggactors.repl.console.reading import Reading
from ggactors.repl.console.state import Looking, Side, Tab
from ggactors.telemetry.plaintext import Look, one_line
from ggactors.telemetry.project import (
    EpicRow,
    IssueRow,
    ProjectRow,
    id_width,
    project_head,
    project_line,
    project_rows,
    project_words,
)
from ggactors.telemetry.standing import elapsed_text, run_state, standing_cells
from ggactors.telemetry.tree import AgentRow, agent_columns, agent_head, agent_line, agent_rows, agent_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ggactors.repl.console.diffs import Diffs
    from ggactors.telemetry.plaintext import Cell
    from ggactors.telemetry.watchfold import WatchFold

SIDE_BY_SIDE = 150
"""Columns from which the detail stands beside the list."""
STACKED = 20
"""Rows from which it stands below; with fewer one of the two has the screen."""

ROOMY = 14
"""Rows of the detail from which its heading stands apart."""


@frozen
class Box:
    """A part of the screen, in cells."""

    x: int
    y: int
    width: int
    height: int

    def holds(self, x: int, y: int) -> bool:
        """Tell whether a cell is inside."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


NOWHERE = Box(0, 0, 0, 0)


@define
class Places:
    """Where things stand on the last picture, for the mouse and for page keys."""

    list: Box = NOWHERE
    detail: Box = NOWHERE
    tabs: dict[Tab, Box] = field(factory=dict)
    detail_lines: int = 0
    detail_room: int = 1


class Screen:
    """Draws. ``slots`` is how many agents may run at once (0: not known)."""

    def __init__(self, fold: WatchFold, looking: Looking, *, slots: int = 0, diffs: Diffs | None = None) -> None:
        """Draw ``fold`` as ``looking`` says."""
        self.fold, self.looking = fold, looking
        self.slots = slots
        self.diffs = diffs
        self.alive = True
        self.note = ""
        """What is said in the place of the keys, for as long as it stands here."""
        self.places = Places()
        self._kept = Kept()
        self._reading = Reading(fold, diffs)

    # ------------------------------------------------------------ what there is

    def rows(self) -> Sequence[AgentRow | ProjectRow]:
        """List the rows of the open tab that the filter lets through."""
        return self._agents() if self.looking.tab is Tab.AGENTS else self._project()

    def chosen(self) -> AgentRow | ProjectRow | None:
        """Give the row the cursor is on."""
        rows = self.rows()
        self.looking.settle(self._keys(), len(rows))
        return rows[self.looking.list.at] if rows else None

    def stalls(self) -> dict[str, str]:
        """Give the stalled issues, each with the failed one it stands behind."""
        return self._kept.get("stalls", self.fold.board, self.fold.stalls)

    def _keys(self) -> dict[str, int]:
        rows = self.rows()
        return self._kept.get(
            f"keys {self.looking.tab}", Same(rows), lambda: {row.key: at for at, row in enumerate(rows)}
        )

    def _agents(self) -> list[AgentRow]:
        every = self._kept.get("agents", self.fold.shape, lambda: agent_rows(self.fold))
        word, living = self.looking.filter.casefold(), self.looking.living
        if not word and not living:
            return every
        # States change without a change of shape, so what the filter lets through is asked again with every event.
        return self._kept.get(
            "agents seen",
            (self.fold.seq, word, living),
            lambda: [
                row
                for row in every
                if (not living or row.agent.state != "ended") and (not word or word in agent_words(row))
            ],
        )

    def _project(self) -> list[ProjectRow]:
        word, living, closed = self.looking.filter.casefold(), self.looking.living, tuple(sorted(self.looking.closed))
        return self._kept.get(
            "project",
            # Without a filter an issue keeps its place whatever becomes of it.
            (self.fold.board if word or living else 0, self.fold.outline, word, living, closed),
            self._lay_project_out,
        )

    def _lay_project_out(self) -> list[ProjectRow]:
        word, living = self.looking.filter.casefold(), self.looking.living
        rows = project_rows(self.fold, self.looking.closed)
        if living:
            rows = [row for row in rows if isinstance(row, EpicRow) or row.issue.state is not IssueState.DONE]
        if word:
            stalls = self.stalls()
            rows = [row for row in rows if word in project_words(row, stalls)]
        return rows

    # ------------------------------------------------------------ the picture

    def draw(self, width: int, height: int) -> list[Line]:
        """Draw the whole screen: exactly ``height`` lines of exactly ``width`` cells."""
        width, height = max(1, width), max(1, height)
        self.places = Places()
        if self.looking.help:
            body = [from_painted(line) for line in help_lines()]
            return [
                fitted(line, width)
                for line in (*body[: height - 1], *[[]] * max(0, height - 1 - len(body)), self._edge())
            ][:height]
        top = [self._title(width)] if height > 3 else []
        bottom = [self._standing(width), self._edge()] if height > 5 else [self._edge()] if height > 1 else []
        room = height - len(top) - len(bottom)
        body = self._body(width, room, len(top))
        return [fitted(line, width) for line in (*top, *body, *bottom)]

    def _body(self, width: int, height: int, y: int) -> list[Line]:
        if width >= SIDE_BY_SIDE:
            left = max(70, width * 9 // 20)
            right = width - left - 1
            rows = self._list(Box(0, y, left, height))
            detail = self._detail(Box(left + 1, y, right, height))
            bar = [("class:rule", "│")]
            return [fitted(a, left) + bar + fitted(b, right) for a, b in zip(rows, detail, strict=True)]
        if height >= STACKED:
            upper = max(6, min(height * 2 // 5, len(self.rows()) + 1))
            rows = self._list(Box(0, y, width, upper))
            rule: Line = [("class:rule", "─" * width)]
            return [*rows, rule, *self._detail(Box(0, y + upper + 1, width, height - upper - 1))]
        whole = Box(0, y, width, height)
        return self._list(whole) if self.looking.side is Side.LIST else self._detail(whole)

    def _title(self, width: int) -> Line:
        view = self.fold.view
        x, line = 0, []
        for number, (tab, count) in enumerate(
            ((Tab.AGENTS, len(view.agents_by_id)), (Tab.PROJECT, len(view.issues))), start=1
        ):
            text = f" {number} {tab.capitalize()} {count:,} "
            self.places.tabs[tab] = Box(x, 0, len(text), 1)
            line.append(("class:sheet.open" if tab is self.looking.tab else "class:sheet", text))
            x += len(text)
        state = run_state(self.fold, alive=self.alive)
        colour = (
            "class:ok" if state == "completed" else "class:cyan" if state in ("running", "starting") else "class:bad"
        )
        name = " ".join(part for part in (one_line(view.crew), one_line(view.run)) if part)
        right: Line = [("", f"{name}  "), (colour, state), ("", f"  {elapsed_text(self.fold)} ")]
        used = x + sum(len(text) for _, text in right)
        if used > width:
            right = [(colour, f" {state} ")]
            used = x + len(state) + 2
        return [*line, ("", " " * max(1, width - used)), *right] if used <= width else line

    def _standing(self, width: int) -> Line:
        cells = standing_cells(self.fold, width - 2, slots=self.slots, stalled=len(self.stalls()))
        return [
            ("class:edge", " "),
            *((f"class:edge {style}", text) for style, text in fitted(from_cells(cells), width - 1)),
        ]

    def _edge(self) -> Line:
        looking = self.looking
        if looking.typing:
            return [
                ("class:key", " / "),
                ("", looking.filter),
                ("class:caret", " "),
                ("class:dim", "  enter keeps it, esc drops it"),
            ]
        if self.note:
            return [("class:note", f" {self.note}")]
        if looking.help:
            return [("class:dim", " any key goes back")]
        keys = [("?", "help"), ("tab", "other tab"), ("/", "filter"), ("enter", "open"), ("q", "leave")]
        if looking.side is Side.DETAIL:
            row = self.chosen()
            more = [("f", "stay" if looking.follow else "follow")] if isinstance(row, AgentRow) else []
            more += [("d", "diff")] if isinstance(row, IssueRow) else []
            keys = [
                ("?", "help"),
                ("esc", "back"),
                *([] if looking.attention else more),
                ("g G", "ends"),
                ("q", "leave"),
            ]
        line: Line = []
        if looking.filter or looking.living:
            what = " ".join(
                part
                for part in (f"/{looking.filter}" if looking.filter else "", "living" if looking.living else "")
                if part
            )
            line += [("class:key", f" {what} "), ("class:dim", " ")]
        for key, what in keys:
            line += [("class:key", f" {key}"), ("class:dim", f" {what} ")]
        return line

    # ------------------------------------------------------------ the list

    def _list(self, box: Box) -> list[Line]:
        rows = self.rows()
        self.looking.settle(self._keys(), len(rows))
        room = box.height - 1
        self.looking.scroll(len(rows), room)
        self.places.list = Box(box.x, box.y + 1, box.width, room)
        top = self.looking.list.top
        head, word = self._wording(box.width - 1)
        lines: list[Line] = [[("class:head", " "), *head]]
        for at in range(top, min(len(rows), top + room)):
            line: Line = [("", " "), *from_cells(word(at))]
            if at == self.looking.list.at:
                line = _marked(line, box.width, chosen=self.looking.side is Side.LIST)
            lines.append(line)
        if not rows:
            lines.append([("class:dim", f" {self._why_empty()}")])
        lines += [[] for _ in range(box.height - len(lines))]
        return lines[: box.height]

    def _wording(self, width: int) -> tuple[Line, Callable[[int], Sequence[Cell]]]:
        fold = self.fold
        if self.looking.tab is Tab.AGENTS:
            agents = self._agents()
            # The columns stay where they are while rows scroll, so all rows count.
            columns = self._kept.get(
                "columns", (Same(agents), fold.shape, width, fold.view.spend.cost is not None),
                lambda: agent_columns(agents, width, cost=fold.view.spend.cost is not None),
            )  # fmt: skip
            return from_cells(agent_head(columns, width)), lambda at: agent_line(agents[at], fold, columns, width)
        project = self._project()
        ids = self._kept.get("ids", (Same(project), width), lambda: id_width(project, width))
        stalls = self.stalls()
        return from_cells(project_head(ids, width)), lambda at: project_line(project[at], fold, stalls, ids, width)

    def _why_empty(self) -> str:
        if self.looking.filter or self.looking.living:
            return "Nothing here fits the filter; esc drops it."
        return "No agent was made yet." if self.looking.tab is Tab.AGENTS else "The board is empty."

    # ------------------------------------------------------------ the detail

    def _detail(self, box: Box) -> list[Line]:
        self.places.detail = box
        look = Look(width=max(10, box.width - 2), colour=True)
        looking, row = self.looking, self.chosen()
        told = self._reading.attention(look) if looking.attention else self._reading.of(row, look)
        head, lines = told.head, told.lines
        if head and box.height >= ROOMY:
            head = [*head, ""]
        room = max(1, box.height - len(head))
        last = max(0, len(lines) - room)
        sticks = looking.follow and looking.tab is Tab.AGENTS and not looking.attention
        if looking.seeking:
            looking.detail_top = told.diff_at
        looking.detail_top = last if sticks else min(looking.detail_top, last)
        while not looking.attention and looking.detail_top < room and (more := self._reading.earlier(row)):
            looking.detail_top += more
        self.places.detail_lines, self.places.detail_room = len(lines), room
        shown = lines[looking.detail_top : looking.detail_top + room]
        out: list[Line] = [[("", " "), *from_painted(line)] for line in (*head, *shown)]
        if looking.side is Side.DETAIL and out:
            out[0] = _marked(out[0], box.width, chosen=True)
        out += [[] for _ in range(box.height - len(out))]
        return out[: box.height]

    def word_all(self) -> None:
        """Word the whole transcript that is shown."""
        while self._reading.earlier(self.chosen()):
            pass


def _marked(line: Line, width: int, *, chosen: bool) -> Line:
    """Mark a line as the one the keys act on (``chosen``), or as the one whose detail is read; without colours too."""
    text = "".join(piece for _, piece in line)
    style = "class:chosen" if chosen else "bold"
    return (
        fitted([(style, f">{text[1:]}")], width) if not chosen else [(style, piece) for _, piece in fitted(line, width)]
    )
