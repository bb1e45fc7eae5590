"""Scripted models say what is written, to whom it is written, entry by entry (docs/reference/scripted-models.md)."""

from __future__ import annotations

import json

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.models.script import Script, script_of
from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelRequest, ToolCall, Usage


def request(turn=1, attempt=1, agent="root"):
    return ModelRequest(
        agent=agent, profile="p", role="standard", issue=None, turn=turn, attempt=attempt, messages=(), tools=()
    )


def script(agents, name="s.json") -> Script:
    read, problems = script_of(json.dumps({"agents": agents}).encode(), name, "script/s.json")
    assert problems == ()
    return read


async def walk(model, turns):
    return [await model.reply(request(turn)) for turn in range(1, turns + 1)]


async def test_an_agent_walks_its_list_and_then_the_script_is_ended():
    source = script({"root": [{"text": "a"}, {"calls": [{"tool": "t", "args": {"x": 1}}, {"tool": "u"}]}]})
    first, second, *rest = await walk(source.model_for("root", "lead"), 4)
    assert (first.text, first.calls) == ("a", ())
    assert second.text == ""
    assert second.calls == (
        ToolCall(id="call-2-1", tool="t", args={"x": 1}),
        ToolCall(id="call-2-2", tool="u", args={}),
    )
    assert [(reply.text, reply.calls) for reply in rest] == [("(script ended)", ())] * 2


async def test_an_agent_no_key_matches_is_told_the_script_is_ended():
    (reply,) = await walk(script({"root": [{"text": "a"}]}).model_for("ISSUE-1.0i", "coder"), 1)
    assert (reply.text, reply.calls) == ("(script ended)", ())


async def test_each_agent_walks_a_copy_of_its_own_and_may_change_its_arguments():
    source = script({"*i": [{"calls": [{"tool": "t", "args": {"deep": [1]}}]}]})
    (one,) = await walk(source.model_for("A-1.0i", "coder"), 1)
    one.calls[0].args["deep"].append(2)
    (other,) = await walk(source.model_for("A-2.0i", "coder"), 1)
    assert other.calls[0].args == {"deep": [1]}


@pytest.mark.parametrize(
    ("agent", "profile", "said"),
    [
        ("root", "lead", "root"),
        ("AUTH-1.0i", "coder", "auth-1"),
        ("AUTH-2.0i", "coder", "coder"),
        ("AUTH-2.3i", "tester", "any i"),
        ("AUTH-2.0i.0r", "critic", "any r"),
        ("auth-1.0i", "tester", "any i"),
        ("ROOT", "lead", "(script ended)"),
        ("root.0s", "profile:coder", "(script ended)"),
        ("X", "coder", "coder"),
        ("X-1.1m", "merger", "[01]m"),
    ],
)
async def test_the_first_key_in_document_order_that_matches_serves_the_agent(agent, profile, said):
    source = script(
        {
            "root": [{"text": "root"}],
            "AUTH-1.*": [{"text": "auth-1"}],
            "profile:coder": [{"text": "coder"}],
            "*r": [{"text": "any r"}],
            "*i": [{"text": "any i"}],
            "*.[01]m": [{"text": "[01]m"}],
            "AUTH-2.0i": [{"text": "never"}],
        }
    )
    (reply,) = await walk(source.model_for(agent, profile), 1)
    assert reply.text == said


async def test_repeat_serves_an_entry_to_that_many_attempts():
    model = script({"root": [{"text": "a", "repeat": 3}, {"text": "b"}]}).model_for("root", "lead")
    assert [reply.text for reply in await walk(model, 5)] == ["a", "a", "a", "b", "(script ended)"]


async def test_call_ids_are_unique_inside_one_agent():
    entry = {"calls": [{"tool": "t"}, {"tool": "t"}]}
    model = script({"root": [{**entry, "repeat": 4}]}).model_for("root", "lead")
    ids = [call.id for reply in await walk(model, 4) for call in reply.calls]
    assert len(set(ids)) == 8


@pytest.mark.parametrize(
    ("error", "status", "retryable", "auth", "after"),
    [
        ({"status": 429, "retryAfterSecs": 2}, 429, True, False, 2.0),
        ({"status": 500}, 500, True, False, None),
        ({"status": 529}, 529, True, False, None),
        ({"transport": True}, None, True, False, None),
        ({"status": 401}, 401, False, True, None),
        ({"status": 403}, 403, False, True, None),
        ({"status": 400}, 400, False, False, None),
        ({"status": 404}, 404, False, False, None),
    ],
)
async def test_a_written_error_is_the_fault_a_provider_would_cause_C1(error, status, retryable, auth, after):
    model = script({"root": [{"error": error}, {"text": "well"}]}).model_for("root", "lead")
    with pytest.raises(ModelFault) as raised:
        await model.reply(request())
    fault = raised.value
    assert (fault.status, fault.retryable, fault.auth, fault.retry_after) == (status, retryable, auth, after)
    assert "script/s.json" in str(fault)
    # One entry a provider attempt: the retry gets the next one.
    assert (await model.reply(request(attempt=2))).text == "well"


async def test_a_repeated_error_ends_after_its_count():
    model = script({"root": [{"error": {"status": 503}, "repeat": 2}, {"text": "well"}]}).model_for("root", "lead")
    for _ in range(2):
        with pytest.raises(ModelFault):
            await model.reply(request())
    assert (await model.reply(request())).text == "well"


async def test_the_bound_is_exactly_what_the_next_entry_spends_C3():
    usage = {"input": 1200, "output": 40}
    model = script({"root": [{"text": "a", "usage": usage, "cost": 0.25}, {"usage": {"output": 7}}, {"cost": 0}]})
    model = model.model_for("root", "lead")
    expected = [
        Usage(input=1200, output=40, cost=0.25),
        Usage(output=7),
        Usage(cost=0.0),
        Usage(),
    ]
    for usage in expected:
        assert model.bound(request()) == usage
        assert model.bound(request()) == usage
        assert (await model.reply(request())).usage == usage


async def test_a_delay_passes_before_the_reply_also_before_an_error(autojump_clock):
    model = script({"root": [{"text": "a", "delaySecs": 2.5}, {"error": {"status": 500}, "delaySecs": 1}]})
    model = model.model_for("root", "lead")
    began = trio.current_time()
    await model.reply(request())
    assert trio.current_time() - began == 2.5
    with pytest.raises(ModelFault):
        await model.reply(request())
    assert trio.current_time() - began == 3.5


async def test_a_cancelled_attempt_has_used_its_entry(autojump_clock):
    model = script({"root": [{"text": "slow", "delaySecs": 60}, {"text": "next"}]}).model_for("root", "lead")
    with trio.move_on_after(1):
        await model.reply(request())
    assert (await model.reply(request())).text == "next"


async def test_every_reply_is_a_checkpoint():
    model = script({"root": [{"text": "a"}]}).model_for("root", "lead")
    with trio.CancelScope() as scope:
        scope.cancel()
        await model.reply(request())
    assert scope.cancelled_caught


async def test_programs_are_submitted_in_order():
    model = script({"root": [{"text": "t", "program": "one()"}, {"programs": ["one()", "two()"]}]}).model_for(
        "root", "lead"
    )
    first, second = await walk(model, 2)
    assert [(call.tool, call.args) for call in first.calls] == [("submit_program", {"program": "one()"})]
    assert [call.args["program"] for call in second.calls] == ["one()", "two()"]
    assert [call.id for call in second.calls] == ["call-2-1", "call-2-2"]


async def test_a_toml_script_has_the_same_keys_and_order():
    text = """
[[agents."ISSUE-*i"]]
text = "first"
calls = [{ tool = "shell", args = { command = "true" } }]

[[agents.root]]
error = { status = 429, retryAfterSecs = 0.5 }

[[agents."ISSUE-*i"]]
usage = { input = 1 }

[[agents."*"]]
text = "rest"
"""
    source, problems = script_of(text.encode(), "s.toml", "script/s.toml")
    assert problems == ()
    assert [pattern for pattern, _ in source.patterns] == ["ISSUE-*i", "root", "*"]
    replies = await walk(source.model_for("ISSUE-1.0i", "coder"), 2)
    assert replies[0].calls[0].args == {"command": "true"}
    assert replies[1].usage.input == 1


MISTAKES = [
    ({}, "agents", "is missing"),
    ([], "", "must be an object"),
    (None, "", "must be an object"),
    ({"agents": {}, "v": 1}, "v", "unknown key"),
    ({"agents": []}, "agents", "must be an object"),
    ({"agents": {"root": "x"}}, "agents.root", "list of entries"),
    ({"agents": {"": []}}, 'agents[""]', "names no agent"),
    ({"agents": {"profile:": []}}, 'agents["profile:"]', "names no agent"),
    ({"agents": {"A-1": {"0i": []}}}, "agents.A-1", "in TOML quote"),
    ({"agents": {"*r": [1]}}, 'agents["*r"][0]', "must be an object"),
]
ENTRY_MISTAKES = [
    ({"txt": "a"}, ".txt", "did you mean 'text'"),
    ({"text": 5}, ".text", "must be text"),
    ({"tool": "t"}, ".tool", "inside calls"),
    ({"calls": {"tool": "t"}}, ".calls", "list of calls"),
    ({"calls": ["t"]}, ".calls[0]", "must be an object"),
    ({"calls": [{"args": {}}]}, ".calls[0].tool", "is missing"),
    ({"calls": [{"tool": " "}]}, ".calls[0].tool", "blank"),
    ({"calls": [{"tool": "t", "args": "x"}]}, ".calls[0].args", "must be an object"),
    ({"calls": [{"tool": "t", "arguments": {}}]}, ".calls[0].arguments", "write it as args"),
    ({"program": 1}, ".program", "must be text"),
    ({"programs": "x"}, ".programs", "list of programs"),
    ({"programs": ["a", ""]}, ".programs[1]", "blank"),
    ({"calls": [], "program": "x"}, ".program", "beside calls"),
    ({"program": "x", "programs": []}, ".programs", "beside program"),
    ({"usage": {"input": -1}}, ".usage.input", "at least 0"),
    ({"usage": {"total": 1}}, ".usage.total", "unknown key"),
    ({"usage": 5}, ".usage", "must be an object"),
    ({"cost": "1"}, ".cost", "must be a number"),
    ({"cost": -0.1}, ".cost", "at least 0"),
    ({"delaySecs": -1}, ".delaySecs", "at least 0"),
    ({"delaySecs": True}, ".delaySecs", "must be a number"),
    ({"repeat": 0}, ".repeat", "at least 1"),
    ({"repeat": 1.5}, ".repeat", "whole number"),
    ({"error": True}, ".error", "must be an object"),
    ({"error": {}}, ".error", "neither or both"),
    ({"error": {"status": 500, "transport": True}}, ".error", "neither or both"),
    ({"error": {"status": 200}}, ".error.status", "at least 400"),
    ({"error": {"status": 600}}, ".error.status", "no HTTP error"),
    ({"error": {"transport": False}}, ".error.transport", "no error"),
    ({"error": {"transport": True, "retryAfterSecs": 1}}, ".error.retryAfterSecs", "nobody answered"),
    ({"error": {"status": 429, "retryAfterSecs": -1}}, ".error.retryAfterSecs", "at least 0"),
    ({"error": {"status": 429, "after": 1}}, ".error.after", "unknown key"),
    ({"error": {"status": 500}, "text": "x"}, ".text", "beside error"),
    ({"error": {"status": 500}, "usage": {}}, ".usage", "beside error"),
]


@pytest.mark.parametrize(
    ("document", "path", "word"),
    [
        *MISTAKES,
        *(({"agents": {"root": [{}, entry]}}, f"agents.root[1]{path}", word) for entry, path, word in ENTRY_MISTAKES),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_in_a_script_is_named_alone_at_its_path(document, path, word):
    _, problems = script_of(json.dumps(document).encode(), "s.json", "script/s.json")
    assert [problem.path for problem in problems] == [path], problems
    assert word in str(problems[0])
    assert problems[0].remedy


def test_every_mistake_of_a_script_is_named_at_once_P2():
    document = {"agents": {"root": [entry for entry, _, _ in ENTRY_MISTAKES]}}
    _, problems = script_of(json.dumps(document).encode(), "s.json", "script/s.json")
    named = {problem.path for problem in problems}
    assert named >= {f"agents.root[{n}]{path}" for n, (_, path, _) in enumerate(ENTRY_MISTAKES)}


def test_a_key_written_twice_and_a_text_that_is_no_json_are_named():
    _, twice = script_of(b'{"agents": {"root": [], "root": []}}', "s.json", "x")
    assert [p.path for p in twice] == ["agents.root"]
    _, broken = script_of(b'{"agents": ', "s.json", "x")
    assert [p.path for p in broken] == ["s.json:1:12"]


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "calls", "tool", "args", "error", "status", "usage", "repeat", "root"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(agents=plain_values)
def test_no_document_crashes_the_reading_of_a_script(agents):
    read, problems = script_of(json.dumps({"agents": agents}).encode(), "s.json", "x")
    assert all(problem.what and problem.remedy for problem in problems)
    if not problems:
        assert [pattern for pattern, _ in read.patterns] == list(agents)
