"""Runs in memory with accounts that refuse, for the tests of the agents' centre."""

from __future__ import annotations

import trio
import trio.testing

from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelReply, ModelTraits, ToolCall, Usage
from ggactors.testing.simulation import Simulation


def simulated(run):
    return trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))


class Account:
    """An account that refuses until a moment of the clock, with the wait it asks for; it notes who asks when."""

    label = "account"

    def __init__(self, name, until=0.0, retry_after=None, replies=(), fault=None):
        self.name, self.until, self.retry_after, self.replies = name, until, retry_after, list(replies)
        self.fault, self.asked, self.label = fault, [], name
        self.traits = ModelTraits(account=name)

    def model_for(self, agent, profile):
        return self

    def bound(self, request):
        return Usage(input=1)

    async def reply(self, request):
        now = trio.current_time()
        self.asked.append(now)
        await trio.lowlevel.checkpoint()
        if self.fault is not None:
            raise self.fault()
        if now < self.until:
            raise ModelFault("too much", status=429, retryable=True, retry_after=self.retry_after)
        return ModelReply(calls=(ToolCall(id="1", tool="finish", args={"summary": "done"}),), usage=Usage(input=1))


def two_models(first, second, **more):
    models = {
        "big": {"provider": "openai-compatible", "name": "x", "baseUrl": "http://127.0.0.1:1/v1", "fallback": "small"},
        "small": {"provider": "openai-compatible", "name": "y", "baseUrl": "http://127.0.0.1:1/v1"},
    }
    document = {"models": models, "board": False, "agents": {"lead": {"model": "big"}}}
    return Simulation(script={}, sources={"big": first, "small": second}, document=document, **more)
