"""Capabilities that are an agent's own, in whole runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ggactors.ports import LaunchRefused
from ggactors.programs.artifacts import problems
from ggactors.protocol.program import Language
from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, of_type, run_to_end, turn, write_crew

if TYPE_CHECKING:
    from pathlib import Path

needs_sandbox = pytest.mark.skipif(
    bool(problems([Language.PYTHON])), reason="the extra [code] is not installed: pip install 'ggactors[code]'"
)
CODE = {"id": "responses-as-code", "params": {"language": "python"}}


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


def write_skill(tmp_path: Path, name: str, on_use: str | None = None) -> None:
    folder = tmp_path / "crew" / "skills" / name
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: For {name}.\n---\nDo {name}.\n")
    if on_use is not None:
        (folder / "scripts" / "on_use.py").write_text(on_use)


SKILLS = {"id": "skills", "params": {"dir": "skills"}}


async def test_an_agent_reads_a_skill_by_a_tool_call_and_none_of_its_code_runs(tmp_path):
    write_skill(tmp_path, "tidy", "raise SystemExit('ran')")
    outcome, events = await alone(
        tmp_path, turn(asks("read_skill", name="tidy")), finish(), capabilities=[SKILLS, {"id": "files"}]
    )
    assert outcome.status is Status.COMPLETED
    assert of_type(events, "tool_result")[0].output == "Do tidy."


@needs_sandbox
async def test_the_code_of_a_skill_runs_on_every_use_and_ends_nothing_E6(tmp_path):
    count = (
        "import gg\n"
        "try:\n    n = int(gg.files.read_file('n'))\nexcept gg.NotFound:\n    n = 0\n"
        "gg.files.write_file('n', str(n + 1))\n"
        "try:\n    gg.session.finish('from a skill')\nexcept gg.Unavailable:\n    gg.files.write_file('refused', 'yes')\n"
    )
    write_skill(tmp_path, "count", count)
    write_skill(tmp_path, "ends", "import gg\ngg.session.finish('no')")
    outcome, events = await alone(
        tmp_path,
        {"program": "import gg\nfor _ in range(2): assert gg.skills.read_skill('count') == 'Do count.'"},
        {"program": "import gg\ngg.skills.read_skill('ends')"},
        {
            "program": "import gg\nassert gg.files.read_file('n') == '2'\ngg.session.finish(gg.files.read_file('refused'))"
        },
        capabilities=[SKILLS, {"id": "files"}, CODE],
    )
    assert (outcome.status, outcome.summary) == (Status.COMPLETED, "yes"), of_type(events, "code_execution")
    assert [str(one.outcome) for one in of_type(events, "turn_outcome")] == ["progressed", "progressed", "finished"]
    assert len(of_type(events, "code_execution")) == 3
    (journal,) = tmp_path.glob("state/runs/*/journal.db")
    assert journal.read_bytes().count(b"The code that the skill 'ends' runs on use failed: ") == 1


async def test_a_skill_that_is_wrong_refuses_the_launch_with_its_reason(tmp_path):
    write_skill(tmp_path, "tidy")
    (tmp_path / "crew" / "skills" / "tidy" / "SKILL.md").write_text("nothing")
    with pytest.raises(LaunchRefused, match="no front matter"):
        await alone(tmp_path, finish(), capabilities=[SKILLS])
