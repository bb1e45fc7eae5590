"""Planted faults: switches that spoil the real code while they are on, to prove that the simulator would find such a bug.

Law: product code holds nothing of this; a plant swaps attributes of it for the length of a block and puts them back. Each says
which clause it breaks and within how many seeds, counted from 0, the simulator must have found it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ggactors.actors.approving import Approvals
from ggactors.actors.board import BoardActor
from ggactors.actors.conversation import Conversation
from ggactors.actors.family import Family
from ggactors.actors.floor import Floor
from ggactors.actors.leaving import Leaving
from ggactors.actors.merger import MergerActor
from ggactors.actors.reviewing import ReviewStation
from ggactors.actors.spending import Hold
from ggactors.actors.stations import IssueStation
from ggactors.actors.traffic import Lane
from ggactors.actors.waiting import Waiting
from ggactors.app.staff import Staff
from ggactors.rules import board as rules
from ggactors.rules import boardreview, boardruntime, boardwaits, spend
from ggactors.runtime.fairlock import FairLock
from ggactors.runtime.slots import Seat
from ggactors.testing import simspoilt as spoilt
from ggactors.testing import simspoiltcalls as calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@frozen(kw_only=True)
class Plant:
    """One planted fault. ``spoil`` gives the owner, the attribute's name, and what to put there, made from what is there."""

    breaks: str
    """The clause that is broken, and what of it."""
    within: int
    """Seeds, from 0 on, within which it must be found."""
    spoil: Callable[[], tuple[tuple[Any, str, Callable[[Any], Any]], ...]]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Spoil the code for the length of a block."""
        kept = []
        try:
            for owner, name, spoiled in self.spoil():
                whole = vars(owner)[name]
                kept.append((owner, name, whole))
                setattr(owner, name, spoiled(whole))
            yield
        finally:
            for owner, name, whole in reversed(kept):
                setattr(owner, name, whole)


def _one(owner: Any, name: str, spoiled: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: ((owner, name, spoiled),)


PLANTS: dict[str, Plant] = {
    "leak_slot_on_cancel": Plant(
        breaks="S7: no slot is leaked", within=200, spoil=_one(Seat, "_leave", spoilt.leaky_leave)
    ),
    "give_slot_back_twice": Plant(
        breaks="S3: a slot is given back once", within=20, spoil=_one(Seat, "give_back", spoilt.give_back_twice)
    ),
    "leave_slot_before_work": Plant(
        breaks="the stream: an issue moves on before its agent's slot",
        within=20,
        spoil=_one(Leaving, "leave", spoilt.leave_slot_first),
    ),
    "wake_lost": Plant(breaks="Q7: nobody waits for ever", within=20, spoil=_one(Staff, "_wake", spoilt.do_nothing)),
    "waiter_not_woken_on_dead_end": Plant(
        breaks="Q3: a dead end ends a wait", within=200, spoil=_one(rules, "woken", spoilt.deaf_to_dead_ends)
    ),
    "resume_too_early": Plant(
        breaks="S5: who waits resumes when its condition holds",
        within=20,
        spoil=_one(Waiting, "_until_settled", spoilt.impatient),
    ),
    "wait_answered_from_hope": Plant(
        breaks="Q2: the answer is read off the board", within=20, spoil=_one(boardwaits, "read_wait", spoilt.hopeful)
    ),
    "nudge_lost": Plant(
        breaks="D1, D9: what is ready is dispatched", within=20, spoil=_one(Staff, "_nudge", spoilt.do_nothing)
    ),
    "told_before_durable": Plant(
        breaks="committed before released", within=20, spoil=_one(BoardActor, "run", spoilt.tell_first)
    ),
    "double_dispatch": Plant(breaks="D1: one implementer at a time", within=20, spoil=spoilt.dispatch_twice),
    "dependent_starts_early": Plant(breaks="D1: blockers are done first", within=40, spoil=spoilt.dispatch_early),
    "retry_uncounted": Plant(breaks="D5: retries are counted", within=40, spoil=_one(rules, "apply", spoilt.uncounted)),
    "fail_cascades": Plant(
        breaks="D6: failed never cascades", within=40, spoil=_one(rules, "decide", spoilt.cascading)
    ),
    "cancel_spends_retries": Plant(
        breaks="D5: a stopped run fails nothing",
        within=60,
        spoil=_one(boardruntime, "end_attempt", spoilt.never_parked),
    ),
    "merge_unapproved": Plant(
        breaks="R6: reviewers come first", within=20, spoil=_one(boardruntime, "hand_back", spoilt.accept_at_once)
    ),
    "one_approval_is_enough": Plant(
        breaks="R3: all reviewers approve", within=40, spoil=_one(boardreview, "give_verdict", spoilt.one_is_enough)
    ),
    "review_leaves_edits": Plant(
        breaks="R8: a reviewer's edits never merge", within=150, spoil=_one(ReviewStation, "ended", spoilt.left_lying)
    ),
    "done_before_merge": Plant(
        breaks="M5: done once main holds it", within=20, spoil=_one(MergerActor, "_merge", spoilt.done_first)
    ),
    "conflict_not_aborted": Plant(
        breaks="M4: a merge that failed is taken back",
        within=200,
        spoil=_one(MergerActor, "_put_back", spoilt.never_put_back),
    ),
    "merge_without_lock": Plant(
        breaks="M6: a merge has main alone", within=300, spoil=_one(FairLock, "take_alone", spoilt.no_lock)
    ),
    "teardown_unguarded": Plant(breaks="W2, W5: a worktree has one life at a time", within=400, spoil=spoilt.unguarded),
    "children_outlive_parents": Plant(
        breaks="W4: subagents end first", within=120, spoil=_one(Family, "living_children", spoilt.see_nobody)
    ),
    "end_of_attempt_untold": Plant(
        breaks="D5: an unfinished attempt is settled", within=40, spoil=_one(IssueStation, "ended", spoilt.untold_end)
    ),
    "defect_strikes_all": Plant(
        breaks="D8: a defect fails one issue", within=150, spoil=_one(Staff, "_fail_struck", spoilt.strike_all)
    ),
    "defect_strikes_nobody": Plant(
        breaks="D8: what a defect struck fails", within=150, spoil=_one(Staff, "_fail_struck", spoilt.do_nothing)
    ),
    "account_too_early": Plant(
        breaks="D9: the account is the last word", within=150, spoil=_one(Staff, "_between_agents", spoilt.say_no)
    ),
    "reservation_kept": Plant(
        breaks="C3: what was reserved is given back", within=40, spoil=_one(Hold, "settle", calls.kept_reservation)
    ),
    "reserve_beside_others": Plant(
        breaks="C3: budgets are overshot by one call at most",
        within=150,
        spoil=_one(spend, "_fits", calls.blind_to_others),
    ),
    "place_in_lane_kept": Plant(
        breaks="C1: a lane bears no call that is none", within=100, spoil=_one(Lane, "withdraw", calls.kept_place)
    ),
    "storm_unheard": Plant(
        breaks="C1: nobody asks before the provider said", within=40, spoil=_one(Lane, "faulted", calls.deaf_to_storms)
    ),
    "text_lost": Plant(
        breaks="H46: a text that is delivered is read",
        within=40,
        spoil=_one(Conversation, "hand_over", calls.texts_lost),
    ),
    "refusal_unheard": Plant(
        breaks="ask: a refused call does nothing", within=40, spoil=_one(Approvals, "refusal", calls.deaf_to_refusals)
    ),
    "interrupt_unheard": Plant(
        breaks="H45: an interrupt reaches every turn", within=60, spoil=_one(Floor, "interrupt", calls.never_cut)
    ),
}
"""Every planted fault, by name."""
