"""One declaration per operation: what it is called, what it takes, who is offered it.

Law: the tool schema a model is shown and the check its arguments pass are both read off the same declaration, so they
cannot disagree; the program SDK and its documentation are read off it too. Two leniencies exist, and no others: an
optional argument sent as null counts as left out, and a whole number written as a decimal (``10.0``) counts as an integer.
In programs null is told from left out where the argument can be cleared.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, assert_never

from attrs import Factory, evolve, field, frozen

from ggactors.protocol.model import ToolSpec
from ggactors.protocol.program import OperationSpec, ParamSpec, ResultSpec, ValueType
from ggactors.protocol.values import Code, Refused

_LARGEST = 2**53


class Shape(StrEnum):
    """What an argument is. ``PATH`` is a text that may carry bytes which are not UTF-8 as lone surrogates."""

    TEXT = "string"
    PATH = "path"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "boolean"
    TEXTS = "list of strings"


_JSON_TYPE = {
    Shape.TEXT: "string",
    Shape.PATH: "string",
    Shape.INTEGER: "integer",
    Shape.NUMBER: "number",
    Shape.FLAG: "boolean",
    Shape.TEXTS: "array",
}


_VALUE_TYPE = {
    Shape.TEXT: ValueType.TEXT,
    Shape.PATH: ValueType.TEXT,
    Shape.INTEGER: ValueType.INTEGER,
    Shape.NUMBER: ValueType.NUMBER,
    Shape.FLAG: ValueType.FLAG,
    Shape.TEXTS: ValueType.TEXTS,
}


def camel(name: str) -> str:
    """Spell a snake_case name the way tool calls do."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


@frozen(kw_only=True)
class Param:
    """One argument of an operation. ``name`` is snake_case; tool calls spell it in camelCase.

    ``choices`` closes a text (or the items of a list) to these values; ``blank`` allows an empty or blank text (or item);
    ``nul`` allows NUL characters; ``least`` is the smallest number, exclusive when ``above``; ``items`` the fewest items.
    ``clears``: in programs null takes away what is there, as an empty text does in tool calls.
    """

    name: str
    doc: str
    shape: Shape = Shape.TEXT
    required: bool = True
    default: Any = None
    choices: tuple[str, ...] = ()
    blank: bool = False
    nul: bool = False
    least: float | None = None
    most: float | None = None
    above: bool = False
    items: int = 0
    clears: bool = False
    sent_as: str = field(init=False, default=Factory(lambda self: camel(self.name), takes_self=True))
    """The name a tool call uses."""

    def schema(self) -> dict[str, Any]:
        """Describe the argument as JSON schema."""
        schema: dict[str, Any] = {"type": _JSON_TYPE[self.shape], "description": self.doc}
        if self.shape is Shape.TEXTS:
            schema["items"] = {"type": "string", "enum": list(self.choices)} if self.choices else {"type": "string"}
            if self.items:
                schema["minItems"] = self.items
        elif self.choices:
            schema["enum"] = list(self.choices)
        if self.least is not None:
            schema["exclusiveMinimum" if self.above else "minimum"] = self.least
        if self.most is not None:
            schema["maximum"] = self.most
        if self.default not in (None, ()):
            schema["default"] = self.default
        return schema

    def program_spec(self) -> ParamSpec:
        """Describe the argument as programs see it."""
        return ParamSpec(
            name=self.name,
            type=_VALUE_TYPE[self.shape],
            doc=self.doc,
            required=self.required,
            default=list(self.default) if isinstance(self.default, tuple) else self.default,
            choices=self.choices,
            clears=self.clears,
        )

    def expected(self) -> str:
        """Say in a few words what to send."""
        words = {Shape.TEXTS: "a list of strings", Shape.INTEGER: "an integer", Shape.PATH: "a string (a path)"}
        said = words.get(self.shape, f"a {_JSON_TYPE[self.shape]}")
        if self.choices:
            listed = ", ".join(self.choices)
            said = f"{said} out of {listed}" if self.shape is Shape.TEXTS else f"one of {listed}"
        if self.least is not None:
            said += f" {'above' if self.above else 'from'} {self.least:g}"
        if self.most is not None:
            said += f" up to {self.most:g}"
        return said

    def read(self, value: object) -> tuple[object, str | None]:
        """Check one value: the value as it is used, and what is wrong with it or None."""
        match self.shape:
            case Shape.TEXT | Shape.PATH:
                return value, self._text_fault(value)
            case Shape.INTEGER:
                if isinstance(value, float) and value.is_integer():
                    value = int(value)
                if not isinstance(value, int) or isinstance(value, bool):
                    return value, f"must be {self.expected()}, not {_kind(value)}"
                return value, self._range_fault(value)
            case Shape.NUMBER:
                if not isinstance(value, int | float) or isinstance(value, bool):
                    return value, f"must be {self.expected()}, not {_kind(value)}"
                return value, self._range_fault(value)
            case Shape.FLAG:
                return value, None if isinstance(value, bool) else f"must be true or false, not {_kind(value)}"
            case Shape.TEXTS:
                return self._read_list(value)
            case _ as never:
                assert_never(never)

    def _read_list(self, value: object) -> tuple[object, str | None]:
        if not isinstance(value, list | tuple):
            return value, f"must be {self.expected()}, not {_kind(value)}"
        if len(value) < self.items:
            return value, f"needs at least {self.items} item{'s' if self.items > 1 else ''}: {self.expected()}"
        for number, item in enumerate(value, 1):
            fault = self._text_fault(item)
            if fault is not None:
                return value, f"item {number} {fault}"
        return tuple(value), None

    def _text_fault(self, value: object) -> str | None:
        if not isinstance(value, str):
            return f"must be {self.expected()}, not {_kind(value)}"
        if not self.blank and not value.strip():
            return "must not be empty"
        if self.choices and value not in self.choices:
            return f"must be {self.expected()}, not {_shown(value)}{_did_you_mean(value, self.choices)}"
        if not self.nul and "\0" in value:
            return "must not hold a NUL character"
        try:
            value.encode("utf-8", "surrogateescape" if self.shape is Shape.PATH else "strict")
        except UnicodeEncodeError as error:
            return f"holds half of a surrogate pair at character {error.start + 1}; send the whole character"
        return None

    def _range_fault(self, value: float) -> str | None:
        if not -_LARGEST <= value <= _LARGEST:  # nor is NaN
            return f"must be {self.expected()}"
        low = self.least is not None and (value <= self.least if self.above else value < self.least)
        high = self.most is not None and value > self.most
        return f"must be {self.expected()}, not {value:g}" if low or high else None


def _spec(operation: Operation) -> ToolSpec:
    return ToolSpec(
        name=operation.tool,
        description=operation.doc,
        schema={
            "type": "object",
            "properties": {param.sent_as: param.schema() for param in operation.params},
            "required": [param.sent_as for param in operation.params if param.required],
            "additionalProperties": False,
        },
    )


@frozen(kw_only=True)
class Operation:
    """Something an agent can do. ``id`` is ``module.function``; ``tool`` the name of its tool.

    ``capability`` offers it; ``always`` keeps it from any allowlist (Q6); ``touches_tree`` marks what reads or writes the
    agent's working tree (M6); ``one_of`` names arguments of which at least one must be sent. ``result`` is what programs get.
    ``program_doc`` replaces the documentation where programs have another way of doing it.
    """

    id: str
    tool: str
    doc: str
    params: tuple[Param, ...] = ()
    capability: str | None = None
    always: bool = False
    touches_tree: bool = False
    one_of: tuple[str, ...] = ()
    result: ResultSpec = field(factory=ResultSpec)
    program_doc: str | None = None
    spec: ToolSpec = field(init=False, repr=False, eq=False, default=Factory(_spec, takes_self=True))
    """The operation as a tool; made once, since every agent is offered it."""

    @property
    def program_spec(self) -> OperationSpec:
        """The operation as programs see it: ``gg.<module>.<function>``."""
        module, _, function = self.id.partition(".")
        return OperationSpec(
            module=module,
            function=function,
            doc=self.program_doc or self.doc,
            params=tuple(param.program_spec() for param in self.params),
            result=self.result,
        )

    def check(self, args: object, *, program: bool = False) -> dict[str, Any] | Refused:
        """Check what a model sent: the arguments by their snake_case names, defaults filled in, or one refusal of all faults.

        ``program``: a program sent it, whose arguments are spelled in snake_case already.
        """
        if not isinstance(args, Mapping):
            return self._refuse([f"the arguments must be one object, not {_kind(args)}"])
        spelled = {param.name: param.name if program else param.sent_as for param in self.params}
        known = list(spelled.values())
        faults = [self._unknown(str(name), known) for name in args if name not in known]
        checked: dict[str, Any] = {}
        for param in self.params:
            name = spelled[param.name]
            sent = args.get(name)
            if sent is None and (not param.required or name not in args):
                checked[param.name] = "" if program and param.clears and name in args else param.default
                if param.required:
                    faults.append(f"`{name}` is missing: send {param.expected()}: {_first_words(param.doc)}")
                continue
            checked[param.name], fault = param.read(sent)
            if fault is not None:
                faults.append(f"`{name}` {fault}")
        if not faults and self.one_of and all(checked[name] is None for name in self.one_of):
            faults.append(f"send at least one of {', '.join(f'`{spelled[name]}`' for name in self.one_of)}")
        return self._refuse(faults) if faults else checked

    def _unknown(self, name: str, known: list[str]) -> str:
        for param in self.params:
            if name == param.name:
                return f"`{name}` is spelled `{param.sent_as}` in tool calls"
        takes = f"it takes {', '.join(f'`{one}`' for one in known)}" if known else "it takes none"
        return f"there is no argument {_shown(name)}{_did_you_mean(name, known) or f'; {takes}'}"

    def _refuse(self, faults: list[str]) -> Refused:
        return Refused(code=Code.INVALID_ARGUMENT, message=f"{self.tool}: {'; '.join(faults)}.")


def loosened(spec: OperationSpec) -> OperationSpec:
    """Describe an operation without asking for its arguments, so that a call without them arrives and can be refused for more."""
    return evolve(spec, params=tuple(evolve(param, required=False) for param in spec.params))


def _kind(value: object) -> str:
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _shown(value: str) -> str:
    """Quote a text a model sent, short and safe to store."""
    short = value if len(value) <= 60 else f"{value[:59]}…"
    return f"`{short.encode('utf-8', 'backslashreplace').decode()}`"


def _first_words(doc: str) -> str:
    words = doc.split(". ", 1)[0].rstrip(".")
    return words[:1].lower() + words[1:]


def _did_you_mean(name: str, known: tuple[str, ...] | list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name[:100], known, n=1, cutoff=0.6)
    return f"; did you mean `{close[0]}`?" if close else ""
