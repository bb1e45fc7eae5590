"""The conformance suite, first half: one table of everything that goes wrong on the wire, for each adapter on a real socket.

Law: a failure is one ModelFault of the right kind, asked for once, said in two lines at most, without the key.
"""

import json

import pytest
import trio
from attrs import frozen
from provider_kit import KEY, REQUEST, adapters, source_of

from ggactors.ports import ModelFault
from ggactors.testing.provider import Answer, End, cut, drip, open_provider, refused, whole
from ggactors.testing.wireshapes import CHAT, MESSAGES, RESPONSES, Said

SAID = Said(text="a reply long enough to be cut in the middle", calls=(("c1", "read_file", {"path": "a.py"}),))
MIB = 1024 * 1024


@frozen
class Case:
    answer: object
    retryable: bool
    status: int | None = None
    auth: bool = False
    overflow: bool = False
    retry_after: float | None = None
    says: str = ""


def raw(*pieces, end=End.WHOLE):
    return lambda asked: Answer(pieces=pieces, end=end)


def begun(*pieces):
    """Begin as a good reply does, and go on with something else."""
    return lambda asked: Answer(pieces=(*whole(asked, SAID).pieces[:2], *pieces))


def bad_delta(asked):
    """Send the right event with values of the wrong kind."""
    return Answer(
        pieces={
            MESSAGES: (b'event: message_start\ndata: {"type": "message_start", "message": []}\n\n',),
            CHAT: (b'data: {"choices": [{"delta": "text"}]}\n\n',),
            RESPONSES: (b'data: {"type": "response.output_item.done", "output_index": "0", "item": {}}\n\n',),
        }[asked.path]
    )


def orphan_delta(asked):
    """Send a piece of something that was not begun, or text that is none."""
    return Answer(
        pieces={
            MESSAGES: (
                b'data: {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}}\n\n',
            ),
            CHAT: (b'data: {"choices": [{"delta": {"content": {"a": 1}}}]}\n\n',),
            RESPONSES: (b'data: {"type": "response.completed", "response": {"output": [3]}}\n\n',),
        }[asked.path]
    )


def told_inside(kind):
    """Tell an error inside the stream, as each API does."""

    def answer(asked):
        error = json.dumps({"type": kind, "code": kind, "message": "as the test wants it"})
        event = {
            MESSAGES: f'event: error\ndata: {{"type": "error", "error": {error}}}\n\n',
            CHAT: f'data: {{"error": {error}}}\n\n',
            RESPONSES: f'data: {{"type": "response.failed", "response": {{"error": {error}}}}}\n\n',
        }[asked.path]
        return Answer(pieces=(*whole(asked, SAID).pieces[:2], event.encode()))

    return answer


def words(message, status=400, **error):
    return lambda asked: refused(status, {"error": {"message": message, "type": "invalid_request_error", **error}})


CASES = {
    # what breaks on the way
    "cut inside an event": Case(lambda asked: cut(asked, SAID), True, says="before the answer was whole"),
    "half-closed inside an event": Case(lambda asked: cut(asked, SAID, end=End.HALF), True),
    "reset inside an event": Case(lambda asked: cut(asked, SAID, end=End.RESET), True),
    "silent inside an event": Case(lambda asked: cut(asked, SAID, end=End.SILENCE), True, says="silent"),
    "closed before any byte of the body": Case(raw(end=End.CUT), True),
    "ended without an event": Case(raw(), True, says="before the reply was whole"),
    "ended before the last event": Case(lambda asked: Answer(pieces=whole(asked, SAID).pieces[:4]), True),
    "a drip that comes to nothing": Case(lambda asked: drip(asked, SAID, 0.02), True, says="no whole event"),
    # what makes no sense
    "no JSON": Case(begun(b"data: {not json\n\n"), True, says="could not be read: it sent an event that is no JSON"),
    "JSON that is no object": Case(begun(b"data: [1, 2]\n\n"), True, says="no JSON object"),
    "JSON without a bottom": Case(begun(b"data: " + b"[" * 100_000 + b"\n\n"), True, says="no JSON"),
    "the end inside an event": Case(begun(b'data: {"id": "c", "choi'), True, says="could not be read: it ended inside"),
    "a value of the wrong kind": Case(bad_delta, True, says="malformed"),
    "a piece of nothing": Case(orphan_delta, True, says="malformed"),
    "no text at all": Case(begun(b"data: \xff\xfe{\n\n"), True, says="no JSON"),
    # what is too much
    "a giant event": Case(raw(b"data: " + b"x" * 65_530, *[b"x" * 65_536] * 70), False, says="more than 4 MiB"),
    "a giant reply": Case(raw(*[b": nothing\n" + b":" * 65_525 + b"\n"] * 70), False, says="maxOutputTokens"),
    "a giant refusal": Case(lambda asked: Answer(status=400, pieces=(b"x" * MIB,) * 2), False, 400, says="options"),
    "a giant page of trouble": Case(lambda asked: Answer(status=502, pieces=(b"x" * MIB,) * 2), True, 502),
    "a giant page of HTML": Case(
        lambda asked: Answer(headers={"content-type": "text/html"}, pieces=(b"x" * MIB,) * 2), False, says="text/html"
    ),
    "giant JSON where a stream was asked for": Case(
        lambda asked: Answer(headers={"content-type": "application/json"}, pieces=(b"[" * MIB,) * 2),
        False,
        says="stream",
    ),
    # what is no provider
    "a page of HTML": Case(
        lambda asked: Answer(headers={"content-type": "text/html"}, pieces=(b"<html>",)), False, says="text/html"
    ),
    "JSON where a stream was asked for": Case(
        lambda asked: Answer(headers={"content-type": "application/json"}, pieces=(b'{"a": 1}',)), False, says="stream"
    ),
    "an error behind a status of 200": Case(
        lambda asked: refused(200, {"error": {"type": "overloaded_error", "message": "busy"}}), True, 529
    ),
    "another address": Case(lambda asked: refused(302, location="http://127.0.0.1:9/"), False, 302, says="baseUrl"),
    # what a status says
    "400": Case(lambda asked: refused(400), False, 400, says="options"),
    "401": Case(lambda asked: refused(401), False, 401, auth=True, says="key is refused"),
    "402": Case(lambda asked: refused(402), False, 402, says="spend"),
    "403": Case(lambda asked: refused(403), False, 403, auth=True),
    "404": Case(lambda asked: refused(404), False, 404, says="model's name"),
    "405": Case(lambda asked: refused(405), False, 405),
    "413": Case(lambda asked: refused(413), False, 413, overflow=True),
    "422": Case(lambda asked: refused(422), False, 422),
    "408": Case(lambda asked: refused(408), True, 408),
    "409": Case(lambda asked: refused(409), True, 409),
    "425": Case(lambda asked: refused(425), True, 425),
    "429": Case(lambda asked: refused(429), True, 429, says="too much"),
    "429 that asks for seconds": Case(lambda asked: refused(429, retry_after="7"), True, 429, retry_after=7.0),
    "429 that asks for milliseconds": Case(
        lambda asked: refused(429, retry_after_ms="2500", retry_after="9"), True, 429, retry_after=2.5
    ),
    "429 that tells when its tokens are back": Case(
        lambda asked: refused(429, x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="1m3.5s"),
        True,
        429,
        retry_after=63.5,
    ),
    "429 that asks for a moment gone by": Case(
        lambda asked: refused(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), True, 429, retry_after=0.0
    ),
    "429 that asks for nonsense": Case(lambda asked: refused(429, retry_after="soon"), True, 429),
    "429 of an account without money": Case(
        words("no quota", 429, code="insufficient_quota"), False, 429, says="spend"
    ),
    "500": Case(lambda asked: refused(500), True, 500),
    "502 with a page of HTML": Case(lambda asked: refused(502, "<html>Bad gateway</html>"), True, 502),
    "503": Case(lambda asked: refused(503, retry_after="3"), True, 503, retry_after=3.0),
    "529": Case(lambda asked: refused(529, {"error": {"type": "overloaded_error"}}), True, 529),
    "an error with an empty body": Case(lambda asked: Answer(status=500), True, 500),
    "400 to be asked again": Case(lambda asked: refused(400, x_should_retry="true"), False, 400),
    # what is told inside a stream
    "overloaded inside": Case(told_inside("overloaded_error"), True, 529),
    "too many requests inside": Case(told_inside("rate_limit_exceeded"), True, 429),
    "something unknown inside": Case(told_inside("never_heard_of"), True, 500),
    "a wrong request inside": Case(told_inside("invalid_request_error"), False, 400),
    "too long inside": Case(told_inside("context_length_exceeded"), False, 400, overflow=True),
    # what is too long
    "too long by code": Case(words("too long", code="context_length_exceeded"), False, 400, overflow=True),
    "too long for Anthropic": Case(words("prompt is too long: 210000 tokens > 200000"), False, 400, overflow=True),
    "too long for vLLM": Case(words("This model's maximum context length is 4096 tokens."), False, 400, overflow=True),
    "too long for a minute": Case(
        words("Request too large for gpt-x on tokens per min", 429), False, 429, overflow=True
    ),
    "too long for llama.cpp": Case(
        lambda asked: refused(400, {"error": {"message": "no room", "type": "exceed_context_size_error"}}),
        False,
        400,
        overflow=True,
    ),
}


@pytest.fixture
def patience(monkeypatch):
    http = pytest.importorskip("ggactors.models.http", reason="no extra with an HTTP client is installed")
    monkeypatch.setattr(http, "MOST_BYTES", 4 * MIB)
    return http.Patience(connect=5.0, silence=0.4, event=0.6)


@adapters()
@pytest.mark.parametrize("name", CASES)
async def test_what_goes_wrong_on_the_wire_is_one_fault_of_its_kind_C1(adapter, name, patience):
    case = CASES[name]
    async with open_provider(case.answer) as provider:
        source = source_of(adapter, provider.url, patience=patience)
        with pytest.raises(ModelFault) as raised:
            await source.model_for("root", "lead").reply(REQUEST)
        await source.aclose()
        with trio.fail_after(5):
            await provider.settled()
    fault = raised.value
    told = (fault.retryable, fault.status, fault.auth, fault.overflow)
    assert told == (case.retryable, case.status, case.auth, case.overflow), str(fault)
    assert fault.retry_after == (case.retry_after if case.retry_after is None else pytest.approx(case.retry_after))
    assert case.says in str(fault)
    if fault.retryable:
        # What is told while it is waited out is a part of that: neither whose it is nor what to do next.
        assert f"{source.label}: {fault.reason}; " in str(fault)
    assert str(fault).startswith(source.label)
    assert len(str(fault)) < 400
    assert "\n" not in str(fault)
    # Waiting is the run's business: the client asks once.
    assert len(provider.asked) == 1


@adapters()
async def test_one_event_may_be_as_large_as_a_reply(adapter, patience):
    """A server that does not stream arguments sends them whole."""
    said = Said(calls=(("c1", "write_file", {"path": "a", "contents": "x" * MIB}),))
    async with open_provider(lambda asked: whole(asked, said)) as provider:
        source = source_of(adapter, provider.url, patience=patience)
        reply = await source.model_for("root", "lead").reply(REQUEST)
        await source.aclose()
    assert len(reply.calls[0].args["contents"]) == MIB


@adapters()
@pytest.mark.parametrize("end", [End.CUT, End.HALF, End.SILENCE])
async def test_how_the_connection_ends_after_the_last_event_of_a_reply_matters_no_more(adapter, end, patience):
    async with open_provider(lambda asked: Answer(pieces=whole(asked, SAID).pieces, end=end)) as provider:
        source = source_of(adapter, provider.url, patience=patience)
        reply = await source.model_for("root", "lead").reply(REQUEST)
        await source.aclose()
    assert reply.text == SAID.text


@adapters()
async def test_a_provider_that_is_not_there_is_a_passing_fault_C1(adapter, patience):
    async with open_provider(lambda asked: whole(asked, SAID)) as provider:
        url = provider.url
    source = source_of(adapter, url, patience=patience)
    with pytest.raises(ModelFault, match="cannot be reached") as raised:
        await source.model_for("root", "lead").reply(REQUEST)
    await source.aclose()
    assert raised.value.retryable


@adapters()
@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
async def test_no_fault_tells_the_key_though_the_provider_does(adapter, status, patience):
    quoting = {"error": {"message": f"Incorrect API key provided: {KEY}. Bearer {KEY}, sk-fake-*************cdef."}}
    async with open_provider(lambda asked: refused(status, quoting)) as provider:
        source = source_of(adapter, provider.url, patience=patience)
        with pytest.raises(ModelFault) as raised:
            await source.model_for("root", "lead").reply(REQUEST)
        await source.aclose()
    fault = raised.value
    assert "sk-fake" not in str(fault)
    assert "cdef" not in str(fault)
    assert fault.__cause__ is None
    assert fault.__suppress_context__
    assert KEY not in repr(source)


@adapters()
async def test_after_a_fault_the_next_attempt_is_answered(adapter, patience):
    answers = iter([cut, lambda asked, _: refused(503), whole])
    async with open_provider(lambda asked: next(answers)(asked, SAID)) as provider:
        source = source_of(adapter, provider.url, patience=patience)
        model = source.model_for("root", "lead")
        for _ in range(2):
            with pytest.raises(ModelFault):
                await model.reply(REQUEST)
        reply = await model.reply(REQUEST)
        await source.aclose()
    assert reply.text == SAID.text


@adapters()
async def test_a_call_that_is_cancelled_closes_its_connection_at_once_and_leaves_nothing(adapter, patience):
    from ggactors.models.http import Patience

    async with open_provider(lambda asked: cut(asked, SAID, end=End.SILENCE)) as provider:
        source = source_of(adapter, provider.url, patience=Patience())
        with trio.move_on_after(0.2) as scope:
            await source.model_for("root", "lead").reply(REQUEST)
        assert scope.cancelled_caught
        with trio.fail_after(5):
            await provider.settled()
        provider.answer = lambda asked: whole(asked, SAID)
        assert (await source.model_for("root", "lead").reply(REQUEST)).text == SAID.text
        await source.aclose()
        with trio.fail_after(5):
            await provider.settled()


@adapters()
async def test_wherever_a_stream_ends_there_is_the_whole_reply_or_none(adapter, patience):
    said = Said(
        text="ünï", thinking="hm", calls=(("c1", "read_file", {"path": "a"}), ("c2", "finish", {"summary": "b"}))
    )
    left, found = [], []

    def answer(asked):
        events = whole(asked, said).pieces
        if not left:
            ends = [sum(map(len, events[:number])) for number in range(1, len(events))]
            left.extend(place + more for place in ends for more in (-3, 0, 9))
            left.append(sum(map(len, events)))
        place = left.pop(0)
        # Cut off by the network, or ended as if it were all.
        end = End.CUT if place % 2 and left else End.WHOLE
        return Answer(pieces=(b"".join(events)[:place],), end=end)

    async with open_provider(answer) as provider:
        source = source_of(adapter, provider.url, patience=patience)
        model = source.model_for("root", "lead")
        while left or not provider.asked:
            try:
                reply = await model.reply(REQUEST)
            except ModelFault as fault:
                assert fault.retryable, str(fault)
            else:
                found.append((reply.text, [(call.id, call.args, call.fault) for call in reply.calls]))
        await source.aclose()
    assert len(provider.asked) > 20
    assert found
    assert all(one == ("ünï", [("c1", {"path": "a"}, None), ("c2", {"summary": "b"}, None)]) for one in found)
