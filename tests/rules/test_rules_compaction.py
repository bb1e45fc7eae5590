"""Compaction as rules: what crosses, what is shortened in which order, how full a window is, what facts retell."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.protocol.agent import (
    AgentEnded,
    AgentOrder,
    AgentSpawned,
    CallsAnswered,
    ReplyTaken,
    TextHeard,
    WindowCompacted,
)
from ggactors.protocol.model import Image, Kept, Message, ModelReply, ToolCall, ToolResult, ToolSpec
from ggactors.protocol.values import Kind, Role, Status
from ggactors.rules.briefs import endings_of
from ggactors.rules.compaction import (
    ENDING_CALL,
    PINS,
    SUMMARY,
    Terms,
    compacted,
    pins_text,
    shorten,
    summary_request,
    taken_apart,
    transcript,
)
from ggactors.rules.retelling import messages_of
from ggactors.rules.window import Gauge, estimate, tokens_of, tokens_of_tools

SYSTEM, BRIEF = Message(role="system", text="You are."), Message(role="user", text="Do it.")


def turn(number, size, *, calls=1, after=""):
    args = {"contents": "c" * size, "list": ["l" * size, 1], "deep": {"k": "d" * size}}
    made = tuple(ToolCall(id=f"c{number}.{k}", tool="write_file", args=args) for k in range(calls))
    results = tuple(ToolResult(call_id=one.id, tool=one.tool, ok=True, output="r" * size) for one in made)
    kept = Kept(adapter="a", items=({"type": "thinking", "text": "t" * size},))
    messages = [Message(role="assistant", text="t" * size, calls=made, kept=kept)]
    messages += [Message(role="tool", results=results)] if made else []
    messages += [Message(role="user", text=after)] if after else []
    return messages


def conversation(sizes, **more):
    return [SYSTEM, BRIEF, *(m for number, size in enumerate(sizes) for m in turn(number, size, **more))]


def terms(keep=2, *, said=(), where=None):
    return Terms(
        pins=lambda missing: f"{PINS} {missing} are missing.",
        said=lambda message: message.text in said,
        keep_turns=keep,
        where=where,
    )


def paired(messages):
    open_calls = []
    for message in messages:
        if message.role == "tool":
            assert [one.call_id for one in message.results] == open_calls
            open_calls = []
        else:
            assert not open_calls
            open_calls = [one.id for one in message.calls]
    return not open_calls


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 6000), max_size=12),
    calls=st.integers(0, 3),
    keep=st.integers(1, 6),
    room=st.integers(200, 20_000),
    summary=st.none() | st.just("what happened"),
)
def test_no_compaction_parts_a_call_from_its_result_or_touches_the_head(sizes, calls, keep, room, summary):
    messages = conversation(sizes, calls=calls)
    found = compacted(taken_apart(messages), terms(keep), summary=summary, room=room, most=10**9)
    assert found is not None
    assert found == compacted(taken_apart(messages), terms(keep), summary=summary, room=room, most=10**9)
    assert found.messages[:2] == (SYSTEM, BRIEF)
    assert paired(found.messages)
    assert found.fallback is (summary is None)
    assert [m.text.startswith(PINS) for m in found.messages].count(True) == 1
    assert [m.text.startswith(SUMMARY) for m in found.messages].count(True) == (summary is not None)
    told = compacted(taken_apart(messages), terms(keep), summary=summary, room=room, most=room)
    assert told is None or estimate(told.messages) <= room


def test_with_a_summary_the_last_turns_are_whole_where_there_is_room_and_cut_where_there_is_not():
    messages = conversation([5000] * 6)
    whole = compacted(taken_apart(messages), terms(2), summary="s", room=20_000, most=20_000)
    assert whole.messages[-4:] == tuple(messages[-4:])
    assert len([m for m in whole.messages if m.role == "assistant"]) == 2
    cut = compacted(taken_apart(messages), terms(2), summary="s", room=2_500, most=2_500)
    last = [m for m in cut.messages if m.role == "assistant"]
    assert last
    assert all("characters left out" in m.text and m.kept is None for m in last)
    none = compacted(taken_apart(messages), terms(2), summary="s", room=100, most=200)
    assert not [m for m in none.messages if m.role == "assistant"]
    assert compacted(taken_apart(messages), terms(2), summary="s", room=10, most=20) is None


def test_without_a_summary_old_results_go_first_then_the_last_ones_then_the_oldest_turns():
    messages = conversation([5000] * 8)

    def found(room):
        return compacted(taken_apart(messages), terms(2), summary=None, room=room, most=10**9).messages

    first = found(16_500)
    assert first[-4:] == tuple(messages[-4:]), "the last turns are whole"
    olds = [m for m in first if m.role == "assistant"][:-2]
    assert len(olds) == 6
    assert all("left out" in m.text and m.kept is None for m in olds)
    assert all("left out" in r.output for m in first[:-4] for r in m.results)
    assert "left out" in olds[0].calls[0].args["list"][0]
    assert olds[0].calls[0].args["list"][1] == 1
    assert "left out" in olds[0].calls[0].args["deep"]["k"]
    every = found(3_400)
    assert len([m for m in every if m.role == "assistant"]) == 8
    assert "left out" in every[-1].results[0].output
    fewer = found(1_800)
    kept = [m.calls[0].id for m in fewer if m.role == "assistant"]
    assert kept == [f"c{n}.0" for n in range(8 - len(kept), 8)]
    assert 0 < len(kept) < 8
    assert f"{8 - len(kept)} are missing" in next(m.text for m in fewer if m.text.startswith(PINS))


@pytest.mark.parametrize("summary", [None, "short"])
def test_what_was_said_stays_word_for_word_until_nothing_else_is_left(summary):
    words = [f"Message from operator:\n{n} {'w' * 2500}" for n in range(14)]
    messages = conversation([3000] * 14)
    for n, text in enumerate(words):
        messages.insert(4 + 3 * n, Message(role="user", text=text))
    assert paired(messages)
    parts = taken_apart(messages)
    found = compacted(parts, terms(2, said=words), summary=summary, room=12_000, most=12_000)
    assert [m.text for m in found.messages if m.text in words] == words
    again = compacted(taken_apart(found.messages), terms(2, said=words), summary=summary, room=12_000, most=12_000)
    assert [m.text for m in again.messages if m.text in words] == words
    least = compacted(parts, terms(2, said=words), summary=summary, room=100, most=10**9)
    few = [m.text for m in least.messages if m.text.startswith("Message from")]
    assert len(few) == 10
    assert few[-1].startswith("Message from operator:\n13 ")
    assert all(len(text) < 2200 for text in few)


def test_an_earlier_summary_is_kept_where_there_is_no_new_one_and_earlier_pins_never_are():
    once = compacted(taken_apart(conversation([100] * 6)), terms(1), summary="the past", room=9000, most=9000)
    grown = [*once.messages, *(m for n in range(6, 9) for m in turn(n, 100))]
    fallback = compacted(taken_apart(grown), terms(1), summary=None, room=9000, most=9000).messages
    assert [m.text for m in fallback if m.text.startswith(SUMMARY)] == [f"{SUMMARY}\nthe past"]
    assert sum(m.text.startswith(PINS) for m in fallback) == 1
    new = compacted(taken_apart(grown), terms(1), summary="all of it", room=9000, most=9000).messages
    assert [m.text for m in new if m.text.startswith(SUMMARY)] == [f"{SUMMARY}\nall of it"]


def test_a_cut_text_says_how_much_is_missing_and_where_it_lies():
    assert shorten("x" * 30, 30, None) == "x" * 30
    cut = shorten("a" * 100 + "b" * 100, 30, "/kept/c-1.txt")
    assert cut.startswith("a" * 20 + "\n[… 170 characters left out; all of it is in /kept/c-1.txt …]\n")
    assert cut.endswith("b" * 10)
    result = ToolResult(
        call_id="c",
        tool="shell",
        ok=True,
        output="x" * 3000 + "[… 9 bytes left out here; all of it is in /out/shell-4.txt …]" + "y" * 3000,
        images=(Image(media_type="image/png", data=b"1"),),
    )
    call = ToolCall(id="c", tool="shell", args={"command": "x"})
    messages = [SYSTEM, BRIEF, Message(role="assistant", calls=(call,)), Message(role="tool", results=(result,))]
    found = compacted(taken_apart([*messages, *turn(1, 9)]), terms(1, where="/kept"), summary=None, room=800, most=800)
    output = found.messages[-3].results[0].output
    assert "all of it is in /out/shell-4.txt" in output
    assert "/kept" not in output
    assert "1 pictures left out" in output
    assert found.messages[-3].results[0].images == ()


def test_what_stays_in_force_is_said_in_one_message_E3():
    text = pins_text(
        endings=endings_of(Role.REVIEW, None),
        skills=[("testing", "Test first.")],
        views=["View: plan\n----\nthis"],
        where="/kept/c-1.txt",
        missing=3,
        summed_up=False,
    )
    assert text.startswith(PINS)
    for word in ("`approve`", "request_changes", "Test first.", "View: plan", "/kept/c-1.txt", "The 3 oldest turns"):
        assert word in text
    bare = pins_text(endings="`finish`", skills=[], views=[], where=None, missing=3, summed_up=True)
    assert "oldest turns" not in bare
    assert "kept in" not in bare
    request = summary_request("`finish`", 300)
    assert "300 words" in request
    assert "`finish`" in request
    assert ENDING_CALL.search("gg.session.requestChanges ([])")
    assert not ENDING_CALL.search("unfinished work")


def test_a_transcript_holds_everything_that_was_said_called_and_answered():
    told = transcript([*conversation([3]), Message(role="user", text="more")])
    for word in ("You are.", "Do it.", "write_file (c0.0)", "'ccc'", "rrr", "more"):
        assert word in told
    failed = ToolResult(call_id="c", tool="shell", ok=False, code="refused", output="no")
    assert "answered refused" in transcript([Message(role="tool", results=(failed,))])


# ---------------------------------------------------------------- the window


def test_an_estimate_grows_with_every_part_of_a_message():
    plain = tokens_of(Message(role="user", text="x" * 400))
    assert plain == 108
    assert tokens_of(Message(role="user", text="漢" * 400)) > plain * 2
    call = ToolCall(id="c", tool="t", args={"a": "x" * 400, "b": [1, None, {"c": True}]})
    assert tokens_of(Message(role="assistant", calls=(call,))) > plain
    kept = Kept(adapter="a", items=({"data": "x" * 4000},))
    assert tokens_of(Message(role="assistant", text="hi", kept=kept)) > 1000
    result = ToolResult(call_id="c", tool="t", ok=True, output="", images=(Image(media_type="i/p", data=b""),))
    assert tokens_of(Message(role="tool", results=(result,))) > 1500
    assert tokens_of_tools([ToolSpec(name="t", description="d" * 40, schema={"type": "object"})]) > 10
    assert tokens_of(Message(role="user", text="\udc80")) == 8


def test_what_the_provider_counted_corrects_the_estimate():
    gauge = Gauge()
    assert gauge.size(100) == 100
    assert gauge.after_reply(100, 0) == gauge
    counted = gauge.after_reply(100, 150)
    assert counted.size(100) == 150
    assert counted.size(200) == 300
    assert counted.after_reply(100, 1_000_000).scale == 4.0
    assert counted.after_reply(100, 1).scale == 0.5
    assert counted.after_compaction(40).size(40) == 60
    over = gauge.after_overflow(100, 400)
    assert over.size(100) > 400
    assert over.after_overflow(50, 100).scale > over.scale


def test_it_is_due_near_the_window_and_not_again_before_the_conversation_has_grown():
    gauge = Gauge()
    assert not gauge.due(799, 1000, 0.8)
    assert gauge.due(800, 1000, 0.8)
    compact = gauge.after_compaction(800)
    assert not compact.due(950, 1000, 0.8)
    assert compact.due(960, 1000, 0.8)


# ---------------------------------------------------------------- retelling


def test_facts_retell_the_messages_of_one_agent_and_a_compaction_begins_them_anew():
    order = AgentOrder(id="a", profile="p", kind=Kind.ROOT, role=Role.STANDARD, brief="b", workdir=".")
    call = ToolCall(id="c", tool="t", args={})
    answer = ToolResult(call_id="c", tool="t", ok=True, output="o")
    reply = ModelReply(text="r", calls=(call,))
    short = (Message(role="user", text="b"), Message(role="user", text="short"))
    facts = [
        AgentSpawned(order=order),
        TextHeard(agent="a", text="b"),
        TextHeard(agent="b", text="another's"),
        ReplyTaken(agent="a", turn=1, reply=reply),
        ReplyTaken(agent="b", turn=1, reply=reply),
        CallsAnswered(agent="a", turn=1, results=(answer,), outcome="progressed"),
        CallsAnswered(agent="b", turn=1, results=(answer,), outcome="progressed"),
        CallsAnswered(agent="a", turn=2, results=(), outcome="error"),
    ]
    before = messages_of(facts, "a", system="s")
    assert [m.role for m in before] == ["system", "user", "assistant", "tool"]
    facts += [
        WindowCompacted(agent="b", messages=(), fallback=True),
        WindowCompacted(agent="a", messages=short, fallback=False),
        TextHeard(agent="a", text="on"),
        AgentEnded(agent="a", status=Status.COMPLETED, summary="", turns=2),
    ]
    after = messages_of(facts, "a", system="s")
    assert [m.text for m in after] == ["s", "b", "short", "on"]
