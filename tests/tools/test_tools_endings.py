"""The ending calls: role first, shape second, and both refusals say what to send."""

from __future__ import annotations

import pytest

from ggactors.protocol.agent import Approved, ChangesRequested, Finished
from ggactors.protocol.model import ToolCall
from ggactors.protocol.values import Code, Refused, Role
from ggactors.tools.endings import RoleEndings, declare, is_ending, specs_of


def call(tool: str, **args: object) -> ToolCall:
    return ToolCall(id="c", tool=tool, args=args)


def refused(role: Role, made: ToolCall) -> Refused:
    answer = declare(role, made)
    assert isinstance(answer, Refused)
    return answer


def test_each_role_is_offered_its_own_endings_only_E3():
    assert [spec.name for spec in specs_of(Role.STANDARD)] == ["finish"]
    assert [spec.name for spec in specs_of(Role.REVIEW)] == ["approve", "request_changes"]


def test_a_finish_with_a_summary_is_an_ending_E1():
    assert declare(Role.STANDARD, call("finish", summary="  did it \n")) == Finished(summary="did it")


@pytest.mark.parametrize("args", [{}, {"summary": ""}, {"summary": " \n\t"}, {"summary": None}, {"summary": ["x"]}])
def test_a_finish_without_a_summary_is_told_what_to_send_E5(args):
    answer = refused(Role.STANDARD, ToolCall(id="c", tool="finish", args=args))
    assert answer.code is Code.INVALID_ARGUMENT
    assert "`summary`" in answer.message


def test_an_approval_takes_nothing_E1():
    assert declare(Role.REVIEW, call("approve")) == Approved()
    assert refused(Role.REVIEW, call("approve", summary="fine")).code is Code.INVALID_ARGUMENT


def test_requested_changes_are_trimmed_and_blanks_dropped_E5():
    assert declare(Role.REVIEW, call("request_changes", items=[" a ", "", "  ", "b\n"])) == ChangesRequested(
        items=("a", "b")
    )


@pytest.mark.parametrize("items", [[], ["", " "]])
def test_a_request_of_no_change_is_told_what_to_send_E5(items):
    answer = refused(Role.REVIEW, call("request_changes", items=items))
    assert answer.code is Code.INVALID_ARGUMENT
    assert "at least" in answer.message


def test_the_role_is_checked_before_the_shape_E4():
    answer = refused(Role.STANDARD, call("request_changes", items=[]))
    assert answer.code is Code.UNAVAILABLE
    assert "`finish`" in answer.message
    answer = refused(Role.REVIEW, call("finish", summary=""))
    assert answer.code is Code.UNAVAILABLE
    assert "`approve` or `request_changes`" in answer.message


def test_an_ending_of_any_role_is_known_as_one_E4():
    endings = RoleEndings(Role.STANDARD)
    assert all(endings.is_ending(name) and is_ending(name) for name in ("finish", "approve", "request_changes"))
    assert not endings.is_ending("shell")
    assert endings.declare(call("finish", summary="x")) == Finished(summary="x")
