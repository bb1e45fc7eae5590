"""The board's rules at one door: ``decide`` what a letter comes to, ``apply`` the facts, tell whom to wake.

Law: ``decide`` never changes the board and ``apply`` never refuses. Whoever drives them applies the facts of one decision
before it asks for the next, journals them in that order, and releases answers only after the journal has them.

The parts: ``boardstate`` (what is held), ``boardapply`` (facts), ``boardedits``, ``boardwaits``, ``boardruntime`` and
``boardreview`` (decisions by kind of letter), ``boardwords`` and ``boardstanding`` (what they say), ``boardevents`` (facts as
events), ``dag`` (the acyclic graph).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ggactors.protocol import board as page
from ggactors.rules import boardedits, boardreview, boardruntime, boardwaits
from ggactors.rules.boardapply import Change, apply, replay, woken
from ggactors.rules.boarddecision import Decision
from ggactors.rules.boardstate import Board, dump
from ggactors.rules.boardwords import Refusal

if TYPE_CHECKING:
    from ggactors.protocol.board import BoardLetter, Charter

__all__ = ["Board", "Change", "Decision", "apply", "decide", "dump", "replay", "woken"]


def decide(board: Board, charter: Charter, letter: BoardLetter) -> Decision:  # noqa: C901 - one line a letter
    """Decide what a letter comes to: its facts, in order, and its answer. A refused letter has no facts (B10)."""
    try:
        match letter:
            case page.CreateEpic():
                return boardedits.create_epic(board, charter, letter)
            case page.CreateIssue():
                return boardedits.create_issue(board, charter, letter)
            case page.UpdateIssue():
                return boardedits.update_issue(board, letter)
            case page.SetIssueBlockedBy():
                return boardedits.set_blocked_by(board, letter)
            case page.RemoveEpic():
                return boardedits.remove_epic(board, letter)
            case page.RemoveIssue():
                return boardedits.remove_issue(board, letter)
            case page.ReadBoard():
                return boardedits.read_board(board, letter)
            case page.WaitForIssue():
                return boardwaits.wait_for_issue(board, letter)
            case page.ReadWait():
                return boardwaits.read_wait(board, letter)
            case page.AskWaits():
                return boardwaits.ask_waits(board, letter)
            case page.DropWaits():
                return boardwaits.drop_waits(board, letter)
            case page.ListReady():
                return boardruntime.list_ready(board)
            case page.StartIssue():
                return boardruntime.start_issue(board, letter)
            case page.HandBack():
                return boardruntime.hand_back(board, charter, letter)
            case page.EndAttempt():
                return boardruntime.end_attempt(board, charter, letter)
            case page.StartNext():
                return boardreview.start_next(board, letter)
            case page.StartReview():
                return boardreview.start_review(board, letter)
            case page.GiveVerdict():
                return boardreview.give_verdict(board, letter)
            case page.EndReview():
                return boardreview.end_review(board, letter)
            case page.StartMergeAgent():
                return boardruntime.start_merge_agent(board, letter)
            case page.ParkMerge():
                return boardruntime.park_merge(board, letter)
            case page.FailDispatch():
                return boardruntime.fail_dispatch(board, letter)
            case page.NextMerge():
                return boardruntime.next_merge(board)
            case page.SettleMerge():
                return boardruntime.settle_merge(board, letter)
            case page.AskOutlook():
                return boardruntime.ask_outlook(board)
            case page.StopDispatch():
                return boardruntime.stop_dispatch(board, letter)
            case _:
                assert_never(letter)
    except Refusal as refusal:
        return Decision(answer=refusal.refused)
