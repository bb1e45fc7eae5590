"""Interactive sessions for tests: a crew of one, the events so far, a model that notes what it is told."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

import ggactors
from ggactors.testing.crews import of_type

if TYPE_CHECKING:
    from pathlib import Path


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


@asynccontextmanager
async def session(place: Path, replies, *, task="", limits=None, profile=None, **options):
    """Open an interactive session and collect its events in ``run.seen``."""
    (place / "work").mkdir(exist_ok=True)
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
    return of_type(run.seen, kind, **fields)


async def left(run):
    """Leave, and give what the session came to."""
    assert run.close().accepted
    return await run.outcome()


PROSE = {"text": "What shall I do?"}


async def until(run, kind, nth=1, **fields):
    """Wait for the nth event of a kind with these fields."""
    async for event in run.events():
        if event.type == kind and all(getattr(event, name) == value for name, value in fields.items()):
            nth -= 1
            if not nth:
                return event
    raise AssertionError(f"{kind} {fields} did not come")


MIRROR = """
import json, pathlib
def reply(request):
    sizes = lambda m: [len(m.get("results") or ()), len(m.get("calls") or ())]
    told = [[m.get("role"), m.get("text") or "", *sizes(m)] for m in request["messages"]]
    pathlib.Path(__file__).with_name("told.json").write_text(json.dumps(told))
    return json.loads(pathlib.Path(__file__).with_name("replies.json").read_text())[request["turn"] - 1]
"""


def mirrored(place, *replies):
    """Write a model that notes what it is told each time; gives the profile's keys and a reader of the last note."""
    folder = place / "crew"
    folder.mkdir(exist_ok=True)
    (folder / "mirror.py").write_text(MIRROR)
    (folder / "replies.json").write_text(json.dumps(replies))
    return {"model": "python/mirror.py:reply"}, lambda: json.loads((folder / "told.json").read_text())
