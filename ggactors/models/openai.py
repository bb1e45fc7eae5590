"""Models of OpenAI, and of whatever speaks its APIs, through the official client. The one door to ``openai``.

Law: this file carries requests; what they say and how answers are put together is each API's own file.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import openai
from attrs import field, frozen

from ggactors.models.hosted import HostedSource, shared_pools
from ggactors.models.http import Patience
from ggactors.models.openai_chat import Chat
from ggactors.models.openai_responses import Responses
from ggactors.rules.launch_models import api_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    import httpx2

    from ggactors.models.hosted import Assembler
    from ggactors.models.http import Pools
    from ggactors.protocol.crew import ModelSpec
    from ggactors.protocol.model import ModelRequest


def source(
    spec: ModelSpec,
    key: str | None,
    *,
    base_url: str | None = None,
    beside: Iterable[object] = (),
    pools: Pools | None = None,
    patience: Patience | None = None,
) -> HostedSource:
    """Make the source of a model. ``base_url`` is where it is served, if the crew does not say.

    It shares the connections of the sources ``beside`` it, or has ``pools`` of the caller's. ``patience`` is for tests.
    """
    patience = patience or Patience()
    base_url = spec.options.get("baseUrl", base_url)
    label = f"{spec.provider}/{spec.name}"
    hosted = spec.provider == "openai"
    api = Responses if api_of(spec) == "responses" else Chat
    return HostedSource(
        shape=OpenAI(api=api(spec=spec, label=label, hosted=hosted), key=key, base_url=base_url, patience=patience),
        spec=spec,
        host=base_url or "",
        key=key,
        pools=pools or shared_pools(beside),
        patience=patience,
    )


@frozen(kw_only=True)
class OpenAI:
    """One of the two APIs, carried by the client. Obeys ``hosted.Shape``."""

    api: Chat | Responses
    key: str | None = field(default=None, repr=False)
    base_url: str | None
    patience: Patience
    errors: tuple[type[Exception], ...] = (openai.OpenAIError,)

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Write the request's body."""
        return self.api.body(request)

    @asynccontextmanager
    async def ask(
        self, http: httpx2.AsyncClient, body: dict[str, Any], headers: dict[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        """Send a request and give the answer's head. Raises ``errors``. Cancelled: the connection is closed."""
        client = openai.AsyncOpenAI(
            api_key=self.key or "none",
            base_url=self.base_url,
            max_retries=0,
            timeout=self.patience.timeout,
            http_client=http,
        )
        extra: dict[str, Any] = {"Accept-Encoding": "identity", **headers}
        if self.key is None:
            extra["Authorization"] = openai.Omit()
        # Not by the methods for each API: those walk through the whole dialogue once more, by the types of every item there is,
        # which took four fifths of the time of a request with a hundred turns.
        stream = await client.post(
            self.api.path,
            cast_to=object,
            body=body,
            options={"headers": extra},
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
        async with stream:
            yield stream.response

    def refusal(self, error: Exception) -> tuple[int, Mapping[str, str], object] | None:
        """Read an exception that is a status."""
        if isinstance(error, openai.APIStatusError):
            return error.status_code, error.response.headers, error.body
        return None

    def assembler(self) -> Assembler:
        """Make what puts one reply together."""
        return self.api.assembler()
