"""What the tests of the HTTP adapters share: each adapter by name, pointed at a provider on loopback, and a question to ask."""

import ssl
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import pytest
from attrs import evolve

from ggactors.protocol.crew import ModelSpec
from ggactors.protocol.model import Message, ModelRequest, ToolCall, ToolResult, ToolSpec
from ggactors.testing.provider import open_provider, whole
from ggactors.testing.wireshapes import Said

KEY = "sk-fake-0123456789abcdef"

ADAPTERS = {
    "anthropic": ("anthropic", "claude-test", "", {}),
    "chat": ("openai", "gpt-test", "/v1", {}),
    "responses": ("openai", "gpt-test", "/v1", {"api": "responses"}),
    "compatible": ("openai-compatible", "open-test", "/v1", {}),
}
PRICE = {"inputPerMTok": 1.0, "outputPerMTok": 10.0, "cachedInputPerMTok": 0.1}

INSTALLED = {name: find_spec(name) is not None for name in ("anthropic", "openai")}


def adapters(*names):
    """Parametrise a test by adapters, skipping those whose client is not installed."""
    return pytest.mark.parametrize("adapter", [_marked(name) for name in names or ADAPTERS])


def _client(name):
    return "anthropic" if name == "anthropic" else "openai"


def is_there(name):
    """Tell whether an adapter's client is installed."""
    return INSTALLED[_client(name)]


def _marked(name):
    there = pytest.mark.skipif(not is_there(name), reason=f"the extra [{_client(name)}] is not installed")
    return pytest.param(name, marks=there)


def source_of(adapter, url, *, key=KEY, patience=None, **options):
    """Make the source of an adapter at an address."""
    provider, name, path, own = ADAPTERS[adapter]
    spec = ModelSpec(key="m", provider=provider, name=name, options={"baseUrl": url + path, **own, **options})
    module = import_module(f"ggactors.models.{'anthropic' if provider == 'anthropic' else 'openai'}")
    pools = import_module("ggactors.models.http").Pools(trusted())
    return module.source(spec, key, pools=pools, patience=patience)


@cache
def trusted():
    """Load whom to trust once: no test here goes over TLS, and loading it takes longer than they do."""
    return ssl.create_default_context()


READ = ToolSpec(
    name="read_file",
    description="Read a file.",
    schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
FINISH = ToolSpec(name="finish", description="End the session.", schema={"type": "object", "properties": {}})

REQUEST = ModelRequest(
    agent="ISSUE-1.0i",
    profile="coder",
    role="standard",
    issue="ISSUE-1",
    turn=1,
    attempt=1,
    messages=(Message(role="system", text="You write code."), Message(role="user", text="Write a.py.")),
    tools=(READ, FINISH),
    run="261130-1405-k3f",
)


def call(call_id, tool="read_file", **args):
    return ToolCall(id=call_id, tool=tool, args=args)


def result(call_id, output="fine", *, ok=True, **more):
    return ToolResult(call_id=call_id, tool="read_file", ok=ok, output=output, **more)


def goes_on(request, reply, *messages):
    """Compose the next turn's request: the reply, the answers to its calls, and what follows."""
    said = Message(role="assistant", text=reply.text, calls=reply.calls, kept=reply.kept)
    answers = tuple(result(call.id) for call in reply.calls)
    told = (Message(role="tool", results=answers),) if answers else ()
    return evolve(request, turn=request.turn + 1, messages=(*request.messages, said, *told, *messages))


async def ask(adapter, said, request=REQUEST, *, key=KEY, change=None, **options):
    """Ask one question of a provider that says one thing; give the reply and what was asked."""

    def answer(asked):
        told = whole(asked, said) if isinstance(said, Said) else said(asked)
        return told if change is None else change(told)

    async with open_provider(answer) as provider:
        source = source_of(adapter, provider.url, key=key, **options)
        try:
            reply = await source.model_for(request.agent, request.profile).reply(request)
        finally:
            await source.aclose()
    return reply, provider.asked[-1]


def dialogue(asked):
    """Give what stands for the messages in a request's body."""
    return asked.record.get("messages") or asked.record["input"]
