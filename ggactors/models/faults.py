"""What a provider's refusal comes to (C1): retried or for good, a refused key, too long a request. Law: pure but for the date.

The status decides. What the provider says is read for three things alone: whether the request is longer than the window, whether
the account has run out of money (a 429 that no wait cures), and, behind a status of 200, which status was meant.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from ggactors.ports import ModelFault
from ggactors.protocol.model import RateLimits
from ggactors.rules.secrets import is_telling

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 200
"""Characters of a provider's own words that are told."""

_PASSING = (408, 409, 425, 429)
_MEANT = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Statuses of errors that are told inside a stream, by their ``type`` or ``code``."""

_TOO_LONG_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "request_too_large"})
# Not every provider has a code for it: Anthropic, vLLM, Ollama and others say it in words alone.
_TOO_LONG = re.compile(
    r"(?i)prompt is too long|maximum context length|context (?:length|window|size|limit)|too many (?:input )?tokens"
    r"|input (?:is|length) (?:too long|exceeds?)|reduce the length of the (?:messages|input|prompt)"
)
# A single request above what an account may send in a minute: no wait cures that either.
_TOO_MUCH = re.compile(r"(?i)\brequest too large\b")
_NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})
_KEY_LIKE = re.compile(r"\b(?:sk|pk|gsk|xai|hf|nvapi|key)[-_][A-Za-z0-9*_.-]{6,}|\bAIza[\w-]{8,}|(?i:bearer\s+\S+)")
_GREATEST = 1e15
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def status_fault(label: str, status: int, headers: Mapping[str, str], body: object, key: str | None) -> ModelFault:
    """Make the fault of an answer that is an error by its status. ``headers`` are looked up in lower case."""
    said, code = _said(body, key)
    overflow = status == 413 or code in _TOO_LONG_CODES or _is_too_long(status, said)
    auth = status in (401, 403)
    retryable = status in _PASSING or status >= 500
    if code in _NO_MONEY or overflow:
        retryable = False
    elif headers.get("x-should-retry") == "true" and status not in (400, 401, 403, 404, 422):
        retryable = True
    what, remedy = _words(status, overflow=overflow, no_money=code in _NO_MONEY)
    # A refused key is often quoted in the refusal, so nothing of that is told.
    quoted = f" ({said})" if said and not auth else ""
    reason = f"{what}, HTTP {status}{quoted}"
    return ModelFault(
        f"{label}: {reason}; {remedy}",
        reason=reason,
        status=status,
        retryable=retryable,
        auth=auth,
        retry_after=retry_after(headers) if retryable else None,
        overflow=overflow,
    )


def _is_too_long(status: int, said: str) -> bool:
    if status in (400, 422):
        return _TOO_LONG.search(said) is not None
    return status == 429 and _TOO_MUCH.search(said) is not None


def told_fault(label: str, error: object, key: str | None) -> ModelFault:
    """Make the fault of an error that is told inside a stream, or in a body behind a status of 200."""
    _, code = _said(error, key)
    inner = error.get("error", error) if isinstance(error, dict) else {}
    number = inner.get("code") if isinstance(inner, dict) else None
    if isinstance(number, int) and 400 <= number < 600:
        return status_fault(label, number, {}, error, key)
    return status_fault(label, _MEANT.get(code, 500), {}, error, key)


def transport_fault(label: str, what: str) -> ModelFault:
    """Make the fault of an answer that did not come, or that the connection did not bring whole."""
    reason = f"the provider {what}"
    return ModelFault(f"{label}: {reason}; it is asked again", reason=reason, retryable=True)


def unreadable_fault(label: str, what: str) -> ModelFault:
    """Make the fault of a reply that came and makes no sense, or ended too early: its provider was reached."""
    reason = f"the provider's reply could not be read: it {what}"
    return ModelFault(f"{label}: {reason}; it is asked again", reason=reason, retryable=True)


def too_large_fault(label: str, what: str) -> ModelFault:
    """Make the fault of a reply larger than any may be. The same question has the same answer, at its full price: for good."""
    remedy = "let the model say less at a time (maxOutputTokens), or check what answers at its baseUrl"
    return ModelFault(f"{label}: the provider {what}; {remedy}", reason=f"the provider {what}")


def _words(status: int, *, overflow: bool, no_money: bool) -> tuple[str, str]:
    """Say what a status means, and what to do next."""
    if overflow:
        return "the request is longer than the model takes", "shorten it, or name a model with a larger window"
    if no_money or status == 402:
        return "the account has nothing left to spend", "top it up with the provider, or use another key"
    if status in (401, 403):
        return "the key is refused", "check the key and what it may use"
    if status == 404:
        return "the provider knows no such model or address", "check the model's name and its baseUrl"
    if 300 <= status < 400:
        return "the address sends on to another one", "write the address it leads to as baseUrl"
    if status == 429:
        return "the provider is asked too much", "it is asked again later"
    if status in _PASSING or status >= 500:
        return "the provider has trouble", "it is asked again later"
    return "the provider refuses the request", "check the model's options in the crew"


def _said(body: object, key: str | None) -> tuple[str, str]:
    """Find a provider's own words and code in an error's body; an HTML page says neither."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(inner, str):
        inner = {"message": inner}
    if not isinstance(inner, dict):
        return "", ""
    codes = [str(inner[name]) for name in ("code", "type") if isinstance(inner.get(name), str)]
    code = next((code for code in codes if code in _MEANT or code in _TOO_LONG_CODES or code in _NO_MONEY), "")
    message = inner.get("message")
    if not isinstance(message, str):
        message = inner.get("detail") if isinstance(inner.get("detail"), str) else ""
    return _masked(" ".join(str(message).split()), key), code


def _masked(text: str, key: str | None) -> str:
    if key and is_telling(key):
        text = text.replace(key, "[key]")
    text = _KEY_LIKE.sub("[key]", text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


# ---------------------------------------------------------------- what headers say of time and limits


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how many seconds the provider asks to wait; from the moment its limits are reset where it says nothing else."""
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    asked = headers.get("retry-after")
    if asked is not None:
        seconds = _number(asked)
        return seconds if seconds is not None else _until(asked)
    limits = rate_limits(headers)
    if limits is None:
        return None
    spent = [
        reset
        for left, reset in ((limits.requests, limits.requests_reset), (limits.tokens, limits.tokens_reset))
        if left == 0 and reset is not None
    ]
    return max(spent, default=None)


def rate_limits(headers: Mapping[str, str]) -> RateLimits | None:
    """Read what the account has left from the headers of OpenAI's and of Anthropic's shape; None where they say nothing."""
    limits = RateLimits(
        requests=_count(headers, "x-ratelimit-remaining-requests", "anthropic-ratelimit-requests-remaining"),
        tokens=_count(
            headers,
            "x-ratelimit-remaining-tokens",
            "anthropic-ratelimit-tokens-remaining",
            "anthropic-ratelimit-input-tokens-remaining",
        ),
        requests_reset=_span(headers, "x-ratelimit-reset-requests", "anthropic-ratelimit-requests-reset"),
        tokens_reset=_span(
            headers,
            "x-ratelimit-reset-tokens",
            "anthropic-ratelimit-tokens-reset",
            "anthropic-ratelimit-input-tokens-reset",
        ),
    )
    return None if limits == RateLimits() else limits


def _count(headers: Mapping[str, str], *names: str) -> int | None:
    numbers = (_number(headers.get(name)) for name in names)
    return next((int(number) for number in numbers if number is not None), None)


def _span(headers: Mapping[str, str], *names: str) -> float | None:
    """Read a span of time as providers write it: seconds, ``6m0s``, or the moment at which it is over."""
    for name in names:
        written = headers.get(name)
        if written is None:
            continue
        number = _number(written)
        if number is not None:
            return number
        parts = _SPAN.findall(written)
        if parts and "".join(f"{count}{unit}" for count, unit in parts) == written.strip():
            return _number(str(sum(float(count) * _SECONDS[unit] for count, unit in parts)))
        return _until(written)
    return None


def _number(written: str | None) -> float | None:
    try:
        number = float(written or "")
    except ValueError:
        return None
    return number if 0 <= number < _GREATEST else None


def _until(moment: str) -> float | None:
    """Count the seconds to a moment of RFC 3339 or of HTTP; None when it is neither."""
    then: datetime | None = None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            then = read(moment.strip())
            break
        except (ValueError, TypeError, OverflowError):
            continue
    if then is None:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max((then - datetime.now(UTC)).total_seconds(), 0.0)


_KINDS = (
    ("SSLCertVerificationError", "shows a certificate that is not trusted here"),
    ("SSLError", "does not speak TLS as it should; check whether its address begins with http or https"),
    ("gaierror", "has an address whose name is not known"),
    ("ProxyError", "cannot be reached through the proxy"),
    ("ConnectTimeout", "did not take the connection in time"),
    ("ConnectError", "cannot be reached"),
    ("ReadTimeout", "was silent for too long"),
    ("WriteTimeout", "did not take the request in time"),
    ("DecodingError", "sent a body that cannot be decoded"),
    ("RemoteProtocolError", "closed the connection, or broke the protocol, before the answer was whole"),
)
"""What transports' errors mean, by the names of their classes, those that say most first."""


def words_of(error: BaseException) -> str:
    """Say the kind of a transport's error in plain words, never what it quotes."""
    names: set[str] = set()
    seen: BaseException | None = error
    while seen is not None:
        names |= {kind.__name__ for kind in type(seen).__mro__}
        seen = seen.__cause__ or seen.__context__
    said = (words for name, words in _KINDS if name in names)
    return next(said, f"could not be asked ({type(error).__name__})")
