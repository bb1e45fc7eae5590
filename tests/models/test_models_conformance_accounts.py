"""The conformance suite: limits, connections and bounds of an account, for each adapter on a real socket."""

import pytest
import trio
import trio.testing
from attrs import evolve
from provider_kit import FINISH, KEY, PRICE, READ, REQUEST, adapters, ask, goes_on, source_of

from ggactors.protocol.crew import ModelSpec
from ggactors.protocol.model import Kept, Message, RateLimits
from ggactors.testing.provider import open_provider, whole
from ggactors.testing.wireshapes import Said


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
            # A token for every 2 bytes of what went over the wire is more than any tokenizer makes of it.
            spent = len(provider.asked[-1].body) // 2
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
        assert model.bound(long).input > 40_000
        reply = await model.reply(long)
        after = goes_on(long, reply, Message(role="user", text="go on"))
        assert 9000 < model.bound(after).input < 9200
        # A conversation that was shortened is counted anew.
        assert model.bound(REQUEST).input < 1000
        await source.aclose()


def test_a_source_names_its_account_and_window():
    pytest.importorskip("openai", reason="the extra [openai] is not installed")
    one = source_of("chat", "http://127.0.0.1:1", contextWindow=1000)
    other = source_of("responses", "http://127.0.0.1:1")
    foreign = source_of("chat", "http://127.0.0.1:1", apiKeyEnv="OTHER_KEY")
    elsewhere = source_of("chat", "http://127.0.0.1:2")
    assert one.traits.window == 1000
    assert one.traits.account == other.traits.account
    assert len({one.traits.account, foreign.traits.account, elsewhere.traits.account}) == 3
    assert KEY not in f"{one}{one.traits}"


def test_kept_items_of_a_foreign_model_are_passed_over_in_a_bound():
    pytest.importorskip("openai", reason="the extra [openai] is not installed")
    model = source_of("chat", "http://127.0.0.1:1").model_for("root", "lead")
    kept = Kept(adapter="another/model", items=({"type": "thinking", "thinking": "x" * 4000},))
    request = evolve(
        REQUEST, messages=(*REQUEST.messages, Message(role="assistant", text="a", kept=kept)), tools=(READ, FINISH)
    )
    assert model.bound(request).input < 1500


def test_models_of_one_crew_share_connections_and_are_all_given_up_with_the_run():
    pytest.importorskip("openai", reason="the extra [openai] is not installed")
    from ggactors.models.resolve import resolve_all

    specs = [
        ModelSpec(key=name, provider="openai", name=name, options={"baseUrl": "http://127.0.0.1:1/v1", **more})
        for name, more in [("big", {}), ("small", {"effort": "low"}), ("other", {"apiKeyEnv": "OTHER"})]
    ]
    found = resolve_all(specs, ".", env={"OPENAI_API_KEY": KEY, "OTHER": "sk-fake-other"})
    assert not found.problems
    big, small, other = (found.sources[name] for name in ("big", "small", "other"))
    assert big.pools is small.pools is other.pools
    assert big.traits.account == small.traits.account != other.traits.account
