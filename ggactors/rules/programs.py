"""How a program's failure is judged (C1). Law: pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.program import ProgramKind, ProgramLimit
from ggactors.protocol.values import Code

if TYPE_CHECKING:
    from ggactors.protocol.program import ProgramResult

_UNKNOWN = ("NameError", "AttributeError", "ReferenceError", "ImportError")


def error_type_of(result: ProgramResult) -> str:
    """Name the type of a failed program's error turn, from what failed and never from its words."""
    match result.kind, result.limit:
        case ProgramKind.COMPILE_ERROR, _:
            return "transpile_syntax"
        case ProgramKind.LIMIT, ProgramLimit.TIME:
            return "sandbox_timeout"
        case ProgramKind.LIMIT, ProgramLimit.MEMORY:
            return "sandbox_out_of_memory"
        case ProgramKind.LIMIT, _:
            return "sandbox_trap"
        case _ if result.code == Code.UNAVAILABLE or result.error_type in _UNKNOWN:
            return "program_unknown_name"
        case _ if result.code is not None:
            return "program_api_error"
        case _:
            return "program_throw"
