"""Interactive sessions (G4, G7): the floor, queued prompts, the nudge, interrupts, leaving. Real runs, scripted models."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

import ggactors
from ggactors.testing.crews import finish, shell, turn, write


def crew_of(folder: Path, replies, *, limits=None, **profile):
    folder.mkdir(parents=True, exist_ok=True)
    script = replies if isinstance(replies, dict) else {"root": replies}
    (folder / "script.json").write_text(json.dumps({"agents": script}))
    one = {
        "id": "solo",
        "root": True,
        "model": "script/script.json",
        "capabilities": [{"id": "files"}, {"id": "shell"}],
        **profile,
    }
    document = {"name": "one", "agents": [one], **({"limits": limits} if limits else {})}
    return ggactors.crew_from_document(document, folder=folder)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path


@asynccontextmanager
async def session(place: Path, replies, *, task="", limits=None, profile=None, **options):
    """Open an interactive session and collect its events in ``run.seen``."""
    crew = crew_of(place / "crew", replies, limits=limits, **(profile or {}))
    with trio.fail_after(60):
        async with ggactors.open_run(
            crew, workspace=place / "work", home=place / "state", task=task, **{"interactive": True, **options}
        ) as run:
            seen: list = []
            run.add_sink(seen.append)
            run.seen = seen
            yield run


def kinds(run, kind, **fields):
    return [
        event
        for event in run.seen
        if event.type == kind and all(getattr(event, name) == value for name, value in fields.items())
    ]


async def left(run):
    """Leave, and give what the session came to."""
    assert run.close().accepted
    return await run.outcome()


PROSE = {"text": "What shall I do?"}


async def test_a_reply_without_a_call_hands_the_floor_to_the_person_and_is_no_error_G7(place):
    async with session(place, [PROSE, {"text": "Aha."}, finish("did it")], task="hello") as run:
        assert await run.persons_turn()
        (state,) = kinds(run, "agent_state", state="waiting")
        assert (state.agent, state.waiting_on) == ("root", "you")
        assert [one.outcome for one in kinds(run, "turn_outcome")] == ["progressed"]
        receipt = run.send("root", "go on")
        assert (receipt.accepted, receipt.state) == (True, "queued")
        assert await run.persons_turn()
        assert receipt.state == "delivered"
        run.send("root", "and finish")
        assert await run.persons_turn()
        (ended,) = kinds(run, "task_ended")
        assert (ended.status, ended.summary, ended.verified) == ("completed", "did it", None)
        outcome = await left(run)
    assert (outcome.status, outcome.exit_code, outcome.summary, outcome.errors) == ("completed", 0, "did it", 0)
