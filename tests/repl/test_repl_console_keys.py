"""What keys and the mouse do in the console: they change what is looked at, never the run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from console_stories import (
    busy_run,
    choose,
    screen_of,
    spawned,
    stamped,
    started,
    state,
    text_of,
    whole_run,
)
from prompt_toolkit.data_structures import Point
from prompt_toolkit.mouse_events import MouseButton, MouseEvent, MouseEventType

from ggactors.protocol import events
from ggactors.repl.console.keys import Hand
from ggactors.repl.console.legend import KEYS
from ggactors.repl.console.state import Side, Tab
from ggactors.telemetry.closeup import PAGE

if TYPE_CHECKING:
    from ggactors.repl.console.screen import Screen

WHOLE = busy_run()


def test_a_filter_lets_through_what_has_its_words_and_follows_the_states():
    screen = screen_of(
        stamped([started(), spawned("root", kind="root"), spawned("a"), state("a", "running")]), filter="running"
    )
    assert [row.key for row in screen.rows()] == ["a"]
    screen.fold.take(state("root", "running"))
    assert [row.key for row in screen.rows()] == ["root", "a"]
    screen.looking.filter = "no such"
    assert "Nothing here fits the filter" in text_of(screen)


def test_only_what_is_not_over_is_shown_where_that_is_asked():
    screen = screen_of(whole_run(), tab=Tab.PROJECT, living=True)
    assert "AUTH-1" not in [row.key for row in screen.rows()]
    assert "AUTH-2" in [row.key for row in screen.rows()]


def test_enter_puts_the_issues_of_an_epic_away_and_shows_them_again():
    screen = screen_of(WHOLE, tab=Tab.PROJECT)
    hand = Hand(screen, lambda: None)
    every = len(screen.rows())
    hand.open()
    assert len(screen.rows()) < every
    assert "+ AUTH  Signing in" in text_of(screen)
    hand.open()
    assert len(screen.rows()) == every


def long_talk(turns: int) -> Screen:
    talk = [events.AssistantMessage(agent="root", text=f"word {number}") for number in range(turns)]
    return screen_of(stamped([started(), spawned("root", kind="root"), state("root", "running"), *talk]))


def test_a_transcript_follows_its_end_until_one_reads_further_up():
    screen = long_talk(100)
    hand = Hand(screen, lambda: None)
    assert "word 99" in text_of(screen)
    screen.fold.take(events.AssistantMessage(agent="root", text="word 100"))
    assert "word 100" in text_of(screen)
    hand.open()
    hand.move(-5)
    text_of(screen)
    before = screen.looking.detail_top
    screen.fold.take(events.AssistantMessage(agent="root", text="word 101"))
    assert "word 101" not in text_of(screen)
    assert screen.looking.detail_top == before
    hand.end(last=True)
    assert "word 101" in text_of(screen)
    screen.fold.take(events.AssistantMessage(agent="root", text="word 102"))
    assert "word 102" in text_of(screen), "at the end it follows again"


def test_a_long_transcript_is_worded_from_its_end_and_read_to_its_beginning():
    screen = long_talk(3 * PAGE)
    hand = Hand(screen, lambda: None)
    assert f"word {3 * PAGE - 1}" in text_of(screen)
    assert screen.places.detail_lines < 3 * PAGE, "not all of it is worded"
    hand.open()
    seen: set[str] = set()
    for _ in range(3 * PAGE):
        seen |= set(re.findall(r"word \d+", text_of(screen)))
        hand.page(-1)
    assert len(seen) == 3 * PAGE
    hand.end(last=True)
    text_of(screen)
    hand.end(last=False)
    assert "# Brief of root" in text_of(screen)


def test_back_goes_from_the_detail_to_the_list_and_then_drops_the_filter():
    screen = screen_of(WHOLE, filter="auth")
    hand = Hand(screen, lambda: None)
    hand.open()
    assert screen.looking.side is Side.DETAIL
    hand.back()
    assert (screen.looking.side, screen.looking.filter) == (Side.LIST, "auth")
    hand.back()
    assert screen.looking.filter == ""


def test_the_key_of_the_diff_goes_to_the_diff_as_it_is_now():
    screen = choose(screen_of(whole_run(), tab=Tab.PROJECT), "AUTH-1")
    text_of(screen, 80, 24)
    Hand(screen, lambda: None).diff()
    assert screen.looking.side is Side.DETAIL
    assert screen.diffs.again
    assert "diff --git a/x b/x" in text_of(screen, 80, 24)


@pytest.mark.parametrize("size", [(80, 12), (100, 30), (180, 40)])
def test_the_mouse_chooses_rows_and_tabs_and_its_wheel_scrolls(size):
    screen = screen_of(WHOLE)
    hand = Hand(screen, lambda: None)

    def mouse(x: int, y: int, kind=MouseEventType.MOUSE_UP) -> str:
        hand.mouse(MouseEvent(Point(x, y), kind, MouseButton.LEFT, frozenset()))
        return text_of(screen, *size)

    text_of(screen, *size)
    mouse(5, screen.places.list.y + 2)
    assert screen.chosen().key == "ISSUE-1.0i"
    mouse(5, screen.places.list.y + 2)
    assert screen.looking.side is Side.DETAIL, "a second click opens it"
    hand.back()
    text_of(screen, *size)
    mouse(5, screen.places.list.y, MouseEventType.SCROLL_DOWN)
    assert screen.looking.list.at == 5
    mouse(screen.places.tabs[Tab.PROJECT].x + 2, 0)
    assert screen.looking.tab is Tab.PROJECT
    mouse(10**4, 10**4)


def test_the_help_names_every_key_and_any_key_closes_it():
    screen = screen_of(WHOLE, help=True)
    text = text_of(screen, 100, 30)
    assert all(what in text for _, what in KEYS)
    assert len(screen.draw(20, 3)) == 3
