"""The SDK's text: one declaration, spelled and documented as each language does."""

from __future__ import annotations

import ast
import json

import pytest
from programs_kit import JAVASCRIPT, LANGUAGES, OPERATIONS, PYTHON, SDKS, TYPESCRIPT

from ggactors.programs.sdk import Sdk, camel
from ggactors.protocol.program import OperationSpec, ParamSpec, ValueType

SIGNATURES = {
    "files.read_file": (
        "read_file(path: str, *, offset: int | None = None, limit: int | None = None) -> str",
        "readFile(path: string, options?: { offset?: number; limit?: number }): string",
    ),
    "files.list_dir": (
        "list_dir(path: str = '.') -> list[Record]",
        "listDir(path?: string): { name: string; kind: string }[]",
    ),
    "shell.run": (
        "run(command: str, *, timeout_secs: float = 120) -> Record",
        "run(command: string, options?: { timeoutSecs?: number }): { exitCode: number; output: string }",
    ),
    "board.update_issue": (
        (
            "update_issue(issue_id: str, *, title: str | None = None, epic_id: str | None = gg.UNCHANGED, "
            "status: str | None = None) -> Record"
        ),
        "updateIssue(issueId: string, options?: { title?: string; epicId?: string | null; status?: string }): { id: string }",
    ),
    "session.finish": ("finish(summary: str)", "finish(summary: string): void"),
    "session.request_changes": ("request_changes(items: list[str])", "requestChanges(items: string[]): void"),
}


@pytest.mark.parametrize("operation", SIGNATURES)
def test_a_signature_is_written_as_the_language_writes_it(operation: str):
    python, script = SIGNATURES[operation]
    assert SDKS[PYTHON].signature(SDKS[PYTHON].operations[operation]) == python
    for language in (JAVASCRIPT, TYPESCRIPT):
        assert SDKS[language].signature(SDKS[language].operations[operation]) == script


def test_python_signatures_are_python():
    for operation in OPERATIONS:
        ast.parse(f"def {SDKS[PYTHON].signature(operation)}: ...")


def test_every_operation_has_a_page_every_module_too_and_errors_have_one():
    for language in LANGUAGES:
        sdk = SDKS[language]
        names = [page.name for page in sdk.pages]
        assert len(names) == len(set(names))
        assert "errors" in names
        for operation in OPERATIONS:
            page = sdk.open(operation.id)
            assert page is not None
            assert page.module == operation.module
            assert sdk.called(operation.id) in page.text.splitlines()[0]
            module = sdk.open(operation.module)
            assert module is not None
            assert page.text in module.text


def test_a_page_says_what_is_passed_what_comes_back_and_what_clears():
    page = SDKS[PYTHON].open("board.update_issue")
    assert page is not None
    assert "epic_id: Its epic. Left out or gg.UNCHANGED keeps what is there; None clears it." in page.text
    assert "status: Its state. One of open." in page.text
    script = SDKS[JAVASCRIPT].open("board.updateIssue")
    assert script is not None
    assert "epicId: Its epic. Left out or undefined keeps what is there; null clears it." in script.text
    assert "exitCode (number)" in SDKS[JAVASCRIPT].doc("shell.run")


def test_names_quoted_in_a_text_are_spelled_as_the_language_does():
    assert "see `list_dir` and `search_files`" in SDKS[PYTHON].doc("files.read_file")
    assert "see `listDir` and `searchFiles`" in SDKS[JAVASCRIPT].doc("files.readFile")


@pytest.mark.parametrize(
    "name", ["files.read_file", "gg.files.read_file", "files.readFile", " gg.files.readFile", "FILES.READ_FILE"]
)
def test_a_page_opens_under_any_spelling_of_its_name(name: str):
    for language in LANGUAGES:
        page = SDKS[language].open(name)
        assert page is not None
        assert page.name == f"files.{SDKS[language].spelled('read_file')}"


def test_no_page_opens_under_another_name():
    assert SDKS[PYTHON].open("files.nope") is None
    assert (
        SDKS[PYTHON].doc("files.red_file") == "there is no call `gg.files.red_file`; did you mean `gg.files.read_file`?"
    )


def test_search_finds_the_operation_first_and_keeps_to_a_module():
    for language in LANGUAGES:
        sdk = SDKS[language]
        assert sdk.search("read file")[0].name == f"files.{sdk.spelled('read_file')}"
        assert sdk.search("readFile")[0].name == f"files.{sdk.spelled('read_file')}"
        assert {page.module for page in sdk.search("a", module="gg.session")} <= {"session"}
        assert sdk.search("finish", module="files") == []
        assert sdk.search("zebra") == []
        assert len(sdk.search("")) == len(sdk.pages)


def test_the_summary_names_every_call_on_a_line_of_its_own():
    for language in LANGUAGES:
        lines = SDKS[language].summary().splitlines()
        assert lines[0] == "gg.files"
        assert len(lines) == len(OPERATIONS) + len(SDKS[language].modules)
    assert (
        "  read_file(path, *, offset=None, limit=None) -> str: Read a text file." in SDKS[PYTHON].summary().splitlines()
    )
    assert "  readFile(path, { offset?, limit? }): Read a text file." in SDKS[JAVASCRIPT].summary().splitlines()


def test_what_a_guest_reads_is_the_declaration():
    wire = json.loads(SDKS[PYTHON].wire)
    assert wire["files"]["read_file"] == [["path", True, None], ["offset", False, None], ["limit", False, None]]
    assert json.loads(SDKS[JAVASCRIPT].wire)["shell"]["run"] == [["command", True, None], ["timeoutSecs", False, 120]]


def test_calls_and_arguments_are_found_by_the_languages_spelling_alone():
    python, script = SDKS[PYTHON], SDKS[JAVASCRIPT]
    assert python.find("files.read_file") is not None
    assert python.find("files.readFile") is None
    found = script.find("shell.run")
    assert found is not None
    assert script.plain(found, {"timeoutSecs": 1, "timeout_secs": 2, "x": 3}) == {"timeout_secs": 2, "x": 3}
    assert script.find("files.read_file") is None


def test_an_sdk_without_operations_is_still_one():
    sdk = Sdk((), PYTHON)
    assert (sdk.wire, sdk.summary(), [page.name for page in sdk.pages]) == ("{}", "", ["errors"])


@pytest.mark.parametrize(("name", "spelled"), [("run", "run"), ("read_file", "readFile"), ("a_b_c", "aBC")])
def test_camel_case(name: str, spelled: str):
    assert camel(name) == spelled


MIXED = OperationSpec(
    module="board",
    function="create_issue",
    doc="File an issue.",
    params=(
        ParamSpec(name="title", type=ValueType.TEXT, doc="Its title."),
        ParamSpec(name="description", type=ValueType.TEXT, doc="More.", required=False),
        ParamSpec(name="in_scope", type=ValueType.TEXT, doc="What it is about."),
    ),
)


def test_required_arguments_come_first_wherever_they_are_declared():
    python, script = (Sdk([MIXED], language) for language in (PYTHON, JAVASCRIPT))
    assert python.signature(MIXED, types=False) == "create_issue(title, in_scope, *, description=None)"
    assert script.signature(MIXED, types=False) == "createIssue(title, inScope, { description? })"
    assert [name for name, _, _ in json.loads(python.wire)["board"]["create_issue"]] == [
        "title",
        "in_scope",
        "description",
    ]
