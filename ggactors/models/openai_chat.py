"""The chat completions API: what is sent, and how the streamed answer is put together. Law: pure.

Spoken by OpenAI and, with many small differences, by everything that calls itself compatible. What is sent is the part all of them
take; what comes back is read as widely as it can be without guessing.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, TypeGuard

from attrs import define, field, frozen

from ggactors.models.dialogue import (
    REFUSED_NOTE,
    Heard,
    calls_of,
    clean,
    cleaned,
    count_of,
    counts_in,
    cut_note,
    cut_words,
    opening,
    output_of,
    paired,
    sendable,
    written,
)
from ggactors.models.hosted import Assembled, constrained, is_constrained
from ggactors.models.http import Broken, Told, part_of, parts_of, text_of
from ggactors.protocol.model import Kept, ModelReply, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.models.http import Sent
    from ggactors.protocol.crew import ModelSpec
    from ggactors.protocol.model import Message, ModelRequest, ToolCall, ToolResult

_REASONING = "reasoning_content"
_DETAILS = "reasoning_details"
_EXTRA = "extra_content"
"""Where compatible servers put what a model thought: DeepSeek and vLLM, OpenRouter, and Gemini, beside each call. Those that do so
want it back with the calls it led to, and some refuse the calls without it."""


@frozen(kw_only=True)
class Chat:
    """Chat completions of one model. ``hosted`` is true for OpenAI itself."""

    spec: ModelSpec
    label: str
    hosted: bool
    path: str = "/chat/completions"

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Write the request's body."""
        options = self.spec.options
        body: dict[str, Any] = {"model": self.spec.name, "stream": True, "stream_options": {"include_usage": True}}
        if is_constrained(self.spec, request):
            request, schema = constrained(request)
            # Strict where a grammar is made of it; OpenAI's strict mode takes no optional arguments.
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": not self.hosted, "schema": schema},
            }
        system, messages = opening(request.messages)
        if "maxOutputTokens" in options:
            body["max_completion_tokens" if self.hosted else "max_tokens"] = options["maxOutputTokens"]
        if "effort" in options:
            body["reasoning_effort"] = options["effort"]
        if "temperature" in options:
            body["temperature"] = options["temperature"]
        if self.hosted and request.run:
            body["prompt_cache_key"] = cache_key(request)
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": clean(tool.description),
                        "parameters": cleaned(tool.schema),
                    },
                }
                for tool in request.tools
            ]
        body["messages"] = [*([{"role": "system", "content": system}] if system else []), *self._dialogue(messages)]
        return body

    def _dialogue(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Write the messages. Two of the user in a row become one: templates of many open models take no others."""
        out: list[dict[str, Any]] = []
        for message in paired(messages):
            for one in self._message(message):
                if out and one["role"] == out[-1]["role"] == "user":
                    out[-1] = {"role": "user", "content": _together(out[-1]["content"], one["content"])}
                else:
                    out.append(one)
        return out

    def _message(self, message: Message) -> list[dict[str, Any]]:
        if message.role == "tool":
            answers = [
                {"role": "tool", "tool_call_id": result.call_id, "content": output_of(result)}
                for result in message.results
            ]
            return [*answers, *self._pictures(message.results)]
        text = clean(message.text)
        if message.role != "assistant":
            return [{"role": "user", "content": text}] if text.strip() else []
        if not message.calls:
            return [{"role": "assistant", "content": text}] if text.strip() else []
        one: dict[str, Any] = {"role": "assistant", "content": text if text.strip() else None}
        kept = message.kept
        thought, *extras = kept.items if self._is_own(kept) else ({},)
        one |= thought
        one["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": sendable(call.tool), "arguments": written(call.args)},
                **(extras[number] if number < len(extras) else {}),
            }
            for number, call in enumerate(message.calls)
        ]
        return [one]

    def _is_own(self, kept: Kept | None) -> TypeGuard[Kept]:
        return kept is not None and kept.adapter == self.label

    def _pictures(self, results: tuple[ToolResult, ...]) -> list[dict[str, Any]]:
        """Show the pictures of results in a message of their own: this API takes none beside a result."""
        if not self.spec.options.get("images"):
            return []
        parts: list[dict[str, Any]] = []
        for result in results:
            if result.images:
                parts.append({"type": "text", "text": f"Pictures of the result of {result.call_id}:"})
            parts += [
                {"type": "image_url", "image_url": {"url": data_url(image.media_type, image.data)}}
                for image in result.images
            ]
        return [{"role": "user", "content": parts}] if parts else []

    def assembler(self) -> ChatParts:
        """Make what puts one reply together."""
        return ChatParts(adapter=self.label, most=self.spec.options.get("maxOutputTokens"))


def cache_key(request: ModelRequest) -> str:
    """Name one agent of one run, so that a provider routes its requests to where its prefix is cached."""
    return f"{request.run}/{request.agent}"[:64]


def data_url(media_type: str, data: bytes) -> str:
    """Write a picture as an address that holds it."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def _together(one: Any, other: Any) -> Any:
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return [*_as_parts(one), *_as_parts(other)]


def _as_parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


@define
class _Call:
    """A call as it grows."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(factory=list)
    extra: dict[str, Any] = field(factory=dict)


@define(kw_only=True)
class ChatParts:
    """One completion, delta by delta. Obeys ``hosted.Assembler``."""

    adapter: str
    most: int | None
    _text: list[str] = field(factory=list)
    _thought: list[str] = field(factory=list)
    _details: list[dict[str, Any]] = field(factory=list)
    _calls: list[_Call] = field(factory=list)
    _numbers: dict[int, _Call] = field(factory=dict)
    _usage: dict[str, Any] = field(factory=dict)
    _stop: str = ""
    _chosen: bool = False
    _over: bool = False

    def take(self, sent: Sent) -> bool:
        """Take one event; the last is ``[DONE]``."""
        if not sent.text:
            return False
        if sent.text.startswith("[DONE]"):
            self._over = True
            return True
        record = sent.record
        if record.get("error") or sent.event == "error":
            raise Told(record)
        self._usage = counts_in(record, "usage") or self._usage
        for choice in parts_of(record, "choices")[:1]:
            self._chosen = True
            # Servers that do not stream all of it send a whole message in place of a delta.
            self._grow(part_of(choice, "delta") or part_of(choice, "message"))
            self._stop = text_of(choice, "finish_reason") or self._stop
            self._usage = counts_in(choice, "usage") or self._usage
        return False

    def _grow(self, delta: dict[str, Any]) -> None:
        self._text.append(_said(delta) or text_of(delta, "refusal"))
        self._thought.append(text_of(delta, _REASONING))
        for detail in parts_of(delta, _DETAILS):
            self._think(detail)
        for part in parts_of(delta, "tool_calls"):
            function = part_of(part, "function")
            call = self._call(part)
            name, arguments = text_of(function, "name"), function.get("arguments")
            call.extra = {_EXTRA: part_of(part, _EXTRA)} if part.get(_EXTRA) else call.extra
            if name != call.name:
                call.name += name
            call.arguments.append(
                arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
            )

    def _think(self, detail: dict[str, Any]) -> None:
        """Take a piece of reasoning; pieces of one type and number that follow each other are one."""
        last = self._details[-1] if self._details else {}
        if last and (last.get("type"), last.get("index")) == (detail.get("type"), detail.get("index")):
            told = {name: value for name, value in detail.items() if value is not None}
            for name in ("text", "summary"):
                if name in told:
                    told[name] = text_of(last, name) + text_of(told, name)
            last.update(told)
        else:
            self._details.append(dict(detail))

    def _kept(self, calls: tuple[ToolCall, ...]) -> Kept | None:
        """Keep what was thought before calls, in the first item, and what came beside each call, in the others."""
        thought: dict[str, Any] = {_DETAILS: cleaned(self._details)} if self._details else {}
        if any(self._thought):
            thought[_REASONING] = clean("".join(self._thought))
        extras = [cleaned(call.extra) for call in self._calls]
        if not calls or not (thought or any(extras)):
            return None
        return Kept(adapter=self.adapter, items=(thought, *(extras if any(extras) else ())))

    def _call(self, part: dict[str, Any]) -> _Call:
        """Find the call a piece belongs to: by its number, unless a new id says that another one begins under it."""
        own_id = text_of(part, "id")
        number = part.get("index")
        if isinstance(number, int):
            call = self._numbers.get(number)
        else:
            call = self._calls[-1] if self._calls and own_id in ("", self._calls[-1].id) else None
        if call is None or (own_id and call.id and own_id != call.id):
            call = _Call(id=own_id)
            self._calls.append(call)
        call.id = call.id or own_id
        if isinstance(number, int):
            self._numbers[number] = call
        return call

    def spent(self) -> tuple[Usage, int]:
        """Give what the completion spent as far as it was told; most servers tell it at the end alone."""
        return usage_of(self._usage)

    def close(self, request: ModelRequest) -> Assembled:
        """Give the reply. Raises Broken when the stream ended before it, or held none."""
        if not self._over and not self._stop:
            raise Broken("ended the stream before the reply was whole")
        if not self._chosen:
            raise Broken("sent a reply without a choice")
        usage, made = self.spent()
        if self._stop == "content_filter":
            return Assembled(reply=ModelReply(usage=usage, note=REFUSED_NOTE), cache_written=made)
        if self._stop == "error":
            raise Broken("broke the reply off")
        was_cut = self._stop == "length"
        heard = [
            Heard(
                id=call.id,
                name=call.name,
                text="".join(call.arguments),
                whole=not (was_cut and call is self._calls[-1]),
            )
            for call in self._calls
        ]
        calls = calls_of(heard, request, cut_words(self.most))
        reply = ModelReply(
            text=clean("".join(self._text)),
            calls=calls,
            usage=usage,
            kept=self._kept(calls),
            note=cut_note(self.most) if was_cut else "",
        )
        return Assembled(reply=reply, cache_written=made)


def _said(delta: dict[str, Any]) -> str:
    """Give the text of a delta; some servers send it in parts, with what was thought among them."""
    if isinstance(delta.get("content"), list):
        return "".join(text_of(part, "text") for part in parts_of(delta, "content") if part.get("type") == "text")
    return text_of(delta, "content")


def usage_of(told: dict[str, Any]) -> tuple[Usage, int]:
    """Read what a completion spent, and how many tokens were written to a cache."""
    into = counts_in(told, "prompt_tokens_details")
    out = counts_in(told, "completion_tokens_details")
    cached = count_of(into, "cached_tokens") or count_of(told, "prompt_cache_hit_tokens")
    usage = Usage(
        input=count_of(told, "prompt_tokens"),
        cached_input=min(cached, count_of(told, "prompt_tokens")),
        output=count_of(told, "completion_tokens"),
        reasoning=min(count_of(out, "reasoning_tokens"), count_of(told, "completion_tokens")),
    )
    return usage, count_of(into, "cache_write_tokens")
