"""What agents are told."""

from __future__ import annotations

import pytest
from attrs import evolve

from ggactors.protocol.agent import AgentOrder
from ggactors.protocol.board import IssuePicture, LastAttempt, MergeJob, Verdict
from ggactors.protocol.crew import ModelSpec, Profile
from ggactors.protocol.git import ChangeSummary, FileChange
from ggactors.protocol.values import IssueState, Kind, Role, Status
from ggactors.rules import briefs

PROFILE = Profile(
    id="coder", name="Coder", model=ModelSpec(key="m", provider="script", name="m.json"), instructions="Write tests."
)
ISSUE = IssuePicture(
    id="AUTH-1",
    title="Log in",
    state=IssueState.IN_PROGRESS,
    agent="coder",
    reviewers=("critic",),
    blocked_by=(),
    epic="AUTH",
    attempts=1,
    rounds=0,
    reason=None,
    description="People cannot log in.",
    in_scope="login.py",
    out_of_scope="logout",
    completion_criteria="tests pass",
)
CHANGES = ChangeSummary(
    base="b" * 40,
    base_ref="refs/ggactors/base/AUTH-1",
    commit="c" * 40,
    files=(
        FileChange(path="login.py", kind="modified", added=3, removed=1),
        FileChange(path="logo.png", kind="added", added=None, removed=None),
        FileChange(path="new.py", old_path="old.py", kind="renamed", added=0, removed=0),
    ),
)
ASKED = Verdict(
    round=1, agent="AUTH-1.0i.0r", profile="critic", approved=False, items=("Test it.", "Name it."), commit="c" * 40
)
APPROVED = Verdict(round=2, agent="AUTH-1.1i.0r", profile="critic", approved=True, items=(), commit="d" * 40)


def order(kind: Kind, role: Role = Role.STANDARD, **more: str) -> AgentOrder:
    return AgentOrder(id="a.b", profile="coder", kind=kind, role=role, brief="do it", workdir="/tree", **more)


@pytest.mark.parametrize("kind", Kind)
def test_every_prompt_says_who_one_is_and_where_and_how_to_end_and_nothing_of_ceilings_or_the_board_B6_C2(kind):
    role = Role.REVIEW if kind is Kind.REVIEWER else Role.STANDARD
    prompt = briefs.system_prompt(PROFILE, order(kind, role, issue="AUTH-1", parent="root"))
    for told in ("Coder", "a.b", "/tree", "Write tests.", "approve" if role is Role.REVIEW else "finish"):
        assert told in prompt
    for untold in ("maxTurns", "ceiling", "limit", "board"):
        assert untold not in prompt


def test_an_implementers_prompt_names_its_issue_and_that_finishing_hands_it_back_D10():
    prompt = briefs.system_prompt(PROFILE, order(Kind.IMPLEMENTER, issue="AUTH-1"))
    assert "issue AUTH-1" in prompt
    assert "Finishing hands the issue back" in prompt


def test_notes_and_the_repositorys_guide_join_the_prompt_the_guide_marked_as_the_repositorys():
    told = briefs.system_prompt(PROFILE, order(Kind.ROOT, notes="Mind the gap."), guide="Use tabs.\n")
    assert "Mind the gap." in told
    assert "<repository-text path='AGENTS.md'>\nUse tabs.\n</repository-text>" in told
    plain = Profile(id="plain", name="Plain", model=PROFILE.model)
    assert "Instructions" not in briefs.system_prompt(plain, order(Kind.ROOT))


def test_a_brief_holds_every_section_of_its_issue_D1():
    brief = briefs.issue_brief(ISSUE)
    for told in ("AUTH-1: Log in", "People cannot log in.", "login.py", "logout", "tests pass"):
        assert told in brief


def test_a_retrys_brief_adds_how_the_last_attempt_ended_and_what_it_left_D5():
    last = LastAttempt(agent="AUTH-1.0i", status=Status.EXHAUSTED, reason="spent its turns", left="2 files changed")
    brief = briefs.issue_brief(ISSUE, last)
    assert "AUTH-1.0i ended without finishing (exhausted): spent its turns. " in brief
    assert "2 files changed" in brief
    empty = LastAttempt(agent="AUTH-1.0i", status=Status.EXHAUSTED, reason="spent its turns", left="")
    assert "holds what it left" not in briefs.issue_brief(ISSUE, empty)


def test_a_rework_brief_numbers_the_items_asked_for_last_R4():
    brief = briefs.issue_brief(ISSUE, verdicts=(ASKED, APPROVED))
    assert "(round 1). AUTH-1.0i.0r asks" in brief
    assert "\n1. Test it.\n2. Name it." in brief


def test_a_reviewers_brief_lists_changed_files_and_every_verdict_and_never_the_patch_R2():
    brief = briefs.review_brief(ISSUE, CHANGES, (ASKED, APPROVED), implementer="AUTH-1.1i", empty=False)
    for told in (
        "refs/ggactors/base/AUTH-1",
        "c" * 40,
        "- login.py (modified, +3 -1)",
        "- logo.png (added, binary)",
        "- old.py -> new.py (renamed, +0 -0)",
        "- round 1, AUTH-1.0i.0r (critic): requested changes\n  1. Test it.\n  2. Name it.",
        "- round 2, AUTH-1.1i.0r (critic): approved",
    ):
        assert told in brief


def test_a_first_reviewer_of_an_empty_change_is_told_so_R9():
    brief = briefs.review_brief(ISSUE, CHANGES, (), implementer="AUTH-1.0i", empty=True)
    assert "EMPTY" in brief
    assert "Verdicts" not in brief


def test_a_merge_agents_brief_names_branch_issue_and_paths_M2():
    job = MergeJob(issue="AUTH-1", agent="AUTH-1.0i", title="Log in", commit="c" * 40, attempt=0, empty_change=False)
    brief = briefs.merge_brief(job, "gg-AUTH-1", ("login.py", "x y.py"))
    for told in ("gg-AUTH-1", "AUTH-1 (Log in)", "- login.py\n- x y.py"):
        assert told in brief


def test_uncommitted_changes_are_named_up_to_a_number_and_counted_beyond_W11():
    assert briefs.dirty_note(()) == ""
    assert briefs.dirty_note(("a", "b"), shown=2).endswith("\n- a\n- b")
    assert briefs.dirty_note(("a", "b", "c"), shown=2).endswith("\n- b\n- and 1 more")


def test_a_reply_without_a_call_is_answered_by_the_roles_own_endings_E2():
    assert "`finish`" in briefs.no_call_feedback(Role.STANDARD)
    assert "finish" not in briefs.no_call_feedback(Role.REVIEW)
    assert "`request_changes`" in briefs.no_call_feedback(Role.REVIEW)


def test_subject_lines_are_one_line_of_bounded_length():
    subject, blank, *body = briefs.work_message("AUTH-1", "a\nb " + "x" * 100, " said\n").splitlines()
    assert len(subject) == len("AUTH-1: ") + 64
    assert subject.startswith("AUTH-1: a b x")
    assert (blank, body) == ("", ["said"])
    assert briefs.merge_message("AUTH-1", "Log in") == "Merge AUTH-1: Log in\n"


def test_an_issue_without_a_description_has_no_empty_section():
    bare = evolve(ISSUE, description=None)
    assert briefs.issue_brief(bare).startswith("# AUTH-1: Log in\n\n## In scope")


def test_what_others_say_is_told_as_theirs():
    assert briefs.operator_text("Hurry.", "operator") == "Message from operator:\nHurry."
    assert briefs.unread_note("root", "a\nb", "operator").endswith("from operator: a b")
    assert "tests fail" in briefs.gate_blocked("tests fail")
    assert briefs.main_message("root") == "Work of root in the main workspace\n"
