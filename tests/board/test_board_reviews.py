"""Reviews and merge agents as the board sees them, told by hand (R1-R9, M2)."""

from __future__ import annotations

from boardkit import Play, chartered

from ggactors.protocol.board import (
    AskOutlook,
    EndReview,
    FailDispatch,
    GiveVerdict,
    ListReady,
    MergeJob,
    NextMerge,
    NothingToMerge,
    Outlook,
    ParkMerge,
    ReadyIssue,
    StartIssue,
    StartMergeAgent,
    StartNext,
    StartReview,
    StopDispatch,
)
from ggactors.protocol.values import Status


def reviewed(*reviewers, **charter):
    """Play an issue to the point where its first reviewer is due."""
    play = Play(chartered(**charter))
    play.file(profile="haunted", reviewers=reviewers or ("critic", "tester"))
    play.hand_back("ISSUE-1", play.start("ISSUE-1"))
    return play


def test_what_is_next_in_line_is_retries_and_rework_then_reviews_then_first_dispatches_S4():
    play = Play(chartered(max_retries=1))
    for _ in range(3):
        play.file(profile="haunted", reviewers=("critic",))
    play.file()
    play.end("ISSUE-2", play.start("ISSUE-2"), Status.STUCK)
    play.hand_back("ISSUE-1", play.start("ISSUE-1"))
    outlook = play.send(AskOutlook())
    assert (outlook.dispatchable, outlook.begun) == (4, 2)
    begun = [play.send(StartNext(begun=True)).agent for _ in range(2)]
    assert begun == ["ISSUE-2.1i", "ISSUE-1.0i.0r"]
    assert play.send(StartNext(begun=True)).code == "conflict"
    fresh = [play.send(StartNext(begun=False)).agent for _ in range(2)]
    assert fresh == ["ISSUE-3.0i", "ISSUE-4.0i"]
    assert play.send(StartNext(begun=False)).code == "conflict"


def test_nothing_is_next_in_line_once_dispatch_has_stopped_D5():
    play = reviewed()
    play.file()
    play.send(StopDispatch())
    assert play.send(StartNext(begun=True)).code == play.send(StartNext(begun=False)).code == "conflict"
    assert play.send(AskOutlook()).begun == 0


def test_reviewers_run_one_after_another_and_all_must_approve_R1_R6():
    play = reviewed()
    assert play.send(ListReady()).issues == (ReadyIssue(id="ISSUE-1", begun=True, review=True),)
    assert play.review("ISSUE-1") == "ISSUE-1.0i.0r"
    assert play.send(ListReady()).issues == ()
    assert play.review("ISSUE-1").code == "conflict", "one at a time"
    play.verdict("ISSUE-1", "ISSUE-1.0i.0r")
    assert isinstance(play.send(NextMerge()), NothingToMerge)
    assert play.review("ISSUE-1") == "ISSUE-1.0i.1r"
    play.verdict("ISSUE-1", "ISSUE-1.0i.1r")
    assert isinstance(play.send(NextMerge()), MergeJob)
    assert (play.see("ISSUE-1").state, play.see("ISSUE-1").rounds) == ("in_review", 1)
    play.check_replay()


def test_the_first_that_does_not_approve_ends_the_round_and_review_starts_over_R3_R4():
    play = reviewed(max_retries=0)
    play.verdict("ISSUE-1", play.review("ISSUE-1"), "use a lock")
    assert play.see("ISSUE-1").state == "in_progress"
    assert play.send(ListReady()).issues == (ReadyIssue(id="ISSUE-1", begun=True),)
    again = play.send(StartIssue(issue="ISSUE-1"))
    assert (again.agent, [verdict.items for verdict in again.verdicts]) == ("ISSUE-1.1i", [("use a lock",)])
    play.hand_back("ISSUE-1", again.agent)
    assigned = play.send(StartReview(issue="ISSUE-1"))
    assert (assigned.agent, assigned.profile, assigned.round) == ("ISSUE-1.1i.0r", "critic", 2)
    assert [(verdict.agent, verdict.approved) for verdict in assigned.verdicts] == [("ISSUE-1.0i.0r", False)]


def test_ten_rounds_spend_no_retry_R5():
    play = reviewed("critic", max_retries=0)
    for number in range(10):
        play.verdict("ISSUE-1", f"{play.review('ISSUE-1')}", f"item {number}")
        play.hand_back("ISSUE-1", play.start("ISSUE-1"))
    assert (play.see("ISSUE-1").state, play.see("ISSUE-1").rounds) == ("in_review", 10)
    assert play.board.issues["ISSUE-1"].retries == 0


def test_rework_that_ends_any_other_way_is_an_unfinished_attempt_R5():
    play = reviewed("critic", max_retries=1)
    play.verdict("ISSUE-1", play.review("ISSUE-1"), "again")
    assert play.end("ISSUE-1", play.start("ISSUE-1")).state == "in_progress"
    retry = play.send(StartIssue(issue="ISSUE-1"))
    assert (retry.last.agent, [verdict.items for verdict in retry.verdicts]) == ("ISSUE-1.1i", [("again",)])
    assert play.end("ISSUE-1", retry.agent).state == "failed"


def test_a_verdict_counts_only_for_the_commit_that_was_handed_back_and_from_who_was_assigned_R8():
    play = reviewed("critic")
    agent = play.review("ISSUE-1")
    refused = play.verdict("ISSUE-1", agent, commit="another")
    assert (refused.code, "c0ffee" in refused.message) == ("conflict", True)
    assert play.send(GiveVerdict(issue="ISSUE-1", agent="x", commit="c0ffee", approved=True)).code == "conflict"
    play.verdict("ISSUE-1", agent)
    assert play.send(NextMerge()).commit == "c0ffee"
    assert play.verdict("ISSUE-1", agent).code == "conflict", "it gave its verdict"


def test_a_reviewer_that_ends_without_a_verdict_fails_the_issue_R7():
    play = reviewed("critic", max_retries=5)
    agent = play.review("ISSUE-1")
    play.send(EndReview(issue="ISSUE-1", agent=agent, reason="out of turns"))
    seen = play.see("ISSUE-1")
    assert (seen.state, seen.reason) == ("failed", "out of turns")
    assert play.send(ListReady()).issues == ()


def test_a_reviewer_that_cannot_be_sent_or_is_not_declared_fails_the_issue_R7():
    play = reviewed("critic")
    play.review("ISSUE-1")
    play.send(FailDispatch(issue="ISSUE-1", reason="no model"))
    assert play.see("ISSUE-1").reason == "no model"
    play = reviewed("critic", "ghost")
    assert play.see("ISSUE-1").state == "failed"
    assert "ghost" in play.see("ISSUE-1").reason
    assert isinstance(play.send(NextMerge()), NothingToMerge)


def test_a_stop_parks_reviews_due_and_held_and_rework_and_fails_none_D5():
    play = Play()
    for _ in range(3):
        play.file(reviewers=("critic",))
        number = len(play.board.issues)
        play.hand_back(f"ISSUE-{number}", play.start(f"ISSUE-{number}"))
    second, third = play.review("ISSUE-2"), play.review("ISSUE-3")
    play.send(StopDispatch())
    play.send(EndReview(issue="ISSUE-2", agent=second, reason="cancelled"))
    play.verdict("ISSUE-3", third, "again")
    assert [issue.state for issue in play.whole().issues] == ["in_review", "in_review", "in_progress"]
    assert play.send(AskOutlook()) == Outlook(dispatchable=0, in_flight=3, accepted=0, waiting=0, parked=3)
    assert play.review("ISSUE-1").code == "conflict"
    play.check_replay()


def test_reviving_an_issue_forgets_its_verdicts_but_counts_its_rounds_on_B8():
    play = reviewed("critic", max_retries=0)
    play.verdict("ISSUE-1", play.review("ISSUE-1"), "again")
    play.end("ISSUE-1", play.start("ISSUE-1"), Status.STUCK)
    play.revive("ISSUE-1")
    again = play.send(StartIssue(issue="ISSUE-1"))
    assert (again.agent, again.verdicts) == ("ISSUE-1.2i", ())
    play.hand_back("ISSUE-1", again.agent)
    assert play.send(StartReview(issue="ISSUE-1")).round == 2


def test_a_merge_agent_is_named_for_the_merge_whose_turn_it_is_M2_D3():
    play = Play()
    for number in (1, 2):
        play.file()
        play.hand_back(f"ISSUE-{number}", play.start(f"ISSUE-{number}"))
    assert play.send(StartMergeAgent(issue="ISSUE-2")).code == "conflict"
    assert play.send(StartMergeAgent(issue="ISSUE-1")).agent == "ISSUE-1.0m"
    assert play.send(StartMergeAgent(issue="ISSUE-1")).agent == "ISSUE-1.1m"
    play.send(StopDispatch())
    assert play.send(StartMergeAgent(issue="ISSUE-1")).code == "conflict"
    play.send(ParkMerge(issue="ISSUE-1"))
    assert play.send(NextMerge()).issue == "ISSUE-2"
    assert play.send(ParkMerge(issue="ISSUE-1")).code == "conflict"
    play.check_replay()


def test_a_reviewer_waits_for_no_issue_that_its_own_holds_back_Q7():
    play = reviewed("critic")
    play.file("ISSUE-1")
    agent = play.review("ISSUE-1")
    refused = play.wait("ISSUE-2", by=agent, works_for="ISSUE-1")
    assert (refused.code, "ISSUE-1 → ISSUE-2 → ISSUE-1" in refused.message) == ("conflict", True)
    assert play.wait("ISSUE-1", by=agent, works_for="ISSUE-1").code == "refused"
    play.file()
    play.wait("ISSUE-3", by=agent, works_for="ISSUE-1")
    play.verdict("ISSUE-1", agent)
    assert play.board.waits == {}
