"""The pure parts of every provider's dialogue: pairing, ids, arguments, bounds, and the parting of streams into events."""

import json
import re
import socket
import ssl

import pytest
import trio
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.models.dialogue import (
    MOST_TOLD,
    Gauge,
    Heard,
    calls_of,
    clean,
    cleaned,
    count_of,
    counts_in,
    opening,
    paired,
    read_arguments,
    sendable,
    storable,
    tokens_of,
    written,
)
from ggactors.models.faults import rate_limits, retry_after, status_fault, words_of
from ggactors.protocol.agent import AgentFact, ReplyTaken
from ggactors.protocol.model import Kept, Message, ModelReply, ModelRequest, RateLimits, ToolCall, ToolResult
from ggactors.wire import Tagged

KEY = "sk-fake-0123456789abcdef"

IDS = st.sampled_from(["a", "b", "c", "d"])
CALLS = st.lists(IDS.map(lambda one: ToolCall(id=one, tool="t", args={})), max_size=3, unique_by=lambda one: one.id)
RESULTS = st.lists(IDS.map(lambda one: ToolResult(call_id=one, tool="t", ok=True, output=f"of {one}")), max_size=3)
MESSAGES = st.lists(
    st.one_of(
        st.text(max_size=4).map(lambda text: Message(role="user", text=text)),
        CALLS.map(lambda calls: Message(role="assistant", text="x", calls=tuple(calls))),
        RESULTS.map(lambda results: Message(role="tool", results=tuple(results))),
        st.just(Message(role="system", text="s")),
    ),
    max_size=8,
)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def request(*messages):
    return ModelRequest(
        agent="root", profile="lead", role="standard", issue=None, turn=3, attempt=1, messages=messages, tools=()
    )


@given(MESSAGES)
def test_every_call_is_answered_right_after_its_reply_and_nothing_else_is(messages):
    out = list(paired(messages))
    for at, message in enumerate(out):
        if message.role == "tool":
            assert [one.call_id for one in message.results] == [one.id for one in out[at - 1].calls]
        elif message.calls:
            assert out[at + 1].role == "tool"
        assert message.role in ("user", "assistant", "tool")


@given(MESSAGES, MESSAGES)
def test_what_is_sent_for_messages_does_not_depend_on_what_follows(before, after):
    whole = [*before, Message(role="assistant", text="and"), *after]
    settled = list(paired(before))
    assert list(paired(whole))[: len(settled)] == settled


@given(MESSAGES)
def test_the_system_prompt_stands_apart_and_nothing_is_lost(messages):
    text, rest = opening(messages)
    count = len(messages) - len(rest)
    assert list(rest) == messages[count:]
    assert text == "\n\n".join(["s"] * count)


@given(
    st.lists(st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT, st.booleans()), max_size=6), st.lists(IDS, max_size=3, unique=True)
)
def test_whatever_calls_are_heard_each_gets_an_id_of_its_own_and_can_be_sent_back(heard, taken):
    before = Message(role="assistant", calls=tuple(ToolCall(id=one, tool="t", args={}) for one in taken))
    found = [Heard(id=one, name=name, text=text, whole=is_whole) for one, name, text, is_whole in heard]
    calls = calls_of(found, request(before), "cut off")
    assert len({call.id for call in calls} | set(taken)) == len(calls) + len(taken)
    for call, one in zip(calls, found, strict=True):
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call.id)
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", sendable(call.tool))
        call.tool.encode()
        assert call.fault == "cut off" if not one.whole else (call.fault is None or call.args == {})


@given(st.dictionaries(st.text(), PLAIN, max_size=4))
def test_arguments_come_back_as_they_were_written(args):
    assert read_arguments(written(args)) == (args, None)


@given(ANY_TEXT | st.text(alphabet='{}[]",:0123456789eE+-.ntfINa\\u', max_size=30))
def test_any_text_is_arguments_or_a_reason_and_either_can_be_stored(text):
    args, fault = read_arguments(text)
    json.dumps(args, allow_nan=False).encode()
    assert fault is None or args == {}
    (fault or "").encode()


@given(ANY_TEXT)
def test_a_clean_text_can_be_sent_and_a_good_one_is_left_alone(text):
    clean(text).encode()
    json.dumps(cleaned({text: [text]}), ensure_ascii=False).encode()
    assert clean(clean(text)) == clean(text)


@given(ANY_TEXT)
def test_no_message_is_bounded_below_its_bytes(text):
    assert tokens_of(Message(role="user", text=text), "") >= len(clean(text).encode())


def test_a_gauge_counts_from_what_the_last_request_was():
    gauge = Gauge("m")
    first = request(Message(role="user", text="x" * 1000))
    assert gauge.bound(first) > 1000
    gauge.measured(first, 250)
    more = evolve(first, messages=(*first.messages, Message(role="user", text="y" * 10)))
    assert 260 <= gauge.bound(more) < 300
    other = request(Message(role="user", text="z" * 1000), *more.messages[1:])
    assert gauge.bound(other) > 1000


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e300"}, None),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 0.0),
        ({"retry-after-ms": "20"}, 0.02),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"}, 0.02),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1h2m3s"}, 3723.0),
        ({"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "1h"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1 fortnight"}, None),
        (
            {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2020-01-01T00:00:00Z"},
            0.0,
        ),
    ],
)
def test_how_long_to_wait_is_read_from_whatever_a_provider_says(headers, seconds):
    assert retry_after(headers) == (seconds if seconds is None else pytest.approx(seconds))


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset-tokens"]), st.text(), max_size=3
    )
)
def test_no_header_is_nonsense_enough_to_break_anything(headers):
    wait = retry_after(headers)
    assert wait is None or 0 <= wait < float("inf")
    assert rate_limits(headers) is None or isinstance(rate_limits(headers), RateLimits)


@given(st.integers(300, 599), PLAIN)
@settings(max_examples=50)
def test_no_body_of_a_refusal_is_nonsense_enough_to_break_anything(status, body):
    fault = status_fault("m", status, {}, body, "sk-fake-key")
    assert fault.status == status
    assert not (fault.retryable and (fault.auth or fault.overflow))
    assert len(str(fault)) < 500


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("ollama", "ollama has no such model"),
        ("EMPTY", "EMPTY has no such model"),
        ("quiet-otter-4242", "[key] has no such model"),
    ],
)
def test_a_refusal_quotes_no_key_and_is_not_shredded_where_the_key_is_an_everyday_word(key, told):
    body = {"error": {"message": f"{key} has no such model"}}
    assert told in str(status_fault("m", 400, {}, body, key))


@given(st.lists(st.integers(1, 40), max_size=20), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=30)
def test_a_stream_parts_into_the_same_events_wherever_the_network_cuts_it(cuts, ending):
    http = pytest.importorskip("ggactors.models.http", reason="no extra with an HTTP client is installed")
    lines = [
        "event: one",
        "data: {}",
        "",
        ": comment",
        "",
        "data: a",
        "data: b",
        "",
        "data:ü",
        "id: 5",
        "",
        "data: last",
    ]
    content = ending.join(lines).encode()
    pieces = []
    for size in cuts:
        pieces.append(content[:size])
        content = content[size:]
    pieces.append(content)

    class Body:
        async def aiter_bytes(self):
            for piece in pieces:
                yield piece

    async def read():
        found = []
        async with http.Events(Body(), http.Patience()) as events:
            while (sent := await events.next()) is not None:
                found.append((sent.event, sent.text))
        return found

    assert trio.run(read) == [("one", "{}"), ("", "a\nb"), ("", "ü"), ("", "last")]


def test_an_id_that_comes_ten_thousand_times_is_made_unique_in_no_time():
    heard = [Heard(id="same", name="t", text="{}")] * 10_000
    assert len({call.id for call in calls_of(heard, request(), "cut off")}) == 10_000


@given(st.recursive(PLAIN | st.integers() | st.floats() | ANY_TEXT, st.lists, max_leaves=5))
def test_what_is_kept_of_a_reply_can_be_stored(value):
    kept = storable(Kept(adapter="m", items=({"type": "reasoning", "value": cleaned(value)},)))
    reply = ModelReply(kept=kept)
    codec = Tagged(AgentFact)
    fact = ReplyTaken(agent="root", turn=1, reply=reply)
    assert codec.unpack(codec.pack(fact)).reply.kept == kept


def test_limits_too_great_to_be_stored_are_not_told():
    assert rate_limits({"x-ratelimit-remaining-tokens": "1e300"}) is None


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (ssl.SSLCertVerificationError, "certificate"),
        (ssl.SSLZeroReturnError, "TLS"),
        (socket.gaierror, "name is not known"),
        (ConnectionRefusedError, "cannot be reached"),
    ],
)
def test_why_a_provider_cannot_be_reached_is_said_as_far_as_it_is_known(kind, says):
    httpx2 = pytest.importorskip("httpx2", reason="no extra with an HTTP client is installed")
    error = httpx2.ConnectError(f"connection to {KEY} failed")
    error.__cause__ = kind(f"with {KEY}")
    wrapped = RuntimeError("of the client")
    wrapped.__cause__ = error
    assert says in words_of(wrapped)
    assert KEY not in words_of(wrapped)
    assert words_of(ValueError(KEY)) == "could not be asked (ValueError)"


@pytest.mark.parametrize("told", [None, [], {}, "7", True, -1, 0.5, 1e300, 10**30, float("nan"), float("inf")])
def test_a_count_that_cannot_be_one_is_one_that_was_not_told_D8(told):
    assert count_of({"tokens": told}, "tokens") == 0
    assert counts_in({"usage": told}, "usage") == {}


def test_a_whole_count_is_taken_however_it_is_written():
    assert [count_of({"tokens": told}, "tokens") for told in (0, 7, 7.0, MOST_TOLD)] == [0, 7, 7, MOST_TOLD]
    assert count_of({}, "tokens") == 0


@pytest.mark.parametrize(
    "told",
    [
        "Mon, 01 Jan 2026 99999999999999999999:00:00 GMT",
        "Mon, 99999999999999999999 Jan 2026 00:00:00 GMT",
        "Mon, 01 Jan 2026 00:00:00 +999999999999999999",
        "9" * 5000,
        "9" * 400 + "s",
        "1e999",
        "nan",
        "-1",
        "",
    ],
)
def test_a_time_in_a_header_that_cannot_be_one_is_not_told_D8(told):
    assert retry_after({"retry-after": told}) is None
    assert rate_limits({"x-ratelimit-reset-tokens": told, "x-ratelimit-remaining-tokens": told}) is None
