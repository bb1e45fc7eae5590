"""A stop cuts no turn, and says what it waits for (C2)."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

import ggactors
from ggactors.crew import crew_from_document
from ggactors.protocol.model import ModelReply, ToolCall, Usage
from ggactors.rules.verdict import stop_waits

HANDS = [{"id": "files"}, {"id": "shell"}, {"id": "subagents", "params": {"maxDepth": 1}}]


class Silent:
    """A model that answers nothing until it is let; the root first spawns as many subagents as are asked for."""

    label = "silent-one"

    def __init__(self, helpers: int) -> None:
        self.helpers, self.asked, self.let = helpers, set(), trio.Event()
        self.all_asked = trio.Event()

    def model_for(self, agent, profile):
        return self

    def bound(self, request):
        return None

    async def reply(self, request):
        if request.agent == "root" and request.turn == 1 and self.helpers:
            args = {"agent": "lead", "prompt": "help"}
            calls = [ToolCall(id=str(at), tool="spawn_subagent", args=args) for at in range(self.helpers)]
            return ModelReply(calls=tuple(calls), usage=Usage(input=1))
        self.asked.add(request.agent)
        if len(self.asked) == self.helpers + 1:
            self.all_asked.set()
        await self.let.wait()
        return ModelReply(calls=(ToolCall(id="x", tool="list_dir", args={"path": "."}),), usage=Usage(input=1))


def opened(tmp_path, own_home, model, **limits):
    (tmp_path / "work").mkdir()
    agent = {"id": "lead", "root": True, "model": "own", "capabilities": HANDS}
    agent["roster"] = [{"agent": "lead", "scopes": ["subagent"], "description": "helps"}]
    own = {"provider": "openai-compatible", "name": "x", "baseUrl": "http://127.0.0.1:1/v1"}
    made = crew_from_document(
        {"models": {"own": own}, "agents": [agent], "limits": {"maxParallel": 9, **limits}}, folder=tmp_path
    )
    return ggactors.open_run(made, workspace=tmp_path / "work", task="x", home=own_home, models={"own": model})


def waits(events):
    return [event for event in events if event.type == "log" and "waiting for" in event.message]


@pytest.mark.parametrize("helpers", [0, 2, 5])
async def test_a_stop_names_the_models_and_agents_whose_replies_it_waits_for_once(tmp_path, own_home, helpers):
    model = Silent(helpers)
    async with opened(tmp_path, own_home, model) as run:
        await model.all_asked.wait()
        run.cancel()
        run.cancel()
        with trio.CancelScope(deadline=trio.current_time() + 0.05):
            await run.outcome()
            raise AssertionError("the turns under way were cut")
        model.let.set()
        outcome = await run.outcome()
        events = [event async for event in run.events()]
    assert outcome.status == "canceled"
    (said,) = waits(events)
    assert (said.level, "silent-one's reply to root" in said.message) == ("warning", True)
    assert ("and 2 more agents" in said.message) is (helpers == 5)
    # The replies came, and their turns were carried out to the end.
    assert {event.agent for event in events if event.type == "tool_result"} == model.asked


async def test_a_stop_that_waits_for_no_model_says_nothing_of_it(tmp_path, own_home):
    model = Silent(0)
    async with opened(tmp_path, own_home, model) as run:
        run.add_sink(lambda event: run.cancel() if event.type == "tool_result" else None)
        model.let.set()
        outcome = await run.outcome()
        events = [event async for event in run.events()]
    assert outcome.status == "canceled"
    assert waits(events) == []


async def test_a_model_that_fails_is_waited_for_no_more(tmp_path, own_home):
    class Failing(Silent):
        async def reply(self, request):
            if request.turn == 1:
                return await super().reply(request)
            raise RuntimeError("broke")

    model = Failing(0)
    model.let.set()
    async with opened(tmp_path, own_home, model) as run:
        assert (await run.outcome()).status == "internal_error"
        events = [event async for event in run.events()]
    assert waits(events) == []


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.sampled_from(["m", "n"]), min_size=1))
def test_every_model_is_named_and_every_agent_named_or_counted(awaited):
    said = stop_waits(awaited)
    for model in set(awaited.values()):
        agents = sorted(agent for agent, its in awaited.items() if its == model)
        more = f" and {len(agents) - 4} more agents" if len(agents) > 4 else ""
        assert f"{model}'s reply to {', '.join(agents[:4])}{more}" in said
