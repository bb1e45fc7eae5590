"""The table of refusals (B10): what is refused, by which code, and what the message must tell the caller."""

from __future__ import annotations

import pytest
from attrs import evolve
from boardkit import CHARTER, Play, chartered

from ggactors.protocol.board import (
    AttemptSettled,
    CreateEpic,
    CreateIssue,
    EndAttempt,
    FailDispatch,
    HandBack,
    ReadBoard,
    ReadWait,
    RemoveEpic,
    RemoveIssue,
    SetIssueBlockedBy,
    SettleMerge,
    StartIssue,
    StopDispatch,
    UpdateIssue,
    WaitForIssue,
)
from ggactors.protocol.values import Refused, Status
from ggactors.rules.board import dump


def busy_board():
    """Play one issue into each state there is.

    ISSUE-1 done, 2 failed, 3 in progress with ISSUE-3.0i, 4 in review, 5 open behind 3, 6 stalled behind 5's neighbour 2,
    7 stalled behind 6, 8 ready, AUTH-1 ready, ISSUE-9 removed.
    """
    play = Play()
    play.epic("AUTH")
    for blockers in ((), (), (), (), ("ISSUE-3",), ("ISSUE-2", "ISSUE-1"), ("ISSUE-6",), ()):
        play.file(*blockers)
    play.file(epic="AUTH")
    play.file()
    play.remove("ISSUE-9")
    play.finish("ISSUE-1")
    play.fail("ISSUE-2")
    play.start("ISSUE-3")
    play.hand_back("ISSUE-4", play.start("ISSUE-4"))
    return play


WHO = {"by": "root", "profile": "lead"}
FILE = CreateIssue(
    **WHO, title="A title", in_scope="in", out_of_scope="out", completion_criteria="works", agent="coder"
)
EPIC = CreateEpic(**WHO, prefix="DATA", title="An epic")
UPDATE = UpdateIssue(**WHO, issue="ISSUE-8")
WAIT = WaitForIssue(by="root", issue="ISSUE-5")


def block(issue, *blocked_by):
    return SetIssueBlockedBy(**WHO, issue=issue, blocked_by=blocked_by)


REFUSALS = [
    # create_epic (B2)
    (evolve(EPIC, prefix="ab"), "invalid-argument", ["'ab'", "three to six", "AUTH"]),
    (evolve(EPIC, prefix="toolong"), "invalid-argument", ["'toolong'"]),
    (evolve(EPIC, prefix="a1b"), "invalid-argument", ["'a1b'"]),
    (evolve(EPIC, prefix="ÄÖÜ"), "invalid-argument", ["ASCII"]),
    (evolve(EPIC, prefix=" AUT "), "invalid-argument", ["' AUT '"]),
    (evolve(EPIC, prefix=""), "invalid-argument", ["''"]),
    (evolve(EPIC, prefix="x" * 10_000), "invalid-argument", ["…"]),
    (evolve(EPIC, prefix="auth"), "conflict", ["AUTH", "already"]),
    (evolve(EPIC, prefix="issue"), "conflict", ["ISSUE", "no epic"]),
    (evolve(EPIC, title=" \n"), "invalid-argument", ["title", "blank"]),
    (evolve(EPIC, profile="critic"), "unavailable", ["critic"]),
    # create_issue (B3, A2, F1)
    (evolve(FILE, profile="critic"), "unavailable", ["critic"]),
    (evolve(FILE, title=""), "invalid-argument", ["title"]),
    (evolve(FILE, in_scope=" "), "invalid-argument", ["in-scope"]),
    (evolve(FILE, out_of_scope=""), "invalid-argument", ["out-of-scope"]),
    (evolve(FILE, completion_criteria="\t"), "invalid-argument", ["completion criteria"]),
    (evolve(FILE, agent="critic"), "invalid-argument", ["'critic'", "coder, tester"]),
    (evolve(FILE, agent=""), "invalid-argument", ["coder, tester"]),
    (evolve(FILE, reviewers=("critic", "coder")), "invalid-argument", ["'coder'", "assignable: critic"]),
    (evolve(FILE, profile="strict"), "invalid-argument", ["at least one reviewer", "critic, tester"]),
    (evolve(FILE, epic="DATA"), "not-found", ["'DATA'", "AUTH"]),
    (evolve(FILE, blocked_by=("ISSUE-1", "ISSUE-77")), "not-found", ["'ISSUE-77'", "read_board"]),
    (evolve(FILE, blocked_by=("ISSUE-9",)), "not-found", ["ISSUE-9", "removed"]),
    # update_issue (B8)
    (UPDATE, "invalid-argument", ["at least one of", "status"]),
    (evolve(UPDATE, issue="ISSUE-77", title="x"), "not-found", ["'ISSUE-77'"]),
    (evolve(UPDATE, issue="issue-8", title="x"), "not-found", ["ISSUE-8"]),
    (evolve(UPDATE, issue="ISSUE-" + "9" * 5000, title="x"), "not-found", ["…"]),
    (evolve(UPDATE, title=" "), "invalid-argument", ["title"]),
    (evolve(UPDATE, in_scope=""), "invalid-argument", ["in-scope"]),
    (evolve(UPDATE, epic="NOPE"), "not-found", ["'NOPE'", "AUTH"]),
    (evolve(UPDATE, status="done"), "invalid-argument", ["open", "remove_issue"]),
    (evolve(UPDATE, status="failed", issue="ISSUE-1"), "invalid-argument", ["open"]),
    (evolve(UPDATE, status=""), "invalid-argument", ["open"]),
    (evolve(UPDATE, status="open"), "conflict", ["ISSUE-8 is open"]),
    (evolve(UPDATE, status="open", issue="ISSUE-3"), "conflict", ["in_progress"]),
    (evolve(UPDATE, status="open", issue="ISSUE-4"), "conflict", ["in_review"]),
    (evolve(UPDATE, issue="ISSUE-2", status="open", title=" "), "invalid-argument", ["title"]),
    (evolve(UPDATE, issue="ISSUE-8", title="x", epic="NOPE"), "not-found", ["NOPE"]),
    # set_issue_blocked_by (B4)
    (block("ISSUE-77"), "not-found", ["'ISSUE-77'"]),
    (block("ISSUE-8", "ISSUE-77"), "not-found", ["'ISSUE-77'"]),
    (block("ISSUE-8", "ISSUE-8"), "conflict", ["ISSUE-8 → ISSUE-8", "Nothing was changed"]),
    (block("ISSUE-2", "ISSUE-6"), "conflict", ["ISSUE-2 → ISSUE-6 → ISSUE-2"]),
    (block("ISSUE-2", "ISSUE-8", "ISSUE-7"), "conflict", ["ISSUE-2 → ISSUE-7 → ISSUE-6 → ISSUE-2"]),
    (block("ISSUE-3", "ISSUE-8"), "conflict", ["ISSUE-3 is in_progress", "wait_for_issue"]),
    (block("ISSUE-4"), "conflict", ["ISSUE-4 is in_review"]),
    # removals (B9)
    (RemoveEpic(**WHO, epic="DATA"), "not-found", ["'DATA'", "AUTH"]),
    (RemoveIssue(**WHO, issue="ISSUE-9"), "not-found", ["removed"]),
    (RemoveIssue(**WHO, issue="ISSUE-3"), "conflict", ["ISSUE-3 is in_progress"]),
    (RemoveIssue(**WHO, issue="ISSUE-4"), "conflict", ["ISSUE-4 is in_review"]),
    # read_board (B7)
    (ReadBoard(epic="DATA"), "not-found", ["AUTH"]),
    (ReadBoard(issue="ISSUE-0"), "not-found", ["'ISSUE-0'"]),
    (ReadBoard(epic="AUTH", issue="AUTH-1"), "invalid-argument", ["not both"]),
    # waits (Q1, Q3, Q7)
    (evolve(WAIT, issue="ISSUE-77"), "not-found", ["'ISSUE-77'"]),
    (evolve(WAIT, issue="ISSUE-9"), "not-found", ["removed"]),
    (evolve(WAIT, issue="ISSUE-3", by="ISSUE-3.0i", works_for="ISSUE-3"), "refused", ["yourself"]),
    (evolve(WAIT, issue="ISSUE-3", by="ISSUE-3.0i"), "refused", ["yourself"]),
    (evolve(WAIT, issue="ISSUE-3", by="ISSUE-3.0i.0s", works_for="ISSUE-3"), "refused", ["ISSUE-3"]),
    (
        evolve(WAIT, issue="ISSUE-6"),
        "conflict",
        ["behind ISSUE-2", "set_issue_blocked_by", "revive", "anew", "ran out"],
    ),
    (evolve(WAIT, issue="ISSUE-7"), "conflict", ["nothing will complete ISSUE-7", "behind ISSUE-2"]),
    (evolve(WAIT, issue="ISSUE-5", by="ISSUE-3.0i", works_for="ISSUE-3"), "conflict", ["ISSUE-3 → ISSUE-5 → ISSUE-3"]),
    (evolve(WAIT, issue="ISSUE-8", may_wait_unsettled=False), "refused", ["merge", "open"]),
    (ReadWait(by="root", issue="ISSUE-9"), "not-found", ["no longer exists"]),
    (ReadWait(by="root", issue="ISSUE-7"), "conflict", ["behind ISSUE-2"]),
    (ReadWait(by="root", issue="ISSUE-3"), "conflict", ["in_progress", "wait_for_issue again"]),
    # the runtime's own letters, when they come late or twice
    (StartIssue(issue="ISSUE-77"), "not-found", ["ISSUE-77"]),
    (StartIssue(issue="ISSUE-5"), "conflict", ["behind 1 issue not done"]),
    (StartIssue(issue="ISSUE-3"), "conflict", ["in_progress with ISSUE-3.0i"]),
    (StartIssue(issue="ISSUE-1"), "conflict", ["it is done"]),
    (HandBack(issue="ISSUE-3", agent="ISSUE-3.1i", commit="c", summary="s"), "conflict", ["ISSUE-3.1i does not work"]),
    (HandBack(issue="ISSUE-4", agent="ISSUE-4.0i", commit="c", summary="s"), "conflict", ["in_review"]),
    (HandBack(issue="ISSUE-9", agent="ISSUE-9.0i", commit="c", summary="s"), "not-found", ["removed"]),
    (EndAttempt(issue="ISSUE-2", agent="ISSUE-2.0i", status=Status.STUCK, reason=""), "conflict", ["failed"]),
    (FailDispatch(issue="ISSUE-4", reason="x"), "conflict", ["past dispatch"]),
    (FailDispatch(issue="ISSUE-1", reason="x"), "conflict", ["past dispatch"]),
    (SettleMerge(issue="ISSUE-3", commit="c"), "conflict", ["no merge of ISSUE-3 is due"]),
    (SettleMerge(issue="ISSUE-1", commit="c"), "conflict", ["it is done"]),
]


@pytest.mark.parametrize(("letter", "code", "told"), REFUSALS, ids=lambda value: type(value).__name__)
def test_a_refused_letter_has_its_code_says_why_and_changes_nothing_B10(letter, code, told):
    play = busy_board()
    before = dump(play.board)
    answer = play.send(letter)
    assert isinstance(answer, Refused)
    assert answer.code == code
    for words in told:
        assert words in answer.message
    assert len(answer.message) < 600
    assert "\n" not in answer.message
    assert dump(play.board) == before


def test_a_full_board_refuses_one_more_of_each_whatever_the_states_P1():
    play = Play(chartered(max_issues=2, max_epics=1))
    play.epic("AUTH")
    assert play.epic("DATA").code == "limit-exceeded"
    play.finish(play.file())
    play.file()
    refused = play.file()
    assert refused.code == "limit-exceeded"
    assert "2 issues" in refused.message
    play.remove("ISSUE-1")
    assert play.file() == "ISSUE-3"
    play.remove_epic("AUTH")
    assert play.epic("DATA").epic == "DATA"


def test_a_limit_of_none_refuses_the_first_P1():
    play = Play(chartered(max_issues=0, max_epics=0))
    assert play.file().code == "limit-exceeded"
    assert play.epic().code == "limit-exceeded"


def test_an_update_with_one_bad_field_does_none_of_it_B8():
    play = busy_board()
    refused = play.update("ISSUE-2", title="New", in_scope=" ", status="open")
    assert refused.code == "invalid-argument"
    seen = play.see("ISSUE-2")
    assert (seen.title, seen.state) == ("A title", "failed")


def test_only_the_callers_own_roster_decides_who_is_assignable_A2():
    play = Play()
    assert play.file(profile="lead", agent="tester") == "ISSUE-1"
    refused = play.file(profile="strict", agent="tester", reviewers=("critic",))
    assert refused.code == "invalid-argument"
    assert "assignable: coder" in refused.message
    assert "merger" in CHARTER.profiles
    assert play.file(agent="merger").code == "invalid-argument"


def test_after_a_defect_a_wait_is_unavailable_unless_the_issue_is_settled_Q5():
    play = busy_board()
    play.send(StopDispatch(defect="KeyError"))
    refused = play.wait("ISSUE-5")
    assert (refused.code, "defect" in refused.message) == ("unavailable", True)
    assert play.wait("ISSUE-1").state == "done"
    assert play.wait("ISSUE-77").code == "not-found"


def test_nothing_is_started_once_dispatch_stopped_D5():
    play = busy_board()
    play.send(StopDispatch())
    refused = play.start("ISSUE-8")
    assert (refused.code, "ISSUE-8 stays open" in refused.message) == ("conflict", True)


def test_a_merge_out_of_turn_is_refused_M1():
    play = busy_board()
    play.hand_back("ISSUE-8", play.start("ISSUE-8"))
    refused = play.merge("ISSUE-8")
    assert (refused.code, "turn of ISSUE-4" in refused.message) == ("conflict", True)
    play.merge("ISSUE-4")
    play.merge("ISSUE-8")
    assert play.see("ISSUE-8").state == "done"


def test_a_second_hand_back_of_the_same_agent_is_refused():
    play = busy_board()
    play.hand_back("ISSUE-3", "ISSUE-3.0i")
    assert play.hand_back("ISSUE-3", "ISSUE-3.0i").code == "conflict"
    assert play.end("ISSUE-3", "ISSUE-3.0i").code == "conflict"


def test_an_agent_that_was_replaced_can_neither_hand_back_nor_end_the_attempt():
    play = Play()
    play.file()
    first = play.start("ISSUE-1")
    assert isinstance(play.end("ISSUE-1", first), AttemptSettled)
    assert play.hand_back("ISSUE-1", first).code == "conflict"
    assert "without an agent, since ISSUE-1.0i ended exhausted" in play.hand_back("ISSUE-1", first).message
    play.start("ISSUE-1")
    assert play.hand_back("ISSUE-1", first).code == "conflict"
    assert play.end("ISSUE-1", first).code == "conflict"
    assert play.see("ISSUE-1").attempts == 2


def test_a_later_edge_that_closes_a_circle_through_a_wait_is_refused_naming_the_wait_Q7():
    play = Play()
    play.file()
    play.file()
    agent = play.start("ISSUE-1")
    play.wait("ISSUE-2", by=agent, works_for="ISSUE-1")
    refused = play.block("ISSUE-2", "ISSUE-1")
    assert refused.code == "conflict"
    assert "ISSUE-2 → ISSUE-1 → ISSUE-2" in refused.message
    assert "an agent of ISSUE-1 waits for ISSUE-2" in refused.message
    play.file("ISSUE-1")
    assert play.block("ISSUE-2", "ISSUE-3").code == "conflict"
    play.finish("ISSUE-2")
    assert play.read_wait("ISSUE-2", by=agent).state == "done"
    play.revive("ISSUE-2")
    assert play.block("ISSUE-2", "ISSUE-3").blocked_by == ("ISSUE-3",)


def test_two_waits_for_each_others_issue_are_refused_at_the_second_Q7():
    play = Play()
    play.file()
    play.file()
    first, second = play.start("ISSUE-1"), play.start("ISSUE-2")
    play.wait("ISSUE-2", by=first, works_for="ISSUE-1")
    refused = play.wait("ISSUE-1", by=f"{second}.0s", works_for="ISSUE-2")
    assert refused.code == "conflict"
    assert "ISSUE-2 → ISSUE-1 → ISSUE-2" in refused.message
    play.send(ReadWait(by=first, issue="ISSUE-2"))
    assert play.wait("ISSUE-1", by=second, works_for="ISSUE-2").issue == "ISSUE-1"
