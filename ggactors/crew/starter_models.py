"""The part of a starter crew that names its models: those found in the environment, and examples of all others to switch on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.rules.known import AS_OF, CLIENTS, KEY_VARIABLES, RECOMMENDED, known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.crew.builtin import FoundModel

_REHEARSAL = """\
# Models by a key of your choice; an agent names the key. This one replies what is written down, and ignores the task.
[models.main]
provider = "script"
name = "{script}"
"""
_OTHERS = """\

# {intro}
# A key is never written here, only the variable that holds it (apiKeyEnv), or a command that prints it (apiKeyCommand).
"""
_HOSTED = """\
#[models.{key}]
#provider = "{provider}"
#name = "{name}"
#apiKeyEnv = "{variable}"
#
"""
_LOCAL = """\
# Any server that speaks OpenAI's chat API: OpenRouter, vLLM, llama.cpp, Ollama, LM Studio. "schema" is for models that have no
# calls of their own. Without a price a run with limits.maxCost is refused.
#[models.local]
#provider = "openai-compatible"
#name = "the model's id"
#baseUrl = "http://127.0.0.1:8080/v1"
#apiKeyEnv = "LOCAL_KEY"
#toolCalls = "native"
#contextWindow = 32_768
#maxOutputTokens = 8_192
#price = {{ inputPerMTok = 0.0, outputPerMTok = 0.0 }}
#
# A model file, served in this process: pip install 'ggactors[local]'
#[models.file]
#provider = "llamacpp"
#name = "model.gguf"
#contextWindow = 8_192
"""


def runs_on(found: Sequence[FoundModel]) -> str:
    """Say in the document's head what it runs on."""
    if not found:
        return "# It runs as it stands, on the written replies of crew-script.toml:"
    first = found[0]
    missing = "" if first.installed else f" It needs: pip install 'ggactors[{CLIENTS[first.provider][0]}]'"
    return f"# It runs as it stands, on {first.name} of {first.provider}, with the key in {first.variable}.{missing}"


def models_part(found: Sequence[FoundModel], script: str) -> str:
    """Write the models found, the first as ``main``; then examples of what else there is, to switch on."""
    written = ""
    if found:
        written = _main_part(found[0], others=len(found) > 1) + "".join(map(_other_part, found[1:2]))
    others = [provider for provider in RECOMMENDED if provider not in {model.provider for model in found}]
    intro = "Other models." if found else "Models of providers."
    examples = _OTHERS.format(intro=intro) + "".join(_example(provider) for provider in others) + _LOCAL.format()
    return (written or _REHEARSAL.format(script=script)) + examples + "\n"


def _main_part(model: FoundModel, *, others: bool) -> str:
    lines = [
        "# Models by a key of your choice; an agent names the key. Here all work on one; name others where it pays.",
        "[models.main]",
        f'provider = "{model.provider}"',
        f'name = "{model.name}"',
        f'#apiKeyEnv = "{model.variable}"',
        *_tuning(model),
    ]
    if others:
        lines += ["# The model that takes over while this one cannot be reached.", '#fallback = "second"']
    return "\n".join(lines) + "\n"


def _other_part(model: FoundModel) -> str:
    # Commented out, since every model that is declared must have its key at launch, in use or not.
    return f'\n#[models.second]\n#provider = "{model.provider}"\n#name = "{model.name}"\n'


def _tuning(model: FoundModel) -> list[str]:
    """Show what is known of a model as the settings that would say the same."""
    facts = known(model.provider, model.name)
    if facts is None:
        return []
    price = facts.price
    written = f"inputPerMTok = {price.input}, outputPerMTok = {price.output}, cachedInputPerMTok = {price.cached_input}"
    return [
        '# How hard it thinks: "low", "medium", "high"; without it the provider decides.',
        '#effort = "medium"',
        f"# Known of this model as of {AS_OF}; what is written here wins. Prices in US dollars a million tokens.",
        f"#price = {{ {written} }}",
        f"#contextWindow = {facts.window:_}",
        f"#maxOutputTokens = {facts.max_output:_}",
    ]


def _example(provider: str) -> str:
    variable = KEY_VARIABLES[provider]
    key = {"anthropic": "claude", "openai": "gpt"}[provider]
    return _HOSTED.format(key=key, provider=provider, name=RECOMMENDED[provider], variable=variable)
