"""Views: bounded in size, number and cost, whatever a program opens (X3)."""

from __future__ import annotations

from ggactors.protocol.program import Returned
from ggactors.protocol.values import Code, Refused
from ggactors.tools.views import MOST_BODY, MOST_HELD, MOST_LABEL, MOST_OPEN, MOST_TURN, VIEWING, AgentViews


def views() -> AgentViews:
    return AgentViews(
        granted=frozenset(one.id for one in VIEWING), search=lambda _query, _module: [], page=lambda _name: None
    )


async def read(_operation, _args):
    return Returned(value="one\ntwo\n")


async def open_text(made: AgentViews, label: str, body: str = "") -> Code | None:
    answer = await made.serve("views.open_text", {"label": label, "body": body}, read)
    return answer.code if isinstance(answer, Refused) else None


async def test_a_text_a_label_and_a_turn_have_their_sizes_and_what_is_larger_is_refused():
    made = views()
    assert await open_text(made, "a", "x" * MOST_BODY) is None
    assert await open_text(made, "a", "x" * (MOST_BODY + 1)) == Code.LIMIT_EXCEEDED
    assert await open_text(made, "é" * (MOST_LABEL // 2), "") is None
    assert await open_text(made, "é" * (MOST_LABEL // 2 + 1), "") == Code.LIMIT_EXCEEDED
    fits = MOST_TURN // MOST_BODY
    codes = [await open_text(made, f"v{number}", "x" * MOST_BODY) for number in range(fits)]
    assert codes == [None] * (fits - 1) + [Code.LIMIT_EXCEEDED]


async def test_a_flood_of_empty_views_is_refused_before_it_fills_the_conversation():
    made = views()
    codes = [await open_text(made, str(number)) for number in range(MOST_OPEN + 50)]
    assert codes == [None] * MOST_OPEN + [Code.LIMIT_EXCEEDED] * 50
    assert await open_text(made, "0", "again") is None, "one that is open may be opened anew"
    assert len(made.take_opened()) == MOST_OPEN


async def test_what_was_read_long_ago_makes_room_for_what_is_new():
    made = views()
    for number in range(MOST_OPEN):
        await open_text(made, str(number))
    made.take_opened()
    assert await open_text(made, "new") is None
    answer = await made.serve("views.current", {}, read)
    assert isinstance(answer, Returned)
    labels = [one["label"] for one in answer.value]
    assert (len(labels), labels[0], labels[-1]) == (MOST_OPEN, "1", "new")
    assert made.take_opened() == ("View: new\n----\n",)


async def test_what_is_opened_and_closed_before_it_is_read_is_never_seen_X3():
    made = views()
    await open_text(made, "a", "x")
    await made.serve("views.open_file", {"path": "f"}, read)
    assert await made.serve("views.close", {"label": "a"}, read) == Returned(value=1)
    assert made.take_opened() == ("File: f:1-2\n----\none\ntwo\n",)
    assert made.take_opened() == ()


async def test_views_that_are_open_can_be_shown_again_the_latest_sixteen_with_their_text():
    made = views()
    await open_text(made, "unread", "x")
    assert made.still_open() == ()
    for number in range(MOST_HELD + 2):
        await open_text(made, str(number), f"text {number}")
    made.take_opened()
    await open_text(made, "0", "new text")
    await made.serve("views.close", {"label": "1"}, read)
    made.take_opened()
    shown = made.still_open()
    assert shown[0] == "View: unread\n----\n[open it again to see it]"
    assert shown[-1] == "View: 0\n----\nnew text"
    assert sum("[open it again" in text for text in shown) == 2
    assert not any(text.startswith("View: 1\n") for text in shown)
