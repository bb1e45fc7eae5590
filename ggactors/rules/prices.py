"""What a call costs, and may cost at most. Law: cached input and cache writes are parts of input, reasoning a part of output.

Each part is charged once, at its own price where it has one. A price the crew writes wins over the list; a model behind an address
of the crew's own has only the price the crew writes; a model file of this machine costs nothing. Unknown stays unknown: the cost is
None, and a crew with ``maxCost`` is refused rather than run without a ceiling (P1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.values import Problem
from ggactors.rules.known import CACHE_WRITE, FREE, Known, Price, known
from ggactors.rules.launch_models import EMBEDDED, REHEARSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ggactors.protocol.crew import ModelSpec
    from ggactors.protocol.model import Usage

PER = 1_000_000
"""Tokens a price is for."""


def price_of(spec: ModelSpec) -> Price | None:
    """Give a model's price, or None where nobody knows it."""
    written: Mapping[str, float] | None = spec.options.get("price")
    if written is not None:
        into = written["inputPerMTok"]
        writes = into * CACHE_WRITE if spec.provider == "anthropic" else None
        return Price(
            input=into,
            output=written["outputPerMTok"],
            cached_input=written.get("cachedInputPerMTok"),
            cache_write=written.get("cacheWritePerMTok", writes),
            reasoning=written.get("reasoningPerMTok"),
        )
    if spec.provider == EMBEDDED:
        return FREE
    model = _listed(spec)
    return None if model is None else model.price


def window_of(spec: ModelSpec) -> int | None:
    """Give how many tokens a request and its reply may hold together: what the crew writes, else what is known."""
    model = _listed(spec)
    return spec.options.get("contextWindow") or (None if model is None else model.window)


def longest_reply(spec: ModelSpec) -> int | None:
    """Give how many tokens a reply may hold: what the crew writes, else what is known."""
    model = _listed(spec)
    return spec.options.get("maxOutputTokens") or (None if model is None else model.max_output)


def cost_of(price: Price | None, usage: Usage, *, cache_written: int = 0) -> float | None:
    """Say what a call cost. ``cache_written`` counts the input tokens that were written to the provider's cache."""
    if price is None:
        return None
    cached = min(usage.cached_input, usage.input)
    written = min(cache_written, usage.input - cached)
    thought = min(usage.reasoning, usage.output)
    into, out = _factors(price, usage.input)
    return (
        into * (usage.input - cached - written) * price.input
        + into * cached * _or(price.cached_input, price.input)
        + into * written * _or(price.cache_write, price.input)
        + out * (usage.output - thought) * price.output
        + out * thought * _or(price.reasoning, price.output)
    ) / PER


def most_of(price: Price | None, *, input_tokens: int, output_tokens: int) -> float | None:
    """Say what a call of at most so many tokens costs at most, whatever of them is cached, written or reasoned (C3)."""
    if price is None:
        return None
    into, out = _factors(price, input_tokens)
    dearest_in = max(price.input, _or(price.cached_input, price.input), _or(price.cache_write, price.input))
    dearest_out = max(price.output, _or(price.reasoning, price.output))
    return (into * input_tokens * dearest_in + out * output_tokens * dearest_out) / PER


def unpriced(used: Iterable[ModelSpec], declared: Mapping[str, ModelSpec | None]) -> list[Problem]:
    """List the models of a crew with a ``maxCost`` whose cost nobody knows, those they fall back to among them."""
    problems: dict[str, Problem] = {}
    waiting = list(used)
    seen: set[str] = set()
    while waiting:
        spec = waiting.pop(0)
        if spec.key in seen:
            continue
        seen.add(spec.key)
        fallback = declared.get(spec.options.get("fallback", ""))
        waiting += [fallback] if fallback is not None else []
        # Replies that are written down or made by a program say their own cost.
        if spec.provider not in REHEARSED and price_of(spec) is None:
            remedy = "write its price = { inputPerMTok = …, outputPerMTok = … } under models, or remove maxCost"
            what = "has no known price, so maxCost cannot be honoured"
            problems[spec.path] = Problem(path=spec.path, what=what, remedy=remedy)
    return list(problems.values())


def _listed(spec: ModelSpec) -> Known | None:
    return None if "baseUrl" in spec.options else known(spec.provider, spec.name)


def _factors(price: Price, input_tokens: int) -> tuple[float, float]:
    is_long = price.long_over is not None and input_tokens > price.long_over
    return (price.long_input, price.long_output) if is_long else (1.0, 1.0)


def _or(part: float | None, whole: float) -> float:
    return whole if part is None else part
