"""What the board says when it refuses a call (B10). Law: each message says what stands in the way and what to send instead."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ggactors.protocol.values import Code, Refused
from ggactors.rules.boardstate import failed_blocker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.rules.boardstate import Board, Issue
    from ggactors.rules.dag import Path


class Refusal(Exception):  # noqa: N818 - flow control inside a decision, never seen outside of it
    """A check of a decision failed; ``decide`` answers with ``refused`` and no fact."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.refused = Refused(code=code, message=message)


def quoted(text: str, limit: int = 60) -> str:
    """Quote what a caller sent, on one line and no longer than ``limit`` characters of it."""
    return repr(text if len(text) <= limit else text[:limit] + "…")


def shortened(text: str, limit: int = 200) -> str:
    """Bring a reason to one line of at most ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[:limit] + "…"


def listed(names: Sequence[str]) -> str:
    """List ids, or say that there are none."""
    return ", ".join(names) if names else "none"


def no_issue(board: Board, issue_id: str) -> Refusal:
    """Refuse an id that is not on the board, telling a removed issue from one that never was."""
    if issue_id.upper() in board.issues:
        return Refusal(
            Code.NOT_FOUND, f"there is no issue {quoted(issue_id)}; ids are upper case: send {issue_id.upper()}"
        )
    if _was_given(board, issue_id):
        return Refusal(Code.NOT_FOUND, f"{issue_id} no longer exists: it was removed from the board")
    return Refusal(
        Code.NOT_FOUND, f"there is no issue {quoted(issue_id)} on the board; read_board lists the ids there are"
    )


def _was_given(board: Board, issue_id: str) -> bool:
    """Tell whether an id was ever handed out. The id comes from a model and may be anything."""
    prefix, _, number = issue_id.rpartition("-")
    plain = number.isascii() and number.isdigit() and not number.startswith("0") and len(number) < 16
    return plain and int(number) <= board.counters.get(prefix, 0)


def no_epic(board: Board, epic_id: str) -> Refusal:
    """Refuse the id of an epic that is not on the board, listing those that are."""
    known = list(board.epics)
    more = f" and {len(known) - 20} more" if len(known) > 20 else ""
    return Refusal(Code.NOT_FOUND, f"there is no epic {quoted(epic_id)}; the epics are: {listed(known[:20])}{more}")


def in_flight(issue: Issue, what: str) -> Refusal:
    """Refuse a change that an issue being worked on does not allow."""
    return Refusal(
        Code.CONFLICT,
        f"{issue.id} is {issue.state}: {what} until it is done or failed. Wait for it with wait_for_issue, then try again",
    )


def circle(board: Board, path: Path, wanted: str, remedy: str) -> Refusal:
    """Refuse what would close a circle, naming its path and which of its steps are waits (B4, Q7)."""
    waits = [
        f"an agent of {here} waits for {there}"
        for here, there in pairwise(path[1:])
        if there not in board.dag.blockers(here)
    ]
    told = f"; {', '.join(waits)}" if waits else ""
    return Refusal(
        Code.CONFLICT,
        f"{wanted} would close the circle {' → '.join(path)} (each is held back by the next{told}). Nothing was changed; {remedy}",
    )


def dead_end(board: Board, issue_id: str) -> Refusal:
    """Refuse a wait for an issue that can never complete as things stand, naming the failed blocker and the ways out (Q3)."""
    blocker = board.issues[failed_blocker(board, issue_id)]
    why = f" ({shortened(blocker.reason)})" if blocker.reason else ""
    return Refusal(
        Code.CONFLICT,
        f"nothing will complete {issue_id}: it is open behind {blocker.id}, which failed{why}. Drop that dependency with "
        f"set_issue_blocked_by, revive {blocker.id} with update_issue (status open), or file the work anew",
    )


def live_again(issue: Issue) -> Refusal:
    """Refuse to report on an issue that is unfinished work again, inviting another wait (Q4)."""
    return Refusal(
        Code.CONFLICT,
        f"{issue.id} is not settled any more: it is {issue.state} again. Call wait_for_issue again to wait for it",
    )


def defect(issue_id: str) -> Refusal:
    """Refuse a wait because a defect of the runtime is ending the run (Q5)."""
    return Refusal(
        Code.UNAVAILABLE,
        f"a defect of the runtime is ending this run: {issue_id} will not be waited for any more. Finish with what there is",
    )
