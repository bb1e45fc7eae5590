"""Well-known models of providers: prices, windows, longest replies. Law: only what the providers' own pages say, as of ``AS_OF``.

Sources: platform.claude.com/docs/en/about-claude/pricing and the models' pages beside it; developers.openai.com/api/docs/models and
/pricing. Prices are US dollars a million tokens, standard processing. What is not listed has no price until the crew writes one.
"""

from __future__ import annotations

import re

from attrs import frozen

AS_OF = "2026-11-30"
"""When the list was last compared with its sources."""


@frozen(kw_only=True)
class Price:
    """What a million tokens of each class cost. None: as the class it is a part of (input or output).

    A request whose input is longer than ``long_over`` costs ``long_input`` and ``long_output`` times as much, all of it.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None
    reasoning: float | None = None
    long_over: int | None = None
    long_input: float = 1.0
    long_output: float = 1.0


@frozen(kw_only=True)
class Known:
    """What is known of a model: its price, its window and its longest reply in tokens."""

    price: Price
    window: int
    max_output: int


CACHE_WRITE = 1.25
"""What writing a token to a provider's cache costs, in prices of an input token: the same at both providers of the list."""

FREE = Price(input=0.0, output=0.0)


def _claude(into: float, out: float, cached: float, *, window: int = 1_000_000, longest: int = 128_000) -> Known:
    price = Price(input=into, output=out, cached_input=cached, cache_write=into * CACHE_WRITE)
    return Known(price=price, window=window, max_output=longest)


def _gpt(into: float, out: float, cached: float) -> Known:
    price = Price(
        input=into,
        output=out,
        cached_input=cached,
        cache_write=into * CACHE_WRITE,
        long_over=272_000,
        long_input=2.0,
        long_output=1.5,
    )
    return Known(price=price, window=1_050_000, max_output=128_000)


_CHEAP_BELOW_100K = Price(
    input=0.10, output=0.50, cached_input=0.01, cache_write=0.125, long_over=100_000, long_input=5.0, long_output=5.0
)

KNOWN: dict[str, dict[str, Known]] = {
    "anthropic": {
        "claude-fable-5-1": _claude(10, 50, 0.25),
        "claude-opus-5-5": _claude(4, 20, 0.20),
        "claude-opus-5": _claude(5, 25, 0.50),
        "claude-sonnet-5-5": _claude(2, 10, 0.10),
        "claude-sonnet-5": _claude(2, 10, 0.20),
        "claude-haiku-5-5": Known(price=_CHEAP_BELOW_100K, window=1_000_000, max_output=128_000),
        "claude-haiku-4-5": _claude(1, 5, 0.10, window=200_000, longest=64_000),
    },
    "openai": {
        "gpt-6.2-sol": _gpt(2, 10, 0.10),
        "gpt-6-sol": _gpt(2, 10, 0.20),
        "gpt-6-luna": _gpt(0.10, 0.50, 0.01),
        "gpt-5.6-luna": _gpt(0.20, 1.20, 0.02),
    },
}

KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""The variable a provider's key is looked for in where the crew names none."""

CLIENTS = {
    "anthropic": ("anthropic", "anthropic"),
    "openai": ("openai", "openai"),
    "openai-compatible": ("openai", "openai"),
    "llamacpp": ("local", "xllamacpp"),
}
"""By provider: the extra that brings its client, and the package that has to be there then."""

RECOMMENDED = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-6.2-sol"}
"""The model a crew is written for where only its provider is known."""

_SNAPSHOT = re.compile(r"-(?:20\d{6}|20\d\d-\d\d-\d\d)$")


def known(provider: str, name: str) -> Known | None:
    """Look a model up, under its name or its dated snapshot's."""
    models = KNOWN.get(provider, {})
    return models.get(name) or models.get(_SNAPSHOT.sub("", name))
