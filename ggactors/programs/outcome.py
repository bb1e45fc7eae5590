"""What a program came to, told to the model: which culprit, in whose words, at which of the program's own lines (X5).

Law: pure. A guest's report is a claim about itself and is read as one: every part is checked, cut and quoted; lines of the
program are taken from the program as it was sent, never from the report.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from attrs import evolve

from ggactors.programs.execution import TIME
from ggactors.programs.hints import hint
from ggactors.protocol.program import ProgramKind, ProgramLimit, ProgramResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.programs.execution import Broken, Ended, Execution
    from ggactors.programs.sdk import Sdk
    from ggactors.protocol.program import ProgramLimits

MOST_MESSAGE = 4000
_MOST_LINE = 200
_MOST_FRAMES = 12
_DEPTH_TRAPS = frozenset({"stack_overflow", "memory_out_of_bounds"})


def outcome(ended: Ended, execution: Execution, sdk: Sdk, limits: ProgramLimits) -> ProgramResult:
    """Judge how a program ended."""
    told = _Telling(execution.order.shown or execution.order.source, execution.order.name, sdk)
    judged = _judge(ended, told, limits)
    return evolve(judged, **_account(execution))


def broken(letter: Broken, execution: Execution) -> ProgramResult:
    """Tell that the sandbox itself failed: a defect of the runtime, never the model's."""
    error = f"the sandbox failed: {letter.error}"
    return evolve(ProgramResult(kind=ProgramKind.FAULT, error=error, trace=letter.trace), **_account(execution))


def _account(execution: Execution) -> dict[str, Any]:
    lines = execution.log.lines()
    return {
        "logs": lines,
        "logs_dropped": execution.log.dropped,
        "duration_ms": round(execution.spent() * 1000, 3),
        "calls": execution.calls,
    }


def _judge(ended: Ended, told: _Telling, limits: ProgramLimits) -> ProgramResult:
    if ended.report is not None:
        return _reported(ended.report, told, limits)
    if ended.stopped == TIME:
        error = f"the program was stopped: it ran longer than {limits.timeout_secs:g} s, not counting the time its calls took"
        return ProgramResult(kind=ProgramKind.LIMIT, limit=ProgramLimit.TIME, error=error, error_type="TimeLimit")
    if ended.exited is not None:
        return _exit(ended.exited)
    if ended.trap in _DEPTH_TRAPS:
        return _depth("the program recursed deeper than the interpreter's stack")
    what = f"the program crashed its interpreter ({ended.trap or 'it stopped without a word'}); write it differently"
    return ProgramResult(kind=ProgramKind.RUNTIME_ERROR, error=what, error_type="InterpreterCrash")


def _reported(report: Mapping[str, Any], told: _Telling, limits: ProgramLimits) -> ProgramResult:
    match report.get("end"):
        case "ok":
            return ProgramResult(kind=ProgramKind.OK)
        case "exit":
            return _exit(report.get("status"))
        case "uncompiled":
            return told.uncompiled(report)
        case "raised":
            return _raised(report, told, limits)
        case _:
            error = "the program ended its interpreter's own bookkeeping; it must not use the descriptors 0 to 2"
            return ProgramResult(kind=ProgramKind.RUNTIME_ERROR, error=error, error_type="InterpreterCrash")


def _exit(status: object) -> ProgramResult:
    if status in (None, 0) and status is not False:
        return ProgramResult(kind=ProgramKind.OK)
    said = f"status {status}" if isinstance(status, int) else f"the message {_cut(str(status), 500)!r}"
    error = f"SystemExit: the program ended itself with {said}"
    return ProgramResult(kind=ProgramKind.RUNTIME_ERROR, error=error, error_type="SystemExit")


def _raised(report: Mapping[str, Any], told: _Telling, limits: ProgramLimits) -> ProgramResult:
    kind = told.word(report.get("type"), "Error")
    error = told.raised(report)
    line = told.line(report)
    if kind == "MemoryError" or (kind == "InternalError" and "out of memory" in told.word(report.get("message"), "")):
        most = f"{limits.max_memory_bytes / 2**20:g} MiB"
        said = f"the program needed more memory than the {most} it may have\n{error}"
        result = ProgramResult(kind=ProgramKind.LIMIT, limit=ProgramLimit.MEMORY, error=said, error_type=kind)
    elif kind == "RecursionError":
        result = _depth(error)
    else:
        result = ProgramResult(kind=ProgramKind.RUNTIME_ERROR, error=error, error_type=kind)
    code, operation = report.get("code"), report.get("operation")
    return evolve(
        result,
        line=line,
        error_type=kind,
        code=_cut(code, 100) if isinstance(code, str) else None,
        operation=told.operation(operation),
    )


def _depth(error: str) -> ProgramResult:
    return ProgramResult(kind=ProgramKind.LIMIT, limit=ProgramLimit.DEPTH, error=error, error_type="RecursionError")


class _Telling:
    """Words a guest's report with the program's own lines."""

    def __init__(self, source: str, name: str, sdk: Sdk) -> None:
        self._source = source
        self._lines = source.split("\n")
        self._name = name
        self._sdk = sdk

    def word(self, value: object, otherwise: str) -> str:
        """Take a text out of a report."""
        return _cut(value, MOST_MESSAGE) if isinstance(value, str) and value else otherwise

    def operation(self, called: object) -> str | None:
        """Give the id of the operation a report names."""
        if not isinstance(called, str):
            return None
        found = self._sdk.find(called)
        return found.id if found is not None else _cut(called, 100)

    def line(self, report: Mapping[str, Any]) -> int | None:
        """Give the program's line an error was raised at: the innermost of its own."""
        frames = self._frames(report)
        return frames[-1][0] if frames else None

    def uncompiled(self, report: Mapping[str, Any]) -> ProgramResult:
        """Tell why a program did not compile (C1)."""
        kind = self.word(report.get("type"), "SyntaxError")
        message = self.word(report.get("message"), "it cannot be compiled")
        line = report.get("line")
        line = line if isinstance(line, int) and 1 <= line <= len(self._lines) else _of_import(self._lines, message)
        parts = [f"{kind}: {message}"]
        if line is not None:
            parts.append(self._shown(line))
        parts += hint(kind, message, None, self._source)
        return ProgramResult(kind=ProgramKind.COMPILE_ERROR, error="\n".join(parts), error_type=kind, line=line)

    def raised(self, report: Mapping[str, Any]) -> str:
        """Tell what a program raised, where, and what lay under it."""
        kind = self.word(report.get("type"), "Error")
        message = self.word(report.get("message"), "")
        parts = [self._headline(kind, message, report)]
        parts += [self._shown(line, function) for line, function in self._frames(report)]
        for under in _records(report.get("parts")):
            parts.append(f"  with {self._brief(under)}")
        for under in _records(report.get("causes")):
            parts.append(f"  after {self._brief(under)}")
        parts += hint(kind, message, report.get("code"), self._source)
        return "\n".join(parts)

    def _headline(self, kind: str, message: str, report: Mapping[str, Any]) -> str:
        code, operation = report.get("code"), report.get("operation")
        said = f"{kind}: {message}" if message else kind
        if isinstance(code, str) and isinstance(operation, str):
            return f"{said} [{_cut(code, 100)}, from {_cut(self._sdk.called(operation), 100)}]"
        return said

    def _brief(self, under: Mapping[str, Any]) -> str:
        said = f"{self.word(under.get('type'), 'Error')}: {_cut(self.word(under.get('message'), ''), 300)}"
        line = self.line(under)
        return f"{said} (line {line})" if line is not None else said

    def _frames(self, report: Mapping[str, Any]) -> list[tuple[int, str]]:
        frames = report.get("frames")
        found: list[tuple[int, str]] = []
        for frame in frames[-_MOST_FRAMES:] if isinstance(frames, list) else []:
            match frame:
                case [int(line), str(function)] if 1 <= line <= len(self._lines):
                    found.append((line, _cut(function, 100)))
                case _:
                    continue
        if found and self._sdk.script:
            line, function = found[-1]
            found[-1] = (_nearer(self._lines, line, self.word(report.get("message"), "")), function)
        return found

    def _shown(self, line: int, function: str = "<module>") -> str:
        where = f"{self._name} line {line}"
        if function not in ("<module>", "<anonymous>", "<eval>", ""):
            where += f", in {function}"
        return f"  {where}: {_cut(self._lines[line - 1].strip(), _MOST_LINE)}"


_NAMED = re.compile(r"property '([^']+)' of|^'?([\w$]+)'? is not defined")
_FAR = 30


def _nearer(lines: list[str], line: int, message: str) -> int:
    """Find the line an error of QuickJS is really of, when the message names what failed.

    The engine notes where calls and statements of a single expression begin, and not where declarations or conditions do: an
    error in one of these bears the line of the note before it. The first line from there on that has the name is the one.
    """
    named = _NAMED.search(message)
    if named is None:
        return line
    name = named[1] or named[2]
    wanted = r"\bof\b|\[|\.\.\." if name == "Symbol.iterator" else rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    for at in range(line, min(line + _FAR, len(lines) + 1)):
        if re.search(wanted, lines[at - 1]):
            return at
    return line


_IMPORTED = re.compile(r"(?:resolving module|load module|find export) '([^']+)'")


def _of_import(lines: list[str], message: str) -> int | None:
    """Find the line of an import that failed: the engine names it and not where it stands."""
    named = _IMPORTED.search(message)
    if named is None:
        return None
    wanted = re.compile(rf"(?<![\w$]){re.escape(named[1])}(?![\w$])")
    return next((number for number, line in enumerate(lines, 1) if wanted.search(line)), None)


def _records(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value[:5] if isinstance(one, dict)] if isinstance(value, list) else []


def _cut(text: object, most: int) -> str:
    """Shorten a text of the guest's and make it fit to be stored."""
    said = str(text).encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    return said if len(said) <= most else f"{said[:most]} …"
