"""Tools that come with a launch (of the embedding program, of MCP servers) as programs have them: ``gg.tools.<name>``.

Law: every such tool is reachable. Names a program cannot write are respelled, and never two alike; arguments whose names cannot be
written in both languages are passed as one object. Checking arguments stays the tool's own business, as in tool calls.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ggactors.protocol.program import OperationSpec, ParamSpec, ResultSpec, ValueType
from ggactors.tools.operation import camel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ggactors.ports import OwnTool

MODULE = "tools"
"""The module of ``gg`` these tools are in."""

_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FIT = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TYPES = {
    "string": ValueType.TEXT,
    "integer": ValueType.INTEGER,
    "number": ValueType.NUMBER,
    "boolean": ValueType.FLAG,
}
_WHOLE = "args"
_RESERVED_WORDS = """
    break case catch class const constructor continue debugger default delete do else enum export extends false finally
    for function if implements import in instanceof interface let new null package private protected prototype public
    return static super switch then this throw true try typeof var void while with yield await async eval arguments
    toString toJSON valueOf length name inspect
"""
_RESERVED = frozenset(_RESERVED_WORDS.split())
"""What JavaScript cannot bind, or reads off every object."""
_RESULT = ResultSpec(type=ValueType.TEXT, doc="What the tool says.")


@frozen(kw_only=True)
class OwnOperation:
    """A tool as an operation. ``names`` maps arguments' names in programs to the tool's; None: they are one object, ``args``."""

    tool: OwnTool
    spec: OperationSpec
    names: Mapping[str, str] | None

    def arguments(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Give a program's arguments as the tool takes them; null counts as left out where the argument may be."""
        if self.names is None:
            whole = args.get(_WHOLE)
            return dict(whole) if isinstance(whole, dict) else {}
        optional = {param.name for param in self.spec.params if not param.required}
        sent = {name: value for name, value in args.items() if value is not None or name not in optional}
        return {self.names.get(name, name): value for name, value in sent.items()}


def own_operations(tools: Iterable[OwnTool]) -> tuple[OwnOperation, ...]:
    """Read each tool as an operation, in their order."""
    made: list[OwnOperation] = []
    taken: set[str] = set()
    for tool in tools:
        function = _unlike(_function(tool.name), taken)
        taken.add(camel(function))
        params = _params(tool.schema)
        names = None if params is None else {spec.name: name for name, spec in params.items()}
        specs = _whole(tool) if params is None else tuple(params.values())
        spec = OperationSpec(module=MODULE, function=function, doc=_doc(tool.description), params=specs, result=_RESULT)
        made.append(OwnOperation(tool=tool, spec=spec, names=names))
    return tuple(made)


def _plain(name: str) -> str:
    """Spell a name in snake_case."""
    return _WORD_BEGINS.sub("_", name).replace("-", "_").lower()


def _function(name: str) -> str:
    """Spell a tool's name as a function that both languages can define and import."""
    plain = _plain(name)
    return f"{plain}_tool" if keyword.iskeyword(plain) or camel(plain) in _RESERVED else plain


def _argument(name: str) -> str:
    """Spell an argument's name: one that Python reserves gets an underscore, as is usual there; JavaScript takes any."""
    plain = _plain(name)
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def _unlike(name: str, taken: set[str]) -> str:
    number, tried = 1, name
    while camel(tried) in taken:
        number += 1
        tried = f"{name}_{number}"
    return tried


def _doc(description: str) -> str:
    return description.strip() or "It has no description."


def _params(schema: Mapping[str, Any]) -> dict[str, ParamSpec] | None:
    """Read the arguments off a JSON schema, by the tool's names for them; None when they cannot be written one by one."""
    properties = schema.get("properties", {})
    needed = schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(needed, list | tuple):
        return None
    if not properties and schema.get("additionalProperties", True) is not False and set(schema) - {"type", "$schema"}:
        return None
    params: dict[str, ParamSpec] = {}
    taken: set[str] = set()
    for name, about in properties.items():
        spelled = _argument(name) if isinstance(name, str) and _FIT.fullmatch(name) else None
        if spelled is None or camel(spelled) in taken:
            return None
        taken.add(camel(spelled))
        params[name] = _param(spelled, about if isinstance(about, Mapping) else {}, required=name in needed)
    return params if set(needed) <= set(params) else None


def _param(name: str, about: Mapping[str, Any], *, required: bool) -> ParamSpec:
    kind, choices, doc = about.get("type"), about.get("enum"), about.get("description")
    value = _TYPES.get(kind, ValueType.ANY) if isinstance(kind, str) else ValueType.ANY
    if kind == "array" and isinstance(about.get("items"), Mapping) and about["items"].get("type") == "string":
        value = ValueType.TEXTS
    return ParamSpec(
        name=name,
        type=value,
        doc=doc if isinstance(doc, str) else "",
        required=required,
        choices=tuple(map(str, choices)) if isinstance(choices, list | tuple) and value is ValueType.TEXT else (),
    )


def _whole(tool: OwnTool) -> tuple[ParamSpec, ...]:
    schema = json.dumps(dict(tool.schema), ensure_ascii=False, default=str)
    shown = schema if len(schema) <= 2000 else f"{schema[:2000]}…"
    return (
        ParamSpec(name=_WHOLE, type=ValueType.ANY, doc=f"All arguments as one object, by this JSON schema: {shown}"),
    )
