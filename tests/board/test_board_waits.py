"""Waiting on issues, told by hand: who is woken when, and what a wait is told (Q1-Q7)."""

from __future__ import annotations

from boardkit import Play

from ggactors.protocol.board import (
    AskOutlook,
    AttemptEnded,
    DropWaits,
    FailDispatch,
    StopDispatch,
    WaitBegan,
    WaitEnded,
    WaitSettled,
)
from ggactors.protocol.values import Status


def test_a_wait_for_a_settled_issue_answers_at_once_and_begins_nothing_Q1():
    play = Play()
    play.finish(play.file())
    assert play.wait("ISSUE-1") == WaitSettled(issue="ISSUE-1", state="done")
    assert play.board.waits == {}


def test_a_waiter_is_woken_when_its_issue_settles_and_reads_the_board_then_Q1_Q2():
    play = Play()
    play.file()
    assert play.wait("ISSUE-1") == WaitBegan(by="root", issue="ISSUE-1", works_for=None)
    agent = play.start("ISSUE-1")
    play.hand_back("ISSUE-1", agent)
    assert play.woken == set()
    play.merge("ISSUE-1")
    assert play.woken == {"root"}
    assert play.read_wait("ISSUE-1").state == "done"
    assert play.board.waits == {}


def test_a_waiter_of_several_is_woken_when_the_last_of_them_is_over_Q1():
    play = Play()
    for _ in range(3):
        play.file()
    for number in (1, 2, 3):
        play.wait(f"ISSUE-{number}")
    play.fail("ISSUE-2")
    assert play.woken == set()
    play.remove("ISSUE-3")
    assert play.woken == set()
    play.finish("ISSUE-1")
    assert play.woken == {"root"}


def test_asking_twice_for_the_same_wait_begins_one_Q1():
    play = Play()
    play.file()
    assert play.wait("ISSUE-1") == play.wait("ISSUE-1")
    assert [type(fact) for fact in play.facts].count(WaitBegan) == 1


def test_a_sleeper_is_woken_when_a_blocker_two_edges_away_fails_Q3_H29():
    play = Play()
    for blockers in ((), ("ISSUE-1",), ("ISSUE-2",)):
        play.file(*blockers)
    play.wait("ISSUE-3")
    play.fail("ISSUE-1")
    assert play.woken == {"root"}
    refused = play.read_wait("ISSUE-3")
    assert (refused.code, "behind ISSUE-1" in refused.message) == ("conflict", True)


def test_a_sleeper_is_woken_when_a_new_edge_makes_its_issue_a_dead_end_Q3():
    play = Play()
    for blockers in ((), (), ("ISSUE-2",)):
        play.file(*blockers)
    play.fail("ISSUE-1")
    play.wait("ISSUE-3")
    play.block("ISSUE-2", "ISSUE-1")
    assert play.woken == {"root"}


def test_a_dead_end_repaired_before_the_sleeper_resumes_is_told_as_live_Q2_Q4():
    play = Play()
    for blockers in ((), ("ISSUE-1",)):
        play.file(*blockers)
    play.wait("ISSUE-2")
    play.fail("ISSUE-1")
    play.block("ISSUE-2")
    refused = play.read_wait("ISSUE-2")
    assert (refused.code, "is open again" in refused.message) == ("conflict", True)
    assert play.wait("ISSUE-2").issue == "ISSUE-2"


def test_an_issue_done_at_the_wake_and_revived_before_the_resume_is_live_again_Q4():
    play = Play()
    play.file()
    play.wait("ISSUE-1")
    play.finish("ISSUE-1")
    assert play.woken == {"root"}
    play.revive("ISSUE-1")
    play.start("ISSUE-1")
    assert "in_progress" in play.read_wait("ISSUE-1").message


def test_an_issue_behind_one_in_progress_is_no_dead_end_though_that_one_is_behind_a_failed_Q3():
    play = Play()
    for blockers in ((), ("ISSUE-1",), ("ISSUE-2",)):
        play.file(*blockers)
    play.finish("ISSUE-1")
    play.start("ISSUE-2")
    play.revive("ISSUE-1")
    play.fail("ISSUE-1")
    assert play.whole().stalled == ()
    assert isinstance(play.wait("ISSUE-3"), WaitBegan)
    play.end("ISSUE-2", "ISSUE-2.0i", Status.AUTH_ERROR)
    assert play.woken == {"root"}


def test_a_removed_issue_wakes_who_waits_for_it_with_not_found_B9():
    play = Play()
    play.file()
    play.wait("ISSUE-1")
    play.remove("ISSUE-1")
    assert play.woken == {"root"}
    assert play.read_wait("ISSUE-1").code == "not-found"
    assert play.board.waits == {}


def test_a_defect_wakes_everybody_and_their_waits_are_unavailable_Q5():
    play = Play()
    play.file()
    play.file("ISSUE-1")
    play.wait("ISSUE-1")
    play.wait("ISSUE-2", by="other")
    play.send(StopDispatch())
    assert play.woken == set()
    play.send(StopDispatch(defect="boom"))
    assert play.woken == {"root", "other"}
    assert play.read_wait("ISSUE-2", by="other").code == "unavailable"


def test_waits_of_an_agent_that_ended_are_forgotten_with_their_edges_Q7():
    play = Play()
    for _ in range(2):
        play.file()
    agent = play.start("ISSUE-1")
    play.wait("ISSUE-2", by=agent, works_for="ISSUE-1")
    play.wait("ISSUE-2", by=f"{agent}.0s", works_for="ISSUE-1")
    assert play.block("ISSUE-2", "ISSUE-1").code == "conflict"
    play.end("ISSUE-1", agent)
    assert [type(fact) for fact in play.facts[-2:]] == [WaitEnded, AttemptEnded]
    assert play.block("ISSUE-2", "ISSUE-1").code == "conflict", "its subagent still waits"
    play.send(DropWaits(by=f"{agent}.0s"))
    assert play.block("ISSUE-2", "ISSUE-1").blocked_by == ("ISSUE-1",)
    play.check_replay()


def test_an_agent_that_hands_back_or_cannot_be_dispatched_waits_for_nothing_any_more_Q7():
    play = Play()
    for _ in range(3):
        play.file()
    first, second = play.start("ISSUE-1"), play.start("ISSUE-2")
    play.wait("ISSUE-3", by=first, works_for="ISSUE-1")
    play.wait("ISSUE-3", by=second, works_for="ISSUE-2")
    play.hand_back("ISSUE-1", first)
    play.send(FailDispatch(issue="ISSUE-2", reason="its worktree is gone"))
    assert play.send(AskOutlook()).waiting == 0
    assert play.block("ISSUE-3", "ISSUE-1").blocked_by == ("ISSUE-1",)


def test_reading_a_wait_that_never_began_reads_the_board_and_makes_no_fact():
    play = Play()
    play.finish(play.file())
    before = len(play.facts)
    assert play.read_wait("ISSUE-1").state == "done"
    assert len(play.facts) == before
