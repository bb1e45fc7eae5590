"""What a call costs: every class of tokens once, at its own price; unknown stays unknown (C3, P1)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.crew import reading_of
from ggactors.protocol.crew import ModelSpec
from ggactors.protocol.model import Usage
from ggactors.rules.known import KNOWN, RECOMMENDED, Price, known
from ggactors.rules.launch_models import api_of
from ggactors.rules.prices import cost_of, longest_reply, most_of, price_of, window_of

DOLLAR = Price(input=1.0, output=10.0, cached_input=0.1, cache_write=1.25, reasoning=20.0)
ROOT = {"id": "a", "root": True, "capabilities": [{"id": "files"}]}


def spec(provider="openai", name="gpt-6-luna", **options):
    return ModelSpec(key="k", provider=provider, name=name, options=options, path="models.k")


def test_each_class_is_charged_once_at_its_own_price():
    usage = Usage(input=1_000_000, cached_input=400_000, output=500_000, reasoning=200_000)
    assert cost_of(DOLLAR, usage) == pytest.approx(0.6 + 0.04 + 3.0 + 4.0)
    assert cost_of(DOLLAR, usage, cache_written=100_000) == pytest.approx(0.5 + 0.04 + 0.125 + 3.0 + 4.0)


def test_a_class_without_a_price_costs_what_it_is_part_of():
    plain = Price(input=2.0, output=4.0)
    parts = Usage(input=100, cached_input=60, output=50, reasoning=50)
    assert cost_of(plain, parts, cache_written=40) == cost_of(plain, Usage(input=100, output=50))


def test_a_long_request_is_charged_at_the_long_rate_as_a_whole():
    price = known("openai", "gpt-6.2-sol").price
    short, long = Usage(input=272_000, output=1000), Usage(input=272_001, output=1000)
    assert cost_of(price, short) == pytest.approx(0.544 + 0.01)
    assert cost_of(price, long) == pytest.approx(2 * 0.544002 + 1.5 * 0.01)


tokens = st.integers(0, 2_000_000)
rates = st.floats(0, 100)
prices = st.builds(
    Price,
    input=rates,
    output=rates,
    cached_input=st.none() | rates,
    cache_write=st.none() | rates,
    reasoning=st.none() | rates,
    long_over=st.none() | tokens,
    long_input=st.floats(1, 5),
    long_output=st.floats(1, 5),
)


@settings(max_examples=60)
@given(prices, tokens, tokens, tokens, tokens, tokens)
def test_no_call_costs_more_than_its_bound_nor_less_than_nothing_C3(price, into, cached, written, out, thought):
    usage = Usage(input=into, cached_input=cached, output=out, reasoning=thought)
    cost = cost_of(price, usage, cache_written=written)
    assert 0 <= cost <= most_of(price, input_tokens=into, output_tokens=out) * (1 + 1e-9) + 1e-12


def test_what_the_crew_writes_wins_over_the_list_and_an_address_has_no_listed_price():
    assert price_of(spec(price={"inputPerMTok": 7.0, "outputPerMTok": 8.0})) == Price(input=7.0, output=8.0)
    assert price_of(spec(baseUrl="https://gateway.example/v1")) is None
    assert price_of(spec(name="gpt-unheard-of")) is None
    assert cost_of(None, Usage(input=1)) is None
    assert most_of(None, input_tokens=1, output_tokens=1) is None


def test_anthropics_cache_writes_cost_a_quarter_more_unless_written():
    bare = {"inputPerMTok": 4.0, "outputPerMTok": 8.0}
    assert price_of(spec("anthropic", "x", price=bare)).cache_write == 5.0
    assert price_of(spec("anthropic", "x", price={**bare, "cacheWritePerMTok": 8.0})).cache_write == 8.0


def test_a_snapshot_has_its_models_price_and_window():
    assert known("anthropic", "claude-haiku-4-5-20251001") is known("anthropic", "claude-haiku-4-5")
    assert known("openai", "gpt-6-luna-2026-09-22") is known("openai", "gpt-6-luna")
    assert window_of(spec("anthropic", "claude-haiku-4-5-20251001")) == 200_000
    assert window_of(spec(contextWindow=9)) == 9
    assert (longest_reply(spec(maxOutputTokens=5)), longest_reply(spec())) == (5, 128_000)
    assert window_of(spec(name="other")) is longest_reply(spec(name="other")) is None


def test_a_model_file_of_this_machine_costs_nothing_unless_written():
    assert cost_of(price_of(spec("llamacpp", "m.gguf")), Usage(input=10, output=10)) == 0.0


def test_every_listed_model_is_cheaper_cached_and_every_recommended_one_is_listed():
    for models in KNOWN.values():
        for model in models.values():
            assert 0 < model.price.cached_input < model.price.input < model.price.output
            assert model.max_output < model.window
    assert all(known(provider, name) for provider, name in RECOMMENDED.items())


def with_cost(models, model="main"):
    document = {"limits": {"maxCost": 1.0}, "models": models, "agents": [{**ROOT, "model": model}]}
    return [str(problem) for problem in reading_of(document, folder=".").problems]


def test_a_cost_ceiling_over_a_model_without_a_price_refuses_the_launch_P1():
    local = {"provider": "openai-compatible", "name": "x", "baseUrl": "http://127.0.0.1:1/v1"}
    (said,) = with_cost({"main": local})
    assert said.startswith("models.main: has no known price, so maxCost cannot be honoured; write its price")
    assert with_cost({"main": {**local, "price": {"inputPerMTok": 0, "outputPerMTok": 0}}}) == []
    assert with_cost({"main": {"provider": "openai", "name": "gpt-6-luna"}}) == []
    assert with_cost({"main": {"provider": "script", "name": "s.json"}, "unused": local}) == []


def test_a_fallback_without_a_price_refuses_a_cost_ceiling_too():
    local = {"provider": "openai-compatible", "name": "x", "baseUrl": "http://127.0.0.1:1/v1"}
    main = {"provider": "openai", "name": "gpt-6-luna", "fallback": "local"}
    (said,) = with_cost({"main": main, "local": local})
    assert said.startswith("models.local: has no known price")
    (said,) = with_cost({}, "openai/gpt-unheard-of")
    assert said.startswith("agents[0].model: has no known price")


@pytest.mark.parametrize(
    ("model", "api"),
    [
        (spec("openai", "gpt-6.2-sol"), "responses"),
        (spec("openai", "gpt-6.2-sol", api="chat"), "chat"),
        (spec("openai", "x", baseUrl="https://gateway.example/v1"), "chat"),
        (spec("openai", "x", baseUrl="https://gateway.example/v1", api="responses"), "responses"),
        (spec("openai-compatible", "x", baseUrl="http://127.0.0.1:1/v1"), "chat"),
    ],
)
def test_openai_itself_is_asked_by_responses_and_whoever_else_speaks_its_shape_by_chat(model, api):
    assert api_of(model) == api
