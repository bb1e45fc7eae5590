"""The conformance suite: a call cancelled at each of its steps, for each adapter on a real socket."""

import gc
from contextlib import suppress

import trio
from provider_kit import REQUEST, adapters, ask, source_of
from trio.abc import Instrument

from ggactors.ports import ModelFault
from ggactors.testing.provider import Answer, End, open_provider, refused, whole
from ggactors.testing.wireshapes import Said

SAID = Said(text="hello", calls=(("c1", "finish", {}),))


class CancelAtStep(Instrument):
    """Cancels a scope just before the n-th step of a task."""

    def __init__(self, at):
        self.at, self.task, self.scope = at, None, None

    def before_task_step(self, task):
        if task is self.task:
            self.at -= 1
            if self.at == 0:
                self.scope.cancel()


async def cancelled_at(step, act):
    """Do something, cancelled at a step; tell whether it came to its end before."""
    instrument = CancelAtStep(step)
    with trio.CancelScope() as scope:
        instrument.task, instrument.scope = trio.lowlevel.current_task(), scope
        trio.lowlevel.add_instrument(instrument)
        try:
            await act()
            return instrument.at > 0
        finally:
            trio.lowlevel.remove_instrument(instrument)
    return False


@adapters()
async def test_a_call_that_is_cancelled_at_any_step_leaves_nothing_and_harms_no_other(adapter):
    """Half of the answers are good, half are not: broken streams and refusals are read in steps of their own."""

    def answer(asked):
        number = len(provider.asked) % 3
        if number == 0:
            return refused(503, "<html>busy</html>")
        told = whole(asked, SAID)
        return (
            told
            if number == 1
            else Answer(pieces=(*told.pieces[:2], b"data: {nonsense\n\n", *told.pieces), end=End.CUT)
        )

    async with open_provider(answer) as provider:
        source = source_of(adapter, provider.url)
        finished = 0
        for step in range(1, 200):

            async def act():
                with suppress(ModelFault):
                    await source.model_for("root", "lead").reply(REQUEST)

            # Every connection anew now and then, so that making one is cancelled too.
            if step % 3 == 0:
                await source.aclose()
            finished = finished + 1 if await cancelled_at(step, act) else 0
            if finished == 6:
                break
        assert finished == 6
        assert step > 12
        provider.answer = lambda asked: whole(asked, SAID)
        assert (await source.model_for("root", "lead").reply(REQUEST)).text == "hello"
        await source.aclose()
        with trio.fail_after(10):
            await provider.settled()
    # What was left behind, if anything, tells so now, and that is an error.
    gc.collect()


@adapters()
async def test_closing_a_source_that_was_never_asked_or_twice_is_nothing(adapter):
    source = source_of(adapter, "http://127.0.0.1:1")
    await source.aclose()
    await source.aclose()
    reply, _ = await ask(adapter, SAID)
    assert reply.text == "hello"
