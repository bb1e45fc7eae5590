"""Writes and commands between their hooks, with a real workbench."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hooks_kit import Desk, built_in, command

from ggactors.hooks.toolbox import HookedToolbox
from ggactors.protocol.crew import Crew, ModelSpec, Profile
from ggactors.protocol.model import ToolCall
from ggactors.tools.toolbox import build_toolbox
from ggactors.tools.workbench import LocalWorkbench

if TYPE_CHECKING:
    from pathlib import Path

    from ggactors.protocol.model import ToolResult

CODER = Profile(
    id="coder",
    name="Coder",
    model=ModelSpec(key="m", provider="script", name="x"),
    root=True,
    capabilities=("files", "shell"),
)


class Notes:
    """Remembers every event around writes and commands; blocks the ones it is told to."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.heard: list[dict[str, Any]] = []

    def _hear(self, told: dict[str, Any]) -> Any:
        kept = {"event", "path", "contents", "command", "ok"}
        self.heard.append({key: value for key, value in told.items() if key in kept})
        return self.answers.get(told["event"].replace("-", "_"))

    pre_write = post_write = pre_shell = post_shell = _hear


class Box:
    """A hooked toolbox over a real root."""

    def __init__(self, desk: Desk, *hooks: Any, profile: Profile = CODER, **answers: Any) -> None:
        self.root = desk.root
        bench = LocalWorkbench(desk.root, scratch=desk.scratch, env={"PATH": os.environ["PATH"]})
        inner = build_toolbox(
            profile, agent="A-1.0i", workbench=bench, ask_board=None, crew=Crew(name="c", profiles=(profile,))
        )
        self.notes = Notes(**answers)
        objects = (self.notes,) if not hooks else ()
        self.box = HookedToolbox(
            inner=inner, hooks=desk.runner(*hooks, objects=objects), root=str(desk.root), bench=bench
        )

    async def call(self, tool: str, **args: Any) -> ToolResult:
        return await self.box.call(ToolCall(id="c1", tool=tool, args=args))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_a_write_is_heard_before_and_after_with_its_whole_contents(desk):
    box = Box(desk)
    result = await box.call("write_file", path="sub/../a.py", contents="x = 1\n")
    told = {"path": str(desk.root / "a.py"), "contents": "x = 1\n"}
    assert box.notes.heard == [{"event": "pre-write", **told}, {"event": "post-write", **told, "ok": False}]
    assert result.code == "not-found"
    box.notes.heard.clear()
    assert (await box.call("write_file", path="a.py", contents="x = 1\n")).ok
    assert box.notes.heard[1] == {"event": "post-write", **told, "ok": True}


async def test_an_edit_is_heard_with_the_whole_contents_the_file_would_hold(desk):
    (desk.root / "a.py").write_bytes(b"x = 1\r\ny = 2\r\n")
    box = Box(desk)
    assert (await box.call("edit_file", path="a.py", oldString="x = 1\ny", newString="x = 3\ny", all=None)).ok
    assert [told["contents"] for told in box.notes.heard] == ["x = 3\r\ny = 2\r\n"] * 2
    assert (desk.root / "a.py").read_bytes() == b"x = 3\r\ny = 2\r\n"


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write_file", {"path": "a.py", "contents": "new"}),
        ("edit_file", {"path": "a.py", "oldString": "old", "newString": "new", "all": True}),
        ("shell", {"command": "rm a.py"}),
    ],
)
async def test_what_a_hook_blocks_is_not_carried_out_and_is_answered_as_refused(desk, tool, args):
    (desk.root / "a.py").write_text("old old")
    block = {"action": "block", "reason": "not on my watch"}
    box = Box(desk, pre_write=block, pre_shell=block)
    result = await box.call(tool, **args)
    assert (result.ok, result.code, result.call_id, result.tool) == (False, "refused", "c1", tool)
    assert "not on my watch" in result.output
    assert (desk.root / "a.py").read_text() == "old old"
    assert [told["event"].partition("-")[0] for told in box.notes.heard] == ["pre"]


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write_file", {"path": 5, "contents": "x"}),
        ("write_file", {"path": "a.py"}),
        ("edit_file", {"path": "a.py", "oldString": "absent", "newString": "x"}),
        ("edit_file", {"path": "a.py", "oldString": "old", "newString": "x"}),
        ("edit_file", {"path": "a.py", "oldString": "old", "newString": "x", "all": "yes"}),
        ("edit_file", {"path": "../a.py", "oldString": "old", "newString": "x"}),
        ("shell", {"command": ["ls"]}),
        ("shell", {}),
        ("no_such_tool", {"path": "a.py", "contents": "x"}),
    ],
)
async def test_a_call_that_is_refused_as_it_stands_is_heard_by_nobody(desk, tool, args):
    (desk.root / "a.py").write_text("old old")
    box = Box(desk)
    bare = await box.box.inner.call(ToolCall(id="c1", tool=tool, args=args))
    assert await box.call(tool, **args) == bare
    assert not bare.ok
    assert box.notes.heard == []


async def test_a_tool_that_is_not_offered_is_not_carried_out_for_a_hook_either(desk):
    box = Box(desk, profile=Profile(id="coder", name="Coder", model=CODER.model, root=True, capabilities=("shell",)))
    result = await box.call("write_file", path="a.py", contents="x")
    assert result.code == "unavailable"
    assert box.notes.heard == []


async def test_reading_and_listing_are_heard_by_nobody(desk):
    (desk.root / "a.py").write_text("x")
    box = Box(desk)
    assert (await box.call("read_file", path="a.py")).output == "x"
    assert box.notes.heard == []
    assert box.box.specs == box.box.inner.specs
    assert box.box.touches_tree("shell")


async def test_a_command_is_heard_before_and_after_and_a_nonzero_exit_was_carried_out(desk):
    box = Box(desk)
    await box.call("shell", command="exit 3")
    assert box.notes.heard == [
        {"event": "pre-shell", "command": "exit 3"},
        {"event": "post-shell", "command": "exit 3", "ok": True},
    ]


# ---------------------------------------------------------------- messages


async def test_messages_stand_below_a_commands_result(desk):
    box = Box(desk, pre_shell="before", post_shell="after")
    result = await box.call("shell", command="echo '{\"a\": 1}'")
    assert result.output == '{"a": 1}\n[exit code 0]\nbefore\nafter'


async def test_messages_stand_in_a_list_in_a_json_result_and_leave_the_rest_as_it_was(desk):
    box = Box(desk, pre_write="line ☃", post_write="after")
    result = await box.call("write_file", path="\udcff.txt", contents="x")
    assert json.loads(result.output) == {"path": "\udcff.txt", "bytes": 1, "messages": ["line ☃", "after"]}
    result.output.encode()


async def test_messages_of_earlier_hooks_stand_below_a_refusal(desk):
    hooks = (command("pre-shell", "echo first"), command("pre-shell", "echo second; exit 1"))
    result = await Box(desk, *hooks).call("shell", command="ls")
    assert result.output == "shell: second\nfirst"


async def test_built_in_checks_hold_back_real_calls(desk):
    box = Box(desk, built_in("pre-shell", "guard-destructive-shell"), built_in("pre-write", "refuse-empty-write"))
    (desk.root / "a.py").write_text("x")
    assert (await box.call("shell", command="git push")).code == "refused"
    assert (await box.call("edit_file", path="a.py", oldString="x", newString=" ")).code == "refused"
    assert (desk.root / "a.py").read_text() == "x"
    assert (await box.call("shell", command="ls")).output.startswith("a.py")


async def test_a_hook_before_a_write_may_look_at_the_tree_as_it_still_is(desk):
    (desk.root / "a.py").write_text("old")
    box = Box(desk, command("pre-write", "cat a.py"), command("post-write", "cat a.py"))
    result = await box.call("write_file", path="a.py", contents="new")
    assert json.loads(result.output)["messages"] == ["old", "new"]
    await box.box.close()
    assert not desk.scratch.exists()
