"""What a crew lets its board do, as the board's rules read it (A2, F1, P3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.board import Charter, Filer
from ggactors.protocol.values import Scope

if TYPE_CHECKING:
    from ggactors.protocol.crew import Crew


def charter_of(crew: Crew) -> Charter | None:
    """Read the board's charter off a crew; None when no profile has project-management switched on (B1)."""
    if crew.board is None:
        return None
    filers = {
        profile.id: Filer(
            implementers=tuple(entry.agent for entry in profile.rostered(Scope.IMPLEMENTER)),
            reviewers=tuple(entry.agent for entry in profile.rostered(Scope.REVIEWER)),
            reviewers_required=profile.board.reviewers_required,
        )
        for profile in crew.profiles
        if profile.board is not None
    }
    return Charter(
        max_epics=crew.board.max_epics,
        max_issues=crew.board.max_issues,
        max_retries=crew.board.max_retries,
        profiles=tuple(profile.id for profile in crew.profiles),
        filers=filers,
        names={profile.id: profile.name for profile in crew.profiles},
    )
