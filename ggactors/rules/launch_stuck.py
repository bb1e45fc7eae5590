"""Launch check of ``stuckDetection`` (G6, reference/crew.md), of the crew and of a profile, and what the environment says on top.

Law: a profile's word goes before the crew's, the environment's before both; what nobody says has its default.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.crew import StuckDetection
from ggactors.protocol.values import Problem
from ggactors.rules.shape import Place, Table, flag, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

ENABLED = "GGACTORS_STUCK_DETECTION"
THRESHOLD = "GGACTORS_STUCK_REPEAT_THRESHOLD"
NUDGES = "GGACTORS_STUCK_MAX_NUDGES"

LEAST_THRESHOLD = 2
_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


@frozen(kw_only=True)
class StuckDraft:
    """``stuckDetection`` as one place of the document writes it; None where it says nothing."""

    enabled: bool | None = None
    repeat_threshold: int | None = None
    max_nudges: int | None = None


def read_stuck_detection(place: Place) -> StuckDraft:
    """Read ``stuckDetection`` of a crew or a profile."""
    table = Table(place, ("enabled", "repeatThreshold", "maxNudges"))
    return StuckDraft(
        enabled=table.read("enabled", flag),
        repeat_threshold=table.read("repeatThreshold", whole(LEAST_THRESHOLD)),
        max_nudges=table.read("maxNudges", whole(0)),
    )


def stuck_detection(*drafts: StuckDraft) -> StuckDetection:
    """Put drafts together; a later one goes before an earlier one."""
    return reduce(tuned, drafts, StuckDetection())


def tuned(detection: StuckDetection, draft: StuckDraft) -> StuckDetection:
    """Put what a draft says on top of what holds without it."""
    return StuckDetection(
        enabled=detection.enabled if draft.enabled is None else draft.enabled,
        repeat_threshold=detection.repeat_threshold if draft.repeat_threshold is None else draft.repeat_threshold,
        max_nudges=detection.max_nudges if draft.max_nudges is None else draft.max_nudges,
    )


def read_environment(environ: Mapping[str, str]) -> tuple[StuckDraft, tuple[Problem, ...]]:
    """Read what the environment says of stuck detection. A variable that is empty says nothing."""
    problems: list[Problem] = []

    def complain(name: str, remedy: str) -> None:
        problems.append(Problem(path=name, what=f"cannot be read: {environ[name][:40]!r}", remedy=remedy))

    def count(name: str, least: int) -> int | None:
        written = environ.get(name, "").strip()
        if not written:
            return None
        if written.isascii() and written.isdigit() and len(written) < 10 and int(written) >= least:
            return int(written)
        complain(name, f"write a whole number from {least} on, or unset it")
        return None

    switch = environ.get(ENABLED, "").strip().lower()
    if switch and switch not in _WORDS:
        complain(ENABLED, "write 1 or 0, or unset it")
    draft = StuckDraft(
        enabled=_WORDS.get(switch), repeat_threshold=count(THRESHOLD, LEAST_THRESHOLD), max_nudges=count(NUDGES, 0)
    )
    return draft, tuple(problems)
