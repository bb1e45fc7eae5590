"""What a call spent of which nothing came: known as far as the provider told it before the end (C3)."""

import pytest
import trio
from provider_kit import PRICE, REQUEST, adapters, source_of

from ggactors.ports import ModelFault
from ggactors.protocol.model import Usage
from ggactors.testing.provider import End, cut, open_provider, refused, whole
from ggactors.testing.wireshapes import Said

SAID = Said(text="hello", into=100, cached=40, out=20)
TOLD_EARLY = Usage(input=100, cached_input=40, output=1, cost=(60 + 4 + 10) / 1e6)
"""What Anthropic tells at the beginning of a message."""


def priced(provider, adapter):
    return source_of(adapter, provider.url, price=PRICE)


@adapters()
async def test_a_stream_cut_off_spent_what_was_told_at_its_beginning_and_that_once(adapter):
    async with open_provider(lambda asked: cut(asked, SAID)) as provider:
        source = priced(provider, adapter)
        model = source.model_for("root", "lead")
        with pytest.raises(ModelFault):
            await model.reply(REQUEST)
        spent = model.take_spent()
        assert spent == (TOLD_EARLY if adapter == "anthropic" else None)
        assert model.take_spent() is None
        await source.aclose()


@adapters("anthropic")
async def test_a_call_cancelled_in_mid_stream_spent_what_was_told(adapter):
    async with open_provider(lambda asked: cut(asked, SAID, end=End.SILENCE)) as provider:
        source = priced(provider, adapter)
        model = source.model_for("root", "lead")
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(model.reply, REQUEST)
                while model._assembler is None or model._assembler.spent()[0].tokens == 0:
                    await trio.sleep(0)
                scope.cancel()
        assert model.take_spent() == TOLD_EARLY
        await source.aclose()


@adapters()
async def test_neither_a_reply_nor_a_refusal_leaves_anything_to_count_beside_it(adapter):
    async with open_provider(lambda asked: cut(asked, SAID)) as provider:
        source = priced(provider, adapter)
        model = source.model_for("root", "lead")
        with pytest.raises(ModelFault):
            await model.reply(REQUEST)
        provider.answer = lambda asked: whole(asked, SAID)
        reply = await model.reply(REQUEST)
        assert reply.usage.input == 100
        assert model.take_spent() is None
        provider.answer = lambda asked: refused(500)
        with pytest.raises(ModelFault):
            await model.reply(REQUEST)
        assert model.take_spent() is None
        await source.aclose()


@adapters("anthropic")
async def test_the_first_part_of_a_paused_reply_counts_when_the_second_is_refused(adapter):
    async with open_provider(lambda asked: refused(500)) as provider:
        provider.answer = lambda asked: (
            whole(asked, Said(text="wait", stop="pause", into=100, out=20))
            if len(provider.asked) == 1
            else refused(500)
        )
        source = priced(provider, adapter)
        model = source.model_for("root", "lead")
        with pytest.raises(ModelFault):
            await model.reply(REQUEST)
        assert len(provider.asked) == 2
        assert model.take_spent() == Usage(input=100, output=20, cost=(100 + 200) / 1e6)
        await source.aclose()
