"""What every provider's dialogue needs, whatever its wire shape. Law: pure, and a function of the messages alone.

What is sent for a message never depends on the messages after it, so that the request of a turn begins with the bytes of the turn
before it and providers find it in their caches.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from ggactors.protocol.model import Kept, Message, ToolCall, ToolResult
from ggactors.rules.document import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ggactors.protocol.model import ModelRequest, ToolSpec

EMPTY = "(no output)"
"""What stands for a result without text, which some providers refuse."""

UNANSWERED = "(this call was not carried out: the work was interrupted before it)"

MOST_TOLD = 10**8
"""The most tokens a server is believed to have spent on one call; a hundred of the longest windows."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME = re.compile(r"[^A-Za-z0-9_-]")
_QUOTED = 200
_IMAGE_TOKENS = 4_000
"""What one picture may cost at most, roughly, whatever its size: providers scale large ones down."""


def clean(text: str) -> str:
    """Make a text one that can be sent: halves of surrogate pairs become question marks."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def cleaned(value: Any) -> Any:
    """Clean every text in a plain value."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(key): cleaned(part) for key, part in value.items()}
        case list() | tuple():
            return [cleaned(part) for part in value]
        case _:
            return value


def written(args: Mapping[str, Any]) -> str:
    """Write arguments as the JSON text that is sent back."""
    return json.dumps(cleaned(dict(args)), ensure_ascii=False, separators=(",", ":"))


def sendable(name: str) -> str:
    """Make a tool's name one that every provider takes: a model may have called anything, and the call is sent back to it."""
    return _NAME.sub("_", name)[:64] or "unnamed"


# ---------------------------------------------------------------- what goes out


def opening(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """Part the system prompt, which stands first, from the rest."""
    count = 0
    while count < len(messages) and messages[count].role == "system":
        count += 1
    texts = [message.text for message in messages[:count] if message.text.strip()]
    return clean("\n\n".join(texts)), messages[count:]


def paired(messages: Sequence[Message]) -> Iterator[Message]:
    """Walk through messages so that every call is answered right after its reply, once and in order, and nothing else is.

    Providers refuse any other pairing for good. A call without an answer (a run that was cut off) gets one that says so; an
    answer without its call (a conversation that was shortened) becomes a text.
    """
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if message.role == "assistant" and message.calls:
            answers: list[ToolResult] = []
            while at < len(messages) and messages[at].role == "tool":
                answers += messages[at].results
                at += 1
            yield message
            yield from _answers(message.calls, answers)
        elif message.role == "tool":
            yield from _strays(message.results)
        elif message.role == "system":
            yield evolve(message, role="user")
        else:
            yield message


def _answers(calls: Sequence[ToolCall], answers: Sequence[ToolResult]) -> Iterator[Message]:
    by_id = {answer.call_id: answer for answer in answers}
    results = tuple(
        by_id.pop(call.id, ToolResult(call_id=call.id, tool=call.tool, ok=False, output=UNANSWERED)) for call in calls
    )
    yield Message(role="tool", results=results)
    yield from _strays(by_id.values())


def _strays(results: Iterable[ToolResult]) -> Iterator[Message]:
    texts = [f"Result of an earlier call of `{result.tool}`:\n{result.output}" for result in results]
    if texts:
        yield Message(role="user", text="\n\n".join(texts))


def output_of(result: ToolResult) -> str:
    """Give the text of a result as it is sent."""
    return clean(result.output) if result.output.strip() else EMPTY


# ---------------------------------------------------------------- what comes in


@frozen(kw_only=True)
class Heard:
    """A call as a provider sent it. ``whole`` is false when the reply was cut off inside it, as far as can be known."""

    id: str
    name: str
    text: str
    whole: bool = True


def calls_of(heard: Sequence[Heard], request: ModelRequest, cut: str) -> tuple[ToolCall, ...]:
    """Read the calls of a reply. ``cut`` says why a call that is not whole is not; each gets an id no other call has."""
    ids = _Ids({call.id for message in request.messages for call in message.calls})
    calls: list[ToolCall] = []
    for number, one in enumerate(heard, start=1):
        name = ids.take(one.id, f"call-{request.turn}-{number}")
        args, fault = ({}, cut) if not one.whole else read_arguments(one.text)
        calls.append(ToolCall(id=name, tool=clean(one.name), args=args, fault=fault))
    return tuple(calls)


@define
class _Ids:
    """The ids that are taken. A provider that sends one id a thousand times is no slower than any other."""

    _taken: set[str]
    _copies: dict[str, int] = field(factory=dict)

    def take(self, wanted: str, otherwise: str) -> str:
        """Take an id: the one that is wanted, if it can be sent back and nobody has it."""
        if not _ID.fullmatch(wanted):
            wanted = otherwise
        name = wanted
        while name in self._taken:
            copy = self._copies[wanted] = self._copies.get(wanted, 1) + 1
            name = f"{wanted[:56]}-{copy}"
        self._taken.add(name)
        return name


def read_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Read the arguments of a call: an object of plain values, or why there is none. No text at all is no argument."""
    if not text.strip():
        return {}, None
    try:
        value = json.loads(text)
    except RecursionError:
        return {}, "the arguments nest too deeply to be read; flatten them"
    except ValueError as error:
        why = f"{error.msg} at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else "bad number"
        return {}, f"the arguments are not valid JSON ({why}): {_quoted(text)}; send the call again with valid ones"
    if not isinstance(value, dict):
        return {}, f"the arguments must be one JSON object, not {_quoted(text)}; send the call again with one"
    copied = plain(value)
    if copied.problems:
        return {}, f"the arguments cannot be taken: {copied.problems[0]}"
    args: dict[str, Any] = copied.value
    return args, None


def _quoted(text: str) -> str:
    text = clean(" ".join(text[: 2 * _QUOTED].split()))
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"


def storable(kept: Kept | None) -> Kept | None:
    """Give what is kept of a reply, or None when it holds values that cannot be stored."""
    return None if kept is None or plain(list(kept.items)).problems else kept


def cut_words(most: int | None) -> str:
    """Say to a model that its call was cut off."""
    limit = f" at {most} tokens" if most else ""
    return f"the reply was cut off{limit} inside this call, so it was not carried out; send it again in smaller parts"


def cut_note(most: int | None) -> str:
    """Say to a model that its reply was cut off."""
    return f"Your last reply was cut off at its longest{f', {most} tokens' if most else ''}. Say less at a time."


REFUSED_NOTE = (
    "Your last reply was withheld by the provider's safety system, and nothing of it was carried out. "
    "Go on with the task in another way, or end the session and say why it cannot be done."
)


# ---------------------------------------------------------------- how much it is


def counts_in(record: dict[str, Any], name: str) -> dict[str, Any]:
    """Give an object of counts inside another, an empty one where there is none or something else.

    What a server says of its usage is an extra to its reply: nonsense in it is what was not told, and never costs the reply.
    """
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def count_of(record: dict[str, Any], name: str) -> int:
    """Give a told number of tokens, 0 where there is none that can be: only whole ones up to ``MOST_TOLD`` are."""
    value = record.get(name)
    match value:
        case bool():
            return 0
        case int() | float() if 0 <= value <= MOST_TOLD and value == int(value):
            return int(value)
        case _:
            return 0


def size_of(text: str) -> int:
    """Count the bytes of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def tokens_of(message: Message, adapter: str) -> int:
    """Bound the tokens of a message as ``adapter`` sends it: a token is a byte at least, whatever the tokenizer."""
    size = size_of(message.text) + sum(size_of(call.tool) + len(json.dumps(call.args)) for call in message.calls)
    size += sum(size_of(result.output) for result in message.results)
    if message.kept is not None and message.kept.adapter == adapter:
        size += _kept_size(message.kept)
    pictures = sum(len(result.images) for result in message.results)
    pieces = 1 + len(message.calls) + len(message.results)
    return size + 16 * pieces + _IMAGE_TOKENS * pictures


def _kept_size(kept: Kept) -> int:
    return len(json.dumps(kept.items, default=str))


def tokens_of_tools(tools: Sequence[ToolSpec]) -> int:
    """Bound the tokens of the offered tools, and of what a provider says around them."""
    return 512 + sum(size_of(spec.description) + len(json.dumps(spec.schema)) + 32 for spec in tools)


@define
class Gauge:
    """Bounds the input of one agent's next request from what its last one really was, so that the bound stays close."""

    adapter: str
    _last: Message | None = None
    _count: int = 0
    _tokens: int = 0
    _tools: tuple[ToolSpec, ...] = ()

    def measured(self, request: ModelRequest, tokens: int) -> None:
        """Remember what a request came to."""
        if request.messages and tokens > 0:
            self._last, self._count, self._tokens = request.messages[-1], len(request.messages), tokens
            self._tools = request.tools

    def bound(self, request: ModelRequest) -> int:
        """Give how many tokens a request is at most."""
        messages = request.messages
        goes_on = 0 < self._count <= len(messages) and messages[self._count - 1] is self._last
        if goes_on and request.tools == self._tools:
            return self._tokens + sum(tokens_of(message, self.adapter) for message in messages[self._count :])
        return tokens_of_tools(request.tools) + sum(tokens_of(message, self.adapter) for message in messages)
