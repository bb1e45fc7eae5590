"""Board events: what each fact tells the outside (docs/reference/events.md), and pictures as JSON values."""

from __future__ import annotations

import json

from boardkit import Play, chartered

from ggactors.protocol.board import FailDispatch, StopDispatch
from ggactors.protocol.events import BoardChanged, BoardStalled, IssueReview
from ggactors.protocol.values import Status
from ggactors.rules.boardevents import board_dict, issue_dict, summary_dict

KEYS = {"id", "title", "state", "agent", "reviewers", "blockedBy", "epic", "attempts", "rounds", "reason"}


def told(play):
    """List what the last letter told: op with the issue's or epic's id, or the event's own words."""
    lines = []
    for event in play.events:
        match event:
            case BoardChanged(op=op, issue=None, epic=epic):
                lines.append((op, epic["id"]))
            case BoardChanged(op=op, issue=issue, epic=None):
                assert set(issue) == KEYS
                lines.append((op, issue["id"], issue["state"]))
            case BoardStalled(issue=issue, blocker=blocker):
                lines.append(("stalled", issue, blocker))
            case IssueReview(issue=issue, verdict=verdict):
                lines.append(("review", issue, verdict))
    return lines


def test_every_change_of_a_state_is_one_event_with_the_object_as_it_left_it():
    play, log = Play(), []

    def do(answer):
        log.extend(told(play))
        return answer

    do(play.epic("AUTH"))
    do(play.file(epic="AUTH"))
    agent = do(play.start("AUTH-1"))
    do(play.end("AUTH-1", agent))
    agent = do(play.start("AUTH-1"))
    do(play.hand_back("AUTH-1", agent))
    do(play.merge("AUTH-1"))
    do(play.revive("AUTH-1"))
    do(play.update("AUTH-1", title="Other"))
    do(play.send(FailDispatch(issue="AUTH-1", reason="x")))
    assert log == [
        ("create_epic", "AUTH"),
        ("create_issue", "AUTH-1", "open"),
        ("start", "AUTH-1", "in_progress"),
        ("retry_wait", "AUTH-1", "in_progress"),
        ("start", "AUTH-1", "in_progress"),
        ("hand_back", "AUTH-1", "in_review"),
        ("accept", "AUTH-1", "in_review"),
        ("done", "AUTH-1", "done"),
        ("revive_issue", "AUTH-1", "open"),
        ("update_issue", "AUTH-1", "open"),
        ("fail", "AUTH-1", "failed"),
    ]


def test_an_event_names_who_did_it_and_why_it_failed():
    play = Play(chartered(max_retries=0))
    play.file(by="root.0s")
    assert play.events[0].by == "root.0s"
    agent = play.start("ISSUE-1")
    assert play.events[0].by is None
    assert play.events[0].issue["attempts"] == 1
    play.end("ISSUE-1", agent, reason="ran out")
    assert play.events[0].issue["reason"].startswith("ISSUE-1.0i ended exhausted: ran out")


def test_removals_tell_the_issues_they_touched_too():
    play = Play()
    play.epic("AUTH")
    play.file(epic="AUTH")
    play.file("AUTH-1", epic="AUTH")
    play.remove_epic("AUTH")
    assert told(play) == [("remove_epic", "AUTH"), ("ungroup", "AUTH-1", "open"), ("ungroup", "AUTH-2", "open")]
    assert all(event.issue is None or event.issue["epic"] is None for event in play.events)
    play.remove("AUTH-1")
    assert told(play) == [("remove_issue", "AUTH-1", "open"), ("drop_blocker", "AUTH-2", "open")]
    assert play.events[1].issue["blockedBy"] == []


def test_a_stall_is_told_once_when_it_comes_and_again_when_it_comes_back_D6():
    play = Play(chartered(max_retries=0))
    for blockers in ((), (), ("ISSUE-1", "ISSUE-2"), ("ISSUE-3",)):
        play.file(*blockers)
    play.fail("ISSUE-1")
    assert told(play)[1:] == [("stalled", "ISSUE-3", "ISSUE-1"), ("stalled", "ISSUE-4", "ISSUE-1")]
    play.fail("ISSUE-2")
    assert told(play) == [("fail", "ISSUE-2", "failed")]
    play.file("ISSUE-4")
    assert told(play) == [("create_issue", "ISSUE-5", "open"), ("stalled", "ISSUE-5", "ISSUE-1")]
    play.revive("ISSUE-1")
    assert told(play) == [("revive_issue", "ISSUE-1", "open")]
    assert {stall.blocker for stall in play.whole().stalled} == {"ISSUE-2"}
    play.revive("ISSUE-2")
    play.fail("ISSUE-2")
    assert ("stalled", "ISSUE-3", "ISSUE-2") in told(play)


def test_a_failed_issue_revived_behind_a_failed_one_is_told_as_stalled_D6():
    play = Play(chartered(max_retries=0))
    for _ in range(2):
        play.file()
    play.fail("ISSUE-1")
    play.fail("ISSUE-2")
    play.block("ISSUE-2", "ISSUE-1")
    assert told(play) == [("set_issue_blocked_by", "ISSUE-2", "failed")]
    play.revive("ISSUE-2")
    assert told(play) == [("revive_issue", "ISSUE-2", "open"), ("stalled", "ISSUE-2", "ISSUE-1")]


def test_a_review_round_is_told_when_it_ends_with_who_said_what_R9():
    play, log = Play(), []
    play.file(profile="haunted", reviewers=("critic", "tester"))
    play.hand_back("ISSUE-1", play.start("ISSUE-1"))
    play.review("ISSUE-1")
    log += told(play)
    play.verdict("ISSUE-1", "ISSUE-1.0i.0r")
    assert told(play) == []
    play.verdict("ISSUE-1", play.review("ISSUE-1"), "use a lock", "name it")
    log += told(play)
    assert log == [
        ("review", "ISSUE-1", "in_review"),
        ("review", "ISSUE-1", "changes_requested"),
        ("rework", "ISSUE-1", "in_progress"),
    ]
    ended = play.events[0]
    critic = {"agent": "ISSUE-1.0i.0r", "profile": "critic", "profileName": "The Critic"}
    tester = {"agent": "ISSUE-1.0i.1r", "profile": "tester", "profileName": "tester"}
    assert (ended.approvals, ended.reviewer, ended.items) == ((critic,), tester, ("use a lock", "name it"))
    assert (ended.round, ended.commit) == (1, "c0ffee")


def test_a_review_that_is_not_held_is_told_as_such_before_the_failure_R7_R9():
    play = Play()
    play.file(profile="haunted", reviewers=("ghost",))
    play.hand_back("ISSUE-1", play.start("ISSUE-1"), commit="abc", empty_change=True)
    assert told(play) == [
        ("hand_back", "ISSUE-1", "in_review"),
        ("review", "ISSUE-1", "not_held"),
        ("fail", "ISSUE-1", "failed"),
    ]
    review = play.events[1]
    assert (review.round, review.commit, review.empty_change, review.reviewer) == (1, "abc", True, None)
    assert review.reason == play.see("ISSUE-1").reason


def test_a_merge_that_failed_is_no_review_not_held():
    play = Play()
    play.file()
    play.hand_back("ISSUE-1", play.start("ISSUE-1"))
    play.merge("ISSUE-1", None, reason="conflict")
    assert told(play) == [("fail", "ISSUE-1", "failed")]


def test_waits_and_the_stop_of_dispatch_are_no_change_of_the_board():
    play = Play()
    play.file()
    play.wait("ISSUE-1")
    assert told(play) == []
    play.read_wait("ISSUE-1")
    assert told(play) == []
    play.send(StopDispatch(defect="boom"))
    assert told(play) == []


def test_a_parked_attempt_is_told_apart_from_a_retry():
    play = Play()
    play.file()
    play.end("ISSUE-1", play.start("ISSUE-1"), Status.CANCELED, reason="cancelled", parked=True)
    assert told(play) == [("park", "ISSUE-1", "in_progress")]
    assert play.events[0].issue["reason"] == "ISSUE-1.0i ended canceled: cancelled"


def test_pictures_become_json_values():
    play = Play()
    play.epic("AUTH", description="why")
    play.file(epic="AUTH", description="more", reviewers=("critic",))
    play.file("AUTH-1")
    play.fail("AUTH-1")
    whole = board_dict(play.whole())
    assert json.loads(json.dumps(whole)) == whole
    assert whole["epics"] == [{"id": "AUTH", "title": "An epic", "description": "why"}]
    assert whole["stalled"] == [{"issue": "ISSUE-1", "blocker": "AUTH-1"}]
    assert whole["issues"] == [issue_dict(play.see("AUTH-1")), issue_dict(play.see("ISSUE-1"))]
    one = play.see("AUTH-1")
    texts = {"description": "more", "inScope": "in", "outOfScope": "out", "completionCriteria": "works", "commit": None}
    assert issue_dict(one) == summary_dict(one) | texts
    assert set(summary_dict(one)) == KEYS
