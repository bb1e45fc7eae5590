"""The task operations: what is offered, and what a call comes to in tool calls and in programs."""

from __future__ import annotations

import json
from typing import Any

import toolskit
from toolskit import call

from ggactors.protocol.program import Returned
from ggactors.protocol.values import Code, Refused
from ggactors.rules.launch_tools import TASKS as NAMES
from ggactors.tools.tasks import OPERATIONS, TaskKit
from ggactors.tools.toolbox import AgentToolbox, build_toolbox


def build(**changes: Any) -> AgentToolbox:
    lead = toolskit.profile(**({"capabilities": ("tasks",), "board": None} | changes))
    return build_toolbox(lead, agent="root", workbench=None, ask_board=None, crew=toolskit.crew(lead), kits=[TaskKit()])


async def said(toolbox: AgentToolbox, tool: str, **args: Any) -> Any:
    result = await toolbox.call(call(tool, **args))
    return json.loads(result.output) if result.ok else result.code


def test_the_operations_are_those_an_allowlist_may_name():
    assert tuple(one.tool for one in OPERATIONS) == NAMES
    assert [spec.name for spec in build().specs] == list(NAMES)
    assert [spec.name for spec in build(tools=("list_tasks",)).specs] == ["list_tasks"]


async def test_tool_calls_work_on_the_list_in_camel_case():
    box = build()
    first = await said(box, "add_task", id="a", title="A")
    assert first == {"id": "a", "title": "A", "description": "", "status": "pending", "blockedBy": [], "ready": True}
    assert (await said(box, "add_task", id="b", title="B", blockedBy=["a"]))["ready"] is False
    assert (await said(box, "complete_task", id="a"))["status"] == "done"
    assert [one["ready"] for one in (await said(box, "list_tasks"))["tasks"]] == [False, True]
    assert (await said(box, "set_blocked_by", id="b", blockedBy=[]))["blockedBy"] == []
    assert (await said(box, "update_task", id="b", title="BB", status="in_progress"))["title"] == "BB"
    assert await said(box, "remove_task", id="a") == {"id": "a"}
    assert [one["id"] for one in (await said(box, "list_tasks"))["tasks"]] == ["b"]


async def test_what_is_wrong_is_refused_by_its_code():
    box = build()
    await said(box, "add_task", id="a", title="A")
    assert await said(box, "add_task", id="a", title="A") == Code.CONFLICT
    assert await said(box, "set_blocked_by", id="a", blockedBy=["a"]) == Code.CONFLICT
    assert await said(box, "complete_task", id="z") == Code.NOT_FOUND
    assert await said(box, "update_task", id="a") == Code.INVALID_ARGUMENT
    assert await said(box, "update_task", id="a", status="finished") == Code.INVALID_ARGUMENT


async def test_programs_get_the_same_in_snake_case():
    box = build()
    await box.serve("tasks.add_task", {"id": "a", "title": "A", "description": "x"})
    cleared = await box.serve("tasks.update_task", {"id": "a", "description": None})
    assert isinstance(cleared, Returned)
    assert (cleared.value["blocked_by"], cleared.value["description"]) == ([], "")
    refused = await box.serve("tasks.remove_task", {"id": "b"})
    assert isinstance(refused, Refused)
    assert refused.code is Code.NOT_FOUND


async def test_every_agent_has_a_list_of_its_own():
    one, other = build(), build()
    await said(one, "add_task", id="a", title="A")
    assert await said(other, "list_tasks") == {"tasks": []}
