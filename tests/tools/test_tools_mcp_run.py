"""MCP servers in whole runs: launch, worktrees, secrets, the yes a workspace's own servers need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ggactors.ports import LaunchRefused
from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, run_to_end, turn, write_crew

pytest.importorskip("mcp", reason="the extra mcp is not installed")

SPOILT = str(Path(__file__).parent / "mcp_spoilt.py")
MCP = {"id": "mcp", "params": {"config": "mcp.json"}}


def config(folder: Path, name: str = "mcp.json", **entry: Any) -> Path:
    folder.mkdir(exist_ok=True)
    server = {"command": sys.executable, "args": [SPOILT, "echo", "pid", "die"], **entry}
    path = folder / name
    path.write_text(json.dumps({"mcpServers": {"s": server}}))
    return path


def results(events, agent="root"):
    return [event for event in events if event.type == "tool_result" and event.agent == agent]


async def alone(tmp_path: Path, *replies: Any, capabilities=(MCP,), **lead: Any):
    (tmp_path / "work").mkdir(exist_ok=True)
    agents = {"lead": {"capabilities": list(capabilities), **lead}}
    crew = write_crew(tmp_path / "crew", {"root": list(replies)}, board=False, agents=agents)
    return await run_to_end(crew, tmp_path / "work", home=tmp_path / "state")


async def test_a_servers_secrets_reach_the_server_and_no_event_journal_or_file_of_the_run(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVER_KEY", "fake-key-of-a-server-1")
    config(tmp_path / "crew", env={"KEY": "${SERVER_KEY}"})
    said = turn(("s__echo", {"text": "fake-key-of-a-server-1"}))
    outcome, events = await alone(tmp_path, said, turn(("s__pid", {})), finish())
    assert outcome.status is Status.COMPLETED
    echoed, pid, _ = results(events)
    assert echoed.output == "[masked:s.SERVER_KEY]"
    assert not Path(f"/proc/{pid.output}").exists()
    crews = [path for path in (tmp_path / "state").rglob("*") if path.name == "crew.json"]
    assert crews
    assert not any(b"fake-key-of-a-server-1" in path.read_bytes() for path in crews)


async def test_agents_have_servers_of_their_own_rooted_in_their_own_worktrees(tmp_path):
    config(tmp_path / "crew", args=["-c", _WHERE])
    agents = {"lead": {}, "coder": {"capabilities": [{"id": "files"}, {"id": "shell"}, MCP]}}
    issues = [("create_issue", _issue(name)) for name in ("a", "b")]
    waits = [("wait_for_issue", {"issueId": f"ISSUE-{n}"}) for n in (1, 2)]
    replies = {
        "root": [turn(*issues), turn(*waits), finish()],
        "*i": [turn(("s__where", {})), finish()],
    }
    (tmp_path / "work").mkdir()
    crew = write_crew(tmp_path / "crew", replies, agents=agents)
    outcome, events = await run_to_end(crew, tmp_path / "work", home=tmp_path / "state")
    assert outcome.status is Status.COMPLETED
    workdirs = {event.agent: event.workdir for event in events if event.type == "agent_spawned"}
    for agent in ("ISSUE-1.0i", "ISSUE-2.0i"):
        assert results(events, agent)[0].output == workdirs[agent]


_WHERE = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    result = {
        "initialize": lambda: {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                               "serverInfo": {"name": "w", "version": "1"}},
        "tools/list": lambda: {"tools": [{"name": "where", "inputSchema": {"type": "object"}}]},
        "tools/call": lambda: {"content": [{"type": "text", "text": os.getcwd()}]},
    }.get(message["method"])
    if result:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result()}), flush=True)
"""


def _issue(name: str) -> dict[str, str]:
    return {"title": name, "inScope": name, "outOfScope": "-", "completionCriteria": "-", "agent": "coder"}


async def test_an_allowlist_that_names_a_tool_no_server_has_refuses_the_launch_P4(tmp_path):
    config(tmp_path / "crew")
    with pytest.raises(LaunchRefused) as refused:
        await alone(tmp_path, finish(), tools=["s__ehco"])
    (problem,) = refused.value.problems
    assert "no such tool: 's__ehco'" in problem.what
    assert "s__echo" in problem.remedy
    assert not list((tmp_path / "state").glob("runs/*"))


async def test_a_server_that_cannot_be_had_refuses_the_launch_before_any_model_is_called(tmp_path):
    config(tmp_path / "crew", command="/no/such/server")
    with pytest.raises(LaunchRefused, match="could not be started"):
        await alone(tmp_path, finish())
    assert not list((tmp_path / "state").glob("runs/*"))


async def test_a_config_that_is_missing_or_faulty_refuses_the_launch_with_the_rest_P2(tmp_path):
    with pytest.raises(LaunchRefused, match=r"mcp\.json does not exist"):
        await alone(tmp_path, finish())
    config(tmp_path / "crew", env={"A": "${NOT_THERE_AT_ALL}"})
    with pytest.raises(LaunchRefused, match="the variable NOT_THERE_AT_ALL is not set"):
        await alone(tmp_path, finish())


async def test_a_missing_extra_is_a_refusal_with_the_install_line_2(tmp_path, monkeypatch):
    config(tmp_path / "crew")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(LaunchRefused, match=r"pip install 'ggactors\[mcp\]'"):
        await alone(tmp_path, finish())


def ggactors(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.getcwd(), "GGACTORS_HOME": str(place / "state")}
    command = [sys.executable, "-m", "ggactors", *words]
    return subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_servers_a_workspace_declares_need_a_yes_though_the_crew_was_named_5(tmp_path):
    replies = {"root": [turn(("s__echo", {"text": "hello"})), finish()]}
    agents = {"lead": {"capabilities": [{"id": "mcp"}]}}
    crew = write_crew(tmp_path / "crew", replies, board=False, agents=agents)
    config(tmp_path / "work", ".mcp.json")
    words = ("run", str(crew), "--workspace", "work", "--task", "x", "--events", "-")
    refused = ggactors(tmp_path, *words)
    assert refused.returncode == 2
    assert f"s: {sys.executable} {SPOILT}" in refused.stderr
    assert "--trust" in refused.stderr
    ran = ggactors(tmp_path, *words, "--trust")
    assert ran.returncode == 0, ran.stderr
    assert '"output":"hello"' in ran.stdout
    assert ggactors(tmp_path, "check", str(crew)).returncode == 0
