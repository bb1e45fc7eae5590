"""Where keys come from, and that they come no further than memory (O4, P4)."""

from __future__ import annotations

import os
import select

import pytest

from ggactors.crew import reading_of
from ggactors.models.keys import KeyMissing, KeyRing, KeySource, key_source, shell_secrets
from ggactors.models.resolve import resolve_all
from ggactors.protocol.crew import ModelSpec

FAKE = "sk-fake-0123456789abcdef"
ENV = {"PATH": os.environ["PATH"], "MY_KEY": f"  {FAKE}\n", "EMPTY_KEY": " "}


def spec(provider="openai", name="gpt-6-luna", key="k", **options):
    return ModelSpec(key=key, provider=provider, name=name, options=options, path=f"models.{key}")


def fetched(source, **kwargs):
    return KeyRing(ENV, **kwargs).fetch(source)


def missing(source, **kwargs):
    with pytest.raises(KeyMissing) as refused:
        fetched(source, **kwargs)
    return refused.value


@pytest.mark.parametrize(
    ("model", "source"),
    [
        (spec("anthropic"), KeySource(owner="k", variable="ANTHROPIC_API_KEY")),
        (spec("openai"), KeySource(owner="k", variable="OPENAI_API_KEY")),
        (spec("openai", apiKeyEnv="MY_KEY"), KeySource(owner="k", variable="MY_KEY")),
        (spec("openai", apiKeyCommand="pass openai"), KeySource(owner="k", command="pass openai")),
        (spec("openai-compatible", baseUrl="http://127.0.0.1:1/v1"), None),
        (spec("openai-compatible", apiKeyEnv="MY_KEY"), KeySource(owner="k", variable="MY_KEY")),
        (spec("llamacpp", "m.gguf"), None),
    ],
)
def test_a_models_key_comes_from_where_the_crew_says_or_from_its_providers_variable(model, source):
    assert key_source(model) == source


def test_a_variables_value_and_a_commands_output_are_stripped():
    assert fetched(KeySource(owner="k", variable="MY_KEY")) == FAKE
    assert fetched(KeySource(owner="k", command="printf ' %s\\n' \"$MY_KEY\"")) == FAKE


def test_a_command_is_run_once_however_many_models_name_it(tmp_path):
    ring = KeyRing(ENV, str(tmp_path))
    command = "echo x >> ran; echo fake-key-$(wc -l < ran | tr -d ' ')"
    values = [ring.fetch(KeySource(owner=f"k{n}", command=command)) for n in range(3)]
    assert values == ["fake-key-1"] * 3
    assert ring.values == {"k0": "fake-key-1", "k1": "fake-key-1", "k2": "fake-key-1"}
    assert "fake-key" not in repr(ring)


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (KeySource(owner="k", variable="NO_SUCH_KEY"), "the key's variable NO_SUCH_KEY is not set"),
        (KeySource(owner="k", variable="EMPTY_KEY"), "the key's variable EMPTY_KEY is not set"),
        (KeySource(owner="k", command="exit 3"), "apiKeyCommand failed with exit code 3"),
        (KeySource(owner="k", command="true"), "apiKeyCommand printed nothing"),
        (KeySource(owner="k", command="echo one two"), "what apiKeyCommand printed is no key"),
        (KeySource(owner="k", command="cat /dev/zero"), "or printed more than"),
    ],
)
def test_a_key_that_cannot_be_had_says_why_and_what_to_do(source, what):
    refused = missing(source)
    assert what in refused.what
    assert refused.remedy


def test_a_command_is_bounded_and_leaves_no_process(tmp_path):
    os.mkfifo(tmp_path / "living")
    reader = os.open(tmp_path / "living", os.O_RDONLY | os.O_NONBLOCK)
    try:
        # Its writing end is open for as long as a process of the command lives.
        source = KeySource(owner="k", command="exec 3>living; sleep 60 & wait")
        refused = missing(source, folder=str(tmp_path), seconds=0.5)
        assert "did not end within 0.5 s" in refused.what
        assert select.select([reader], [], [], 30)[0], "what the command left in the background was killed"
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


def test_what_may_be_a_key_in_the_place_of_a_name_is_not_quoted():
    for written in ("skfake0123456789abcdef", "A" * 80):
        refused = missing(KeySource(owner="k", variable=written))
        assert written not in refused.what + refused.remedy


def test_models_without_key_or_extra_are_refused_at_their_paths_P4(monkeypatch):
    monkeypatch.setattr("ggactors.models.resolve.util.find_spec", lambda name: None)
    found = resolve_all([spec("anthropic", "x"), spec("llamacpp", "none.gguf", "local")], "/nowhere", env={})
    assert [str(problem) for problem in found.problems] == [
        "models.k: provider 'anthropic' needs the package anthropic, which is not installed; pip install 'ggactors[anthropic]'",
        "models.k: the key's variable ANTHROPIC_API_KEY is not set; set it in the environment to the key",
        "models.local: provider 'llamacpp' needs the package xllamacpp, which is not installed; pip install 'ggactors[local]'",
        "models.local: the file '/nowhere/none.gguf' does not exist; write the name relative to the crew's folder",
    ]
    assert found.sources == {}


def test_a_model_the_embedding_program_serves_needs_no_key():
    assert resolve_all([spec("anthropic", "x")], ".", env={}, given={"k"}).problems == ()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("apiKey", FAKE),
        ("apiKeyEnv", FAKE),
        ("apiKeyCommand", f"echo {FAKE}"),
        ("baseUrl", f"https://user:{FAKE}@gateway.example/v1"),
        ("baseUrl", f"https://gateway.example/v1?key={FAKE}"),
        ("baseUrl", f"https://gateway.example/{FAKE}/v1"),
    ],
)
def test_a_key_written_in_the_document_is_refused_and_not_repeated_P4(key, value):
    models = {"main": {"provider": "openai", "name": "gpt-6-luna", key: value}}
    reading = reading_of({"models": models, "agents": [{"id": "a", "root": True, "model": "main"}]}, folder=".")
    (problem,) = reading.problems
    assert problem.path == f"models.main.{key}"
    assert FAKE not in str(problem)
    assert problem.remedy


def test_variables_for_commands_that_look_like_secrets_are_masked_too():
    env = {"DEPLOY_TOKEN": "t0ken-value", "CI": "true", "API_KEY": " padded-key ", "DB_PASSWORD": ""}
    names = ("DEPLOY_TOKEN", "CI", "API_KEY", "DB_PASSWORD", "NOT_SET_KEY")
    assert shell_secrets(names, env) == {"DEPLOY_TOKEN": "t0ken-value", "API_KEY": "padded-key"}
