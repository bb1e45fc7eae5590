"""Turn answers into the plain values a program gets (docs/reference/programs.md). Law: pure; fields are named in snake_case.

A program works on with what it gets, so nothing is cut in silence: what does not fit is refused as ``limit-exceeded``, with the
way to get all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from ggactors.protocol.program import FieldSpec, ResultSpec, ValueType
from ggactors.protocol.values import Code, Refused
from ggactors.protocol.workbench import DirListed, FileEdited, FileRead, FileWritten, SearchDone, ShellDone

if TYPE_CHECKING:
    from ggactors.tools.mask import Mask

TEXT = ResultSpec(type=ValueType.TEXT, doc="The text of the file, or of the lines asked for.")
BYTES = ResultSpec(type=ValueType.INTEGER, doc="How many bytes were written.")
EDITED = ResultSpec(
    type=ValueType.RECORD,
    fields=(
        FieldSpec(name="path", type=ValueType.TEXT, doc="The file."),
        FieldSpec(name="replacements", type=ValueType.INTEGER, doc="How many texts were replaced."),
        FieldSpec(name="lines", type=ValueType.ANY, doc="The lines they began on, before the edit."),
    ),
)
ENTRIES = ResultSpec(
    type=ValueType.RECORDS,
    fields=(
        FieldSpec(name="name", type=ValueType.TEXT, doc="The entry's name."),
        FieldSpec(name="kind", type=ValueType.TEXT, doc="file, directory, link or other."),
    ),
)
MATCHES = ResultSpec(
    type=ValueType.RECORDS,
    fields=(
        FieldSpec(name="path", type=ValueType.TEXT, doc="The file."),
        FieldSpec(name="line", type=ValueType.INTEGER, doc="The line, counted from 1."),
        FieldSpec(name="text", type=ValueType.TEXT, doc="The line's text, shortened if it is long."),
    ),
)
COMMAND = ResultSpec(
    type=ValueType.RECORD,
    fields=(
        FieldSpec(name="exit_code", type=ValueType.INTEGER, doc="Its exit code; 128 + n when signal n killed it."),
        FieldSpec(name="output", type=ValueType.TEXT, doc="What it printed."),
        FieldSpec(name="truncated", type=ValueType.FLAG, doc="Whether the middle of the output is left out."),
        FieldSpec(name="full_output", type=ValueType.TEXT, doc="The file that holds all of it, if it is truncated."),
    ),
    doc="A command that fails raises nothing: look at its exit code.",
)
ID = ResultSpec(type=ValueType.RECORD, fields=(FieldSpec(name="id", type=ValueType.TEXT, doc="The id."),))
ISSUE = ResultSpec(
    type=ValueType.RECORD,
    fields=(
        *(FieldSpec(name=name, type=ValueType.TEXT) for name in ("id", "title", "state", "agent")),
        *(FieldSpec(name=name, type=ValueType.TEXTS) for name in ("reviewers", "blocked_by")),
        FieldSpec(name="epic", type=ValueType.TEXT),
        *(FieldSpec(name=name, type=ValueType.INTEGER) for name in ("attempts", "rounds")),
        *(
            FieldSpec(name=name, type=ValueType.TEXT)
            for name in ("reason", "description", "in_scope", "out_of_scope", "completion_criteria", "commit")
        ),
    ),
)
BOARD = ResultSpec(
    type=ValueType.RECORD,
    fields=(
        FieldSpec(name="epics", type=ValueType.RECORDS, doc="Each with id, title and description."),
        FieldSpec(name="issues", type=ValueType.RECORDS, doc="Each as `update_issue` gives one."),
        FieldSpec(name="stalled", type=ValueType.RECORDS, doc="Issues that can never start: issue and blocker."),
    ),
    doc="Of a large board texts and issues are left out, and `note` says so.",
)
WAITING = ResultSpec(
    type=ValueType.RECORD,
    fields=(
        FieldSpec(name="id", type=ValueType.TEXT, doc="The issue."),
        FieldSpec(name="state", type=ValueType.TEXT, doc="done or failed if it has ended, else waiting."),
    ),
)
AWAITED = ResultSpec(type=ValueType.TEXTS, doc="The ids of the subagents that are waited for.")


def workbench_value(
    answer: FileRead | FileWritten | FileEdited | DirListed | SearchDone | ShellDone, args: dict[str, Any], mask: Mask
) -> Any:
    """Give what a workbench did as a plain value, or the refusal when it did not give all that was asked for."""
    match answer:
        case FileRead():
            read = _read(answer, args)
            return read if isinstance(read, Refused) else mask.text(read)
        case FileWritten(bytes=size):
            return size
        case FileEdited(path=path, replacements=replacements, lines=lines):
            return {"path": path, "replacements": replacements, "lines": list(lines)}
        case DirListed(omitted=omitted) if omitted:
            return _too_much(
                f"{answer.path} has {omitted} entries more than can be listed; list it with a shell command"
            )
        case DirListed():
            return mask.value([{"name": entry.name, "kind": entry.kind} for entry in answer.entries])
        case SearchDone(stopped=str(stopped)):
            return _too_much(f"the search did not come to its end: {stopped}; narrow `path`, `glob` or `pattern`")
        case SearchDone():
            return mask.value([{"path": one.path, "line": one.line, "text": one.text} for one in answer.matches])
        case ShellDone():
            return {
                "exit_code": answer.exit_code,
                "output": mask.text(answer.output),
                "truncated": answer.truncated,
                "full_output": answer.full_output,
            }
        case _ as never:
            assert_never(never)


def _read(read: FileRead, args: dict[str, Any]) -> str | Refused:
    if read.binary is not None:
        message = f"read_file: {read.path} is no text ({read.binary}, {read.size} bytes); work on it with the shell"
        return Refused(code=Code.REFUSED, message=message)
    if read.cut:
        return _too_much(f"read_file: line {read.first} of {read.path} is too long; work on it with the shell")
    wanted = args.get("limit")
    got = read.last - read.first + 1
    at_end = read.total is not None and read.last >= read.total
    if read.size and not at_end and (wanted is None or got < wanted):
        last = f"{read.path} is {read.size} bytes and only lines {read.first} to {read.last} fit into one call"
        return _too_much(f"read_file: {last}; read it in parts with `offset` and `limit`")
    return read.text


def _too_much(message: str) -> Refused:
    return Refused(code=Code.LIMIT_EXCEEDED, message=message)


def snake(value: Any) -> Any:
    """Name the fields of records in snake_case, all the way down."""
    match value:
        case dict():
            return {_snake(key): snake(item) for key, item in value.items()}
        case list() | tuple():
            return [snake(item) for item in value]
        case _:
            return value


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
