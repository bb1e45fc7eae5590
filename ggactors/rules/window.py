"""How full a model's window is: a cheap estimate of a conversation's tokens, corrected by what the provider last reported.

Law: pure. The estimate is never trusted alone where a figure of the provider is to be had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ggactors.protocol.model import Message, ToolSpec

BYTES_PER_TOKEN = 4
A_MESSAGE = 8
"""Tokens a message takes beside its text."""
A_PICTURE = 1500
LEAST_SCALE, MOST_SCALE = 0.5, 4.0
"""Between these a report is believed to tell how many tokens the text here makes."""
GROWTH = 1.2
"""How much longer than after the last compaction a conversation is before the next one is worth it."""


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _weight(value: Any) -> int:
    """Give about how many bytes a plain value takes as JSON."""
    if isinstance(value, str):
        return _size(value) + 2
    if isinstance(value, dict):
        return 2 + sum(_weight(key) + _weight(part) + 2 for key, part in value.items())
    if isinstance(value, list | tuple):
        return 2 + sum(_weight(part) + 1 for part in value)
    return 8


def tokens_of(message: Message) -> int:
    """Estimate a message's tokens. Where the provider's own items are replayed, they count if they are longer."""
    size = _size(message.text) + sum(_size(call.tool) + _weight(call.args) for call in message.calls)
    if message.kept is not None:
        size = max(size, _weight(message.kept.items))
    size += sum(_size(result.output) for result in message.results)
    pictures = sum(len(result.images) for result in message.results)
    parts = 1 + len(message.calls) + len(message.results)
    return size // BYTES_PER_TOKEN + A_MESSAGE * parts + A_PICTURE * pictures


def estimate(messages: Iterable[Message]) -> int:
    """Estimate the tokens of messages."""
    return sum(tokens_of(message) for message in messages)


def tokens_of_tools(tools: Iterable[ToolSpec]) -> int:
    """Estimate the tokens of what is offered."""
    return sum(
        A_MESSAGE + (_size(tool.name) + _size(tool.description) + _weight(tool.schema)) // BYTES_PER_TOKEN
        for tool in tools
    )


@frozen(kw_only=True)
class Gauge:
    """What is known of how estimates compare with the provider's counts.

    ``reported`` is the input of the last answered request, ``then`` its estimate; ``floor`` the estimate right after the last
    compaction.
    """

    scale: float = 1.0
    reported: int | None = None
    then: int = 0
    floor: int = 0

    def size(self, estimated: int) -> int:
        """Give the best guess of a request's real tokens, from its estimate."""
        if self.reported is None:
            return round(estimated * self.scale)
        return max(self.reported + round((estimated - self.then) * self.scale), 0)

    def after_reply(self, estimated: int, reported: int) -> Gauge:
        """Take in what a provider counted for a request; 0 is no count."""
        if reported <= 0:
            return self
        ratio = reported / max(estimated, 1)
        return Gauge(
            scale=min(max(ratio, LEAST_SCALE), MOST_SCALE), reported=reported, then=estimated, floor=self.floor
        )

    def after_overflow(self, estimated: int, window: int) -> Gauge:
        """Take in that a request did not fit: its tokens were more than the window holds, whatever was counted before."""
        return evolve(self, scale=max(self.scale * 1.3, window / max(estimated, 1) * 1.05), reported=None)

    def after_compaction(self, estimated: int) -> Gauge:
        """Begin anew with a compacted conversation: what was reported was of the longer one."""
        return evolve(self, reported=None, then=0, floor=estimated)

    def due(self, estimated: int, window: int, threshold: float) -> bool:
        """Tell whether a conversation is to be compacted: near the window, and longer than a compaction just made it."""
        return self.size(estimated) >= window * threshold and estimated >= self.floor * GROWTH
