"""One declaration serves as schema and as argument check."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggactors.protocol.values import Code, Refused
from ggactors.tools.board import ALWAYS, CREATE_EPIC, REMOVE_EPIC, REMOVE_ISSUE, UPDATE_ISSUE
from ggactors.tools.builtin import EDIT_FILE, READ_FILE, SHELL, WORKBENCH, WRITE_FILE
from ggactors.tools.endings import ENDINGS
from ggactors.tools.operation import Operation, Param, Shape, camel

EVERY = (*WORKBENCH, *ALWAYS, CREATE_EPIC, UPDATE_ISSUE, REMOVE_EPIC, REMOVE_ISSUE, *ENDINGS)

# The table of tool arguments, written down a second time: name of the tool, required arguments, optional ones.
CONTRACT = {
    "create_epic": (["prefix", "title"], ["description"]),
    "update_issue": (
        ["issueId"],
        ["title", "description", "inScope", "outOfScope", "completionCriteria", "epicId", "status"],
    ),
    "set_issue_blocked_by": (["issueId", "blockedBy"], []),
    "remove_epic": (["epicId"], []),
    "remove_issue": (["issueId"], []),
    "wait_for_issue": (["issueId"], []),
    "read_board": ([], ["epicId", "issueId"]),
    "read_file": (["path"], ["offset", "limit"]),
    "write_file": (["path", "contents"], []),
    "edit_file": (["path", "oldString", "newString"], ["all"]),
    "list_dir": ([], ["path"]),
    "search_files": (["pattern"], ["path", "glob"]),
    "shell": (["command"], ["timeoutSecs"]),
    "finish": (["summary"], []),
    "approve": ([], []),
    "request_changes": (["items"], []),
}


def refusal(operation: Operation, args: object) -> str:
    answer = operation.check(args)
    assert isinstance(answer, Refused)
    assert answer.code is Code.INVALID_ARGUMENT
    return answer.message


def test_the_schemas_are_those_of_the_contract():
    assert {one.tool for one in EVERY} == set(CONTRACT)
    for operation in EVERY:
        required, optional = CONTRACT[operation.tool]
        schema = operation.spec.schema
        assert schema["required"] == required
        assert sorted(schema["properties"]) == sorted(required + optional)
        assert schema["additionalProperties"] is False
        json.dumps(schema)


def test_every_operation_and_argument_is_described():
    for operation in EVERY:
        assert operation.doc.endswith((".", "!")), operation.tool
        assert all(param.doc for param in operation.params)
        assert operation.id.partition(".")[2]


def test_arguments_come_back_by_their_python_names_with_defaults():
    assert EDIT_FILE.check({"path": "a", "oldString": "x", "newString": ""}) == {
        "path": "a",
        "old_string": "x",
        "new_string": "",
        "all": False,
    }
    assert SHELL.check({"command": "true"}) == {"command": "true", "timeout_secs": 120}


def test_an_unknown_argument_is_refused_with_the_nearest_name():
    assert "`pth`; did you mean `path`?" in refusal(READ_FILE, {"pth": "a"})


def test_a_snake_case_argument_is_told_its_camel_case_name():
    assert "`old_string` is spelled `oldString`" in refusal(
        EDIT_FILE, {"path": "a", "old_string": "x", "newString": "y"}
    )


def test_an_argument_of_a_call_that_takes_none_says_so():
    assert "it takes none" in refusal(ENDINGS[1], {"zzz": 1})


def test_every_fault_of_a_call_is_named_at_once():
    said = refusal(READ_FILE, {"offset": 0, "limit": "3", "colour": "red"})
    assert all(word in said for word in ("`path` is missing", "`offset` must be", "`limit` must be", "`colour`"))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"path": 3}, "`path` must be a string (a path), not a number"),
        ({"path": None}, "`path` must be a string (a path), not null"),
        ({"path": ""}, "`path` must not be empty"),
        ({"path": "a\0b"}, "`path` must not hold a NUL"),
        ({"path": "a", "offset": True}, "`offset` must be an integer from 1, not a boolean"),
        ({"path": "a", "offset": 1.5}, "`offset` must be an integer from 1, not a number"),
        ({"path": "a", "offset": 0}, "`offset` must be an integer from 1, not 0"),
        ({"path": "a", "offset": 10**400}, "`offset` must be an integer from 1"),
        (["path"], "one object, not a list"),
        (None, "one object, not null"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(args, said):
    assert said in refusal(READ_FILE, args)


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), 10**9, "5", True])
def test_a_time_out_that_is_no_sensible_number_is_refused(value):
    assert "timeoutSecs" in refusal(SHELL, {"command": "true", "timeoutSecs": value})


def test_the_two_documented_leniencies_and_no_others():
    assert READ_FILE.check({"path": "a", "offset": 10.0, "limit": None}) == {"path": "a", "offset": 10, "limit": None}
    assert isinstance(READ_FILE.check({"path": "a", "offset": "10"}), Refused)


def test_half_a_surrogate_pair_is_refused_in_text_but_carries_a_byte_in_a_path():
    assert "surrogate" in refusal(WRITE_FILE, {"path": "a", "contents": "x\ud800"})
    assert READ_FILE.check({"path": "\udcff"}) == {"path": "\udcff", "offset": None, "limit": None}
    assert "surrogate" in refusal(READ_FILE, {"path": "\ud800"})


def test_a_closed_choice_lists_its_values():
    param = Param(name="agent", doc="Who.", choices=("coder", "tester"))
    operation = Operation(id="a.b", tool="b", doc="B.", params=(param,))
    assert operation.spec.schema["properties"]["agent"]["enum"] == ["coder", "tester"]
    assert "one of coder, tester, not `codr`; did you mean `coder`?" in refusal(operation, {"agent": "codr"})


def test_a_list_is_checked_item_by_item():
    param = Param(name="who", doc="Who.", shape=Shape.TEXTS, choices=("a", "b"), items=1)
    operation = Operation(id="a.b", tool="b", doc="B.", params=(param,))
    assert operation.check({"who": ["a", "b"]}) == {"who": ("a", "b")}
    assert "at least 1 item" in refusal(operation, {"who": []})
    assert "item 2 must be a list of strings out of a, b, not `c`" in refusal(operation, {"who": ["a", "c"]})
    assert "not a string" in refusal(operation, {"who": '["a"]'})


def test_an_update_that_changes_nothing_is_refused():
    assert "at least one of `title`" in refusal(UPDATE_ISSUE, {"issueId": "ISSUE-1"})
    assert isinstance(UPDATE_ISSUE.check({"issueId": "ISSUE-1", "epicId": ""}), dict)


def test_a_status_other_than_open_is_refused_B8():
    assert "`status` must be one of open, not `done`" in refusal(UPDATE_ISSUE, {"issueId": "I-1", "status": "done"})


@given(name=st.from_regex(r"[a-z]+(_[a-z]+)*", fullmatch=True))
def test_camel_case_loses_only_the_underscores(name):
    assert camel(name).lower() == name.replace("_", "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = sorted({param.sent_as for operation in EVERY for param in operation.params})


@given(
    operation=st.sampled_from(EVERY),
    args=st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=6), JSON, max_size=5) | JSON,
)
def test_whatever_a_model_sends_is_checked_or_refused_in_valid_text(operation, args):
    answer = operation.check(args)
    if isinstance(answer, Refused):
        answer.message.encode("utf-8")
        assert answer.message.startswith(f"{operation.tool}: ")
    else:
        assert set(answer) == {param.name for param in operation.params}
