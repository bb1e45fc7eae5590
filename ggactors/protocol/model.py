"""What passes between an agent and its model. Law: plain values, the same shape for every provider."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen


@frozen(kw_only=True)
class ToolSpec:
    """A tool as it is offered to a model: name, one description, JSON schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]


@frozen(kw_only=True)
class ToolCall:
    """One call in a model's reply. ``args`` is what the model sent, unchecked.

    ``fault`` says why the arguments could not be read, or were cut off. Such a call has no arguments and is never carried
    out: it is answered with the fault (``invalid-argument``).
    """

    id: str
    tool: str
    args: dict[str, Any]
    fault: str | None = None


@frozen(kw_only=True)
class Image:
    """A picture for a model that takes pictures; ``media_type`` as in ``image/png``."""

    media_type: str
    data: bytes


@frozen(kw_only=True)
class Pictured:
    """What a tool gave where it gave pictures: the text for every model, and them for those that take pictures."""

    text: str
    images: tuple[Image, ...]


@frozen(kw_only=True)
class ToolResult:
    """What a call came to: the text the model sees. ``code`` is set when the call was refused or failed.

    ``images`` are shown beside the text where the model takes pictures; elsewhere the text alone must do.
    """

    call_id: str
    tool: str
    ok: bool
    output: str
    code: str | None = None
    images: tuple[Image, ...] = ()


@frozen(kw_only=True)
class Kept:
    """A reply in its provider's own items, for what text and calls do not carry (reasoning that must stay paired).

    ``adapter`` names who wrote it. Only the same adapter replays it; to every other the text and the calls say all.
    """

    adapter: str
    items: tuple[dict[str, Any], ...]


@frozen(kw_only=True)
class Message:
    """One message of the conversation. ``role``: system, user, assistant or tool (then ``results`` holds the answers)."""

    role: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    kept: Kept | None = None


@frozen(kw_only=True)
class Usage:
    """Tokens of one call, classes apart, and its cost (None where the model has no price)."""

    input: int = 0
    cached_input: int = 0
    output: int = 0
    reasoning: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        """Count what ``maxTokens`` counts: input and output together."""
        return self.input + self.output


@frozen(kw_only=True)
class ModelRequest:
    """One turn's question. ``turn`` counts from 1; ``attempt`` from 1 inside the turn."""

    agent: str
    profile: str
    role: str
    issue: str | None
    turn: int
    attempt: int
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    run: str = ""
    """The run's id, for the headers of a provider's request (docs/reference/models.md)."""


@frozen(kw_only=True)
class RateLimits:
    """What an account has left, as its provider told beside a reply. None where it did not say.

    ``requests`` and ``tokens`` are how many of each are left; ``requests_reset`` and ``tokens_reset`` are the seconds, counted
    from the reply, until they are back at their full number.
    """

    requests: int | None = None
    tokens: int | None = None
    requests_reset: float | None = None
    tokens_reset: float | None = None


@frozen(kw_only=True)
class ModelReply:
    """One answer of a model.

    ``note`` is what the model must be told of its own reply, which it cannot know: that it was cut off, or withheld.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(factory=Usage)
    kept: Kept | None = None
    limits: RateLimits | None = None
    note: str = ""


@frozen(kw_only=True)
class ModelTraits:
    """What the runtime must know of a model beside its replies.

    ``account`` names the provider account whose limits its calls share, empty for none. ``window`` is how many tokens a
    request and its reply may hold together, None when that is not known.
    """

    account: str = ""
    window: int | None = None
