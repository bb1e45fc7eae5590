"""A model behind a provider's address, whatever its wire shape: asked by streaming, bounded, priced. Obeys ``ports.Model``.

Law: a reply is whole or there is none. Every failure is one ModelFault, and the client never retries by itself: waiting is the
run's business (C1).
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define, evolve, field, frozen

from ggactors.models.dialogue import Gauge, size_of, storable
from ggactors.models.faults import (
    rate_limits,
    status_fault,
    told_fault,
    too_large_fault,
    transport_fault,
    unreadable_fault,
    words_of,
)
from ggactors.models.http import (
    TRANSPORT_FAILURES,
    Broken,
    Events,
    InvalidURL,
    Patience,
    Pools,
    Told,
    TooLarge,
    Unusable,
    check_stream,
)
from ggactors.models.schema import parse_reply, plain_messages, reply_schema
from ggactors.ports import ModelFault
from ggactors.protocol.model import Kept, Message, ModelReply, ModelTraits, Usage
from ggactors.rules.prices import cost_of, longest_reply, most_of, price_of, window_of
from ggactors.rules.spend import total

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractAsyncContextManager

    import httpx2

    from ggactors.models.http import Sent
    from ggactors.protocol.crew import ModelSpec
    from ggactors.protocol.model import ModelRequest

PAUSES = 8
"""How often a reply that its provider paused is gone on with."""

ASSUMED_OUTPUT = 32_768
"""Tokens a reply is bounded by where neither the crew nor the list of known models says how long it may be."""


@frozen(kw_only=True)
class Assembled:
    """What a stream came to. ``paused``: the provider wants to be asked to go on. ``cache_written`` counts input tokens."""

    reply: ModelReply
    paused: bool = False
    cache_written: int = 0


class Assembler(Protocol):
    """Puts one reply together from its events."""

    def take(self, sent: Sent) -> bool:
        """Take one event; tell whether it was the last of interest. Raises Broken and Told."""

    def close(self, request: ModelRequest) -> Assembled:
        """Give the reply. Raises Broken when the stream ended too early."""

    def spent(self) -> tuple[Usage, int]:
        """Give what was spent so far, as far as the provider told, and the tokens of it that were written to a cache."""


class Shape(Protocol):
    """A provider's wire shape, spoken through its official client."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """List the exceptions of the client."""

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Write the request's body."""

    def ask(
        self, http: httpx2.AsyncClient, body: dict[str, Any], headers: dict[str, str]
    ) -> AbstractAsyncContextManager[httpx2.Response]:
        """Send a request and give the answer's head, its body not read. Raises ``errors``."""

    def refusal(self, error: Exception) -> tuple[int, Mapping[str, str], object] | None:
        """Read the status, headers and body off an exception of the client, None when it is none of a status."""

    def assembler(self) -> Assembler:
        """Make what puts one reply together."""


@define(kw_only=True)
class HostedSource:
    """One model of the crew as a provider serves it. Shared by every agent; ``aclose`` gives its connections up.

    ``host`` is the address it is served at, empty for the provider's own.
    """

    shape: Shape
    spec: ModelSpec
    host: str = ""
    key: str | None = field(default=None, repr=False)
    pools: Pools = field(factory=Pools)
    patience: Patience = field(factory=Patience)

    @property
    def label(self) -> str:
        """Say what usage events call the model."""
        return f"{self.spec.provider}/{self.spec.name}"

    @property
    def traits(self) -> ModelTraits:
        """Tell the account its calls share, and the window they must fit."""
        return ModelTraits(account=account_of(self.spec, self.host), window=window_of(self.spec))

    def model_for(self, agent: str, profile: str) -> HostedModel:  # noqa: ARG002 - every agent is served alike
        """Make the model of one agent."""
        return HostedModel(self)

    async def aclose(self) -> None:
        """Close the connections. Cancelled: they are closed all the same."""
        await self.pools.aclose()


class HostedModel:
    """One agent's use of a provider's model."""

    def __init__(self, source: HostedSource) -> None:
        """Serve from ``source``."""
        self.label = source.label
        self._source = source
        self._gauge = Gauge(source.label)
        self._price = price_of(source.spec)
        self._parts: list[Usage] = []
        """What the parts of the present call spent that came to their end."""
        self._assembler: Assembler | None = None
        """What puts the present part together."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Ask once and put the streamed answer together. Raises ModelFault.

        Cancelled: the connection is closed at once and nothing of the answer is kept.
        """
        self.take_spent()
        replies: list[ModelReply] = []
        asked = request
        for _ in range(PAUSES):
            assembled = await self._ask(asked)
            usage = self._priced(assembled.reply.usage, assembled.cache_written)
            reply = self._read(evolve(assembled.reply, usage=usage), request)
            replies.append(reply)
            self._assembler = None
            self._parts.append(reply.usage)
            if not assembled.paused:
                break
            again = Message(role="assistant", text=reply.text, calls=reply.calls, kept=reply.kept)
            asked = evolve(asked, messages=(*asked.messages, again))
        self._parts.clear()
        self._gauge.measured(request, replies[0].usage.input)
        return replies[0] if len(replies) == 1 else _joined(replies)

    def take_spent(self) -> Usage | None:
        """Give, once, what the last call spent although nothing came of it, as far as its provider told (C3)."""
        spent, self._parts = self._parts, []
        if self._assembler is not None:
            spent.append(self._priced(*self._assembler.spent()))
            self._assembler = None
        whole = total(spent)
        return whole if whole.tokens else None

    def bound(self, request: ModelRequest) -> Usage | None:
        """Bound the request's tokens by its bytes, or by what the last one was, and the reply's by how long it may be (C3)."""
        spec = self._source.spec
        most_in, most_out = self._gauge.bound(request), longest_reply(spec) or ASSUMED_OUTPUT
        window = window_of(spec)
        if window is not None:
            most_in, most_out = min(most_in, window), min(most_out, window)
        cost = most_of(self._price, input_tokens=most_in, output_tokens=most_out)
        return Usage(input=most_in, output=most_out, cost=cost)

    async def _ask(self, request: ModelRequest) -> Assembled:
        source, label = self._source, self.label
        shape = source.shape
        body = shape.body(request)
        failures: tuple[type[Exception], ...] = (*shape.errors, *TRANSPORT_FAILURES)
        headers = {"X-GGActors-Agent": request.agent, **({"X-GGActors-Run": request.run} if request.run else {})}
        try:
            async with shape.ask(
                source.pools.client(source.traits.account, source.patience), body, headers
            ) as response:
                assembled = await self._assemble(response, request)
        except Told as told:
            raise told_fault(label, told.error, source.key) from None
        except Broken as broken:
            raise unreadable_fault(label, str(broken)) from None
        except TooLarge as large:
            raise too_large_fault(label, str(large)) from None
        except Unusable as unusable:
            raise ModelFault(f"{label}: the provider {unusable}; check its baseUrl and api") from None
        except InvalidURL:
            raise ModelFault(f"{label}: the address cannot be asked; check its baseUrl") from None
        except failures as error:
            refusal = shape.refusal(error)
            if refusal is None:
                raise transport_fault(label, words_of(error)) from None
            status, told_headers, told_body = refusal
            raise status_fault(label, status, told_headers, told_body, source.key) from None

        usage = _completed(assembled.reply, body)
        return evolve(assembled, reply=evolve(assembled.reply, usage=usage))

    async def _assemble(self, response: httpx2.Response, request: ModelRequest) -> Assembled:
        """Put the reply together from its stream. Raises Broken, Told, TooLarge, Unusable, and what the HTTP client raises."""
        await check_stream(response)
        assembler = self._assembler = self._source.shape.assembler()
        async with Events(response, self._source.patience) as events:
            while (sent := await events.next()) is not None:
                if assembler.take(sent):
                    await events.finish()
                    break
        assembled = assembler.close(request)
        reply = evolve(assembled.reply, limits=rate_limits(response.headers), kept=storable(assembled.reply.kept))
        return evolve(assembled, reply=reply)

    def _read(self, reply: ModelReply, request: ModelRequest) -> ModelReply:
        """Read a reply that a schema constrained as the one call it is."""
        if not is_constrained(self._source.spec, request):
            return reply
        call = parse_reply(reply.text, request.turn)
        return reply if call is None else evolve(reply, text="", calls=(call,))

    def _priced(self, usage: Usage, cache_written: int) -> Usage:
        return evolve(usage, cost=cost_of(self._price, usage, cache_written=cache_written))


def _completed(reply: ModelReply, body: dict[str, Any]) -> Usage:
    """Guess what its server does not tell of a reply's usage, a token for 4 bytes: ceilings must hold there too (C3)."""
    usage = reply.usage
    said = size_of(reply.text) + sum(size_of(call.tool) + len(json.dumps(call.args)) for call in reply.calls)
    if usage.input == 0:
        usage = evolve(usage, input=len(json.dumps(body)) // 4)
    if usage.output == 0:
        usage = evolve(usage, output=max(said // 4, 1))
    return usage


def _joined(replies: list[ModelReply]) -> ModelReply:
    """Make one reply of a paused one and what it was gone on with. Each part was charged for, so each counts."""
    kept = [reply.kept for reply in replies if reply.kept is not None]
    return ModelReply(
        text="".join(reply.text for reply in replies),
        calls=tuple(call for reply in replies for call in reply.calls),
        usage=total(reply.usage for reply in replies),
        kept=Kept(adapter=kept[0].adapter, items=tuple(item for one in kept for item in one.items)) if kept else None,
        limits=replies[-1].limits,
        note=replies[-1].note,
    )


def is_constrained(spec: ModelSpec, request: ModelRequest) -> bool:
    """Tell whether a model calls tools by replies that a schema constrains."""
    return spec.options.get("toolCalls") == "schema" and bool(request.tools)


def constrained(request: ModelRequest) -> tuple[ModelRequest, dict[str, Any]]:
    """Write a request for a model that knows no tools, and the schema of its reply."""
    plain = plain_messages(request.messages, request.tools)
    messages = tuple(Message(role=one.role, text=one.text) for one in plain)
    return evolve(request, messages=messages, tools=()), reply_schema(request.tools)


def shared_pools(beside: Iterable[object]) -> Pools:
    """Give the connections that sources of the same run share, or new ones for the first of them."""
    return next((one.pools for one in beside if isinstance(one, HostedSource)), None) or Pools()


def account_of(spec: ModelSpec, host: str) -> str:
    """Name the account a model's calls are charged to, by where its key comes from: models with one key share its limits."""
    options = spec.options
    key = options.get("apiKeyEnv") or ("" if "apiKeyCommand" not in options else _short(options["apiKeyCommand"]))
    return " ".join(part for part in (spec.provider, host, str(key)) if part)


def _short(command: str) -> str:
    return f"key-{sha256(command.encode()).hexdigest()[:8]}"
