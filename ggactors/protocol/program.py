"""What passes between an agent's loop and the sandbox its programs run in (X1 to X7). Law: plain values, no behaviour.

An operation's declaration becomes an ``OperationSpec``; the stubs a program calls, their documentation and the list of names
the membrane lets through are all read off it. Names are snake_case here; each language spells them its own way.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from attrs import frozen

from ggactors.protocol.values import Refused


class Language(StrEnum):
    """What a profile's programs are written in (X1)."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"
    TYPESCRIPT = "typescript"


class ValueType(StrEnum):
    """What a value is, in the words of no language. ``RECORD`` has named fields; ``ANY`` is any plain value."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    TEXTS = "texts"
    RECORD = "record"
    RECORDS = "records"
    ANY = "any"
    NOTHING = "nothing"


@frozen(kw_only=True)
class ParamSpec:
    """One argument of an operation. ``clears``: leaving it out keeps what is there, giving None takes it away."""

    name: str
    type: ValueType
    doc: str
    required: bool = True
    default: Any = None
    choices: tuple[str, ...] = ()
    clears: bool = False


@frozen(kw_only=True)
class FieldSpec:
    """One field of a record. Fields are named in snake_case; a mapping keyed by data is never a result."""

    name: str
    type: ValueType
    doc: str = ""


@frozen(kw_only=True)
class ResultSpec:
    """What an operation gives: its type, the fields of a record (or of each of several), and what it means."""

    type: ValueType = ValueType.NOTHING
    fields: tuple[FieldSpec, ...] = ()
    doc: str = ""


@frozen(kw_only=True)
class OperationSpec:
    """One operation as programs see it: ``gg.<module>.<function>``."""

    module: str
    function: str
    doc: str
    params: tuple[ParamSpec, ...] = ()
    result: ResultSpec = ResultSpec()

    @property
    def id(self) -> str:
        """The operation's id, which allowlists and the membrane use."""
        return f"{self.module}.{self.function}"


@frozen(kw_only=True)
class DocPage:
    """A page of the program SDK's documentation. ``name`` is what ``gg.docs.open`` takes; ``summary`` is one line."""

    name: str
    module: str | None
    summary: str
    text: str


@frozen(kw_only=True)
class Returned:
    """An operation was carried out; ``value`` is plain: None, bool, int, float, str, list, dict with text keys."""

    value: Any = None


ProgramAnswer = Returned | Refused
"""What a call across the membrane comes to."""


@frozen(kw_only=True)
class ProgramLimits:
    """The ceilings of one program (X4). ``timeout_secs`` is of its own running; time parked in calls does not count."""

    timeout_secs: float = 30.0
    max_memory_bytes: int = 256 * 1024 * 1024


class ProgramKind(StrEnum):
    """How a program came to its end (X5). All but ``FAULT`` are the program's doing; ``FAULT`` is a defect of the runtime."""

    OK = "ok"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    LIMIT = "limit"
    FAULT = "fault"


class ProgramLimit(StrEnum):
    """Which ceiling stopped a program (X4)."""

    TIME = "time"
    MEMORY = "memory"
    DEPTH = "depth"


@frozen(kw_only=True)
class ProgramResult:
    """What a program came to.

    ``error`` is the text the model reads, with the program's own lines; empty when ``kind`` is ok. ``error_type`` names the
    exception, ``code`` and ``operation`` the refusal when it was a ``gg.Error``, ``line`` the program's line, counted from 1.
    ``logs`` is what it printed, its last lines; ``logs_dropped`` counts the lines that are not among them. ``duration_ms`` is
    its own running time. ``trace`` is for the defect's file when ``kind`` is fault.
    """

    kind: ProgramKind
    error: str = ""
    error_type: str | None = None
    line: int | None = None
    code: str | None = None
    operation: str | None = None
    limit: ProgramLimit | None = None
    logs: tuple[str, ...] = ()
    logs_dropped: int = 0
    duration_ms: float = 0.0
    calls: int = 0
    trace: str = ""
