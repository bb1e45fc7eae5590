"""Models that are Python callables: what they are given, may answer and may raise (docs/reference/scripted-models.md)."""

from __future__ import annotations

import threading

import pytest
import trio

from ggactors.models.resolve import resolve
from ggactors.ports import ModelFault
from ggactors.protocol.crew import ModelSpec
from ggactors.protocol.model import Message, ModelRequest, ToolCall, ToolResult, ToolSpec

REQUEST = ModelRequest(
    agent="A-1.0i",
    profile="coder",
    role="standard",
    issue="A-1",
    turn=3,
    attempt=1,
    messages=(
        Message(role="system", text="You are."),
        Message(role="assistant", calls=(ToolCall(id="call-2-1", tool="shell", args={"command": "ls"}),)),
        Message(
            role="tool", results=(ToolResult(call_id="call-2-1", tool="shell", ok=False, output="no", code="io-error"),)
        ),
    ),
    tools=(ToolSpec(name="finish", description="End.", schema={"type": "object"}),),
)


def model(folder, source, name="answer"):
    (folder / "m.py").write_text(source, encoding="utf-8")
    spec = ModelSpec(key="k", provider="python", name=f"m.py:{name}", path="models.k")
    return resolve(spec, folder).model_for("A-1.0i", "coder")


async def fault_of(folder, source, name="answer"):
    with pytest.raises(ModelFault) as raised:
        await model(folder, source, name).reply(REQUEST)
    assert not raised.value.retryable
    assert not raised.value.auth
    return str(raised.value)


async def test_a_callable_is_given_everything_readable_both_ways(tmp_path):
    source = """
def answer(request):
    for read in (lambda view, key: view[key], getattr):
        assert [read(request, k) for k in ("v", "agent", "profile", "role", "issue", "turn")] == [
            1, "A-1.0i", "coder", "standard", "A-1", 3]
        system, assistant, tool = read(request, "messages")
        assert (read(system, "role"), read(system, "text")) == ("system", "You are.")
        (call,) = read(assistant, "calls")
        assert (read(call, "id"), read(call, "tool"), read(call, "args")) == ("call-2-1", "shell", {"command": "ls"})
        (result,) = read(tool, "results")
        assert [read(result, k) for k in ("id", "tool", "ok", "output", "code")] == ["call-2-1", "shell", False, "no", "io-error"]
        (offered,) = read(request, "tools")
        assert (read(offered, "name"), read(offered, "description")) == ("finish", "End.")
        assert read(offered, "schema") == {"type": "object"}
    assert list(request) == ["v", "agent", "profile", "role", "issue", "turn", "messages", "tools"]
    assert len(request) == 8 and "agent" in request and request.get("attempt") is None
    assert "A-1.0i" in repr(request) and dict(request)["turn"] == 3
    try:
        request.turn = 4
    except AttributeError as error:
        assert "read only" in str(error)
    else:
        raise AssertionError("was set")
    assert not hasattr(request, "_private")
    try:
        request.trun
    except AttributeError as error:
        assert "turn" in str(error)
    return {"text": "seen", "calls": [{"tool": "finish", "args": {"summary": "ok"}}], "usage": {"input": 5}, "cost": 0.5}
"""
    asked = model(tmp_path, source)
    assert asked.bound(REQUEST) is None
    assert asked.label == "python/m.py:answer"
    reply = await asked.reply(REQUEST)
    assert reply.text == "seen"
    assert reply.calls == (ToolCall(id="call-3-1", tool="finish", args={"summary": "ok"}),)
    assert (reply.usage.input, reply.usage.cost) == (5, 0.5)


async def test_a_synchronous_callable_runs_in_a_worker_thread(tmp_path):
    source = "import threading\ndef answer(request):\n    return {'text': threading.current_thread().name}\n"
    assert (await model(tmp_path, source).reply(REQUEST)).text != threading.current_thread().name


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (
            "import trio\nasync def answer(r):\n    await trio.lowlevel.checkpoint()\n    return {'text': 'hi'}\n",
            "answer",
        ),
        ("class A:\n    async def __call__(self, r):\n        return {'text': 'hi'}\nanswer = A()\n", "answer"),
        ("class A:\n    def reply(self, r):\n        return {'text': 'hi'}\nmodel = A()\n", "model.reply"),
        ("async def inner(r):\n    return {'text': 'hi'}\nanswer = lambda r: inner(r)\n", "answer"),
        (
            "import functools\nasync def f(x, r):\n    return {'text': x}\nanswer = functools.partial(f, 'hi')\n",
            "answer",
        ),
        (
            "import types\ndef answer(r):\n    return types.MappingProxyType({'text': 'hi', 'calls': ()})\n",
            "answer",
        ),
        (
            "from dataclasses import *\n@dataclass\nclass E:\n    text: 'str'\ndef answer(r): return asdict(E('hi'))\n",
            "answer",
        ),
    ],
)
async def test_whatever_can_be_called_can_answer(tmp_path, source, name):
    assert (await model(tmp_path, source, name).reply(REQUEST)).text == "hi"


async def test_a_callable_is_asked_once_per_attempt_and_keeps_what_it_remembers(tmp_path):
    source = "asked = []\ndef answer(r):\n    asked.append(r.agent)\n    return {'text': str(len(asked))}\n"
    asked = model(tmp_path, source)
    assert [(await asked.reply(REQUEST)).text for _ in range(3)] == ["1", "2", "3"]


async def test_an_answered_error_is_the_fault_it_says(tmp_path):
    asked = model(tmp_path, "def answer(r):\n    return {'error': {'status': 429, 'retryAfterSecs': 3}}\n")
    with pytest.raises(ModelFault) as raised:
        await asked.reply(REQUEST)
    assert (raised.value.retryable, raised.value.retry_after) == (True, 3.0)


async def test_an_answered_delay_is_waited_out(tmp_path, autojump_clock):
    asked = model(tmp_path, "async def answer(r):\n    return {'text': 'x', 'delaySecs': 30}\n")
    began = trio.current_time()
    await asked.reply(REQUEST)
    assert trio.current_time() - began == 30


@pytest.mark.parametrize("prefix", ["def", "async def"])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return {}['gone']", "KeyError: 'gone' (line 2 of answer)"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "raised KeyboardInterrupt (line 2 of answer)"),
        ("import asyncio; raise asyncio.CancelledError('gone')", "CancelledError: gone"),
        ("raise BaseExceptionGroup('both', [KeyboardInterrupt(), SystemExit(1)])", "BaseExceptionGroup: both"),
        ("raise type('Own', (BaseException,), {})('up')", "raised Own: up"),
        ("raise ValueError('two\\nlines')", "ValueError: two lines (line 2 of answer)"),
        ("raise ValueError", "raised ValueError (line 2 of answer)"),
        ("e = ValueError('x' * 9000); e.add_note('n'); raise e", "x… (line 2 of answer)"),
        ("raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})", "raised Mute (line 2 of answer)"),
        ("import json; json.loads('{')", "(line 2 of answer)"),
        ("raise ExceptionGroup('two', [ValueError('x')])", "two"),
        ("from ggactors.ports import ModelFault; raise ModelFault('mine', retryable=True)", "mine"),
    ],
)
async def test_what_it_raises_is_a_fault_nothing_cures_and_says_where(tmp_path, prefix, body, said):
    message = await fault_of(tmp_path, f"{prefix} answer(r):\n    {body}\n")
    assert message.startswith("python/m.py:answer raised ")
    assert said in message


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("None", "answered a NoneType; it must answer an entry"),
        ("'text'", "answered a str"),
        ("[{'text': 'x'}]", "answered a list"),
        ("{'txt': 'x'}", "txt: unknown key; did you mean 'text'"),
        ("{'text': b'x'}", "text: is a bytes"),
        ("{'calls': [{'tool': 't', 'args': {'when': {1, 2}}}]}", "calls[0].args.when: is a set"),
        ("{'text': 'x', 'repeat': 2}", "remove it"),
        ("{'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5}", "and 2 more"),
    ],
)
async def test_an_answer_of_the_wrong_shape_is_a_fault_that_says_what_is_wrong(tmp_path, answer, said):
    assert said in await fault_of(tmp_path, f"def answer(r):\n    return {answer}\n")


async def test_an_answer_that_breaks_when_it_is_read_is_a_fault(tmp_path):
    source = "from collections import UserDict\nclass D(UserDict):\n    def items(self): raise OSError('gone')\n"
    assert "answered what cannot be read: OSError: gone" in await fault_of(
        tmp_path, f"{source}def answer(r): return D()\n"
    )


async def test_what_a_callable_does_to_its_request_stays_with_it(tmp_path):
    source = "def answer(r):\n    r.messages[1].calls[0].args.clear()\n    r.tools[0].schema.clear()\n    return {}\n"
    await model(tmp_path, source).reply(REQUEST)
    assert REQUEST.messages[1].calls[0].args == {"command": "ls"}
    assert REQUEST.tools[0].schema == {"type": "object"}


async def test_a_callable_of_the_wrong_signature_says_so(tmp_path):
    said = await fault_of(tmp_path, "def answer():\n    return {}\n")
    assert said == "python/m.py:answer raised TypeError: answer() takes 0 positional arguments but 1 was given"


async def test_a_cancelled_call_is_left_at_once_and_its_answer_dropped(tmp_path):
    source = """
import threading
entered, leave, left = threading.Event(), threading.Event(), threading.Event()
def answer(r):
    entered.set()
    leave.wait(60)
    left.set()
    return {"text": "late"}
"""
    asked = model(tmp_path, source)
    module = asked._source.answer.__globals__  # what the callable waits on
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asked.reply, REQUEST)
        await trio.to_thread.run_sync(module["entered"].wait, 60)
        nursery.cancel_scope.cancel()
    assert not module["left"].is_set()
    module["leave"].set()
    assert await trio.to_thread.run_sync(module["left"].wait, 60)


async def test_cancelling_an_async_callable_is_no_fault(tmp_path):
    asked = model(tmp_path, "import trio\nasync def answer(r):\n    await trio.sleep_forever()\n")
    with trio.CancelScope() as scope:
        scope.cancel()
        await asked.reply(REQUEST)
    assert scope.cancelled_caught


async def test_many_agents_may_ask_at_once(tmp_path):
    source = """
import threading
together = threading.Barrier(60)
def answer(r):
    together.wait(60)
    return {"text": "all"}
"""
    (tmp_path / "m.py").write_text(source, encoding="utf-8")
    shared = resolve(ModelSpec(key="k", provider="python", name="m.py:answer", path="models.k"), tmp_path)
    heard = []

    async def ask(agent):
        heard.append((await shared.model_for(agent, "coder").reply(REQUEST)).text)

    async with trio.open_nursery() as nursery:
        for n in range(60):
            nursery.start_soon(ask, f"A-{n}.0i")
    assert heard == ["all"] * 60


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "SystemExit(3)", "ValueError('x')"])
async def test_an_answer_that_raises_when_it_is_read_is_a_fault(tmp_path, error):
    source = (
        "import collections.abc\nclass Odd(collections.abc.Mapping):\n"
        f"    def __getitem__(self, key):\n        raise {error}\n"
        "    def __iter__(self):\n        return iter(['text'])\n    def __len__(self):\n        return 1\n"
        "def answer(r):\n    return Odd()\n"
    )
    assert f"answered what cannot be read: {error.split('(')[0]}" in await fault_of(tmp_path, source)


async def test_a_callable_that_is_cancelled_is_no_fault_whatever_nursery_it_waits_in(tmp_path):
    source = (
        "import trio\nasync def answer(r):\n    async with trio.open_nursery() as nursery:\n"
        "        nursery.start_soon(trio.sleep_forever)\n        await trio.sleep_forever()\n"
    )
    with trio.CancelScope() as scope:
        scope.cancel()
        await model(tmp_path, source).reply(REQUEST)
    assert scope.cancelled_caught
