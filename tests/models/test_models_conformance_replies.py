"""The conformance suite: what replies come to, for each adapter on a real socket."""

import json
import re

import pytest
from attrs import evolve
from provider_kit import PRICE, REQUEST, adapters, ask, call, dialogue, goes_on, result

from ggactors.ports import ModelFault
from ggactors.protocol.model import Message, Usage
from ggactors.testing.provider import Answer, whole
from ggactors.testing.wireshapes import Said


@adapters()
async def test_a_streamed_reply_is_put_together_with_its_calls_and_usage(adapter):
    said = Said(
        text="I read two files — ✓",
        calls=(("c1", "read_file", {"path": "a.py"}), ("c2", "read_file", {"path": "ü.py"})),
        into=1000,
        cached=600,
        out=50,
        thought=30,
    )
    reply, _ = await ask(adapter, said, price=PRICE)
    assert reply.text == said.text
    assert [(one.id, one.tool, one.args, one.fault) for one in reply.calls] == [
        ("c1", "read_file", {"path": "a.py"}, None),
        ("c2", "read_file", {"path": "ü.py"}, None),
    ]
    cost = (400 * 1.0 + 600 * 0.1 + 50 * 10.0) / 1e6
    assert reply.usage == Usage(input=1000, cached_input=600, output=50, reasoning=30, cost=pytest.approx(cost))
    assert reply.note == ""


@adapters()
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
async def test_it_does_not_matter_where_the_network_parts_a_stream(adapter, size, ending):
    said = Said(text="ünïcödé ✓", calls=(("c1", "read_file", {"path": "é"}),))

    def change(told):
        content = b": a comment\n\n" + b"retry: 5\n" + b"".join(told.pieces)
        content = content.replace(b"\n", ending)
        return evolve(told, pieces=tuple(content[at : at + size] for at in range(0, len(content), size)))

    reply, _ = await ask(adapter, said, change=change)
    assert (reply.text, reply.calls[0].args) == (said.text, {"path": "é"})


@adapters()
async def test_call_ids_are_unique_in_the_conversation_whatever_the_provider_sends(adapter):
    calls = (("c1", "read_file", {}), ("c1", "finish", {}), ("", "finish", {}), ("no id !", "finish", {}))
    before = (Message(role="assistant", calls=(call("c1"),)), Message(role="tool", results=(result("c1"),)))
    request = evolve(REQUEST, turn=2, messages=(*REQUEST.messages, *before))
    reply, _ = await ask(adapter, Said(calls=calls), request)
    ids = [one.id for one in reply.calls]
    assert len({"c1", *ids}) == 5
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", one) for one in ids)


@adapters()
@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ('{"path": ', "not valid JSON"),
        ('{"path": NaN}', "not a finite number"),
        ('["a.py"]', "one JSON object"),
        ('"a.py"', "one JSON object"),
        ('{"path": "\\ud800"}', "surrogate"),
        ('{"path": 36893488147419103232}', "64 bits"),
        ('{"path": 1' + "0" * 5000 + "}", "not valid JSON"),
        ('{"a":' * 2000 + "1" + "}" * 2000, "nest"),
    ],
)
async def test_arguments_that_cannot_be_read_are_the_fault_of_that_call_alone(adapter, sent, says):
    calls = (("c1", "read_file", sent), ("c2", "read_file", {"path": "a.py"}))
    reply, _ = await ask(adapter, Said(calls=calls))
    bad, good = reply.calls
    assert bad.args == {}
    assert says in bad.fault
    assert len(bad.fault) < 500
    assert (good.args, good.fault) == ({"path": "a.py"}, None)


@adapters()
async def test_an_unknown_tool_passes_through_and_goes_back_under_a_name_the_provider_takes(adapter):
    reply, _ = await ask(adapter, Said(calls=(("c1", "functions.read file", {}),)))
    assert reply.calls[0].tool == "functions.read file"
    _, asked = await ask(adapter, Said(text="ok"), goes_on(REQUEST, reply))
    assert "functions.read file" not in asked.body.decode()
    assert "functions_read_file" in asked.body.decode()


@adapters()
async def test_a_call_that_was_cut_off_is_not_carried_out_and_says_so(adapter):
    calls = (("c1", "read_file", {"path": "a.py"}), ("c2", "read_file", {"path": "b.py"}))
    reply, _ = await ask(adapter, Said(calls=calls, stop="length"), maxOutputTokens=64)
    whole_one, cut_one = reply.calls
    assert whole_one.fault is None
    assert cut_one.args == {}
    assert "64 tokens" in cut_one.fault
    assert "cut off" in reply.note


@adapters()
async def test_a_reply_that_was_withheld_has_no_calls_and_its_model_is_told(adapter):
    reply, _ = await ask(adapter, Said(text="I will", calls=(("c1", "read_file", {}),), stop="refusal"))
    assert (reply.text, reply.calls, reply.kept) == ("", (), None)
    assert "withheld" in reply.note
    assert reply.usage.output == 20


@adapters("anthropic")
async def test_a_reply_that_its_provider_paused_is_gone_on_with(adapter):
    said = iter([Said(text="first, ", thinking="hm", stop="pause"), Said(text="then", calls=(("c1", "finish", {}),))])
    reply, asked = await ask(adapter, lambda asked: whole(asked, next(said)))
    assert reply.text == "first, then"
    assert [one.tool for one in reply.calls] == ["finish"]
    assert (reply.usage.input, reply.usage.output) == (200, 40)
    assert dialogue(asked)[-1]["role"] == "assistant"


@adapters("compatible", "chat")
@pytest.mark.parametrize("index", [True, False])
async def test_calls_are_told_apart_also_where_a_server_numbers_them_badly(adapter, index):
    def piece(call_id, name, arguments):
        number = {"index": 0} if index else {}
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **number}

    deltas = [
        {"tool_calls": [piece("a", "read_file", '{"path": "a"}')]},
        {"tool_calls": [piece("b", "read_file", {"path": "b"})]},
    ]
    pieces = [f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n".encode() for delta in deltas]
    reply, _ = await ask(adapter, lambda asked: Answer(pieces=(*pieces, b"data: [DONE]")))
    assert [(one.id, one.args) for one in reply.calls] == [("a", {"path": "a"}), ("b", {"path": "b"})]


@adapters("compatible", "chat")
async def test_a_reply_without_a_choice_is_asked_for_again(adapter):
    with pytest.raises(ModelFault, match="without a choice") as raised:
        await ask(adapter, lambda asked: Answer(pieces=(b'data: {"choices": []}\n\n', b"data: [DONE]\n\n")))
    assert raised.value.retryable


@adapters()
async def test_a_server_that_tells_no_usage_is_charged_by_its_bytes(adapter):
    def change(told):
        content = b"".join(told.pieces)
        return evolve(told, pieces=(re.sub(rb'"usage": (\{(?:[^{}]|\{[^{}]*\})*\})', b'"usage": null', content),))

    reply, _ = await ask(adapter, Said(text="word " * 100), change=change, price=PRICE)
    assert reply.usage.input > 10
    assert 100 <= reply.usage.output <= 200
    assert reply.usage.cost > 0


@adapters("compatible")
async def test_what_a_server_sends_beside_its_calls_goes_back_with_them(adapter):
    """OpenRouter parts what was thought into details, Gemini signs each call, Mistral sends text in parts."""
    deltas = [
        {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "look"}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "first, ", "signature": None}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "then", "signature": "signed"}]},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "finish", "arguments": "{}"}}]},
        {
            "tool_calls": [
                {
                    "index": 1,
                    "id": "b",
                    "function": {"name": "finish", "arguments": "{}"},
                    "extra_content": {"google": {"thought_signature": "sealed"}},
                }
            ]
        },
    ]
    pieces = [f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n".encode() for delta in deltas]
    reply, _ = await ask(adapter, lambda asked: Answer(pieces=(*pieces, b"data: [DONE]\n\n")))
    assert reply.text == "look"
    _, asked = await ask(adapter, Said(text="ok"), goes_on(REQUEST, reply))
    said = next(message for message in asked.record["messages"] if message["role"] == "assistant")
    details = [{"type": "reasoning.text", "index": 0, "text": "first, then", "signature": "signed"}]
    assert said["reasoning_details"] == details
    assert "extra_content" not in said["tool_calls"][0]
    assert said["tool_calls"][1]["extra_content"] == {"google": {"thought_signature": "sealed"}}
