"""A run at a glance: its first event and its last ones, without reading all between. Law: reads a bounded piece of the file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attrs import field, frozen

from ggactors.protocol import events
from ggactors.telemetry.jsonl import parse_line

if TYPE_CHECKING:
    from pathlib import Path

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 1024 * 1024


@frozen(kw_only=True)
class Glance:
    """What a list of runs shows of one. ``status`` and ``exit_code`` are None until its last segment has ended."""

    crew: str = ""
    workspace: str = ""
    started: str = ""
    latest: str = ""
    status: str | None = None
    exit_code: int | None = None
    issues: dict[str, str] = field(factory=dict)
    """States by id, known once the run has given its account."""
    cost: float | None = None
    tokens: int = 0
    """In and out together, known with the cost."""
    landed: bool = False
    """Whether the operator's checkout held all of the run's work when the run ended."""


def glance(path: Path) -> Glance:
    """Look at the event file at ``path``. A missing, empty or damaged one gives an empty glance. Blocking."""
    try:
        with path.open("rb") as file:
            first = parse_line(file.readline(HEAD_BYTES))
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            tail = file.read().split(b"\n")
    except OSError:
        return Glance()
    crew = workspace = started = latest = ""
    if isinstance(first, events.SessionStarted):
        crew, workspace, started, latest = first.crew, first.workspace, first.time, first.time
    summary: events.SessionSummary | None = None
    status = None
    for line in reversed(tail):
        event = parse_line(line) if line else None
        if event is None:
            continue
        latest = max(latest, event.time)
        match event:
            case events.SessionEnded():
                status = event.status
            case events.SessionSummary():
                summary = event
                break
            case _ if status is None:
                break  # the last segment has no end: the run goes on, or was killed
            case _:
                pass
    if status is None or summary is None:
        return Glance(crew=crew, workspace=workspace, started=started, latest=latest, status=status)
    return Glance(
        crew=crew,
        workspace=workspace,
        started=started,
        latest=latest,
        status=status,
        exit_code=summary.exit_code,
        issues=summary.issues,
        cost=summary.cost,
        tokens=sum(number for key in ("input", "output") if isinstance(number := summary.usage.get(key), int)),
        landed=summary.landed is not None and summary.landed.get("reason") is None,
    )
