"""What a person has chosen to look at, and how keys change it. Law: pure; a key never changes the run, only what is shown of it."""

from __future__ import annotations

from enum import StrEnum

from attrs import define, field


class Tab(StrEnum):
    """The two tabs."""

    AGENTS = "agents"
    PROJECT = "project"


class Side(StrEnum):
    """What keys move in: the rows of the tab, or the detail beside or below them."""

    LIST = "list"
    DETAIL = "detail"


@define(kw_only=True)
class ListState:
    """Where a list stands. ``key`` names the chosen row, which keeps chosen when rows come and go; ``top`` is the first shown."""

    key: str | None = None
    at: int = 0
    top: int = 0


@define(kw_only=True)
class Looking:
    """Everything a person chose. ``follow`` keeps the end of what is told in sight."""

    tab: Tab = Tab.AGENTS
    side: Side = Side.LIST
    lists: dict[Tab, ListState] = field(factory=lambda: {tab: ListState() for tab in Tab})
    detail_top: int = 0
    follow: bool = True
    filter: str = ""
    typing: bool = False
    living: bool = False
    """Only agents that have not ended, only issues that are not done."""
    seeking: bool = False
    """The diff of an issue is gone to, as soon as it is there."""
    closed: set[str] = field(factory=set)
    """Epics whose issues are put away."""
    help: bool = False
    attention: bool = False
    """The detail shows what waits for a person."""

    @property
    def list(self) -> ListState:
        """Give the list of the open tab."""
        return self.lists[self.tab]

    def turn(self, tab: Tab | None = None) -> None:
        """Go to a tab, or to the other one."""
        other = Tab.PROJECT if self.tab is Tab.AGENTS else Tab.AGENTS
        self.tab = other if tab is None else tab
        self.side = Side.LIST
        self.look_anew()

    def look_anew(self) -> None:
        """Show the detail of another row from where it is read first."""
        self.detail_top = 0
        self.follow = True
        self.attention = self.seeking = False

    def settle(self, keys: dict[str, int], rows: int) -> None:
        """Keep the chosen row chosen, wherever it stands now; the nearest when it is gone."""
        state = self.list
        found = keys.get(state.key) if state.key is not None else None
        state.at = found if found is not None else min(state.at, max(0, rows - 1))

    def scroll(self, rows: int, height: int) -> None:
        """Bring the chosen row in sight, moving as little as can be."""
        state = self.list
        top = min(state.top, state.at, max(0, rows - height))
        state.top = max(top, state.at - height + 1, 0)
