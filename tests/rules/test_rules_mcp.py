"""Reading an ``.mcp.json``."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.rules.launch import read_document
from ggactors.rules.launch_tools import MCP_TOOL
from ggactors.rules.mcp import read_mcp_text, server_lines

KEY = "fake-key-123456"
VARIABLES = {"KEY": KEY, "HOME": "/home/somebody", "PLAIN": "plain-value", "GGACTORS_CONFIG_DIR": "/crew"}


def read(servers: object):
    return read_mcp_text(json.dumps({"mcpServers": servers}), VARIABLES, path="p: mcp.json")


def test_both_kinds_are_read_and_their_variables_filled_in():
    reading = read(
        {
            "near": {"command": "npx", "args": ["-y", "x", "${HOME}/y", "${NONE:-else}"], "env": {"A": "${PLAIN}"}},
            "far": {"type": "http", "url": "https://h/${KEY}", "headers": {"Authorization": "Bearer ${KEY}"}},
            "old": {"type": "sse", "url": "http://h/sse"},
            "bare": {"url": "http://h/mcp"},
        }
    )
    assert reading.problems == ()
    near, far, old, bare = reading.servers
    assert near.args == ("-y", "x", "/home/somebody/y", "else")
    assert near.env == {"A": "plain-value"}
    assert far.url == f"https://h/{KEY}"
    assert far.headers == {"Authorization": f"Bearer {KEY}"}
    assert (near.kind, far.kind, old.kind, bare.kind) == ("stdio", "http", "sse", "http")


def test_a_variable_that_is_set_to_nothing_fills_in_nothing_or_its_default():
    reading = read_mcp_text(
        json.dumps({"mcpServers": {"a": {"command": "x", "args": ["${E}", "${E:-else}"]}}}), {"E": ""}, path="p"
    )
    assert reading.servers[0].args == ("", "else")


def test_what_fills_env_and_headers_is_masked_and_what_fills_paths_is_not():
    near, far = read(
        {
            "near": {
                "command": "x",
                "args": ["${HOME}"],
                "env": {"A": "${PLAIN}", "H": "${HOME}", "MY_TOKEN": "literal-secret", "LEVEL": "info-level"},
            },
            "far": {"type": "http", "url": "https://h", "headers": {"Authorization": "Bearer literal-bearer"}},
        }
    ).servers
    assert set(near.secrets.values()) == {"plain-value", "literal-secret"}
    assert "literal-bearer" in far.secrets.values()
    assert KEY not in repr(far)
    assert "literal" not in repr(near)


def test_a_relative_command_is_taken_from_the_configs_folder_never_from_an_agents():
    near, plain, whole = read(
        {"a": {"command": "./bin/x"}, "b": {"command": "npx"}, "c": {"command": "/usr/bin/x"}}
    ).servers
    assert near.command == "/crew/./bin/x"
    assert plain.command == "npx"
    assert whole.command == "/usr/bin/x"


def test_every_fault_is_named_at_once_with_its_place_and_a_remedy_P2():
    problems = read(
        {
            "a__b": {"command": "x"},
            "1st": {"command": "x"},
            "empty": {},
            "blank": {"command": ""},
            "both": {"command": "x", "url": "http://h"},
            "kind": {"type": "carrier-pigeon", "url": "http://h"},
            "unset": {"command": "x", "env": {"A": "${NOT_THERE}"}},
            "args": {"command": "x", "args": "y"},
            "ftp": {"type": "http", "url": "ftp://h"},
            "text": "npx",
            "cut": {"url": "http://h", "headers": {"A": "x\ny"}},
        }
    ).problems
    named = [problem.path for problem in problems]
    assert named == [
        "p: mcp.json mcpServers.a__b",
        "p: mcp.json mcpServers.1st",
        "p: mcp.json mcpServers.empty.command",
        "p: mcp.json mcpServers.blank.command",
        "p: mcp.json mcpServers.both.url",
        "p: mcp.json mcpServers.kind.type",
        "p: mcp.json mcpServers.unset.env.A",
        "p: mcp.json mcpServers.args.args",
        "p: mcp.json mcpServers.ftp.url",
        "p: mcp.json mcpServers.text",
        "p: mcp.json mcpServers.cut.headers.A",
    ]
    assert all(problem.remedy for problem in problems)


def test_what_is_no_config_is_one_fault():
    for text in ("", "[]", "{}", '{"mcpServers": []}', '{"mcpServers": {}}', "[" * 100_000):
        assert len(read_mcp_text(text, {}, path="p").problems) == 1


@settings(max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=12),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["command", "args", "env", "url", "type", "headers", "mcpServers"]), inner, max_size=3
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_a_config_holds_it_comes_to_servers_or_problems_and_can_be_shown(value):
    text = json.dumps({"mcpServers": value})
    reading = read_mcp_text(text, {}, path="p")
    assert reading.servers or reading.problems
    assert all(isinstance(line, str) for line in server_lines(text))


def test_whoever_is_to_say_yes_sees_what_is_started_and_what_is_set_for_it():
    servers = {
        "a": {"command": "git", "args": ["status"], "env": {"GIT_SSH_COMMAND": "evil"}},
        "b": {"url": "http://h"},
    }
    assert server_lines(json.dumps({"mcpServers": servers})) == ["a: GIT_SSH_COMMAND=evil git status", "b: http://h"]


def crew(**lead: object) -> dict:
    return {"agents": [{"id": "lead", "root": True, "model": "script/s.json", **lead}]}


def test_the_capability_is_read_with_its_defaults_and_its_faults_are_named_P1():
    reading = read_document(crew(capabilities=[{"id": "mcp"}]), folder=".")
    assert reading.crew is not None
    assert (reading.mcp[0].config, reading.mcp[0].timeout_secs, reading.mcp[0].start_secs) == (None, 60, 30)
    wrong = crew(capabilities=[{"id": "mcp", "params": {"timeoutSecs": 0, "startSecs": "x", "servers": []}}])
    assert len(read_document(wrong, folder=".").problems) == 3
    off = crew(capabilities=[{"id": "mcp", "enabled": False}])
    assert read_document(off, folder=".").mcp == ()


def test_allowlists_may_name_tools_of_servers():
    reading = read_document(crew(capabilities=[{"id": "mcp"}], tools=["s__echo", "my_s__a__b"]), folder=".")
    assert reading.problems == ()
    assert read_document(crew(tools=["ech"]), folder=".").problems
    assert not any(map(MCP_TOOL.fullmatch, ("finish", "read_file", "_s__x", "s__", "__x", "s_x")))
