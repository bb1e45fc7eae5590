"""Launch checks of model declarations and references (docs/reference/crew.md). Law: the document alone, no file and no key.

Values here may be secrets put in the wrong place, so addresses, commands and variable names are never quoted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ggactors.protocol.crew import ModelSpec
from ggactors.rules.shape import (
    Place,
    Table,
    did_you_mean,
    flag,
    number,
    one_of,
    shown,
    suggestion,
    variable,
    whole,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

REHEARSED = ("script", "python")
"""Providers whose replies are written down or made by a file of the crew."""

HOSTED = ("anthropic", "openai", "openai-compatible")
"""Providers behind an address."""

EMBEDDED = "llamacpp"
"""The provider that serves a model file in this process."""

PROVIDERS = (*REHEARSED, *HOSTED, EMBEDDED)

TOOL_CALLS = ("native", "schema")
"""How a model calls tools: by its provider's own calls, or by replies that a JSON schema constrains."""

APIS = ("chat", "responses")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

_ADDRESSED = ("baseUrl", "apiKeyEnv", "apiKeyCommand")
_ANYWHERE = ("contextWindow", "fallback")
_SERVED = ("toolCalls", "maxOutputTokens", "price", "temperature")
_OPTIONS = (*_ADDRESSED, "api", "effort", "images", *_SERVED, *_ANYWHERE)
_HINTS = {"apiKey": "name a variable under apiKeyEnv; never write a key here"}
_ADDRESS = re.compile(r"https?://[^\s/?#]+\S*")
_CALLABLE = re.compile(r"(?s:.+)\.py:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_KEY_SHAPED = re.compile(r"\b(?:sk|pk|gsk|xai|hf|nvapi)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{20,}")

NAME_SHAPES = {
    "script": "the script's file, as in 'script.json'",
    "python": "a file and a callable, as in 'model.py:answer'",
    "llamacpp": "a .gguf file",
}


def read_models(place: Place) -> dict[str, ModelSpec | None]:
    """Read the ``models`` table: key to spec, None where the declaration is wrong (its reason is reported)."""
    if not isinstance(place.value, dict):
        place.wrong(f"must be an object, is {shown(place.value)}", 'write {"<key>": {"provider": …, "name": …}}')
        return {}
    models = {key: _read_model(key, place.at(key)) for key in place.value}
    for key in models:
        _check_fallback(key, place)
    return models


def fits_provider(provider: str) -> tuple[str, ...]:
    """List the keys that mean something to a provider, beside ``provider`` and ``name``."""
    if provider in REHEARSED:
        return _ANYWHERE
    if provider == EMBEDDED:
        return (*_SERVED, *_ANYWHERE)
    return tuple(option for option in _OPTIONS if option != "api" or provider == "openai")


def api_of(spec: ModelSpec) -> str:
    """Tell which API of OpenAI's shape asks a model: what is written, else ``responses`` of OpenAI itself, ``chat`` of others.

    OpenAI's newer models call tools by responses alone; servers that are only compatible mostly have chat alone.
    """
    own = spec.provider == "openai" and "baseUrl" not in spec.options
    return str(spec.options.get("api", "responses" if own else "chat"))


def _read_model(key: str, place: Place) -> ModelSpec | None:
    if not key.strip():
        place.wrong("has a blank key", "give the model a key")
    table = Table(
        place,
        ("provider", "name", *_OPTIONS),
        hints=_HINTS,
    )
    provider = table.need("provider", one_of(PROVIDERS, "providers"), f"known providers: {', '.join(PROVIDERS)}")
    name = table.need("name", words, "name the model")
    options = _read_options(table)
    if provider is None:
        return None
    fits = name is not None and _name_fits(provider, name, table.at("name"))
    meant = fits_provider(provider)
    for option in table.only(_OPTIONS):
        if option not in meant:
            table.at(option).wrong(f"means nothing to provider {provider!r}", "remove it")
    if provider == "openai-compatible":
        table.need("baseUrl", _address, "write the address of the server")
    if "apiKeyEnv" in table and "apiKeyCommand" in table:
        table.at("apiKeyCommand").wrong("is written beside apiKeyEnv", "keep one of the two")
    if name is None or not fits:
        return None
    return ModelSpec(key=key, provider=provider, name=name, options=options, path=place.path)


def _read_options(table: Table) -> dict[str, Any]:
    readers: dict[str, Callable[[Place], Any]] = {
        "baseUrl": _address,
        "apiKeyEnv": variable,
        "apiKeyCommand": _command,
        "api": one_of(APIS, "values"),
        "toolCalls": one_of(TOOL_CALLS, "values"),
        "contextWindow": whole(1),
        "maxOutputTokens": whole(1),
        "price": _price,
        "fallback": words,
        "effort": one_of(EFFORTS, "values"),
        "temperature": number(low=0, high=2),
        "images": flag,
    }
    options = {key: table.read(key, reader) for key, reader in readers.items()}
    return {key: value for key, value in options.items() if value is not None}


def _address(place: Place) -> str | None:
    if not isinstance(place.value, str) or not _ADDRESS.fullmatch(place.value) or not _splits(place.value):
        place.wrong("is not an address", "write one that begins with http:// or https://")
        return None
    parts = urlsplit(place.value)
    if "@" in parts.netloc or parts.query or parts.fragment or _KEY_SHAPED.search(place.value):
        place.wrong(
            "holds more than an address: a user, a query or a key",
            "write the bare address, and name a key's variable under apiKeyEnv; never write a key here",
        )
        return None
    return place.value


def _splits(address: str) -> bool:
    try:
        return bool(urlsplit(address).hostname) and (urlsplit(address).port or 1) > 0
    except ValueError:
        return False


def _command(place: Place) -> str | None:
    if not isinstance(place.value, str) or not place.value.strip() or "\0" in place.value:
        place.wrong("is not a command", "write one shell line that prints the key")
        return None
    if _KEY_SHAPED.search(place.value):
        place.wrong("holds what looks like a key", "write a command that looks the key up; never write a key here")
        return None
    return place.value


def _price(place: Place) -> dict[str, float]:
    keys = ("inputPerMTok", "outputPerMTok", "cachedInputPerMTok", "cacheWritePerMTok", "reasoningPerMTok")
    table = Table(place, keys)
    per_token = number(low=0)
    remedy = "write the price of a million tokens, 0.0 for none"
    prices = {key: table.need(key, per_token, remedy) for key in keys[:2]}
    prices |= {key: table.read(key, per_token) for key in keys[2:]}
    return {key: price for key, price in prices.items() if price is not None}


def _check_fallback(key: str, place: Place) -> None:
    """Follow a model's fallbacks: each is declared, and none leads back (P4)."""
    written = place.value
    here = written[key].get("fallback") if isinstance(written[key], dict) else None
    if not isinstance(here, str) or not here.strip():
        return
    at = place.at(key).at("fallback")
    if here not in written:
        at.wrong(f"no such model: {shown(here)}", suggestion(here, written, "models"))
        return
    way = [key]
    while isinstance(here, str) and here in written and here not in way:
        way.append(here)
        here = written[here].get("fallback") if isinstance(written[here], dict) else None
    if here == key:
        at.wrong(f"leads back to itself: {' → '.join([*way, key])}", "let the last of them have no fallback")


def _name_fits(provider: str, name: str, place: Place) -> bool:
    fits = "\0" not in name
    if provider == "python":
        fits = fits and _CALLABLE.fullmatch(name) is not None
    if provider == "script":
        fits = fits and name.lower().endswith((".json", ".toml"))
    if provider == "llamacpp":
        fits = fits and name.endswith(".gguf")
    if not fits:
        place.wrong(f"is no name for provider {provider!r}: {shown(name)}", f"write {NAME_SHAPES[provider]}")
    return fits


def read_reference(place: Place, declared: Mapping[str, ModelSpec | None] | None) -> ModelSpec | None:
    """Read a profile's ``model``: a key of ``models`` (None: what is declared cannot be known), or ``provider/name``."""
    value = words(place)
    if value is None:
        return None
    if declared is None:
        return None
    if value in declared:
        return declared[value]
    provider, slash, name = value.partition("/")
    if not slash:
        close = did_you_mean(value, declared)
        remedy = (
            f"did you mean {close!r}?"
            if close
            else "declare it under models, or write provider/name as in script/demo.json"
        )
        place.wrong(f"no such model: {shown(value)}", remedy)
        return None
    if provider not in PROVIDERS:
        one_of(PROVIDERS, "providers")(Place(provider, place.path, place.found))
        return None
    if provider == "openai-compatible":
        place.wrong(
            "provider 'openai-compatible' has no address here",
            "declare the model under models with its baseUrl, and name its key here",
        )
        return None
    if not name.strip():
        place.wrong(
            f"names no model after {provider}/", f"write {NAME_SHAPES.get(provider, 'the model')} after the slash"
        )
        return None
    fits = _name_fits(provider, name, place)
    return ModelSpec(key=value, provider=provider, name=name, path=place.path) if fits else None
