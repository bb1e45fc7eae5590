"""Views of issues that were removed: what is told of their worktrees afterwards does not bring them back."""

from ggactors.protocol.events import BoardChanged, IssueReview, WorktreeMerged
from ggactors.telemetry.folds import fold

ISSUE = {"id": "ISSUE-1", "title": "t", "state": "failed", "agent": "coder", "attempts": 1, "rounds": 1}
REVIEW = IssueReview(issue="ISSUE-1", round=1, verdict="not_held", approvals=(), items=(), empty_change=False)
GONE = WorktreeMerged(issue="ISSUE-1", merged=False, conflicts=(), one_sided=False, empty_change=False)


def test_an_issue_that_was_removed_stays_removed_whatever_is_told_of_it_after_B9():
    view = fold([BoardChanged(op="fail", issue=ISSUE), BoardChanged(op="remove_issue", issue=ISSUE), REVIEW, GONE])
    assert view.issues == {}


def test_what_is_told_of_an_issue_nobody_heard_of_is_kept():
    assert fold([GONE]).issues["ISSUE-1"].merge == GONE
