"""Capabilities that are an agent's own, in whole runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ggactors.programs.artifacts import problems
from ggactors.protocol.program import Language
from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, run_to_end, turn, write_crew

if TYPE_CHECKING:
    from pathlib import Path

needs_sandbox = pytest.mark.skipif(
    bool(problems([Language.PYTHON])), reason="the extra [code] is not installed: pip install 'ggactors[code]'"
)
CODE = {"id": "responses-as-code", "params": {"language": "python"}}


def of_type(events, kind, agent=None):
    return [event for event in events if event.type == kind and agent in (None, event.agent)]


def asks(tool: str, **args: Any) -> tuple[str, dict[str, Any]]:
    """Write a call."""
    return tool, args


async def alone(tmp_path: Path, *replies: Any, capabilities: list[dict[str, Any]]):
    """Play one agent without a board; give the outcome and the events."""
    (tmp_path / "work").mkdir(exist_ok=True)
    agents = {"lead": {"capabilities": capabilities}}
    crew = write_crew(tmp_path / "crew", {"root": list(replies)}, board=False, agents=agents)
    return await run_to_end(crew, tmp_path / "work", home=tmp_path / "state")


async def test_an_agent_keeps_tasks_by_tool_calls(tmp_path):
    outcome, events = await alone(
        tmp_path,
        turn(asks("add_task", id="a", title="A"), asks("add_task", id="b", title="B", blockedBy=["a"])),
        turn(asks("complete_task", id="a"), asks("list_tasks")),
        finish(),
        capabilities=[{"id": "tasks"}],
    )
    assert outcome.status is Status.COMPLETED
    listed = json.loads(of_type(events, "tool_result")[3].output)["tasks"]
    assert [(one["id"], one["status"], one["ready"]) for one in listed] == [
        ("a", "done", False),
        ("b", "pending", True),
    ]
    assert not of_type(events, "board_changed")


@needs_sandbox
async def test_an_agent_keeps_tasks_by_programs(tmp_path):
    first = "import gg\ngg.tasks.add_task('a', 'A')\ngg.tasks.add_task('b', 'B', blocked_by=['a'])"
    second = (
        "import gg\n"
        "try:\n    gg.tasks.set_blocked_by('a', ['b'])\nexcept gg.Conflict as error:\n    assert 'a -> b -> a' in error.message\n"
        "gg.tasks.complete_task('a')\n"
        "assert [(t.id, t.ready) for t in gg.tasks.list_tasks().tasks] == [('a', False), ('b', True)]\n"
        "gg.session.finish('kept')"
    )
    outcome, events = await alone(
        tmp_path, {"program": first}, {"program": second}, capabilities=[{"id": "tasks"}, CODE]
    )
    assert (outcome.status, outcome.summary) == (Status.COMPLETED, "kept"), of_type(events, "code_execution")
    assert "tasks.add_task" in of_type(events, "agent_spawned")[0].operations
