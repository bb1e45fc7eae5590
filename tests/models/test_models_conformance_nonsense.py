"""The conformance suite on nonsense: every value of a good stream replaced by every kind of wrong one, in each adapter, no sockets.

Law: whatever stands where, a call comes to a reply or to a ModelFault; what was told of its usage can be counted; and a reply can
be gone on with.
"""

import json
from contextlib import asynccontextmanager

import pytest
from attrs import evolve, frozen
from provider_kit import PRICE, REQUEST, adapters, goes_on, source_of

from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelReply
from ggactors.testing.wireshapes import CHAT, MESSAGES, RESPONSES, Said, event_stream

PATHS = {"anthropic": MESSAGES, "chat": CHAT, "responses": RESPONSES}
NONSENSE = (None, [], {}, [{}], -1, 0.5, 1e300, 10**30, "x", True)
WHOLE = Said(
    text="well", thinking="hm", calls=(("c1", "read_file", {"path": "a.py"}),), into=90, cached=10, out=20, thought=5
)
PLAIN = Said(text="no more to say", stop="length")
EXTRAS = {
    CHAT: {
        "choices": [
            {
                "index": 0,
                "delta": {
                    "content": [{"type": "text", "text": "part"}],
                    "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "hm", "summary": "h"}],
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "c1",
                            "extra_content": {"google": {"thought_signature": "s"}},
                            "function": {"name": "read_file", "arguments": {"path": "a"}},
                        }
                    ],
                },
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1}},
            }
        ]
    },
    MESSAGES: {
        "type": "content_block_start",
        "index": 3,
        "content_block": {"type": "tool_use", "id": "c9", "name": "finish", "input": {"summary": "s"}},
    },
    RESPONSES: {
        "type": "response.output_item.added",
        "output_index": 9,
        "item": {"type": "function_call", "name": "n"},
    },
}
"""An event for each API that a good stream of the kit's does not have, put behind its first."""


@frozen
class Canned:
    """A shape whose provider always sends the same stream. Obeys ``hosted.Shape``; all but the sending is the real one's."""

    shape: object
    stream: bytes
    errors: tuple = ()

    def body(self, request):
        return self.shape.body(request)

    @asynccontextmanager
    async def ask(self, http, body, headers):
        import httpx2

        yield httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=self.stream)

    def refusal(self, error):
        return self.shape.refusal(error)

    def assembler(self):
        return self.shape.assembler()


def records_of(path, said):
    """Read the records of a good stream, each with the name of its event."""
    for piece in event_stream(path, said):
        name, _, text = piece.decode().rpartition("data: ")
        yield name, (text.strip() if text.startswith("[DONE]") else json.loads(text))


def streams_of(records):
    """Write the stream once for every value in it and every nonsense in its place, with where that is."""
    for number, (_, record) in enumerate(records):
        if isinstance(record, str):
            continue
        for where in places(record):
            for nonsense in NONSENSE:
                changed = [
                    (name, put(one, where, nonsense) if at == number else one) for at, (name, one) in enumerate(records)
                ]
                yield where, f"{where} of event {number} is {nonsense!r}", written(changed)


def places(value, so_far=()):
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*so_far, key)
        yield from places(part, (*so_far, key))


def put(value, where, what):
    head, *tail = where
    changed = value.copy()
    changed[head] = put(value[head], tail, what) if tail else what
    return changed


def written(records):
    texts = [f"{name}data: {one if isinstance(one, str) else json.dumps(one)}\n\n" for name, one in records]
    return "".join(texts).encode()


def countable(usage):
    counts = (usage.input, usage.cached_input, usage.output, usage.reasoning)
    return all(isinstance(count, int) and 0 <= count <= 4 * 10**8 for count in counts) and usage.cost is not None


@adapters("anthropic", "chat", "responses")
@pytest.mark.parametrize("said", [WHOLE, PLAIN], ids=["a call", "cut off"])
async def test_any_value_of_a_stream_may_be_nonsense_and_there_is_a_reply_or_a_fault_D8(adapter, said):
    source = source_of(adapter, "http://127.0.0.1:9", price=PRICE)
    first, *others = records_of(PATHS[adapter], said)
    replies = faults = 0
    for where, place, stream in streams_of([first, ("", EXTRAS[PATHS[adapter]]), *others]):
        canned = evolve(source, shape=Canned(source.shape, stream))
        model = canned.model_for("root", "lead")
        try:
            reply = await model.reply(REQUEST)
        except ModelFault as fault:
            faults += 1
            assert "usage" not in where, place
            assert "\n" not in str(fault), place
            spent = model.take_spent()
            assert spent is None or countable(spent), place
        else:
            replies += 1
            assert isinstance(reply, ModelReply), place
            assert countable(reply.usage), place
            assert reply.usage.input > 0, place
            assert reply.usage.output > 0, place
            json.dumps(source.shape.body(goes_on(REQUEST, reply)))
    assert replies > 100
    assert faults > 100
    await source.aclose()
