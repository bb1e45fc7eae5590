"""A model file served in this process by llama.cpp (extra ``local``). Law: one server a file, loaded when asked, gone with the run.

Calls are made in-process, never over the network. The library opens a port of its own on loopback all the same; it is given a
random key that nobody knows. One call runs at a time, the others queue: a second slot would halve every agent's window.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, evolve, field

from ggactors.models.dialogue import Gauge, Heard, calls_of, count_of, counts_in, cut_note, cut_words
from ggactors.models.schema import parse_reply, plain_messages, reply_schema
from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelReply, ModelTraits, Usage
from ggactors.rules.prices import cost_of, most_of, price_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ggactors.protocol.crew import ModelSpec
    from ggactors.protocol.model import Message, ModelRequest

WINDOW = 8192
"""Tokens a request and its reply may hold together where the crew says nothing; memory grows with it."""

LONGEST_TEXT = 2000
"""Characters the grammars of llama.cpp can count; a text that may be longer has no limit."""

_CLOSED = "the run is over"


def source(spec: ModelSpec, path: Path, beside: Iterable[object] = ()) -> LlamaSource:
    """Make the source of a model file. Nothing is loaded yet.

    It shares the server of sources ``beside`` it that serve the same file with the same window.
    """
    window = spec.options.get("contextWindow", WINDOW)
    servers = (one.server for one in beside if isinstance(one, LlamaSource))
    same = (one for one in servers if (one.path, one.window) == (path, window))
    return LlamaSource(
        label=f"{spec.provider}/{spec.name}",
        spec=spec,
        server=next(same, None) or LlamaServer(path, window),
        longest=min(spec.options.get("maxOutputTokens", window // 4), window),
        traits=ModelTraits(window=window),
    )


@define(eq=False)
class LlamaSource:
    """A model file as one model of the crew uses it. Shared by every agent."""

    label: str
    spec: ModelSpec
    server: LlamaServer
    longest: int
    """Tokens a reply may have."""
    traits: ModelTraits

    def model_for(self, agent: str, profile: str) -> LlamaModel:  # noqa: ARG002 - the same file serves all
        """Make the model of one agent."""
        return LlamaModel(self)

    async def ask(self, body: dict[str, Any]) -> Said:
        """Have one reply generated. Raises ModelFault. Cancelled: it stops before its next token, or once the file is loaded."""
        try:
            said = await self.server.ask(body)
        except Unusable as unusable:
            raise ModelFault(f"{self.label}: {unusable}") from unusable.__cause__
        if said.error is not None:
            raise _fault(self.label, said.error)
        return said

    async def aclose(self) -> None:
        """Unload the file. Cancelled: it is unloaded all the same."""
        await self.server.aclose()


class Unusable(Exception):  # noqa: N818 - what is the matter with a file
    """A model file that cannot be asked: why, and what to do."""


@define(eq=False)
class LlamaServer:
    """The one server of a file. ``window`` is how many tokens it is set up for."""

    path: Path
    window: int
    _server: Any = None
    _turn: trio.Lock = field(factory=trio.Lock)
    _closed: bool = False

    async def ask(self, body: dict[str, Any]) -> Said:
        """Have one reply generated, in turn. Raises Unusable. Cancelled: as for ``LlamaSource.ask``."""
        async with self._turn:
            if self._closed:
                raise Unusable(_CLOSED)
            if self._server is None:
                self._server = await trio.to_thread.run_sync(self._load, limiter=_own_thread())
            return await self._generate(body)

    async def aclose(self) -> None:
        """Unload the file, once whoever is asking has stopped. Cancelled: it is unloaded all the same."""
        with trio.CancelScope(shield=True):
            async with self._turn:
                self._closed = True
                if self._server is not None:
                    await trio.to_thread.run_sync(self._unload, limiter=_own_thread())

    def _load(self) -> Any:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self.path)
        params.n_ctx = self.window
        params.n_parallel = 1
        # Its threads wait for each other spinning, so more than there are free processors make it slower, not faster; the
        # other half is for what agents run.
        params.cpuparams.n_threads = max((os.cpu_count() or 2) // 2, 1)
        # Between two batches of a prompt is where a call that was cancelled can stop.
        params.n_batch = 256
        params.warmup = False
        params.ui = False
        # Nothing of the library's log goes to the operator's terminal; faults come back with the call.
        params.verbosity = 0
        params.api_keys = [secrets.token_hex(16)]
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            what = f"it cannot be loaded ({' '.join(str(error).split())})"
            raise Unusable(f"{what}; check that {self.path.name} is a model and fits this machine's memory") from error

    def _unload(self) -> None:
        self._server = None

    async def _generate(self, body: dict[str, Any]) -> Said:
        said = Said()
        asked = {**body, "stream": True, "stream_options": {"include_usage": True}, "return_progress": True}

        async def generate() -> None:
            # The thread cannot be left alone with the server: the next call, or unloading it, would meet it there.
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(
                    lambda: self._server.handle_chat_completions(asked, said.take), limiter=_own_thread()
                )
            done.set()

        done = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(generate)
            try:
                await done.wait()
            finally:
                said.stop.set()
        return said


def _own_thread() -> trio.CapacityLimiter:
    """Make a limiter of its own: generating takes long, and what else this process does in threads must not wait for it."""
    return trio.CapacityLimiter(1)


@define(eq=False)
class Said:
    """A reply as it comes in, on the server's thread. ``stop`` ends it at the next token."""

    stop: threading.Event = field(factory=threading.Event)
    text: list[str] = field(factory=list)
    calls: dict[int, tuple[list[str], list[str]]] = field(factory=dict)
    reason: str = ""
    usage: dict[str, Any] = field(factory=dict)
    error: Any = None

    def take(self, chunk: Any) -> bool:
        """Take a piece; true asks the server to stop. Raises nothing: the library would swallow it."""
        try:
            self._take(json.loads(chunk) if isinstance(chunk, (str, bytes)) else chunk)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            self.error = {"message": f"a piece of the reply cannot be read ({type(error).__name__})"}
        return self.stop.is_set() or self.error is not None

    def _take(self, chunk: dict[str, Any]) -> None:
        if "error" in chunk:
            self.error = chunk["error"]
        self.usage = counts_in(chunk, "usage") or self.usage
        for choice in chunk.get("choices", ()):
            delta = choice.get("delta") or {}
            self.text += [delta["content"]] if delta.get("content") else []
            for call in delta.get("tool_calls") or ():
                name, args = self.calls.setdefault(call.get("index", 0), ([], []))
                function = call.get("function") or {}
                name += [function["name"]] if function.get("name") else []
                args += [function["arguments"]] if function.get("arguments") else []
            self.reason = choice.get("finish_reason") or self.reason

    def heard(self) -> list[Heard]:
        """List the calls of a reply that has ended. Their ids are given by whoever reads them."""
        last = max(self.calls, default=None)
        return [
            Heard(id="", name="".join(name), text="".join(args), whole=self.reason != "length" or number != last)
            for number, (name, args) in sorted(self.calls.items())
        ]


class LlamaModel:
    """One agent's use of a model file. Obeys ``ports.Model``."""

    def __init__(self, source: LlamaSource) -> None:
        """Serve from ``source``."""
        self.label = source.label
        self.source = source
        self._gauge = Gauge(source.label)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Generate one reply. Raises ModelFault. Cancelled: generation stops before its next token."""
        native = self.source.spec.options.get("toolCalls", "schema") == "native"
        body = _native(request) if native else self._constrained(request)
        said = await self.source.ask({**body, **self._sampling()})
        text = "".join(said.text)
        calls = calls_of(said.heard(), request, cut_words(self.source.longest))
        if not native:
            call = parse_reply(text, request.turn)
            text, calls = (text, ()) if call is None else ("", (call,))
        note = cut_note(self.source.longest) if said.reason == "length" else ""
        usage = self._usage(said)
        self._gauge.measured(request, usage.input)
        return ModelReply(text=text, calls=calls, usage=usage, note=note)

    def bound(self, request: ModelRequest) -> Usage | None:
        """Give the most a call may spend: what its bytes, or the last request, bound it by, and no more than the window (C3)."""
        most = min(self._gauge.bound(request), self.source.server.window)
        cost = most_of(price_of(self.source.spec), input_tokens=most, output_tokens=self.source.longest)
        return Usage(input=most, output=self.source.longest, cost=cost)

    def _constrained(self, request: ModelRequest) -> dict[str, Any]:
        # Two texts of this length fit a reply also where every character is a token, so a call is whole before it is cut off.
        longest = max(self.source.longest // 2 - 32, 16)
        schema = reply_schema(request.tools, longest=longest if longest <= LONGEST_TEXT else None)
        plain = plain_messages(request.messages, request.tools)
        return {
            "messages": [{"role": one.role, "content": one.text} for one in plain],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": schema},
            },
        }

    def _sampling(self) -> dict[str, Any]:
        options = self.source.spec.options
        limits: dict[str, Any] = {"max_tokens": self.source.longest}
        return limits if "temperature" not in options else {**limits, "temperature": options["temperature"]}

    def _usage(self, said: Said) -> Usage:
        told = said.usage
        into, out = count_of(told, "prompt_tokens"), count_of(told, "completion_tokens")
        cached = min(count_of(counts_in(told, "prompt_tokens_details"), "cached_tokens"), into)
        usage = Usage(input=into, cached_input=cached, output=out)
        return evolve(usage, cost=cost_of(price_of(self.source.spec), usage))


def _native(request: ModelRequest) -> dict[str, Any]:
    """Write a request for a model whose chat template knows tools."""
    return {
        "messages": [one for message in request.messages for one in _message(message)],
        "tools": [
            {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.schema}}
            for t in request.tools
        ],
    }


def _message(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"role": "tool", "tool_call_id": one.call_id, "content": one.output} for one in message.results]
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": json.dumps(call.args)}}
        for call in message.calls
    ]
    return [{"role": message.role, "content": message.text, **({"tool_calls": calls} if calls else {})}]


def _fault(label: str, error: Any) -> ModelFault:
    told = error if isinstance(error, dict) else {"message": str(error)}
    message = " ".join(str(told.get("message", "")).split())[:200]
    overflow = told.get("type") == "exceed_context_size_error"
    remedy = "; raise its contextWindow, or give it less to read" if overflow else ""
    return ModelFault(f"{label}: {message}{remedy}", overflow=overflow)
