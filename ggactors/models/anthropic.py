"""Models of Anthropic, and of whatever speaks its Messages API, through the official client. The one door to ``anthropic``.

Law: the request of a turn begins with the bytes of the turn before it, cache marks apart. Thinking blocks go back as they came,
with their signatures, or not at all.
"""

from __future__ import annotations

import base64
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import anthropic
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
)
from ggactors.models.hosted import (
    ASSUMED_OUTPUT,
    Assembled,
    HostedSource,
    constrained,
    is_constrained,
    shared_pools,
)
from ggactors.models.http import Broken, Patience, Told, part_of, place_of, text_of
from ggactors.protocol.model import Kept, ModelReply, Usage
from ggactors.rules.prices import longest_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    import httpx2

    from ggactors.models.http import Pools, Sent
    from ggactors.protocol.crew import ModelSpec
    from ggactors.protocol.model import Message, ModelRequest, ToolResult

_MARK = {"type": "ephemeral"}
_MARKED_MESSAGES = 2
"""How many of the last messages carry a cache mark: with those of the tools and the system prompt that makes the four allowed."""

_EFFORTS = {"minimal": "low"}
"""What an effort is called here, where it is not called the same."""


def source(
    spec: ModelSpec,
    key: str | None,
    *,
    beside: Iterable[object] = (),
    pools: Pools | None = None,
    patience: Patience | None = None,
) -> HostedSource:
    """Make the source of a model. It shares the connections of the sources ``beside`` it, or has ``pools`` of the caller's.

    ``patience`` is for tests.
    """
    patience = patience or Patience()
    return HostedSource(
        shape=Messages(spec=spec, key=key, patience=patience),
        spec=spec,
        host=spec.options.get("baseUrl", ""),
        key=key,
        pools=pools or shared_pools(beside),
        patience=patience,
    )


@frozen(kw_only=True)
class Messages:
    """The Messages API. Obeys ``hosted.Shape``."""

    spec: ModelSpec
    key: str | None = field(default=None, repr=False)
    patience: Patience
    errors: tuple[type[Exception], ...] = (anthropic.AnthropicError,)

    @property
    def adapter(self) -> str:
        """Name whose thinking blocks can go back."""
        return f"anthropic/{self.spec.name}"

    @property
    def most(self) -> int:
        """Give how many tokens a reply may have."""
        return longest_reply(self.spec) or ASSUMED_OUTPUT

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Write the request's body."""
        options = self.spec.options
        output: dict[str, Any] = {}
        if is_constrained(self.spec, request):
            request, schema = constrained(request)
            output["format"] = {"type": "json_schema", "schema": schema}
        system, messages = opening(request.messages)
        body: dict[str, Any] = {"model": self.spec.name, "max_tokens": self.most}
        effort = options.get("effort")
        if effort == "none":
            body["thinking"] = {"type": "disabled"}
        elif effort is not None:
            output["effort"] = _EFFORTS.get(effort, effort)
        if output:
            body["output_config"] = output
        if "temperature" in options:
            body["extra_body"] = {"temperature": options["temperature"]}
        if request.tools:
            tools = [
                {"name": tool.name, "description": clean(tool.description), "input_schema": cleaned(tool.schema)}
                for tool in request.tools
            ]
            body["tools"] = [*tools[:-1], {**tools[-1], "cache_control": _MARK}]
        if system:
            body["system"] = [{"type": "text", "text": system, "cache_control": _MARK}]
        body["messages"] = self._messages(messages)
        return body

    def _messages(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """Write the dialogue, with cache marks on the last messages of the user's side."""
        written = [
            {"role": "assistant" if message.role == "assistant" else "user", "content": content}
            for message in paired(messages)
            if (content := self._content(message))
        ]
        left = _MARKED_MESSAGES
        for message in reversed(written):
            if left and message["role"] == "user":
                message["content"][-1] = {**message["content"][-1], "cache_control": _MARK}
                left -= 1
        return written

    def _content(self, message: Message) -> list[dict[str, Any]]:
        """Write the blocks of one message; none for one that says nothing, which is then left out."""
        if message.kept is not None and message.kept.adapter == self.adapter:
            return [dict(item) for item in message.kept.items]
        if message.role == "tool":
            return [self._result(result) for result in message.results]
        blocks: list[dict[str, Any]] = []
        if message.text.strip():
            blocks.append({"type": "text", "text": clean(message.text)})
        blocks += [
            {"type": "tool_use", "id": call.id, "name": sendable(call.tool), "input": cleaned(call.args)}
            for call in message.calls
        ]
        return blocks

    def _result(self, result: ToolResult) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": output_of(result)}]
        if self.spec.options.get("images"):
            content += [
                {
                    "type": "image",
                    "source": {
                        "type": "base64",
                        "media_type": image.media_type,
                        "data": base64.b64encode(image.data).decode(),
                    },
                }
                for image in result.images
            ]
        block = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
        return block if result.ok else {**block, "is_error": True}

    @asynccontextmanager
    async def ask(
        self, http: httpx2.AsyncClient, body: dict[str, Any], headers: dict[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request and give the answer's head. Raises ``errors``. Cancelled: the connection is closed."""
        client = anthropic.AsyncAnthropic(
            # Without one the client would look for credentials of its own in the environment and in files.
            api_key=self.key or "none",
            base_url=self.spec.options.get("baseUrl"),
            max_retries=0,
            timeout=self.patience.timeout,
            http_client=http,
        )
        async with client.messages.with_streaming_response.create(
            **cast("Any", body), stream=True, extra_headers={"Accept-Encoding": "identity", **headers}
        ) as response:
            yield response.http_response

    def refusal(self, error: Exception) -> tuple[int, Mapping[str, str], object] | None:
        """Read an exception that is a status."""
        if isinstance(error, anthropic.APIStatusError):
            return error.status_code, error.response.headers, error.body
        return None

    def assembler(self) -> MessageParts:
        """Make what puts one reply together."""
        return MessageParts(adapter=self.adapter, most=self.most)


@define(kw_only=True)
class MessageParts:
    """One message, block by block. Obeys ``hosted.Assembler``."""

    adapter: str
    most: int
    _blocks: dict[int, dict[str, Any]] = field(factory=dict)
    _arguments: dict[int, list[str]] = field(factory=dict)
    _usage: dict[str, int] = field(factory=dict)
    _thought: int = 0
    _stop: str = ""
    _over: bool = False

    def take(self, sent: Sent) -> bool:
        """Take one event; the last is ``message_stop``."""
        if not sent.text:
            return False
        record = sent.record
        match text_of(record, "type") or sent.event:
            case "message_start":
                self._count(counts_in(part_of(record, "message"), "usage"))
            case "content_block_start":
                self._blocks[place_of(record, "index")] = dict(part_of(record, "content_block"))
            case "content_block_delta":
                self._grow(place_of(record, "index"), part_of(record, "delta"))
            case "message_delta":
                self._stop = text_of(part_of(record, "delta"), "stop_reason") or self._stop
                self._count(counts_in(record, "usage"))
            case "message_stop":
                self._over = True
            case "error":
                raise Told(record)
            case _:
                pass  # pings, and what later versions add
        return self._over

    def _grow(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks.get(index)
        if block is None:
            raise Broken("sent a malformed event: a delta of a block that was not begun")
        match text_of(delta, "type"):
            case "text_delta":
                block["text"] = text_of(block, "text") + text_of(delta, "text")
            case "input_json_delta":
                self._arguments.setdefault(index, []).append(text_of(delta, "partial_json"))
            case "thinking_delta":
                block["thinking"] = text_of(block, "thinking") + text_of(delta, "thinking")
            case "signature_delta":
                block["signature"] = text_of(block, "signature") + text_of(delta, "signature")
            case _:
                pass

    def _count(self, usage: dict[str, Any]) -> None:
        """Take the counts told last: those of the end include those of the beginning."""
        for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            self._usage[name] = count_of(usage, name) or self._usage.get(name, 0)
        self._thought = count_of(counts_in(usage, "output_tokens_details"), "thinking_tokens") or self._thought

    def spent(self) -> tuple[Usage, int]:
        """Give what the message spent as far as it was told: what went in is told at its beginning."""
        read, made = self._usage.get("cache_read_input_tokens", 0), self._usage.get("cache_creation_input_tokens", 0)
        usage = Usage(
            input=self._usage.get("input_tokens", 0) + read + made,
            cached_input=read,
            output=self._usage.get("output_tokens", 0),
            reasoning=min(self._thought, self._usage.get("output_tokens", 0)),
        )
        return usage, made

    def close(self, request: ModelRequest) -> Assembled:
        """Give the reply. Raises Broken when the stream ended before it."""
        if not self._over:
            raise Broken("ended the stream before the reply was whole")
        usage, made = self.spent()
        if self._stop == "refusal":
            return Assembled(reply=ModelReply(usage=usage, note=REFUSED_NOTE), cache_written=made)
        was_cut = self._stop in ("max_tokens", "model_context_window_exceeded")
        order = sorted(self._blocks)
        asked = [index for index in order if self._blocks[index].get("type") == "tool_use"]
        heard = [
            Heard(
                id=text_of(self._blocks[index], "id"),
                name=text_of(self._blocks[index], "name"),
                text=self._written(index),
                whole=not (was_cut and index == order[-1]),
            )
            for index in asked
        ]
        calls = calls_of(heard, request, cut_words(self.most))
        for index, call in zip(asked, calls, strict=True):
            self._blocks[index] |= {"id": call.id, "name": sendable(call.tool), "input": cleaned(call.args)}
        texts = [text_of(self._blocks[index], "text") for index in order if self._blocks[index].get("type") == "text"]
        reply = ModelReply(
            text=clean("".join(texts)),
            calls=calls,
            usage=usage,
            kept=self._kept(order),
            note=cut_note(self.most if self._stop == "max_tokens" else None) if was_cut else "",
        )
        return Assembled(reply=reply, paused=self._stop == "pause_turn", cache_written=made)

    def _written(self, index: int) -> str:
        """Give a call's arguments as text; servers that do not stream them send them with the block's beginning."""
        streamed = "".join(self._arguments.get(index, []))
        if streamed:
            return streamed
        given = self._blocks[index].get("input")
        return json.dumps(given) if given else ""

    def _kept(self, order: list[int]) -> Kept | None:
        """Keep the blocks as they came when there are some that text and calls do not carry."""
        blocks = [self._blocks[index] for index in order]
        if all(block.get("type") in ("text", "tool_use") for block in blocks):
            return None
        items = [block for block in blocks if block.get("type") != "text" or text_of(block, "text").strip()]
        # Thinking that was cut off has no signature, and without one it is refused.
        items = [block for block in items if block.get("type") != "thinking" or block.get("signature")]
        while items and items[-1].get("type") in ("thinking", "redacted_thinking"):
            items.pop()  # no message may end with thinking
        return Kept(adapter=self.adapter, items=tuple(cleaned(item) for item in items)) if items else None
