"""Memories in whole runs: kept from one run on a workspace to the next, for tool calls and for programs alike."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from test_main_code import CODER, HANDS, code, needs_sandbox, says, told

from ggactors.testing.crews import finish, issue, of_type, run_to_end, turn, wait, write_crew
from ggactors.testing.repos import make_repo

if TYPE_CHECKING:
    from pathlib import Path

MEMORIES = {"id": "memories"}
REMEMBERING = {**CODER, "capabilities": [*HANDS, code(), MEMORIES]}


async def play(tmp_path: Path, name: str, *replies: Any, profile: dict[str, Any], workspace: str = "work"):
    """Play one agent once; give its events and what its model was told."""
    (tmp_path / workspace).mkdir(exist_ok=True)
    folder = tmp_path / name
    crew = write_crew(folder / "crew", {"root": list(replies)}, board=False, agents={"lead": profile})
    outcome, events = await run_to_end(crew, tmp_path / workspace, home=tmp_path / "state", run_id=name)
    assert outcome.exit_code == 0
    return events


@needs_sandbox
async def test_what_one_run_remembers_the_next_one_on_the_workspace_reads(tmp_path):
    await play(
        tmp_path,
        "first",
        turn(("create_memory", {"name": "build", "description": "How to build it.", "text": "make -j2"})),
        finish("kept"),
        profile={"capabilities": [*HANDS, MEMORIES]},
    )
    events = await play(
        tmp_path,
        "second",
        says(
            "found = gg.memories.search_memories('build')\n"
            "assert [(one.name, one.description) for one in found.memories] == [('build', 'How to build it.')]\n"
            "assert gg.memories.read_memory('build') == 'make -j2'\n"
            "gg.session.finish('read')"
        ),
        profile=REMEMBERING,
    )
    assert [one.error for one in of_type(events, "code_execution")] == [None]
    assert list((tmp_path / "work").iterdir()) == []


MODEL = """
import pathlib
def reply(request):
    pathlib.Path({out!r}).write_text(str(request.messages[0]))
    return {{"calls": [{{"tool": "finish", "args": {{"summary": "seen"}}}}]}}
"""


async def prompt_of(tmp_path: Path, name: str, *capabilities: Any, **profile: Any) -> str:
    """Run one agent that only looks at its prompt, and give that."""
    (tmp_path / "work").mkdir(exist_ok=True)
    out = tmp_path / f"{name}.txt"
    crew = write_crew(
        tmp_path / name, {}, board=False, agents={"lead": {"capabilities": [*HANDS, *capabilities], **profile}}
    )
    (tmp_path / name / "model.py").write_text(MODEL.format(out=str(out)))
    document = json.loads(crew.read_text())
    for agent in document["agents"]:
        agent["model"] = "python/model.py:reply"
    crew.write_text(json.dumps(document))
    outcome, _ = await run_to_end(crew, tmp_path / "work", home=tmp_path / "state", run_id=name)
    assert outcome.exit_code == 0, outcome
    return out.read_text()


async def test_a_prompt_lists_what_is_remembered_and_only_where_the_profile_has_memories(tmp_path):
    assert "You have no memories yet" in await prompt_of(tmp_path, "empty", MEMORIES)
    await play(
        tmp_path,
        "first",
        turn(("create_memory", {"name": "build", "description": "How to\nbuild it.", "text": "make -j2"})),
        finish("kept"),
        profile={"capabilities": [*HANDS, MEMORIES]},
    )
    listed = await prompt_of(tmp_path, "second", MEMORIES)
    assert "- build: How to build it." in listed
    assert "make -j2" not in listed
    assert "memor" not in await prompt_of(tmp_path, "without")
    assert "memor" not in await prompt_of(tmp_path, "withheld", MEMORIES, tools=["read_file"])
    (file,) = (tmp_path / "state").glob("memories/*/lead.json")
    file.write_text("damaged")
    assert "cannot be read now" in await prompt_of(tmp_path, "damaged", MEMORIES)
    assert file.read_text() == "damaged"


async def test_agents_of_a_profile_at_the_same_time_keep_everything_between_them(tmp_path):
    repo = make_repo(tmp_path / "repo")
    names = [f"note-{number}" for number in range(4)]
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(*(issue(f"Work {name}") for name in names)), wait("ISSUE-4"), finish()],
            **{
                f"ISSUE-{number}.*": [
                    turn(("create_memory", {"name": name, "description": "d", "text": name})),
                    finish("kept"),
                ]
                for number, name in enumerate(names, 1)
            },
        },
        agents={"coder": {"capabilities": [*HANDS, MEMORIES]}},
    )
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert outcome.exit_code == 0
    assert [one.code for one in of_type(events, "tool_result") if not one.ok] == []
    (file,) = (tmp_path / "state").glob("memories/*/coder.json")
    assert sorted(one["name"] for one in json.loads(file.read_text())["memories"]) == names


@needs_sandbox
async def test_the_code_of_a_memory_runs_with_the_agents_grants_after_the_program_E6(tmp_path):
    source = "gg.views.open_text('tick', gg.files.read_file('n'))"
    await play(
        tmp_path,
        "first",
        says(
            f"gg.memories.create_memory('tick', 'Shows n.', 'see n', on_use={source!r})\n"
            "gg.memories.read_memory('tick')\n"
            "gg.files.write_file('n', '1')\n"
        ),
        says("gg.session.finish('seen')"),
        profile=REMEMBERING,
    )
    assert told(tmp_path / "state", "root")[1:] == ["View: tick\n----\n1"]
