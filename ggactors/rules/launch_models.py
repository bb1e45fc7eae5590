"""Launch checks of model declarations and references (contract section 2). Law: the document alone, no file and no key.

Values here may be secrets put in the wrong place, so addresses and variable names are never quoted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ggactors.protocol.crew import ModelSpec
from ggactors.rules.shape import Place, Table, did_you_mean, number, one_of, shown, variable, whole, words

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = ("script", "python")
"""Providers of this version."""

LATER = ("anthropic", "openai", "openai-compatible", "llamacpp")
"""Providers whose shape is checked and which a later version brings."""

PROVIDERS = HERE + LATER

_OPTIONS = ("baseUrl", "apiKeyEnv", "toolCalls", "contextWindow", "price")
_HINTS = {"apiKey": "name a variable under apiKeyEnv; never write a key here"}
_ADDRESS = re.compile(r"https?://[^\s/?#]+\S*")
_CALLABLE = re.compile(r"(?s:.+)\.py:[^\W\d]\w*(?:\.[^\W\d]\w*)*")

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
    return {key: _read_model(key, place.at(key)) for key in place.value}


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
    if provider in HERE:
        for option in table.only(_OPTIONS):
            table.at(option).wrong(f"means nothing to provider {provider!r}", "remove it")
    else:
        if provider == "openai-compatible":
            table.need("baseUrl", _address, "write the address of the server")
        table.at("provider").wrong(f"provider {provider!r} is not in this version", f"use {' or '.join(HERE)}")
    if name is None or not fits:
        return None
    return ModelSpec(key=key, provider=provider, name=name, options=options, path=place.path)


def _read_options(table: Table) -> dict[str, Any]:
    options: dict[str, Any] = {
        "baseUrl": None if table.values.get("provider") == "openai-compatible" else table.read("baseUrl", _address),
        "apiKeyEnv": table.read("apiKeyEnv", variable),
        "toolCalls": table.read("toolCalls", words),
        "contextWindow": table.read("contextWindow", whole(1)),
        "price": table.read("price", _price),
    }
    return {key: value for key, value in options.items() if value is not None}


def _address(place: Place) -> str | None:
    if isinstance(place.value, str) and _ADDRESS.fullmatch(place.value):
        return place.value
    place.wrong("is not an address", "write one that begins with http:// or https://")
    return None


def _price(place: Place) -> dict[str, float]:
    keys = ("inputPerMTok", "outputPerMTok", "cachedInputPerMTok")
    table = Table(place, keys)
    per_token = number(low=0)
    remedy = "write the price of a million tokens, 0.0 for none"
    prices = {
        keys[0]: table.need(keys[0], per_token, remedy),
        keys[1]: table.need(keys[1], per_token, remedy),
        keys[2]: table.read(keys[2], per_token),
    }
    return {key: price for key, price in prices.items() if price is not None}


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
    if provider in LATER:
        place.wrong(f"provider {provider!r} is not in this version", f"use {' or '.join(HERE)}")
    return ModelSpec(key=value, provider=provider, name=name, path=place.path) if fits else None
