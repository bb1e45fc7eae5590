"""Keys and the mouse of the console. Law: they change what is looked at, never the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.mouse_events import MouseButton, MouseEvent, MouseEventType

from ggactors.repl.console.state import Side, Tab
from ggactors.telemetry.project import EpicRow, IssueRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.key_binding import KeyPressEvent

    from ggactors.repl.console.screen import Screen

WHEEL = 3
LONGEST_FILTER = 80


class Hand:
    """What a person's keys do to a screen."""

    def __init__(self, screen: Screen, leave: Callable[[], None]) -> None:
        """Act on ``screen``; ``leave`` ends the console."""
        self.screen, self.looking, self.leave = screen, screen.looking, leave

    def move(self, by: int) -> None:
        """Move in what has the keys: a row up or down in the list, a line in the detail."""
        if self.looking.side is Side.DETAIL:
            self.scroll(by)
        else:
            self.choose(by)

    def choose(self, by: int) -> None:
        """Go to another row."""
        rows = self.screen.rows()
        if rows:
            self.screen.chosen()
            self.pick(max(0, min(len(rows) - 1, self.looking.list.at + by)))

    def pick(self, at: int) -> None:
        """Choose a row by its place."""
        rows = self.screen.rows()
        state = self.looking.list
        if state.key != rows[at].key or self.looking.attention:
            self.looking.look_anew()
        state.at, state.key = at, rows[at].key

    def scroll(self, by: int) -> None:
        """Scroll the detail. Going up stops following; coming to the end begins it again."""
        looking, places = self.looking, self.screen.places
        looking.seeking = False
        last = max(0, places.detail_lines - places.detail_room)
        looking.detail_top = max(0, min(last, looking.detail_top + by))
        looking.follow = looking.detail_top >= last

    def page(self, by: int) -> None:
        """Move by a page."""
        places = self.screen.places
        box = places.detail if self.looking.side is Side.DETAIL else places.list
        self.move(by * max(1, box.height - 2))

    def end(self, *, last: bool) -> None:
        """Go to the first or the last row or line."""
        if not last and self.looking.side is Side.DETAIL:
            self.screen.word_all()
        self.move(10**9 if last else -(10**9))

    def open(self) -> None:
        """Read the detail; an epic's issues are put away or shown."""
        row = self.screen.chosen()
        if self.looking.side is Side.LIST and isinstance(row, EpicRow):
            self.looking.closed ^= {row.id}
        elif row is not None:
            self.looking.side = Side.DETAIL

    def back(self) -> None:
        """Go back a step: from the detail to the list, then from a filter to all."""
        looking = self.looking
        if looking.attention:
            looking.look_anew()
        if looking.side is Side.DETAIL:
            looking.side = Side.LIST
        elif looking.filter or looking.living:
            looking.filter, looking.living = "", False

    def follow(self) -> None:
        """Follow the end of what is told, or stay where one reads."""
        self.looking.follow = not self.looking.follow

    def diff(self) -> None:
        """Go to the diff of the chosen issue, as it is now."""
        if isinstance(self.screen.chosen(), IssueRow):
            if self.screen.diffs is not None:
                self.screen.diffs.look_again()
            self.looking.look_anew()
            self.looking.side, self.looking.seeking = Side.DETAIL, True

    def attention(self) -> None:
        """Show what waits for the person, or go back."""
        if self.looking.attention:
            self.back()
        else:
            self.looking.attention, self.looking.side, self.looking.detail_top = True, Side.DETAIL, 0

    def type(self, text: str) -> None:
        """Write on at the filter."""
        if text.isprintable() and len(self.looking.filter) < LONGEST_FILTER:
            self.looking.filter += text
            self.looking.list.at = 0

    def mouse(self, event: MouseEvent) -> None:
        """Choose what is clicked, scroll what the wheel is over."""
        screen, looking, x, y = self.screen, self.looking, event.position.x, event.position.y
        wheel = {MouseEventType.SCROLL_UP: -WHEEL, MouseEventType.SCROLL_DOWN: WHEEL}.get(event.event_type)
        if looking.help:
            looking.help = wheel is not None
            return
        if wheel is not None:
            if screen.places.detail.holds(x, y):
                self.scroll(wheel)
            else:
                self.choose(wheel)
            return
        if event.event_type is not MouseEventType.MOUSE_UP or event.button not in (
            MouseButton.LEFT,
            MouseButton.UNKNOWN,
        ):
            return
        for tab, box in screen.places.tabs.items():
            if box.holds(x, y):
                looking.turn(tab)
        if screen.places.list.holds(x, y):
            at = looking.list.top + y - screen.places.list.y
            looking.side = Side.LIST
            if at < len(screen.rows()):
                again = at == looking.list.at and looking.list.key is not None
                self.pick(at)
                if again:
                    self.open()
        elif screen.places.detail.holds(x, y):
            looking.side = Side.DETAIL


def bindings(hand: Hand, *, alone: bool = False) -> KeyBindings:
    """Bind the keys; Ctrl-Z only where stopping the process stops nothing else (``alone``)."""
    keys = KeyBindings()
    looking = hand.looking

    def act(*names: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
        """Bind keys to an action, where they are not typed into the filter; with the help open any key closes it."""

        def bound(action: Callable[[], None]) -> Callable[[], None]:
            def pressed(event: KeyPressEvent) -> None:
                if looking.help:
                    looking.help = False
                elif looking.typing and len(event.data) == 1 and event.data.isprintable():
                    hand.type(event.data)
                else:
                    looking.typing = False
                    action()

            for name in names:
                keys.add(name)(pressed)
            return action

        return bound

    act("j", "down", "c-n")(lambda: hand.move(1))
    act("k", "up", "c-p")(lambda: hand.move(-1))
    act("pagedown", "c-d", "c-f", "space")(lambda: hand.page(1))
    act("pageup", "c-u", "c-b")(lambda: hand.page(-1))
    act("g", "home")(lambda: hand.end(last=False))
    act("G", "end")(lambda: hand.end(last=True))
    act("l", "right")(hand.open)
    act("h", "left")(hand.back)
    act("n")(lambda: hand.choose(1))
    act("p")(lambda: hand.choose(-1))
    act("f")(hand.follow)
    act("d")(hand.diff)
    act("!")(hand.attention)
    act("tab", "s-tab")(looking.turn)
    act("1")(lambda: looking.turn(Tab.AGENTS))
    act("2")(lambda: looking.turn(Tab.PROJECT))
    act("a")(lambda: setattr(looking, "living", not looking.living))
    act("?", "f1")(lambda: setattr(looking, "help", True))
    act("/")(lambda: setattr(looking, "typing", True))
    act("q")(hand.leave)
    keys.add("c-c")(lambda _: hand.leave())
    keys.add("<sigint>")(lambda _: hand.leave())
    keys.add("c-l")(lambda event: event.app.renderer.clear())
    if alone:
        keys.add("c-z")(lambda event: event.app.suspend_to_background())
    _filter_keys(keys, hand)
    return keys


def _filter_keys(keys: KeyBindings, hand: Hand) -> None:
    """Bind what is different while the filter is typed."""
    looking = hand.looking

    @keys.add("enter")
    def _(_: KeyPressEvent) -> None:
        if looking.help:
            looking.help = False
        elif looking.typing:
            looking.typing = False
        else:
            hand.open()

    @keys.add("escape")
    def _(_: KeyPressEvent) -> None:
        if looking.help:
            looking.help = False
        elif looking.typing:
            looking.typing, looking.filter = False, ""
        else:
            hand.back()

    @keys.add("backspace")
    def _(_: KeyPressEvent) -> None:
        if looking.typing:
            looking.filter = looking.filter[:-1]
        else:
            hand.back()

    @keys.add(Keys.BracketedPaste)
    def _(event: KeyPressEvent) -> None:
        if looking.typing:
            hand.type(" ".join(event.data.split()))

    @keys.add(Keys.Any)
    def _(event: KeyPressEvent) -> None:
        if looking.help:
            looking.help = False
        elif looking.typing:
            hand.type(event.data)
