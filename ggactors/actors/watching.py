"""Watching an agent for repetition without progress (G6). Law: it judges what a turn did, never why; what it says is journaled.

It runs before the answer to a reply without calls. Ending calls and replies without a call are no actions: the gate and the
ceilings look after those (G1, E2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from ggactors.actors.stations import SessionEnd
from ggactors.protocol.events import Stuck
from ggactors.protocol.values import Status
from ggactors.rules.diagnosis import Silence, diagnosed
from ggactors.rules.stuck import Trail, nudge_text, observe, stuck_summary

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.protocol.crew import StuckDetection
    from ggactors.rules.stuck import Action


MISSING_CALL = "missing_completion"
"""How the types of the errors begin that a reply without a call is (E2)."""


@define(kw_only=True)
class Watch:
    """One agent's watch. ``tell`` adds a text to what its model reads next; an interactive one is never ended."""

    agent: str
    detection: StuckDetection
    emit: Callable[[Stuck], None]
    tell: Callable[[str], None]
    _trail: Trail = field(factory=Trail)
    _silence: Silence = field(factory=Silence)

    def heard(self, text: str, error_type: str | None) -> None:
        """Take note of a reply, and whether it was one without a call."""
        silent = error_type is not None and error_type.startswith(MISSING_CALL)
        self._silence = self._silence.after(text, called=not silent)

    def diagnosed(self, sentence: str) -> str:
        """Add to what a ceiling says how often no call was made and what was said last (E2)."""
        return diagnosed(sentence, self._silence)

    def look(self, action: Action | None, *, interactive: bool) -> SessionEnd | None:
        """Take in what a turn did, None when it was no action; nudge, or end the session as stuck."""
        if action is None or not self.detection.enabled:
            return None
        self._trail, found = observe(self._trail, action, self.detection, ending=not interactive)
        if found is None:
            return None
        self.emit(
            Stuck(
                agent=self.agent,
                repeats=found.repeats,
                cause=found.cause,
                evidence=found.evidence,
                nudges=found.nudges,
            )
        )
        if found.nudge:
            self.tell(nudge_text(found))
        return SessionEnd(status=Status.STUCK, summary=stuck_summary(found)) if found.ends else None

    def forget(self) -> None:
        """Begin anew: a person said something, and doing the same again may be what they want."""
        self._trail = Trail()
