"""The conformance suite: what requests say, for each adapter on a real socket."""

import base64
import json
import re
from itertools import pairwise
from typing import get_type_hints

from attrs import evolve
from provider_kit import ADAPTERS, KEY, REQUEST, adapters, ask, call, dialogue, goes_on, is_there, result, source_of

from ggactors.protocol.model import Image, Message
from ggactors.testing.wireshapes import Said

PIXEL = Image(media_type="image/png", data=b"\x89PNG fake")


@adapters()
async def test_every_request_says_whose_it_is_and_carries_the_key_in_one_header_alone(adapter):
    _, asked = await ask(adapter, Said(text="ok"))
    assert asked.headers["x-ggactors-run"] == REQUEST.run
    assert asked.headers["x-ggactors-agent"] == REQUEST.agent
    assert asked.record["stream"] is True
    bearing = [name for name, value in asked.headers.items() if KEY in value]
    assert bearing in (["authorization"], ["x-api-key"])
    assert KEY not in asked.body.decode()


@adapters("compatible")
async def test_a_server_without_keys_is_sent_none(adapter, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fake-of-somebody-else")
    _, asked = await ask(adapter, Said(text="ok"), key=None)
    assert "authorization" not in asked.headers


@adapters()
async def test_every_call_is_answered_right_after_its_reply_once_and_in_order(adapter):
    reply, _ = await ask(adapter, Said(text="both", calls=(("c1", "read_file", {}), ("c2", "finish", {}))))
    said = Message(role="assistant", text=reply.text, calls=reply.calls)
    answers = Message(role="tool", results=(result("c2", "second"), result("c1", "first", ok=False)))
    request = evolve(REQUEST, messages=(*REQUEST.messages, said, answers, Message(role="user", text="go on")))
    _, asked = await ask(adapter, Said(text="ok"), request)
    order = re.findall(r'"(?:tool_use_id|tool_call_id|call_id|id)":"(c[12])"', asked.body.decode())
    assert order == ["c1", "c2", "c1", "c2"]
    assert asked.body.decode().index('"first"') < asked.body.decode().index('"second"')


@adapters()
async def test_a_call_without_an_answer_gets_one_and_an_answer_without_its_call_is_a_text(adapter):
    said = Message(role="assistant", calls=(call("c1"), call("c2")))
    request = evolve(
        REQUEST,
        messages=(
            *REQUEST.messages,
            Message(role="tool", results=(result("gone", "from before"),)),
            said,
            Message(role="tool", results=(result("c2", "fine"),)),
            Message(role="assistant", calls=(call("c3"),)),
        ),
    )
    _, asked = await ask(adapter, Said(text="ok"), request)
    answered = re.findall(r'"(?:tool_use_id|tool_call_id)":"(c\d)"', asked.body.decode())
    answered = answered or [item["call_id"] for item in dialogue(asked) if item.get("type") == "function_call_output"]
    assert answered == ["c1", "c2", "c3"]
    assert "gone" not in asked.body.decode()
    assert "from before" in asked.body.decode()
    assert asked.body.decode().count("not carried out") == 2


@adapters()
async def test_empty_texts_are_never_sent(adapter):
    request = evolve(
        REQUEST,
        messages=(
            *REQUEST.messages,
            Message(role="assistant", text=" \n"),
            Message(role="user", text="again"),
            Message(role="assistant", text="", calls=(call("c1"),)),
            Message(role="tool", results=(result("c1", ""),)),
        ),
    )
    _, asked = await ask(adapter, Said(text="ok"), request)
    for text in re.findall(r'"(?:text|content|output)":"((?:[^"\\]|\\.)*)"', asked.body.decode()):
        assert text.replace("\\n", "").strip()
    assert "(no output)" in asked.body.decode()


@adapters()
async def test_what_is_no_text_does_not_break_a_request(adapter):
    request = evolve(
        REQUEST,
        messages=(
            Message(role="system", text="half \ud800 of a pair"),
            Message(role="user", text="\udfff"),
            Message(role="assistant", calls=(call("c1", path="\ud812"),)),
            Message(role="tool", results=(result("c1", "\udcff bytes"),)),
        ),
    )
    reply, asked = await ask(adapter, Said(text="ok"), request)
    assert reply.text == "ok"
    assert "? bytes" in asked.body.decode()


@adapters()
async def test_pictures_are_shown_where_the_model_takes_them_and_only_there(adapter):
    said = Message(role="assistant", calls=(call("c1"),))
    answers = Message(role="tool", results=(result("c1", "a picture", images=(PIXEL,)),))
    request = evolve(REQUEST, messages=(*REQUEST.messages, said, answers, Message(role="user", text="look")))
    _, asked = await ask(adapter, Said(text="ok"), request, images=True)
    assert base64.b64encode(PIXEL.data).decode() in asked.body.decode()
    assert "image/png" in asked.body.decode()
    _, asked = await ask(adapter, Said(text="ok"), request)
    assert "image" not in asked.body.decode()
    assert "a picture" in asked.body.decode()


@adapters()
async def test_the_request_of_a_turn_begins_with_the_bytes_of_the_turn_before(adapter):
    replies = [
        Said(text="one", thinking="hm", calls=(("c1", "read_file", {"path": "a", "b": [1, {"c": None}]}),)),
        Said(text="", calls=(("c2", "read_file", '{"broken'), ("c3", "functions.x", {}))),
        Said(text="prose alone"),
        Said(text="", thinking="hm", calls=(("c4", "finish", {}),)),
    ]
    request, bodies = REQUEST, []
    for said in replies:
        reply, asked = await ask(adapter, said, request)
        bodies.append(_prefix(asked.body.decode()))
        more = () if reply.calls else (Message(role="user", text="call something"),)
        request = goes_on(request, reply, *more)
    for earlier, later in pairwise(bodies):
        assert later[0].startswith(earlier[0])
        assert later[1:] == earlier[1:]


def _prefix(body):
    """Part a body in its messages, without their closing bracket and cache marks, and the rest, which stays the same."""
    name = '"input":' if '"input":[' in body and '"instructions"' in body else '"messages":'
    before, _, rest = body.partition(name)
    value, end = json.JSONDecoder().raw_decode(rest)
    assert value
    marks = ',"cache_control":{"type":"ephemeral"}'
    return rest[: end - 1].replace(marks, ""), before, rest[end:]


@adapters("anthropic")
async def test_the_cache_is_marked_after_tools_system_and_the_last_messages(adapter):
    reply, asked = await ask(adapter, Said(text="one", calls=(("c1", "finish", {}),)))
    for _ in range(3):
        request = goes_on(REQUEST, reply, Message(role="user", text="go on"))
        _, asked = await ask(adapter, Said(text="ok"), request)
    body = asked.record
    assert "cache_control" in body["tools"][-1]
    assert "cache_control" in body["system"][-1]
    marked = [message["role"] for message in body["messages"] if "cache_control" in message["content"][-1]]
    assert marked == ["user", "user"]
    assert asked.body.decode().count("cache_control") == 4


@adapters("chat", "responses")
async def test_openai_is_told_which_requests_share_a_prefix(adapter):
    _, asked = await ask(adapter, Said(text="ok"))
    assert asked.record["prompt_cache_key"] == "261130-1405-k3f/ISSUE-1.0i"
    _, asked = await ask("compatible", Said(text="ok"))
    assert "prompt_cache_key" not in asked.record


@adapters()
async def test_reasoning_goes_back_as_it_came_and_to_no_other_model(adapter):
    said = Said(text="look", thinking="the secret plan", calls=(("c1", "read_file", {}), ("c1", "finish", {})))
    reply, _ = await ask(adapter, said)
    assert reply.kept.adapter == source_of(adapter, "http://127.0.0.1:1").label
    request = goes_on(REQUEST, reply)
    _, asked = await ask(adapter, Said(text="ok"), request)
    text = asked.body.decode()
    assert "the secret plan" in text
    assert ("signed" if adapter == "anthropic" else "sealed" if adapter == "responses" else "secret") in text
    # Ids that were made unique are unique in what goes back too.
    assert text.count('"c1-2"') == 2
    for other in [name for name in ADAPTERS if is_there(name)]:
        foreign = evolve(reply, kept=evolve(reply.kept, adapter="another/model"))
        _, asked = await ask(other, Said(text="ok"), goes_on(REQUEST, foreign))
        assert "secret plan" not in asked.body.decode()
        assert '"look"' in asked.body.decode()


@adapters("anthropic", "responses")
async def test_reasoning_that_led_to_nothing_does_not_go_back(adapter):
    reply, _ = await ask(adapter, Said(thinking="hm", stop="length"))
    assert (reply.text, reply.kept) == ("", None)
    assert "cut off" in reply.note


@adapters()
async def test_options_of_the_crew_reach_the_provider(adapter):
    _, asked = await ask(adapter, Said(text="ok"), effort="low", temperature=0.25, maxOutputTokens=77)
    body = asked.record
    assert body["temperature"] == 0.25
    assert "low" in (
        body.get("reasoning_effort"),
        *(body.get(key, {}).get("effort") for key in ("output_config", "reasoning")),
    )
    assert 77 in [body.get(key) for key in ("max_tokens", "max_completion_tokens", "max_output_tokens")]


@adapters()
async def test_calls_by_schema_are_asked_for_and_read(adapter):
    said = Said(text='{"call": "read_file", "args": {"path": "a.py"}}')
    reply, asked = await ask(adapter, said, toolCalls="schema")
    assert (reply.text, reply.calls[0].tool, reply.calls[0].args) == ("", "read_file", {"path": "a.py"})
    assert "tools" not in asked.record
    assert "json_schema" in asked.body.decode()
    _, asked = await ask(adapter, Said(text="prose"), goes_on(REQUEST, reply), toolCalls="schema")
    assert "tool_call" not in asked.body.decode()
    prose, _ = await ask(adapter, Said(text="I would read a.py"), toolCalls="schema")
    assert (prose.text, prose.calls) == ("I would read a.py", ())


def walked(value):
    """Read every lazily checked part of what pydantic has checked."""
    match value:
        case dict():
            return {key: walked(part) for key, part in value.items()}
        case str() | bytes() | bool() | int() | float() | None:
            return value
        case _:
            return [walked(part) for part in value]


def official(adapter):
    """Give the official client's own description of a request's body."""
    match adapter:
        case "anthropic":
            from anthropic.types.message_create_params import MessageCreateParamsStreaming as Body
        case "responses":
            from openai.types.responses.response_create_params import ResponseCreateParamsStreaming as Body
        case _:
            from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming as Body
    return Body


def with_ids(body):
    """Add what the types want of a message that the provider made itself, and the API does not where nothing is stored."""
    for item in body.get("input", []):
        if item.get("type") == "message":
            item |= {"id": "msg_1", "status": "completed", "content": [{**item["content"][0], "annotations": []}]}
    return body


@adapters()
async def test_every_request_is_what_the_official_clients_types_describe(adapter):
    from pydantic import TypeAdapter

    described = TypeAdapter(official(adapter))
    replies = [
        Said(text="one", thinking="hm", calls=(("c1", "read_file", {"path": "x"}), ("c1", "f n", "{bad"))),
        Said(thinking="hm", calls=(("c2", "finish", {}),)),
        Said(text="prose"),
        Said(text="cut", calls=(("c3", "read_file", '{"pa'),), stop="length"),
    ]
    request = REQUEST
    for said in replies:
        reply, _ = await ask(adapter, said, request)
        answers = tuple(result(one.id, images=(PIXEL,)) for one in reply.calls)
        more = (Message(role="tool", results=answers),) if answers else ()
        spoken = Message(role="assistant", text=reply.text, calls=reply.calls, kept=reply.kept)
        messages = (*request.messages, spoken, *more, Message(role="user", text="go on"))
        request = evolve(request, turn=request.turn + 1, messages=messages)
        for options in ({"images": True, "effort": "low", "maxOutputTokens": 99}, {"toolCalls": "schema"}):
            _, asked = await ask(adapter, Said(text="ok"), request, **options)
            walked(described.validate_python(with_ids(asked.record)))
            assert set(asked.record) <= set(get_type_hints(official(adapter)))
