"""The board's tools: who is offered what, what a call becomes, what an answer becomes."""

from __future__ import annotations

import json

import pytest
import toolskit
from hypothesis import given
from hypothesis import strategies as st

from ggactors.protocol.board import (
    BoardAnswer,
    BoardLetter,
    BoardPicture,
    CreateEpic,
    CreateIssue,
    Done,
    EpicCreated,
    EpicPicture,
    EpicRemoved,
    IssueFiled,
    IssuePicture,
    IssueRemoved,
    ReadBoard,
    RemoveEpic,
    RemoveIssue,
    SetIssueBlockedBy,
    Stall,
    UpdateIssue,
    WaitSettled,
)
from ggactors.protocol.crew import BoardGrant
from ggactors.protocol.values import Code, IssueState, Refused
from ggactors.tools.board import (
    BOARD_TOOLS,
    MOST_SHOWN,
    BoardDesk,
    board_result,
    create_issue,
    operations_of,
    parse_wait,
    result,
)

ISSUE = {
    "title": "Add a",
    "in_scope": "a.py",
    "out_of_scope": "-",
    "completion_criteria": "a.py exists",
    "agent": "coder",
}
SENT = {"title": "Add a", "inScope": "a.py", "outOfScope": "-", "completionCriteria": "a.py exists", "agent": "coder"}


def picture(**changes: object) -> IssuePicture:
    values = {
        "id": "AUTH-1",
        "title": "Add a",
        "state": IssueState.OPEN,
        "agent": "coder",
        "reviewers": ("critic",),
        "blocked_by": ("ISSUE-1",),
        "epic": "AUTH",
        "attempts": 1,
        "rounds": 0,
        "reason": None,
        "description": "why",
        "in_scope": "a.py",
        "out_of_scope": "-",
        "completion_criteria": "exists",
    }
    return IssuePicture(**(values | changes))


def names(**changes: object) -> list[str]:
    lead = toolskit.profile(**changes)
    return [operation.tool for operation in operations_of(lead, toolskit.crew(lead))]


def letter_of(tool: str, **args: object) -> BoardLetter:
    """Check a call's arguments, send it, and give back the letter that went out."""
    lead = toolskit.profile()
    operation = next(one for one in operations_of(lead, toolskit.crew(lead)) if one.tool == tool)
    checked = operation.check(args)
    assert not isinstance(checked, Refused), checked
    return BoardDesk(agent="root", profile="lead", ask=nobody)._letter(tool, checked)


async def nobody(letter: BoardLetter) -> BoardAnswer:
    raise AssertionError("nobody is asked")


# ---------------------------------------------------------------- what is offered


def test_a_profile_with_everything_on_has_all_eight_B7():
    assert set(names()) == set(BOARD_TOOLS)
    assert len(BOARD_TOOLS) == 8


def test_a_profile_without_the_capability_has_none_B1():
    assert names(board=None) == []


@pytest.mark.parametrize(
    ("grant", "withheld"),
    [
        (BoardGrant(issue_creation=False), {"create_epic", "create_issue"}),
        (BoardGrant(revise_board=False), {"update_issue", "remove_epic", "remove_issue"}),
        (
            BoardGrant(issue_creation=False, revise_board=False),
            {"create_epic", "create_issue", "update_issue", "remove_epic", "remove_issue"},
        ),
    ],
)
def test_each_feature_withholds_its_own_tools_and_never_those_of_Q6_F1(grant, withheld):
    assert set(BOARD_TOOLS) - set(names(board=grant)) == withheld


def test_create_issue_lists_whom_the_caller_may_assign_with_their_descriptions_A1_A2():
    lead = toolskit.profile()
    spec = create_issue(lead, toolskit.crew(lead)).spec
    properties = spec.schema["properties"]
    assert properties["agent"]["enum"] == ["coder", "tester"]
    assert properties["reviewers"]["items"]["enum"] == ["critic"]
    assert "- coder (Coder): writes code" in spec.description
    assert "- critic (Critic): reviews" in spec.description
    assert "scout" not in spec.description


def test_the_arguments_of_create_issue_are_the_contracts():
    lead = toolskit.profile()
    schema = create_issue(lead, toolskit.crew(lead)).spec.schema
    assert schema["required"] == ["title", "inScope", "outOfScope", "completionCriteria", "agent"]
    assert sorted(set(schema["properties"]) - set(schema["required"])) == [
        "blockedBy",
        "description",
        "epicId",
        "reviewers",
    ]


def test_reviewers_are_required_when_the_feature_is_on_F1():
    lead = toolskit.profile(board=BoardGrant(reviewers_required=True))
    operation = create_issue(lead, toolskit.crew(lead))
    assert "reviewers" in operation.spec.schema["required"]
    for args in (SENT, SENT | {"reviewers": []}):
        answer = operation.check(args)
        assert isinstance(answer, Refused)
        assert "`reviewers`" in answer.message


@pytest.mark.parametrize("agent", ["scout", "critic", "nobody", "Coder"])
def test_an_agent_that_cannot_be_assigned_is_refused_with_those_that_can_A2(agent):
    lead = toolskit.profile()
    answer = create_issue(lead, toolskit.crew(lead)).check(SENT | {"agent": agent})
    assert isinstance(answer, Refused)
    assert answer.code is Code.INVALID_ARGUMENT
    assert "coder, tester" in answer.message


def test_a_reviewer_that_cannot_review_is_refused_with_those_that_can_A2():
    lead = toolskit.profile()
    answer = create_issue(lead, toolskit.crew(lead)).check(SENT | {"reviewers": ["coder"]})
    assert isinstance(answer, Refused)
    assert "critic" in answer.message


# ---------------------------------------------------------------- calls become letters


def test_every_call_becomes_its_letter_signed_by_the_runtime():
    by = {"by": "root", "profile": "lead"}
    assert letter_of("create_epic", prefix="auth", title="Auth") == CreateEpic(prefix="auth", title="Auth", **by)
    assert letter_of("create_issue", **SENT) == CreateIssue(**ISSUE, **by)
    full = SENT | {"description": "d", "reviewers": ["critic"], "epicId": "AUTH", "blockedBy": ["AUTH-1"]}
    assert letter_of("create_issue", **full) == CreateIssue(
        **ISSUE, description="d", reviewers=("critic",), epic="AUTH", blocked_by=("AUTH-1",), **by
    )
    assert letter_of("set_issue_blocked_by", issueId="A-1", blockedBy=[]) == SetIssueBlockedBy(
        issue="A-1", blocked_by=(), **by
    )
    assert letter_of("remove_epic", epicId="AUTH") == RemoveEpic(epic="AUTH", **by)
    assert letter_of("remove_issue", issueId="A-1") == RemoveIssue(issue="A-1", **by)
    assert letter_of("read_board") == ReadBoard()
    assert letter_of("read_board", epicId="AUTH") == ReadBoard(epic="AUTH")
    assert letter_of("read_board", issueId="A-1") == ReadBoard(issue="A-1")


def test_an_update_tells_leaving_from_clearing_B8():
    by = {"by": "root", "profile": "lead"}
    assert letter_of("update_issue", issueId="A-1", description="", epicId="") == UpdateIssue(
        issue="A-1", description="", epic="", **by
    )
    assert letter_of("update_issue", issueId="A-1", status="open", epicId=None) == UpdateIssue(
        issue="A-1", status="open", **by
    )


def test_a_board_read_by_epic_and_issue_at_once_is_refused():
    answer = letter_of("read_board", epicId="AUTH", issueId="A-1")
    assert isinstance(answer, Refused)
    assert answer.code is Code.INVALID_ARGUMENT


def test_a_wait_names_one_issue_Q1():
    assert parse_wait(toolskit.call("wait_for_issue", issueId="A-1")) == "A-1"
    assert isinstance(parse_wait(toolskit.call("wait_for_issue")), Refused)
    assert isinstance(parse_wait(toolskit.call("wait_for_issue", issueId="A-1", timeout=3)), Refused)


# ---------------------------------------------------------------- answers become results


def test_results_are_those_of_the_contract():
    by = {"by": "root"}
    filed = IssueFiled(**ISSUE, issue="AUTH-1", description=None, reviewers=(), epic=None, blocked_by=(), **by)
    assert result(filed) == {"id": "AUTH-1"}
    assert result(EpicCreated(epic="AUTH", title="t", description=None, **by)) == {"id": "AUTH"}
    assert result(EpicRemoved(epic="AUTH", **by)) == {"id": "AUTH"}
    assert result(IssueRemoved(issue="AUTH-1", **by)) == {"id": "AUTH-1"}
    assert result(WaitSettled(issue="AUTH-1", state=IssueState.DONE)) == {"id": "AUTH-1", "state": "done"}
    refusal = Refused(code=Code.CONFLICT, message="no")
    assert result(refusal) is refusal


def test_an_issue_is_shown_by_the_names_of_events_and_arguments():
    assert result(picture()) == {
        "id": "AUTH-1",
        "title": "Add a",
        "state": "open",
        "agent": "coder",
        "reviewers": ["critic"],
        "blockedBy": ["ISSUE-1"],
        "epic": "AUTH",
        "attempts": 1,
        "rounds": 0,
        "reason": None,
        "description": "why",
        "inScope": "a.py",
        "outOfScope": "-",
        "completionCriteria": "exists",
        "commit": None,
    }


def test_a_board_is_shown_with_its_stalls_D6():
    board = BoardPicture(
        epics=(EpicPicture(id="AUTH", title="t", description=None),),
        issues=(picture(),),
        stalled=(Stall(issue="AUTH-1", blocker="ISSUE-1"),),
    )
    shown = result(board)
    assert shown["epics"] == [{"id": "AUTH", "title": "t", "description": None}]
    assert [issue["id"] for issue in shown["issues"]] == ["AUTH-1"]
    assert shown["stalled"] == [{"issue": "AUTH-1", "blocker": "ISSUE-1"}]


def test_an_answer_to_another_letter_is_our_defect():
    with pytest.raises(AssertionError, match="Done"):
        result(Done())


@given(
    count=st.integers(0, 3000),
    length=st.sampled_from([0, 50, 5000]),
    done=st.integers(0, 3000),
)
def test_a_board_of_any_size_is_shown_within_bounds_and_says_what_is_left_out(count, length, done):
    issues = tuple(
        picture(id=f"A-{n}", description="d" * length, state=IssueState.DONE if n < done else IssueState.OPEN)
        for n in range(count if length < 5000 else min(count, 100))
    )
    shown = board_result(BoardPicture(epics=(), issues=issues))
    assert len(json.dumps(shown)) <= MOST_SHOWN + 1000
    omitted = shown.get("omitted", {"done": 0, "others": 0})
    assert len(shown["issues"]) + omitted["done"] + omitted["others"] == len(issues)
    if "note" not in shown:
        assert [issue["description"] for issue in shown["issues"]] == ["d" * length] * len(issues)
