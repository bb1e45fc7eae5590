"""Tool calls by schema: replies that a JSON schema constrains, for models without calls of their own (docs/reference/crew.md).

Law: pure. A constrained reply is one object, ``{"call": <tool>, "args": {…}}``, and nothing beside it. What is not exactly that is
a reply without calls, an error turn like any (E2): no call is ever read out of prose (E7).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import frozen

from ggactors.protocol.model import Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ggactors.protocol.model import ToolResult, ToolSpec

CALL, ARGS = "call", "args"
_DEEPEST = 12
"""How far references inside a schema are followed; what lies deeper may be anything."""


def reply_schema(tools: Sequence[ToolSpec], *, longest: int | None = None) -> dict[str, Any]:
    """Make the schema of one call of one of ``tools``, whose replies are then well-formed by construction.

    ``longest`` caps every text that has no limit of its own, in characters, so that a reply ends before it is cut off.
    """
    calls = [_call_schema(tool, longest) for tool in tools]
    return calls[0] if len(calls) == 1 else {"anyOf": calls}


def tools_text(tools: Sequence[ToolSpec]) -> str:
    """Write the part of the prompt that tells a model its tools and how it calls one. The same tools give the same bytes."""
    lines = [
        f'Answer with one JSON object and nothing else: {{"{CALL}": the tool\'s name, "{ARGS}": an object with its arguments}}.',
        "Each answer calls one tool; its result is what you are sent next. The tools:",
    ]
    for tool in tools:
        lines.append(f"\n{tool.name}: {tool.description}")
        properties: Mapping[str, Any] = tool.schema.get("properties", {})
        required = tool.schema.get("required", [])
        for name, shape in properties.items():
            optional = "" if name in required else ", optional"
            described = shape.get("description", "") if isinstance(shape, dict) else ""
            lines.append(f"- {name} ({_kind(shape)}{optional}): {described}".rstrip(": "))
    return "\n".join(lines)


def parse_reply(text: str, turn: int) -> ToolCall | None:
    """Read a reply as the one call it is, or answer None. A fence of three backquotes around the whole is passed over."""
    try:
        said = json.loads(_bare(text), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    match said:
        case {"call": str(tool), "args": dict(args), **rest} if not rest:
            return ToolCall(id=f"call-{turn}-1", tool=tool, args=args)
        case _:
            return None


def written(call: ToolCall) -> str:
    """Write a call the way a constrained model writes it."""
    return json.dumps({CALL: call.tool, ARGS: call.args}, ensure_ascii=False)


@frozen
class Plain:
    """A message without calls: ``role`` is system, user or assistant."""

    role: str
    text: str


def plain_messages(messages: Iterable[Message], tools: Sequence[ToolSpec]) -> list[Plain]:
    """Write a conversation for a model that knows no tools: calls as it writes them, results as texts it is sent.

    The tools stand at the end of the system prompt. Neighbours of one role become one message, since many chat templates insist
    that roles alternate. Grows at its end only, so that a prompt cache of its prefix holds from turn to turn.
    """
    plain: list[Plain] = []
    for message in messages:
        for one in _plain(message):
            if plain and plain[-1].role == one.role:
                one = Plain(one.role, f"{plain.pop().text}\n\n{one.text}")
            plain.append(one)
    if not plain or plain[0].role != "system":
        plain.insert(0, Plain("system", ""))
    plain[0] = Plain("system", f"{plain[0].text}\n\n{tools_text(tools)}".strip())
    return plain


def _plain(message: Message) -> list[Plain]:
    if message.role == "tool":
        return [Plain("user", _result_text(result)) for result in message.results]
    texts = [message.text, *map(written, message.calls)]
    said = "\n".join(text for text in texts if text)
    return [Plain(message.role, said)] if said else []


def _result_text(result: ToolResult) -> str:
    how = "" if result.ok else f" failed ({result.code})" if result.code else " failed"
    return f"Result of {result.tool}{how}:\n{result.output}"


def _call_schema(tool: ToolSpec, longest: int | None) -> dict[str, Any]:
    args = _bounded(_inlined(tool.schema, tool.schema, 0), longest)
    return {
        "type": "object",
        "properties": {CALL: {"const": tool.name}, ARGS: args},
        "required": [CALL, ARGS],
        "additionalProperties": False,
    }


def _inlined(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    """Put what references name in their place: inside the reply's schema they would point nowhere."""
    if isinstance(schema, list):
        return [_inlined(one, root, depth) for one in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _inlined(_at(root, reference), root, depth + 1) if depth < _DEEPEST else {}
    return {key: _inlined(one, root, depth) for key, one in schema.items() if key not in ("$defs", "definitions")}


def _at(root: Mapping[str, Any], reference: str) -> Any:
    """Follow a reference inside a schema; one that leads elsewhere, or nowhere, may be anything."""
    here: Any = root
    if not reference.startswith("#"):
        return {}
    for step in reference.removeprefix("#").split("/")[1:]:
        if not isinstance(here, dict):
            return {}
        here = here.get(step.replace("~1", "/").replace("~0", "~"), {})
    return here


def _bounded(schema: Any, longest: int | None) -> Any:
    if longest is None:
        return schema
    if isinstance(schema, list):
        return [_bounded(one, longest) for one in schema]
    if not isinstance(schema, dict):
        return schema
    bounded = {key: _bounded(one, longest) for key, one in schema.items()}
    fixed = {"maxLength", "enum", "const", "pattern", "format"} & bounded.keys()
    if bounded.get("type") == "string" and not fixed:
        bounded["maxLength"] = longest
    return bounded


def _kind(shape: Any) -> str:
    if not isinstance(shape, dict):
        return "any"
    if "enum" in shape:
        return "one of " + ", ".join(json.dumps(one, ensure_ascii=False) for one in shape["enum"])
    kind = shape.get("type", "any")
    if kind == "array":
        return f"list of {_kind(shape.get('items'))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _bare(text: str) -> str:
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text.partition("\n")[2].removesuffix("```")
    return text


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
