"""The memory operations: what is offered, and what a call comes to in tool calls and in programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import toolskit
from toolskit import call

from ggactors.protocol.memories import MemoriesGrant
from ggactors.protocol.program import Language, Returned
from ggactors.protocol.values import Code, Refused
from ggactors.rules.launch_tools import MEMORIES as NAMES
from ggactors.store.memories import MemoryShelf
from ggactors.tools.mask import Mask
from ggactors.tools.memories import AS_TOOLS, OPERATIONS, MemoryKit
from ggactors.tools.toolbox import AgentToolbox, build_toolbox

if TYPE_CHECKING:
    from pathlib import Path

BUILD = {"name": "build", "description": "How to build.", "text": "make"}


def kit_in(tmp_path: Path, language: Language | None = None, **values: str) -> MemoryKit:
    (tmp_path / "work").mkdir(exist_ok=True)
    shelf = MemoryShelf(home=tmp_path / "state", workspace=tmp_path / "work", profile="lead")
    return MemoryKit(shelf=shelf, grant=MemoriesGrant(most=2), mask=Mask(values), language=language)


def build(kit: MemoryKit, **changes: Any) -> AgentToolbox:
    lead = toolskit.profile(**({"capabilities": ("memories",), "board": None} | changes))
    return build_toolbox(lead, agent="root", workbench=None, ask_board=None, crew=toolskit.crew(lead), kits=[kit])


async def said(toolbox: AgentToolbox, tool: str, **args: Any) -> Any:
    result = await toolbox.call(call(tool, **args))
    if not result.ok:
        return result.code
    return json.loads(result.output) if result.output.startswith("{") else result.output


def test_the_operations_are_those_an_allowlist_may_name_and_code_is_for_programs_alone(tmp_path):
    assert tuple(one.tool for one in OPERATIONS) == NAMES
    box = build(kit_in(tmp_path))
    assert [spec.name for spec in box.specs] == list(NAMES)
    assert "onUse" not in json.dumps([spec.schema for spec in box.specs])
    assert [one.doc for one in AS_TOOLS] == [one.doc for one in OPERATIONS]
    (create, *_rest) = build(kit_in(tmp_path, Language.PYTHON)).operations
    assert "on_use" in [param.name for param in create.params]


async def test_tool_calls_keep_find_change_and_forget(tmp_path):
    box = build(kit_in(tmp_path))
    assert await said(box, "create_memory", **BUILD) == {"name": "build", "kept": 1, "most": 2}
    assert await said(box, "read_memory", name="build") == "make"
    assert await said(box, "edit_memory", name="build", text="make -j2") == {"name": "build", "kept": 1, "most": 2}
    assert await said(build(kit_in(tmp_path)), "read_memory", name="build") == "make -j2"
    found = await said(box, "search_memories", query="build")
    assert found == {"memories": [{"name": "build", "description": "How to build."}], "leftOut": 0}
    assert (await said(box, "delete_memory", name="build"))["kept"] == 0
    assert await said(box, "search_memories") == {"memories": [], "leftOut": 0}


async def test_what_is_wrong_is_refused_by_its_code(tmp_path):
    box = build(kit_in(tmp_path))
    await said(box, "create_memory", **BUILD)
    assert await said(box, "create_memory", **BUILD) == Code.CONFLICT
    assert await said(box, "create_memory", **{**BUILD, "name": "Big One"}) == Code.INVALID_ARGUMENT
    assert await said(box, "create_memory", **{**BUILD, "name": "x", "text": "é" * 4097}) == Code.LIMIT_EXCEEDED
    assert await said(box, "create_memory", **{**BUILD, "name": "x", "onUse": "1"}) == Code.INVALID_ARGUMENT
    assert await said(box, "edit_memory", name="build") == Code.INVALID_ARGUMENT
    for tool in ("read_memory", "delete_memory"):
        assert await said(box, tool, name="nope") == Code.NOT_FOUND
    await said(box, "create_memory", **{**BUILD, "name": "x"})
    assert await said(box, "create_memory", **{**BUILD, "name": "y"}) == Code.LIMIT_EXCEEDED


async def test_programs_give_a_memory_code_that_is_due_on_every_use_in_its_language_E6(tmp_path):
    kit = kit_in(tmp_path, Language.PYTHON)
    box = build(kit)
    made = await box.serve("memories.create_memory", {**BUILD, "on_use": "print(1)"})
    assert made == Returned(value={"name": "build", "kept": 1, "most": 2})
    for _ in range(2):
        assert await box.serve("memories.read_memory", {"name": "build"}) == Returned(value="make")
    assert kit.take_used() == (("build", "print(1)"),) * 2
    assert kit.take_used() == ()
    for language in (None, Language.JAVASCRIPT):
        other = kit_in(tmp_path, language)
        await other.call("read_memory", {"name": "build"})
        assert other.take_used() == ()
    await box.serve("memories.edit_memory", {"name": "build", "on_use": None})
    await box.serve("memories.read_memory", {"name": "build"})
    assert kit.take_used() == ()


async def test_the_value_of_a_key_is_never_kept(tmp_path):
    kit = kit_in(tmp_path, Language.PYTHON, SOME_KEY="not-a-real-key")
    box = build(kit)
    await box.serve(
        "memories.create_memory",
        {"name": "key", "description": "not-a-real-key", "text": "use not-a-real-key", "on_use": "'not-a-real-key'"},
    )
    assert isinstance(await box.serve("memories.create_memory", {**BUILD, "name": "not-a-real-key"}), Refused)
    (file,) = (tmp_path / "state").glob("memories/*/lead.json")
    assert "not-a-real-key" not in file.read_text()
    assert "[masked:SOME_KEY]" in file.read_text()
