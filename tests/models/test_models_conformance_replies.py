"""The conformance suite, second half: what replies come to, and what the next request says, for each adapter on a real socket."""

import base64
import json
import re
from itertools import pairwise

import pytest
import trio
import trio.testing
from attrs import evolve
from provider_kit import ADAPTERS, FINISH, KEY, PRICE, READ, REQUEST, adapters, call, goes_on, result, source_of

from ggactors.ports import ModelFault
from ggactors.protocol.model import Image, Kept, Message, RateLimits, Usage
from ggactors.testing.provider import Answer, open_provider, whole
from ggactors.testing.wireshapes import Said

PIXEL = Image(media_type="image/png", data=b"\x89PNG fake")


async def ask(adapter, said, request=REQUEST, *, key=KEY, change=None, **options):
    """Ask one question of a provider that says one thing; give the reply and what was asked."""

    def answer(asked):
        told = whole(asked, said) if isinstance(said, Said) else said(asked)
        return told if change is None else change(told)

    async with open_provider(answer) as provider:
        source = source_of(adapter, provider.url, key=key, **options)
        try:
            reply = await source.model_for(request.agent, request.profile).reply(request)
        finally:
            await source.aclose()
    return reply, provider.asked[-1]


def dialogue(asked):
    """Give what stands for the messages in a request's body."""
    return asked.record.get("messages") or asked.record["input"]


# ---------------------------------------------------------------- replies


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


# ---------------------------------------------------------------- requests


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
    for other in ADAPTERS:
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


# ---------------------------------------------------------------- accounts


@adapters()
async def test_what_an_account_has_left_comes_up_with_the_reply(adapter):
    told = {
        "x_ratelimit_remaining_requests": "59",
        "x_ratelimit_remaining_tokens": "14999",
        "x_ratelimit_reset_requests": "1s",
        "x_ratelimit_reset_tokens": "6m0s",
    }
    reply, _ = await ask(adapter, lambda asked: whole(asked, Said(text="ok"), **told))
    assert reply.limits == RateLimits(requests=59, tokens=14999, requests_reset=1.0, tokens_reset=360.0)
    told = {"anthropic_ratelimit_requests_remaining": "3", "anthropic_ratelimit_requests_reset": "2020-01-01T00:00:00Z"}
    reply, _ = await ask(adapter, lambda asked: whole(asked, Said(text="ok"), **told))
    assert reply.limits == RateLimits(requests=3, requests_reset=0.0)
    reply, _ = await ask(adapter, Said(text="ok"))
    assert reply.limits is None


@adapters()
async def test_agents_of_one_account_share_connections_and_use_them_again(adapter):
    gate = trio.Event()

    async def answer(asked):
        await gate.wait()
        return whole(asked, Said(text=asked.agent))

    async with open_provider(answer) as provider:
        source = source_of(adapter, provider.url)
        said = {}

        async def one(name):
            reply = await source.model_for(name, "coder").reply(evolve(REQUEST, agent=name))
            said[name] = reply.text

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(one, f"root.{number}s")
            while len(provider.asked) < 8:
                await trio.testing.wait_all_tasks_blocked(0.01)
            gate.set()
        assert said == {name: name for name in said}
        for _ in range(5):
            await one("root")
        assert provider.connections == 8
        await source.aclose()
        with trio.fail_after(5):
            await provider.settled()


@adapters()
async def test_a_bound_is_never_below_what_the_call_spends_C3(adapter):
    request = REQUEST
    texts = ["word " * 400, "日本語のテキスト" * 200, "x=1;" * 500]
    for number, text in enumerate(texts):
        async with open_provider(lambda asked: whole(asked, Said(text="ok"))) as provider:
            source = source_of(adapter, provider.url, price=PRICE, maxOutputTokens=100)
            model = source.model_for("root", "lead")
            bound = model.bound(request)
            reply = await model.reply(request)
            # A token for every 3 bytes of what went over the wire is more than any tokenizer makes of it.
            spent = len(provider.asked[-1].body) // 3
            await source.aclose()
        assert bound.input >= spent
        assert bound.output == 100
        assert bound.cost >= (bound.input * 1.0 + 100 * 10.0) / 1e6
        request = goes_on(request, reply, Message(role="user", text=f"{number} {text}"))


@adapters()
async def test_a_bound_stays_close_to_what_the_last_request_was(adapter):
    long = evolve(REQUEST, messages=(*REQUEST.messages, Message(role="user", text="word " * 8000)))
    async with open_provider(lambda asked: whole(asked, Said(text="ok", into=9000))) as provider:
        source = source_of(adapter, provider.url)
        model = source.model_for("root", "lead")
        assert model.bound(long).input > 15_000
        reply = await model.reply(long)
        after = goes_on(long, reply, Message(role="user", text="go on"))
        assert 9000 < model.bound(after).input < 9200
        # A conversation that was shortened is counted anew.
        assert model.bound(REQUEST).input < 1000
        await source.aclose()


def test_a_source_names_its_account_and_window():
    pytest.importorskip("openai")
    one = source_of("chat", "http://127.0.0.1:1", contextWindow=1000)
    other = source_of("responses", "http://127.0.0.1:1")
    foreign = source_of("chat", "http://127.0.0.1:1", apiKeyEnv="OTHER_KEY")
    elsewhere = source_of("chat", "http://127.0.0.1:2")
    assert one.traits.window == 1000
    assert one.traits.account == other.traits.account
    assert len({one.traits.account, foreign.traits.account, elsewhere.traits.account}) == 3
    assert KEY not in f"{one}{one.traits}"


def test_kept_items_of_a_foreign_model_are_passed_over_in_a_bound():
    pytest.importorskip("openai")
    model = source_of("chat", "http://127.0.0.1:1").model_for("root", "lead")
    kept = Kept(adapter="another/model", items=({"type": "thinking", "thinking": "x" * 4000},))
    request = evolve(
        REQUEST, messages=(*REQUEST.messages, Message(role="assistant", text="a", kept=kept)), tools=(READ, FINISH)
    )
    assert model.bound(request).input < 4000
