"""Memories in whole runs: kept from one run on a workspace to the next, for tool calls and for programs alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from test_main_code import CODER, HANDS, code, needs_sandbox, of_type, says

from ggactors.testing.crews import finish, run_to_end, turn, write_crew

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
