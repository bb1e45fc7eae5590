"""What the board does with an issue from filing to its end, told by hand."""

from __future__ import annotations

import pytest
from boardkit import Play, chartered

from ggactors.protocol.board import (
    AskOutlook,
    AttemptSettled,
    FailDispatch,
    IssueAccepted,
    IssueAssigned,
    IssueHandedBack,
    ListReady,
    MergeJob,
    NextMerge,
    NothingToMerge,
    Outlook,
    ReadBoard,
    ReadyIssue,
    StartIssue,
    StopDispatch,
)
from ggactors.protocol.events import BoardStalled
from ggactors.protocol.values import Status


def ready(play):
    return [issue.id for issue in play.send(ListReady()).issues]


# ---------------------------------------------------------------- ids


def test_ids_count_up_per_prefix_and_are_never_used_again_B5():
    play = Play()
    play.epic("auth")
    assert [play.file(), play.file(epic="AUTH"), play.file(epic="AUTH"), play.file()] == [
        "ISSUE-1",
        "AUTH-1",
        "AUTH-2",
        "ISSUE-2",
    ]
    play.remove("AUTH-2")
    assert play.file(epic="AUTH") == "AUTH-3"
    play.remove("AUTH-3")
    play.remove_epic("AUTH")
    assert play.see("AUTH-1").epic is None
    play.epic("AUTH")
    assert play.file(epic="AUTH") == "AUTH-4"
    play.check_replay()


def test_regrouping_does_not_renumber_B5():
    play = Play()
    play.epic("AUTH")
    play.epic("DATA")
    play.file(epic="AUTH")
    assert play.update("AUTH-1", epic="DATA").epic == "DATA"
    assert play.file(epic="DATA") == "DATA-1"
    assert [issue.id for issue in play.send(ReadBoard(epic="DATA")).issues] == ["AUTH-1", "DATA-1"]
    assert play.update("AUTH-1", epic="").epic is None


# ---------------------------------------------------------------- texts


def test_an_issue_keeps_its_sections_and_an_empty_text_clears_what_is_optional_B3_B8():
    play = Play()
    play.epic("AUTH")
    play.file(title="Two\n lines", description="why", epic="AUTH", reviewers=("critic",))
    seen = play.see("AUTH-1")
    assert (seen.title, seen.description, seen.agent, seen.reviewers) == ("Two lines", "why", "coder", ("critic",))
    changed = play.update("AUTH-1", title="New", description="", in_scope="more", epic="")
    assert changed == play.see("AUTH-1")
    assert (changed.title, changed.description, changed.in_scope, changed.epic) == ("New", None, "more", None)
    assert changed.out_of_scope == "out"


def test_an_update_that_changes_nothing_makes_no_fact():
    play = Play()
    play.file()
    before = len(play.facts)
    assert play.update("ISSUE-1", title="A title") == play.see("ISSUE-1")
    assert play.block("ISSUE-1") == play.see("ISSUE-1")
    assert len(play.facts) == before


@pytest.mark.parametrize("state", ["open", "in_progress", "in_review", "done", "failed"])
def test_text_may_be_revised_in_any_state_B8(state):
    play = Play()
    play.file()
    if state == "failed":
        play.fail("ISSUE-1")
    elif state != "open":
        agent = play.start("ISSUE-1")
        if state != "in_progress":
            play.hand_back("ISSUE-1", agent)
        if state == "done":
            play.merge("ISSUE-1")
    assert play.see("ISSUE-1").state == state
    assert play.update("ISSUE-1", in_scope="now this").in_scope == "now this"
    assert play.see("ISSUE-1").state == state


def test_a_retry_reads_the_text_as_it_is_then_B8():
    play = Play()
    play.file()
    agent = play.start("ISSUE-1")
    play.update("ISSUE-1", in_scope="now this")
    play.end("ISSUE-1", agent)
    assert play.send(StartIssue(issue="ISSUE-1")).issue.in_scope == "now this"


# ---------------------------------------------------------------- reading


def test_the_board_is_read_whole_by_epic_or_by_issue_B7():
    play = Play()
    play.epic("AUTH")
    play.file()
    play.file("ISSUE-1", epic="AUTH")
    play.fail("ISSUE-1")
    whole = play.whole()
    assert [epic.id for epic in whole.epics] == ["AUTH"]
    assert [issue.id for issue in whole.issues] == ["ISSUE-1", "AUTH-1"]
    assert [(stall.issue, stall.blocker) for stall in whole.stalled] == [("AUTH-1", "ISSUE-1")]
    epic = play.send(ReadBoard(epic="AUTH"))
    assert ([issue.id for issue in epic.issues], len(epic.stalled)) == (["AUTH-1"], 1)
    one = play.send(ReadBoard(issue="ISSUE-1"))
    assert (one.epics, [issue.id for issue in one.issues], one.stalled) == ((), ["ISSUE-1"], ())


# ---------------------------------------------------------------- dispatch


def test_an_issue_behind_two_is_ready_when_both_are_done_and_not_before_D1():
    play = Play()
    play.file()
    play.file()
    play.file("ISSUE-1", "ISSUE-2")
    assert ready(play) == ["ISSUE-1", "ISSUE-2"]
    play.finish("ISSUE-1")
    assert ready(play) == ["ISSUE-2"]
    play.hand_back("ISSUE-2", play.start("ISSUE-2"))
    assert ready(play) == [], "in review is not done"
    play.merge("ISSUE-2")
    assert ready(play) == ["ISSUE-3"]


def test_an_issue_filed_behind_done_ones_is_ready_at_once_D1():
    play = Play()
    play.finish(play.file())
    play.file("ISSUE-1")
    assert ready(play) == ["ISSUE-2"]


def test_first_come_first_served_by_becoming_ready_and_work_begun_goes_ahead_S4():
    play = Play()
    for blockers in ((), ("ISSUE-1",), (), ()):
        play.file(*blockers)
    play.finish("ISSUE-1")
    assert ready(play) == ["ISSUE-3", "ISSUE-4", "ISSUE-2"]
    play.end("ISSUE-4", play.start("ISSUE-4"))
    assert play.send(ListReady()).issues == (
        ReadyIssue(id="ISSUE-4", begun=True),
        ReadyIssue(id="ISSUE-3", begun=False),
        ReadyIssue(id="ISSUE-2", begun=False),
    )


def test_starting_names_the_agent_and_counts_the_dispatch_D3():
    play = Play()
    play.epic("AUTH")
    play.file(epic="AUTH")
    assigned = play.send(StartIssue(issue="AUTH-1"))
    assert isinstance(assigned, IssueAssigned)
    assert (assigned.agent, assigned.number, assigned.last) == ("AUTH-1.0i", 0, None)
    assert assigned.issue == play.see("AUTH-1")
    assert (assigned.issue.state, assigned.issue.attempts) == ("in_progress", 1)
    assert ready(play) == []


def test_an_issue_that_cannot_be_dispatched_fails_at_once_from_open_or_just_started_D7():
    play = Play()
    play.file()
    play.file()
    play.send(FailDispatch(issue="ISSUE-1", reason="no profile coder"))
    play.start("ISSUE-2")
    play.send(FailDispatch(issue="ISSUE-2", reason="no worktree"))
    assert [(issue.state, issue.reason) for issue in play.whole().issues] == [
        ("failed", "no profile coder"),
        ("failed", "no worktree"),
    ]
    assert ready(play) == []


def test_what_cannot_be_dispatched_once_the_run_is_stopping_is_parked_unless_a_defect_struck_it_D5_D8():
    play = Play()
    play.file()
    play.file()
    play.start("ISSUE-1")
    play.start("ISSUE-2")
    play.send(StopDispatch())
    play.send(FailDispatch(issue="ISSUE-1", reason="the disk is full"))
    play.send(FailDispatch(issue="ISSUE-2", reason="it broke down", defect=True))
    assert [issue.state for issue in play.whole().issues] == ["in_progress", "failed"]
    assert list(play.board.parked) == ["ISSUE-1"]


# ---------------------------------------------------------------- ends of attempts


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (1, 2), (3, 4)])
def test_an_unfinished_attempt_is_tried_again_as_often_as_is_allowed_D5_H27(retries, attempts):
    play = Play(chartered(max_retries=retries))
    play.file()
    seen = []
    while play.see("ISSUE-1").state != "failed":
        seen.append(play.start("ISSUE-1"))
        settled = play.end("ISSUE-1", seen[-1], Status.MODEL_ERROR, reason="gave up")
        assert isinstance(settled, AttemptSettled)
        assert settled.state == ("in_progress" if len(seen) < attempts else "failed")
    assert seen == [f"ISSUE-1.{number}i" for number in range(attempts)]
    reason = play.see("ISSUE-1").reason
    assert reason.startswith(f"ISSUE-1.{attempts - 1}i ended model_error: gave up")
    assert ("no retry" in reason) == (retries == 0)


def test_a_retry_is_told_how_the_last_attempt_ended_and_what_it_left_D5():
    play = Play()
    play.file()
    play.end("ISSUE-1", play.start("ISSUE-1"), Status.EXHAUSTED, reason="200 turns", left="2 files changed")
    assert play.see("ISSUE-1").reason == "ISSUE-1.0i ended exhausted: 200 turns"
    last = play.send(StartIssue(issue="ISSUE-1")).last
    assert (last.agent, last.status, last.reason, last.left) == (
        "ISSUE-1.0i",
        Status.EXHAUSTED,
        "200 turns",
        "2 files changed",
    )
    assert play.see("ISSUE-1").reason is None


def test_a_refused_credential_fails_the_issue_without_a_retry_D7():
    play = Play(chartered(max_retries=5))
    play.file()
    settled = play.end("ISSUE-1", play.start("ISSUE-1"), Status.AUTH_ERROR, reason="401")
    assert settled.state == "failed"
    assert "credential" in play.see("ISSUE-1").reason


def test_a_parked_attempt_keeps_state_and_budget_and_is_not_dispatched_D5():
    play = Play(chartered(max_retries=0))
    play.file()
    settled = play.end("ISSUE-1", play.start("ISSUE-1"), Status.CANCELED, parked=True)
    assert settled.state == "in_progress"
    assert ready(play) == []
    assert play.send(AskOutlook()) == Outlook(dispatchable=0, in_flight=1, accepted=0, waiting=0, parked=1)
    assert play.board.issues["ISSUE-1"].retries == 0


def test_after_dispatch_stopped_no_attempt_is_retried_and_none_fails_D5():
    play = Play(chartered(max_retries=0))
    for _ in range(4):
        play.file()
    first, second, third = play.start("ISSUE-1"), play.start("ISSUE-2"), play.start("ISSUE-3")
    play.send(StopDispatch())
    assert play.send(ListReady()).issues == ()
    play.end("ISSUE-1", first, Status.MODEL_ERROR)
    play.end("ISSUE-2", second, Status.AUTH_ERROR)
    play.hand_back("ISSUE-3", third)
    assert [issue.state for issue in play.whole().issues] == ["in_progress", "in_progress", "in_review", "open"]
    assert play.send(AskOutlook()) == Outlook(dispatchable=0, in_flight=3, accepted=1, waiting=0, parked=2)


def test_a_retry_that_waited_when_dispatch_stopped_is_parked_D5():
    play = Play()
    play.file()
    play.end("ISSUE-1", play.start("ISSUE-1"))
    play.send(StopDispatch(defect="boom"))
    assert ready(play) == []
    assert play.send(AskOutlook()).parked == 1
    assert play.see("ISSUE-1").state == "in_progress"
    play.check_replay()


def test_a_defect_outranks_an_earlier_stop_and_the_first_defect_stands_D8():
    play = Play()
    play.send(StopDispatch())
    play.send(StopDispatch(defect="first"))
    play.send(StopDispatch(defect="second"))
    play.send(StopDispatch())
    assert (play.board.defect, len(play.facts)) == ("first", 2)


# ---------------------------------------------------------------- review, merge, done


def test_every_issue_passes_through_review_on_its_way_to_done_D2():
    play = Play()
    play.file()
    play.hand_back("ISSUE-1", play.start("ISSUE-1"), commit="abc")
    assert [type(fact) for fact in play.facts[-2:]] == [IssueHandedBack, IssueAccepted]
    seen = play.see("ISSUE-1")
    assert (seen.state, seen.commit) == ("in_review", "abc")
    play.merge("ISSUE-1", "def")
    seen = play.see("ISSUE-1")
    assert (seen.state, seen.commit) == ("done", "def")


def test_merges_are_handed_out_in_the_order_of_acceptance_and_kept_until_settled_M1():
    play = Play()
    for _ in range(3):
        play.file(title="Work")
    agents = [play.start(f"ISSUE-{number}") for number in (1, 2, 3)]
    for number in (2, 3, 1):
        play.hand_back(f"ISSUE-{number}", agents[number - 1], commit=f"c{number}", empty_change=number == 2)
    job = MergeJob(issue="ISSUE-2", agent="ISSUE-2.0i", title="Work", commit="c2", attempt=0, empty_change=True)
    assert play.send(NextMerge()) == play.send(NextMerge()) == job
    play.merge("ISSUE-2")
    play.merge("ISSUE-3", None, reason="conflict in a.py")
    play.merge("ISSUE-1")
    assert isinstance(play.send(NextMerge()), NothingToMerge)
    assert [issue.state for issue in play.whole().issues] == ["done", "done", "failed"]
    assert play.see("ISSUE-3").reason == "conflict in a.py"


# ---------------------------------------------------------------- failing, stalls, reviving


def test_failure_does_not_cascade_and_the_stall_names_the_failed_blocker_D6():
    play = Play()
    for blockers in ((), (), ("ISSUE-1", "ISSUE-2"), ("ISSUE-3",), ("ISSUE-2",)):
        play.file(*blockers)
    play.finish("ISSUE-1")
    play.fail("ISSUE-2")
    picture = play.whole()
    assert [issue.state for issue in picture.issues] == ["done", "failed", "open", "open", "open"]
    assert [(stall.issue, stall.blocker) for stall in picture.stalled] == [
        ("ISSUE-3", "ISSUE-2"),
        ("ISSUE-4", "ISSUE-2"),
        ("ISSUE-5", "ISSUE-2"),
    ]
    assert ready(play) == []


def test_a_chain_of_thousands_stalls_and_comes_free_without_recursion_D6():
    play = Play(chartered(max_issues=5_000), careful=False)
    play.file()
    for number in range(1, 3_000):
        play.file(f"ISSUE-{number}")
    play.wait("ISSUE-3000")
    play.fail("ISSUE-1")
    assert play.woken == {"root"}
    assert [event.blocker for event in play.events if isinstance(event, BoardStalled)] == ["ISSUE-1"] * 2_999
    assert "behind ISSUE-1," in play.read_wait("ISSUE-3000").message
    assert {stall.blocker for stall in play.whole().stalled} == {"ISSUE-1"}
    play.revive("ISSUE-1")
    assert play.whole().stalled == ()


def test_reviving_a_failed_issue_frees_what_stalled_behind_it_with_a_fresh_budget_B8():
    play = Play(chartered(max_retries=1))
    play.file()
    play.file("ISSUE-1")
    play.fail("ISSUE-1")
    answer = play.revive("ISSUE-1")
    assert answer == play.see("ISSUE-1")
    assert (answer.state, answer.reason, answer.attempts) == ("open", None, 2)
    assert play.whole().stalled == ()
    assigned = play.send(StartIssue(issue="ISSUE-1"))
    assert (assigned.agent, assigned.last) == ("ISSUE-1.2i", None)
    assert play.end("ISSUE-1", assigned.agent).state == "in_progress"
    assert play.end("ISSUE-1", play.start("ISSUE-1")).state == "failed"


def test_reviving_a_done_issue_makes_what_is_behind_it_unready_unless_it_was_started_B8():
    play = Play()
    for blockers in ((), ("ISSUE-1",), ("ISSUE-1",)):
        play.file(*blockers)
    play.finish("ISSUE-1")
    play.start("ISSUE-2")
    assert ready(play) == ["ISSUE-3"]
    assert play.revive("ISSUE-1").commit is None
    assert ready(play) == ["ISSUE-1"]
    assert play.see("ISSUE-2").state == "in_progress"
    play.finish("ISSUE-1")
    assert ready(play) == ["ISSUE-3"]


def test_reviving_together_with_texts_does_both_B8():
    play = Play()
    play.file()
    play.fail("ISSUE-1")
    answer = play.update("ISSUE-1", title="Again", completion_criteria="less", status="open")
    assert (answer.title, answer.completion_criteria, answer.state) == ("Again", "less", "open")
    assert answer == play.see("ISSUE-1")


def test_removing_a_failed_blocker_frees_what_stalled_behind_it_B9():
    play = Play()
    play.file()
    play.file("ISSUE-1")
    play.fail("ISSUE-1")
    play.remove("ISSUE-1")
    assert play.see("ISSUE-2").blocked_by == ()
    assert ready(play) == ["ISSUE-2"]
    assert play.whole().stalled == ()
