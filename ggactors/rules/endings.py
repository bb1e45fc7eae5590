"""What a declared ending says in a line. Law: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ggactors.protocol.agent import Approved, ChangesRequested, Finished

if TYPE_CHECKING:
    from ggactors.protocol.agent import Ending


def summary_of(ending: Ending) -> str:
    """Sum an ending up: the agent's own words where it has any."""
    match ending:
        case Finished(summary=summary):
            return summary
        case Approved():
            return "approved"
        case ChangesRequested(items=items):
            return f"requested {len(items)} change{'s' if len(items) != 1 else ''}"
        case _ as never:
            assert_never(never)
