"""The responses API: what is sent, and how the streamed answer is put together. Law: pure.

Nothing is stored with the provider, so every request carries the whole dialogue. Reasoning goes back encrypted, as it came, before
what it led to; the provider refuses the one without the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from ggactors.models.http import Broken, Told, part_of, parts_of, place_of, text_of
from ggactors.models.openai_chat import cache_key, data_url
from ggactors.protocol.model import Kept, ModelReply, Usage

if TYPE_CHECKING:
    from ggactors.models.http import Sent
    from ggactors.protocol.crew import ModelSpec
    from ggactors.protocol.model import Message, ModelRequest, ToolCall, ToolResult

_CARRIED = ("reasoning", "message", "function_call")
"""Items that go back; others are the provider's own affair."""


@frozen(kw_only=True)
class Responses:
    """Responses of one model."""

    spec: ModelSpec
    label: str
    hosted: bool = True
    path: str = "/responses"

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Write the request's body."""
        options = self.spec.options
        body: dict[str, Any] = {
            "model": self.spec.name,
            "stream": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if is_constrained(self.spec, request):
            request, schema = constrained(request)
            body["text"] = {"format": {"type": "json_schema", "name": "reply", "schema": schema, "strict": False}}
        system, messages = opening(request.messages)
        if "maxOutputTokens" in options:
            body["max_output_tokens"] = options["maxOutputTokens"]
        if "effort" in options:
            body["reasoning"] = {"effort": options["effort"]}
        if "temperature" in options:
            body["temperature"] = options["temperature"]
        if request.run:
            body["prompt_cache_key"] = cache_key(request)
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": clean(tool.description),
                    "parameters": cleaned(tool.schema),
                    "strict": False,
                }
                for tool in request.tools
            ]
        if system:
            body["instructions"] = system
        body["input"] = [item for message in paired(messages) for item in self._items(message)]
        return body

    def _items(self, message: Message) -> list[dict[str, Any]]:
        if message.kept is not None and message.kept.adapter == self.label:
            return [dict(item) for item in message.kept.items]
        if message.role == "tool":
            return [
                {"type": "function_call_output", "call_id": result.call_id, "output": self._output(result)}
                for result in message.results
            ]
        text = clean(message.text)
        said: list[dict[str, Any]] = []
        if text.strip():
            said.append(_spoken(text) if message.role == "assistant" else {"role": "user", "content": text})
        return said + [_call_item(call) for call in message.calls]

    def _output(self, result: ToolResult) -> str | list[dict[str, Any]]:
        if not (result.images and self.spec.options.get("images")):
            return output_of(result)
        pictures = [
            {"type": "input_image", "image_url": data_url(image.media_type, image.data)} for image in result.images
        ]
        return [{"type": "input_text", "text": output_of(result)}, *pictures]

    def assembler(self) -> ResponseParts:
        """Make what puts one reply together."""
        return ResponseParts(adapter=self.label, most=self.spec.options.get("maxOutputTokens"))


def _spoken(text: str) -> dict[str, Any]:
    """Write what the model said, in the form that other servers of this API take too; the short one is OpenAI's alone."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _call_item(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": sendable(call.tool),
        "arguments": written(call.args),
    }


@define(kw_only=True)
class ResponseParts:
    """One response, item by item. Obeys ``hosted.Assembler``."""

    adapter: str
    most: int | None
    _items: dict[int, dict[str, Any]] = field(factory=dict)
    _response: dict[str, Any] = field(factory=dict)
    _end: str = ""

    def take(self, sent: Sent) -> bool:
        """Take one event; the last tells that the response is completed, incomplete or failed."""
        if not sent.text or sent.text.startswith("[DONE]"):
            return False
        record = sent.record
        kind = text_of(record, "type") or sent.event
        match kind:
            case "response.output_item.added" | "response.output_item.done":
                self._items[place_of(record, "output_index")] = part_of(record, "item")
            case "response.completed" | "response.incomplete":
                self._response, self._end = part_of(record, "response"), kind
            case "response.failed":
                raise Told({"error": part_of(part_of(record, "response"), "error") or {"code": "server_error"}})
            case "error":
                raise Told(record if record.get("error") else {"error": record})
            case _:
                if record.get("error") and not text_of(record, "type"):
                    raise Told(record)
        return bool(self._end)

    def spent(self) -> tuple[Usage, int]:
        """Give what the response spent as far as it was told, which is at its end."""
        told = counts_in(self._response, "usage")
        into, out = counts_in(told, "input_tokens_details"), counts_in(told, "output_tokens_details")
        usage = Usage(
            input=count_of(told, "input_tokens"),
            cached_input=min(count_of(into, "cached_tokens"), count_of(told, "input_tokens")),
            output=count_of(told, "output_tokens"),
            reasoning=min(count_of(out, "reasoning_tokens"), count_of(told, "output_tokens")),
        )
        return usage, count_of(into, "cache_write_tokens")

    def close(self, request: ModelRequest) -> Assembled:
        """Give the reply. Raises Broken when the stream ended before it."""
        if not self._end:
            raise Broken("ended the stream before the reply was whole")
        usage, made = self.spent()
        reason = text_of(part_of(self._response, "incomplete_details"), "reason")
        if reason == "content_filter":
            return Assembled(reply=ModelReply(usage=usage, note=REFUSED_NOTE), cache_written=made)
        was_cut = self._end == "response.incomplete"
        items = [item for item in self._output() if item.get("type") in _CARRIED]
        asked = [item for item in items if item.get("type") == "function_call"]
        heard = [
            Heard(
                id=text_of(item, "call_id"),
                name=text_of(item, "name"),
                text=text_of(item, "arguments"),
                whole=not was_cut or (item is not items[-1] and item.get("status") in (None, "completed")),
            )
            for item in asked
        ]
        calls = calls_of(heard, request, cut_words(self.most))
        reply = ModelReply(
            text=clean("".join(_text(item) for item in items if item.get("type") == "message")),
            calls=calls,
            usage=usage,
            kept=self._kept(items, calls),
            note=cut_note(self.most) if was_cut else "",
        )
        return Assembled(reply=reply, cache_written=made)

    def _output(self) -> list[dict[str, Any]]:
        """List the items: as the end tells them all, or else as they came one by one."""
        return parts_of(self._response, "output") or [self._items[index] for index in sorted(self._items)]

    def _kept(self, items: list[dict[str, Any]], calls: tuple[ToolCall, ...]) -> Kept | None:
        """Keep the items when there is reasoning among them that can go back."""
        left = iter(calls)
        kept: list[dict[str, Any]] = []
        for item in items:
            match item.get("type"):
                case "function_call":
                    kept.append(_call_item(next(left)))
                case "message":
                    if _text(item).strip():
                        kept.append(_spoken(clean(_text(item))))
                case _:
                    if item.get("encrypted_content"):
                        kept.append(
                            {
                                "type": "reasoning",
                                "id": text_of(item, "id"),
                                "summary": cleaned(parts_of(item, "summary")),
                                "encrypted_content": text_of(item, "encrypted_content"),
                            }
                        )
        while kept and kept[-1].get("type") == "reasoning":
            kept.pop()  # reasoning that led to nothing is refused
        if not any(item.get("type") == "reasoning" for item in kept):
            return None
        return Kept(adapter=self.adapter, items=tuple(kept))


def _text(item: dict[str, Any]) -> str:
    return "".join(text_of(part, "text") or text_of(part, "refusal") for part in parts_of(item, "content"))
