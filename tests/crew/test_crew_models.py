"""Models as the crew declares them: every key checked, every fallback followed (P4)."""

from __future__ import annotations

import pytest
from crew_samples import check_document, problems_of, valid


@pytest.mark.parametrize(
    ("model", "paths"),
    [
        ({"provider": "openai-compatible", "name": "x", "baseUrl": "http://127.0.0.1:8080/v1"}, set()),
        ({"provider": "openai-compatible", "name": "x"}, {".baseUrl"}),
        ({"provider": "openai-compatible", "name": "x", "baseUrl": "ftp://h"}, {".baseUrl"}),
        ({"provider": "openai", "name": "x", "baseUrl": "https://"}, {".baseUrl"}),
        ({"provider": "openai", "name": "x", "contextWindow": 0}, {".contextWindow"}),
        ({"provider": "openai", "name": "x", "toolCalls": "prose"}, {".toolCalls"}),
        ({"provider": "openai", "name": "x", "api": "responses", "effort": "high", "images": True}, set()),
        ({"provider": "anthropic", "name": "x", "api": "chat"}, {".api"}),
        (
            {"provider": "openai", "name": "x", "temperature": 3, "maxOutputTokens": 0},
            {".temperature", ".maxOutputTokens"},
        ),
        ({"provider": "openai", "name": "x", "apiKeyEnv": "KEY", "apiKeyCommand": "pass key"}, {".apiKeyCommand"}),
        ({"provider": "llamacpp", "name": "m.gguf", "toolCalls": "native", "contextWindow": 2048}, set()),
        (
            {"provider": "llamacpp", "name": "m.gguf", "baseUrl": "http://h/v1", "apiKeyEnv": "K"},
            {".baseUrl", ".apiKeyEnv"},
        ),
        ({"provider": "script", "name": "s.json", "contextWindow": 2048, "fallback": "main"}, set()),
        ({"provider": "openai", "name": "x", "fallback": "mian"}, {".fallback"}),
        ({"provider": "openai", "name": "x", "fallback": "big"}, {".fallback"}),
        (
            {"provider": "openai", "name": "x", "price": {"inputPerMTok": -1}},
            {".price.inputPerMTok", ".price.outputPerMTok"},
        ),
        (
            {"provider": "openai", "name": "x", "price": {"inputPerMTok": 0, "outputPerMTok": 1, "perCall": 2}},
            {".price.perCall"},
        ),
        ({"provider": "openai"}, {".name"}),
        ({"provider": "llamacpp", "name": "m.bin"}, {".name"}),
        ({"provider": "anthropic", "name": "x", "apiKey": "k"}, {".apiKey"}),
    ],
)
def test_a_models_declaration_is_checked_key_by_key_P4(model, paths):
    document = valid()
    document["models"]["big"] = model
    assert {p.path for p in check_document(document)} == {f"models.big{path}" for path in paths}


def test_a_model_needs_a_key_that_can_be_named():
    document = valid()
    document["models"][" "] = {"provider": "script", "name": "s.json"}
    assert [p.path for p in check_document(document)] == ['models[" "]']


def chain(**fallbacks):
    """Declare models by the model each falls back to."""
    document = valid()
    for key, fallback in fallbacks.items():
        document["models"][key] = {"provider": "script", "name": "s.json"} | (
            {"fallback": fallback} if fallback else {}
        )
    return [str(problem) for problem in check_document(document)]


def test_a_circle_of_fallbacks_is_refused_for_each_of_it_and_names_its_path():
    assert chain(a="b", b="c", c="") == []
    said = chain(a="b", b="c", c="b")
    assert [line.split(";")[0] for line in said] == [
        "models.b.fallback: leads back to itself: b → c → b",
        "models.c.fallback: leads back to itself: c → b → c",
    ]


def test_a_fallback_is_a_key_of_models_and_nothing_else():
    assert "no such model" in chain(a="script/s.json")[0]
    assert problems_of("models.main.fallback=7")[0].path == "models.main.fallback"
