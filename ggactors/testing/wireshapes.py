"""Replies in the wire shapes of providers, as streams of server-sent events. Law: what a real one sends, and no more."""

from __future__ import annotations

import json
from typing import Any

from attrs import frozen

MESSAGES = "/v1/messages"
CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"

CUT_AT = {MESSAGES: 3, CHAT: 2, RESPONSES: 3}
"""Which event of a stream is in the middle of a reply that says something, by address."""


@frozen(kw_only=True)
class Said:
    """A reply to be sent. ``calls`` are id, tool and arguments; arguments that are a text are sent as they are.

    ``stop`` is ``end``, ``length``, ``refusal`` or ``pause``; ``cached`` is part of ``into``, ``thought`` of ``out``.
    """

    text: str = ""
    calls: tuple[tuple[str, str, Any], ...] = ()
    thinking: str = ""
    stop: str = "end"
    into: int = 100
    cached: int = 0
    out: int = 20
    thought: int = 0


def event_stream(path: str, said: Said) -> list[bytes]:
    """Write a reply in the shape of the API behind an address, one piece for each event."""
    match path:
        case "/v1/messages":
            return messages(said)
        case "/v1/chat/completions":
            return chat(said)
        case "/v1/responses":
            return responses(said)
        case _:
            raise AssertionError(f"no API is served at {path}")


def named(record: dict[str, Any]) -> bytes:
    """Write an event whose name is its type."""
    return f"event: {record['type']}\ndata: {json.dumps(record)}\n\n".encode()


def bare(record: dict[str, Any]) -> bytes:
    """Write an event without a name."""
    return f"data: {json.dumps(record)}\n\n".encode()


def _arguments(args: Any) -> str:
    return args if isinstance(args, str) else json.dumps(args)


def messages(said: Said) -> list[bytes]:
    """Write a reply as Anthropic's Messages API does."""
    stop = {"end": "tool_use" if said.calls else "end_turn", "length": "max_tokens", "pause": "pause_turn"}
    usage = {"input_tokens": said.into - said.cached, "cache_read_input_tokens": said.cached, "output_tokens": 1}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage}
    events = [named({"type": "message_start", "message": start}), named({"type": "ping"})]
    index = 0

    def block(begun: dict[str, Any], *deltas: dict[str, Any]) -> None:
        nonlocal index
        events.append(named({"type": "content_block_start", "index": index, "content_block": begun}))
        events.extend(named({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas)
        events.append(named({"type": "content_block_stop", "index": index}))
        index += 1

    if said.thinking:
        block(
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": said.thinking},
            {"type": "signature_delta", "signature": "signed"},
        )
    if said.text:
        half = len(said.text) // 2
        block(
            {"type": "text", "text": ""},
            *({"type": "text_delta", "text": part} for part in (said.text[:half], said.text[half:])),
        )
    for call_id, tool, args in said.calls:
        written = _arguments(args)
        block(
            {"type": "tool_use", "id": call_id, "name": tool, "input": {}},
            *({"type": "input_json_delta", "partial_json": part} for part in ("", written[:5], written[5:])),
        )
    end = {"stop_reason": stop.get(said.stop, said.stop), "stop_sequence": None}
    spent = {"output_tokens": said.out, "output_tokens_details": {"thinking_tokens": said.thought}}
    events.append(named({"type": "message_delta", "delta": end, "usage": spent}))
    events.append(named({"type": "message_stop"}))
    return events


def chat(said: Said) -> list[bytes]:
    """Write a reply as the chat completions API does."""
    stop = {"end": "tool_calls" if said.calls else "stop", "refusal": "content_filter", "pause": "stop"}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return bare({"id": "chat-1", "object": "chat.completion.chunk", "choices": [choice], "usage": None})

    events = [chunk({"role": "assistant", "content": ""})]
    if said.thinking:
        events.append(chunk({"reasoning_content": said.thinking}))
    half = len(said.text) // 2
    events += [chunk({"content": part}) for part in (said.text[:half], said.text[half:]) if part]
    for number, (call_id, tool, args) in enumerate(said.calls):
        written = _arguments(args)
        begun = {"index": number, "id": call_id, "type": "function", "function": {"name": tool, "arguments": ""}}
        events.append(chunk({"tool_calls": [begun]}))
        events += [
            chunk({"tool_calls": [{"index": number, "function": {"arguments": part}}]})
            for part in (written[:5], written[5:])
        ]
    events.append(chunk({}, stop.get(said.stop, said.stop)))
    usage = {
        "prompt_tokens": said.into,
        "completion_tokens": said.out,
        "total_tokens": said.into + said.out,
        "prompt_tokens_details": {"cached_tokens": said.cached},
        "completion_tokens_details": {"reasoning_tokens": said.thought},
    }
    events.append(bare({"id": "chat-1", "object": "chat.completion.chunk", "choices": [], "usage": usage}))
    return [*events, b"data: [DONE]\n\n"]


def responses(said: Said) -> list[bytes]:
    """Write a reply as the responses API does."""
    items: list[dict[str, Any]] = []
    if said.thinking:
        items.append(
            {
                "id": "rs_1",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": said.thinking}],
                "encrypted_content": "sealed",
                "status": "completed",
            }
        )
    if said.text:
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        items.append({"id": "msg_1", "type": "message", "role": "assistant", "content": content, "status": "completed"})
    items += [
        {
            "id": f"fc_{number}",
            "type": "function_call",
            "call_id": call_id,
            "name": tool,
            "arguments": _arguments(args),
            "status": "completed",
        }
        for number, (call_id, tool, args) in enumerate(said.calls)
    ]
    reasons = {"length": "max_output_tokens", "refusal": "content_filter"}
    reason = reasons.get(said.stop)
    if reason == "max_output_tokens" and said.calls:
        items[-1] = {**items[-1], "status": "incomplete"}
    events = [named({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}})]
    for index, item in enumerate(items):
        begun = (
            {**item, "content": []} if item["type"] == "message" else {**item, "arguments": "", "status": "in_progress"}
        )
        events.append(named({"type": "response.output_item.added", "output_index": index, "item": begun}))
        if item["type"] == "message":
            delta = {"output_index": index, "content_index": 0, "delta": said.text}
            events.append(named({"type": "response.output_text.delta", **delta}))
        events.append(named({"type": "response.output_item.done", "output_index": index, "item": item}))
    usage = {
        "input_tokens": said.into,
        "input_tokens_details": {"cached_tokens": said.cached, "cache_write_tokens": 0},
        "output_tokens": said.out,
        "output_tokens_details": {"reasoning_tokens": said.thought},
        "total_tokens": said.into + said.out,
    }
    end = "incomplete" if reason else "completed"
    details = {"reason": reason} if reason else None
    response = {"id": "resp_1", "status": end, "output": items, "usage": usage, "incomplete_details": details}
    return [*events, named({"type": f"response.{end}", "response": response})]
