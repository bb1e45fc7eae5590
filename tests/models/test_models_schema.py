"""Calls by schema: what is exactly one call is one, whatever else is a reply without calls (E2, E7)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.models.schema import Plain, parse_reply, plain_messages, reply_schema, tools_text, written
from ggactors.protocol.model import Message, ToolCall, ToolResult, ToolSpec
from ggactors.protocol.values import Role
from ggactors.tools.endings import specs_of

FINISH = specs_of(Role.STANDARD)[0]
READ = ToolSpec(
    name="read_file",
    description="Read a file.",
    schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Which."},
            "limit": {"type": "integer"},
            "how": {"enum": ["text", "bytes"]},
            "parts": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["path"],
    },
)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
calls = st.builds(
    lambda tool, args: ToolCall(id="call-7-1", tool=tool, args=args), st.text(), st.dictionaries(st.text(), values)
)


@settings(max_examples=60)
@given(calls, st.sampled_from(["{}", " \n{} ", "```json\n{}\n```", "```\n{}```"]))
def test_a_call_that_was_written_is_read_again(call, around):
    assert parse_reply(around.replace("{}", written(call)), 7) == call


@settings(max_examples=60)
@given(st.text() | values.map(json.dumps), st.text(min_size=1).filter(str.strip))
def test_prose_around_a_call_or_in_its_place_is_no_call_E7(said, prose):
    if not said.strip().startswith('{"call"'):
        assert parse_reply(said, 1) is None
    call = written(ToolCall(id="", tool="finish", args={"summary": "x"}))
    if not (prose.strip().startswith("```")):
        assert parse_reply(prose + call, 1) is None
        assert parse_reply(call + prose, 1) is None


@pytest.mark.parametrize(
    "said",
    [
        "",
        "I am done.",
        '{"call": "finish"}',
        '{"args": {}}',
        '{"call": "finish", "args": []}',
        '{"call": 1, "args": {}}',
        '{"call": "finish", "args": {}, "thought": ""}',
        '[{"call": "finish", "args": {}}]',
        '{"call": "finish", "args": {"summary": "cut o',
        '{"call": "finish", "args": {"n": NaN}}',
        '{"call": "finish", "args": {}} {"call": "finish", "args": {}}',
        "[" * 100_000,
        '{"call": "finish", "args": {"n": ' + "9" * 5000 + "}}",
    ],
)
def test_what_is_not_exactly_one_call_is_a_reply_without_calls_E2(said):
    assert parse_reply(said, 1) is None


def test_a_call_of_a_tool_nobody_offered_is_still_a_call_to_be_refused():
    assert parse_reply('{"call": "invented", "args": {}}', 3) == ToolCall(id="call-3-1", tool="invented", args={})


def test_each_tool_is_one_branch_with_its_own_arguments():
    schema = reply_schema([READ, FINISH])
    names = [branch["properties"]["call"]["const"] for branch in schema["anyOf"]]
    assert names == ["read_file", "finish"]
    assert schema["anyOf"][1]["properties"]["args"] == FINISH.schema
    assert reply_schema([FINISH])["properties"]["call"] == {"const": "finish"}


def test_references_of_a_tools_schema_are_put_in_their_place_circles_cut():
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}}
    tool = ToolSpec(
        name="grow",
        description="",
        schema={
            "type": "object",
            "properties": {
                "name": {"$ref": "#/$defs/a~1b"},
                "tree": {"$ref": "#/$defs/tree"},
                "gone": {"$ref": "#/nowhere"},
                "far": {"$ref": "https://example.invalid/schema"},
            },
            "$defs": {"a/b": {"type": "string"}, "tree": tree},
        },
    )
    args = reply_schema([tool])["properties"]["args"]
    assert args["properties"]["name"] == {"type": "string"}
    assert args["properties"]["gone"] == args["properties"]["far"] == {}
    assert "$ref" not in json.dumps(args)
    assert "$defs" not in args


def test_texts_without_a_limit_of_their_own_are_capped():
    tool = ToolSpec(
        name="t",
        description="",
        schema={
            "type": "object",
            "properties": {
                "free": {"type": "string"},
                "short": {"type": "string", "maxLength": 3},
                "word": {"type": "string", "enum": ["a"]},
                "list": {"type": "array", "items": {"type": "string"}},
            },
        },
    )
    shapes = reply_schema([tool], longest=100)["properties"]["args"]["properties"]
    assert shapes["free"] == {"type": "string", "maxLength": 100}
    assert shapes["short"]["maxLength"] == 3
    assert shapes["word"] == {"type": "string", "enum": ["a"]}
    assert shapes["list"]["items"]["maxLength"] == 100
    assert tool.schema["properties"]["free"] == {"type": "string"}, "the tool's own schema is left alone"


def test_the_prompt_tells_every_tool_with_its_arguments():
    text = tools_text([READ, FINISH])
    for line in (
        "read_file: Read a file.",
        "- path (string): Which.",
        "- limit (integer, optional)",
        '- how (one of "text", "bytes", optional)',
        "- parts (list of string, optional)",
    ):
        assert line in text.splitlines()
    assert "- summary (string): " in text
    assert text == tools_text([READ, FINISH])


TALK = (
    Message(role="system", text="You are a coder."),
    Message(role="user", text="Do it."),
    Message(role="assistant", calls=(ToolCall(id="1", tool="read_file", args={"path": "a"}),)),
    Message(
        role="tool", results=(ToolResult(call_id="1", tool="read_file", ok=False, output="no a", code="not-found"),)
    ),
    Message(role="user", text="Go on."),
    Message(role="assistant", text="Hm."),
)


def test_a_conversation_is_written_without_tools_in_alternating_roles():
    plain = plain_messages(TALK, [READ])
    assert [one.role for one in plain] == ["system", "user", "assistant", "user", "assistant"]
    assert plain[0].text.startswith("You are a coder.\n\nAnswer with one JSON object")
    assert plain[2] == Plain("assistant", '{"call": "read_file", "args": {"path": "a"}}')
    assert plain[3].text == "Result of read_file failed (not-found):\nno a\n\nGo on."
    assert plain_messages(TALK[1:2], [READ])[0].text == tools_text([READ])


def test_the_written_conversation_grows_at_its_end_only():
    whole = "\0".join(one.text for one in plain_messages(TALK, [READ, FINISH]))
    for length in range(1, len(TALK)):
        begun = "\0".join(one.text for one in plain_messages(TALK[:length], [READ, FINISH]))
        assert whole.startswith(begun)
