"""Crews for tests: a lead who files issues, a coder, a critic, a merger, and a script that says what they reply."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import trio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from ggactors.app.session import Run
    from ggactors.protocol.events import Event
    from ggactors.protocol.run import Outcome

Entry = dict[str, Any]
"""One reply of a scripted model."""


def turn(*calls: tuple[str, Mapping[str, Any]], **more: Any) -> Entry:
    """Write one reply: its calls as ``(tool, arguments)``, and ``text``, ``usage``, ``delaySecs``, … by keyword."""
    return {"calls": [{"tool": tool, "args": dict(args)} for tool, args in calls], **more}


def finish(summary: str = "done") -> Entry:
    """Write a reply that finishes."""
    return turn(("finish", {"summary": summary}))


def issue(title: str = "Some work", *, agent: str = "coder", **more: Any) -> tuple[str, dict[str, Any]]:
    """Write a call that files an issue."""
    return "create_issue", {
        "title": title,
        "inScope": f"in scope of {title}",
        "outOfScope": f"out of scope of {title}",
        "completionCriteria": f"{title} is there",
        "agent": agent,
        **more,
    }


def wait(*issues: str) -> Entry:
    """Write a reply that waits for issues."""
    return turn(*(("wait_for_issue", {"issueId": one}) for one in issues))


def write(path: str, contents: str) -> tuple[str, dict[str, Any]]:
    """Write a call that writes a file."""
    return "write_file", {"path": path, "contents": contents}


def shell(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """Write a call that runs a command."""
    return "shell", {"command": command, **more}


def crew_document(
    *,
    model: str = "script/script.json",
    limits: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    features: Mapping[str, Any] | None = None,
    board: bool = True,
    agents: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Write a crew document of lead, coder, critic and merger. ``agents`` overrides keys of a profile by its id."""
    hands = [{"id": "files"}, {"id": "shell"}]
    pm: dict[str, Any] = {
        "id": "project-management",
        "params": {"mergeAgentId": "merger", "maxEpics": 50, "maxIssues": 2000, "maxRetries": 1, **(params or {})},
    }
    if features:
        pm["features"] = dict(features)
    profiles: list[dict[str, Any]] = [
        {
            "id": "lead",
            "root": True,
            "model": model,
            "capabilities": [*hands, *([pm] if board else [])],
            "roster": [
                {"agent": "coder", "scopes": ["implementer"], "description": "writes code"},
                {"agent": "critic", "scopes": ["reviewer"], "description": "reviews"},
            ],
        },
        {"id": "coder", "model": model, "capabilities": hands},
        {"id": "critic", "model": model, "capabilities": hands},
        {"id": "merger", "model": model, "capabilities": hands},
    ]
    for profile in profiles:
        profile.update((agents or {}).get(profile["id"], {}))
    document: dict[str, Any] = {"name": "test crew", "agents": profiles, **more}
    if limits is not None:
        document["limits"] = dict(limits)
    return document


def write_crew(folder: Path, script: Mapping[str, Sequence[Entry]], **document: Any) -> Path:
    """Write ``crew.json`` and ``script.json`` into a folder and return the crew's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "script.json").write_text(json.dumps({"agents": script}), encoding="utf-8")
    path = folder / "crew.json"
    path.write_text(json.dumps(crew_document(**document)), encoding="utf-8")
    return path


async def run_to_end(
    crew: Path,
    workspace: Path,
    *,
    home: Path,
    task: str = "do the work",
    during: Callable[[Run, Event], None] | None = None,
    **options: Any,
) -> tuple[Outcome, list[Event]]:
    """Launch a crew, drive it to its end and return what it came to with every event. ``during`` sees events as they come."""
    from ggactors.app import open_run

    seen: list[Event] = []
    async with open_run(crew, workspace=workspace, home=home, task=task, **options) as run:
        async with trio.open_nursery() as nursery:

            async def watch() -> None:
                async for event in run.events():
                    seen.append(event)
                    if during is not None:
                        during(run, event)
                    if event.type == "session_ended":
                        return

            nursery.start_soon(watch)
            outcome = await run.outcome()
        return outcome, seen


def of_type(events: Iterable[Event], kind: str, /, agent: str | None = None, **fields: Any) -> list[Any]:
    """Pick the events of a type, of an agent, and with these values in their fields."""
    wanted = fields if agent is None else {"agent": agent, **fields}
    return [
        one for one in events if one.type == kind and all(getattr(one, key) == value for key, value in wanted.items())
    ]
