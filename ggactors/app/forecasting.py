"""What past runs of a crew took, read off the ends of their event files. Law: reads bounded pieces, writes and refuses nothing."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from ggactors.protocol.values import Status
from ggactors.rules.forecast import MOST_RUNS, PastRun, forecast, same_crew
from ggactors.store.folder import list_runs
from ggactors.telemetry.glance import glance

if TYPE_CHECKING:
    from pathlib import Path

    from ggactors.protocol.crew import Crew
    from ggactors.rules.forecast import Forecast
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.glance import Glance

LARGEST_CREW = 1024 * 1024
"""Bytes of a past run's crew beyond which it is not compared."""


def foretell(home: Path, crew: Crew) -> Forecast | None:
    """Sum up the newest completed runs of the same crew under a state home; None where there are none. Blocking."""
    document = json.loads(json.dumps(dict(crew.document)))
    past: list[PastRun] = []
    for folder in reversed(list_runs(home)):
        if len(past) >= MOST_RUNS:
            break
        if _is_of(folder, document):
            run = _took(glance(folder.events))
            if run is not None:
                past.append(run)
    return forecast(past)


def _is_of(folder: RunFolder, document: dict[str, object]) -> bool:
    try:
        if folder.crew.stat().st_size > LARGEST_CREW:
            return False
        return same_crew(document, json.loads(folder.crew.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return False


def _took(seen: Glance) -> PastRun | None:
    """Read what a run took; None for one that did not complete, which says how long a run lasts until it is stopped."""
    if seen.status != Status.COMPLETED:
        return None
    try:
        secs = (datetime.fromisoformat(seen.latest) - datetime.fromisoformat(seen.started)).total_seconds()
    except ValueError:
        return None
    done = sum(state == "done" for state in seen.issues.values())
    return PastRun(cost=seen.cost, tokens=seen.tokens, secs=max(secs, 0.0), issues=done)
