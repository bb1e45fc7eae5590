"""Programs that want out, or down with the host: nothing is reached, host memory stays bounded, the program is the culprit."""

# ruff: noqa: E501 - a program reads best on one line, next to what it comes to

from __future__ import annotations

import resource
import time

import pytest
from programs_kit import JAVASCRIPT, PYTHON, TYPESCRIPT, Pool, World, needs_code

pytestmark = needs_code

# What a program tries, and what it prints when it got nowhere.
NO_REACH = {
    "a file": "try:\n    open('/etc/passwd')\nexcept OSError as e:\n    print('no')",
    "a file made": "try:\n    open('x', 'w')\nexcept OSError as e:\n    print('no')",
    "a directory": "import os\ntry:\n    os.listdir('/work')\nexcept OSError:\n    print('no')",
    "the environment": "import os\nprint('no' if dict(os.environ) == {} else os.environ)",
    "the network": "try:\n    import socket\n    socket.create_connection(('127.0.0.1', 1))\nexcept (OSError, ImportError, AttributeError):\n    print('no')",
    "a process": "import os\ntry:\n    os.system('id'); print('yes')\nexcept (OSError, AttributeError):\n    print('no')",
    "a fork": "import os\ntry:\n    os.fork()\nexcept (OSError, AttributeError):\n    print('no')",
    "an exec": "import os\ntry:\n    os.execv('/bin/sh', ['sh'])\nexcept (OSError, AttributeError):\n    print('no')",
    "native code": "try:\n    import ctypes\n    ctypes.CDLL(None)\nexcept (OSError, ImportError, AttributeError, TypeError):\n    print('no')",
    "its input": "import sys\ntry:\n    input(); print('yes')\nexcept (EOFError, RuntimeError):\n    print('no')",
    "other descriptors": "import os\ngot = 0\nfor fd in range(3, 64):\n    try:\n        os.read(fd, 1); got += 1\n    except OSError: pass\nprint('no' if not got else got)",
    "the host by its frames": "import sys\nf = sys._getframe()\nnames = set()\nwhile f: names.add(f.f_code.co_filename); f = f.f_back\nprint('no' if names <= {'program.py', '<gg>', '<string>'} else names)",
    "an operation the SDK does not have": "try:\n    type(gg.files.read_file)('os', 'system', [['c', True, None]])('id')\nexcept gg.Unavailable as e:\n    print('no')",
}  # fmt: skip


@pytest.mark.parametrize("case", NO_REACH)
def test_a_python_program_reaches_nothing_but_gg_X7(pool: Pool, case: str):
    result = pool.run(NO_REACH[case])
    assert (result.error, result.logs) == ("", ("no",))


NO_REACH_JS = {
    "a file": "try { await import('/etc/passwd') } catch { console.log('no') }",
    "a module by address": "try { await import('data:text/javascript,1') } catch { console.log('no') }",
    "the host's function": "console.log(typeof globalThis.__gg === 'undefined' && typeof host === 'undefined' ? 'no' : 'yes')",
    "machines": "console.log([typeof process, typeof require, typeof Deno, typeof fetch, typeof WebAssembly, typeof XMLHttpRequest].every((t) => t === 'undefined') ? 'no' : 'yes')",
    "the global by a constructor": "const g = (() => {}).constructor('return this')(); console.log(Object.keys(g).includes('process') ? 'yes' : 'no')",
    "an operation the SDK does not have": "try { gg.files.readFile.constructor('x', 'return gg.os.system(x)')('id') } catch (e) { console.log('no') }",
    "changing gg": "try { 'use strict'; gg.files.readFile = () => 'forged'; console.log(gg.files.readFile('a.txt') === 'forged' ? 'yes' : 'no') } catch { console.log('no') }",
}  # fmt: skip


@pytest.mark.parametrize("case", NO_REACH_JS)
def test_a_javascript_program_reaches_nothing_but_gg_X7(pool: Pool, case: str):
    result = pool.run(NO_REACH_JS[case], JAVASCRIPT)
    assert (result.error, result.logs) == ("", ("no",))


# ---------------------------------------------------------------- forged messages

FORGE = """import os
def ask(line):
    while line:
        line = line[os.write(2, line):]
    return os.read(0, 100000)[8:]
"""


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b'{"call": "os.system", "args": {"command": "id"}}', b"unavailable"),
        (b'{"call": "files.read_file", "args": [1]}', b"invalid-argument"),
        (b'{"call": ["files.read_file"], "args": {}}', b"invalid-argument"),
        (b'{"call": "files.readFile", "args": {}}', b"unavailable"),
        (b'{"op": "start"}', b"invalid-argument"),
        (b"{", b"invalid-argument"),
        (b'{"x": NaN}', b"invalid-argument"),
        (b"{\xff\xfe}", b"invalid-argument"),
        (b'{"call": "files.write_file", "args": ' + b'{"a":' * 100_000, b"limit-exceeded"),
        (b'{"call": "files.write_file", "args": {"contents": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}", b"limit-exceeded"),
        (b'{"call": "files.write_file", "args": {"contents": [' + b"0," * 300_000 + b"0]}}", b"limit-exceeded"),
        (b'{"call": "files.write_file", "args": {"contents": "' + b"x" * (5 << 20) + b'"}}', b"limit-exceeded"),
        (b'{"doc": "nope"}', b"there is no call"),
        (b'{"ready": true}', b""),
    ],
)  # fmt: skip
def test_a_forged_message_is_refused_and_the_program_goes_on(pool: Pool, world: World, sent: bytes, answered: bytes):
    source = (
        FORGE
        + f"sent = {_compact(sent)}\ngot = ask(sent + b'\\n')\nprint({answered!r} in got)\ngg.session.finish('still here')"
    )
    result = pool.run(source, world=world)
    assert (result.kind, result.error, result.logs) == ("ok", "", ("True",))
    assert world.asked == [("session.finish", {"summary": "still here"})]


def _compact(sent: bytes) -> str:
    """Write bytes as an expression, long runs as products."""
    for unit in (b'{"a":', b"[", b"0,", b"x"):
        for count in (100_000, 300_000, 5 << 20):
            if unit * count in sent:
                before, _, after = sent.partition(unit * count)
                return f"{before!r} + {unit!r} * {count} + {_compact(after)}"
    return repr(sent)


def test_a_forged_end_ends_nobody_elses_program(pool: Pool):
    result = pool.run(FORGE + "print('before')\nask(b'{\"end\": \"ok\"}\\n')\nprint('after')")
    assert (result.kind, result.logs) == ("ok", ("before",))
    assert pool.run("print(1)").logs == ("1",)


@pytest.mark.parametrize(
    "said",
    [
        '{"end": "nonsense"}',
        '{"end": "raised", "type": 7, "message": [1], "frames": [["x", 1], [1], 3, [99999, "f"]], "code": {}, "causes": "no", "parts": [3]}',
        '{"end": "uncompiled", "line": -5}',
        '{"end": "uncompiled", "line": "1", "message": ""}',
        '{"end": "exit", "status": {"a": [1]}}',
        '{"end": "exit", "status": true}',
    ],
)
def test_a_forged_report_is_the_programs_own_failure(pool: Pool, said: str):
    result = pool.run(FORGE + f"ask({said!r}.encode() + b'\\n')")
    assert result.kind in ("runtime_error", "compile_error")
    assert result.error
    assert result.line is None or result.line > 0


def test_junk_on_the_request_channel_goes_to_the_log(pool: Pool):
    assert pool.run("import os\nos.write(2, b'not a request\\n')\nprint('on')").logs == ("not a request", "on")


def test_a_program_that_eats_its_replies_deceives_itself_alone(pool: Pool):
    eater = "import os\nos.write(2, b'{\"doc\": \"files.read_file\"}\\n')\nprint(len(gg.files.read_file('a.txt')))"
    assert pool.run(eater).kind in ("ok", "runtime_error")
    assert pool.run("print(len(gg.files.read_file('a.txt')))").logs == ("8",)


# ---------------------------------------------------------------- weight

DEEP = {
    "nested 10^5 deep": "x = []\nfor _ in range(10**5): x = [x]\ntry:\n    gg.files.write_file('a', x)\nexcept gg.InvalidArgument as e:\n    print('refused')",
    "a circle": "x = []\nx.append(x)\ntry:\n    gg.files.write_file('a', x)\nexcept gg.InvalidArgument as e:\n    print('refused')",
    "200,000 values": "try:\n    gg.files.write_file('a', list(range(300_000)))\nexcept gg.LimitExceeded as e:\n    print('refused')",
    "5 MB": "try:\n    gg.files.write_file('a', 'x' * (5 << 20))\nexcept gg.LimitExceeded as e:\n    print('refused')",
    "deep in text": "try:\n    gg.files.write_file('a', '[' * 10**6)\n    print('refused')\nexcept gg.Error as e:\n    print(e)",
}  # fmt: skip


@pytest.mark.parametrize("case", DEEP)
def test_arguments_out_of_proportion_are_refused(pool: Pool, case: str):
    result = pool.run(DEEP[case], memory=128 << 20)
    assert (result.error, result.logs) == ("", ("refused",))


def test_a_structure_shared_2_to_the_40_fold_kills_the_program_and_not_the_host(pool: Pool):
    for language, source in (
        (PYTHON, "x = []\nfor _ in range(40): x = [x, x]\ngg.files.write_file('a', x)"),
        (JAVASCRIPT, "let x = [];\nfor (let i = 0; i < 40; i++) x = [x, x];\ngg.files.writeFile('a', x)"),
    ):
        result = pool.run(source, language, seconds=1.5)
        assert result.kind in ("limit", "runtime_error"), result


def test_host_memory_stays_bounded_whatever_programs_do(pool: Pool):
    heavy = [
        (PYTHON, "x = []\nwhile True: x.append('y' * 100_000)"),
        (PYTHON, "x = 'y' * (40 << 20)\nprint(x)"),
        (PYTHON, "while True: print('z' * 5000)"),
        (PYTHON, "import os\nos.write(2, b'{')\nwhile True: os.write(2, b'a' * 100_000)"),
        (JAVASCRIPT, "const x = [];\nwhile (true) x.push('y'.repeat(100_000))"),
        (JAVASCRIPT, "while (true) console.log('z'.repeat(5000))"),
        (JAVASCRIPT, "let x = 'y'; while (true) { x += x; console.log(x) }"),
    ]
    for language, _ in heavy:
        pool.run("", language)  # what a worker takes is not what is measured
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for language, source in heavy:
        result = pool.run(source, language, seconds=0.5, memory=48 << 20)
        assert result.kind in ("limit", "runtime_error", "ok"), (source, result)
        assert sum(len(line) for line in result.logs) <= 17_000
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 200, f"{grown:.0f} MiB"


def test_a_flood_of_prints_keeps_its_end_and_counts_the_rest(pool: Pool):
    result = pool.run("for i in range(5000): print('line', i)")
    assert result.logs[-1] == "line 4999"
    assert len(result.logs) == 200
    assert result.logs_dropped == 4800


def test_a_reply_that_is_too_large_is_refused_and_not_cut(pool: Pool):
    from ggactors.protocol.program import Returned

    async def serve(_operation: str, _args: dict) -> Returned:
        return Returned(value="x" * (17 << 20))

    result = pool.run(
        "try:\n    gg.files.read_file('a')\nexcept gg.LimitExceeded as e:\n    print('refused')", serve=serve
    )
    assert (result.error, result.logs) == ("", ("refused",))


# ---------------------------------------------------------------- time, memory, depth

SPIN = {
    "a loop": (PYTHON, "while True: pass"),
    "a loop that swallows everything": (PYTHON, "while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
    "a catastrophic pattern": (PYTHON, "import re\nre.match('(a+)+$', 'a' * 40 + 'b')"),
    "a native loop": (PYTHON, "import itertools, collections\ncollections.deque(itertools.repeat(1), maxlen=0)"),
    "a great number": (PYTHON, "x = 9 ** 9 ** 8"),
    "a sum": (PYTHON, "sum(iter(int, 1))"),
    "a sleep": (PYTHON, "import time\ntime.sleep(3600)"),
    "many sleeps": (PYTHON, "import time\nwhile True: time.sleep(0.01)"),
    "an asyncio sleep": (PYTHON, "import asyncio\nasyncio.run(asyncio.sleep(3600))"),
    "a loop of refused calls": (PYTHON, "while True:\n    try:\n        gg.files.read_file('nope')\n    except gg.Error: pass"),
    "exit handlers": (PYTHON, "import sys\ntry:\n    while True: pass\nfinally:\n    while True: pass"),
    "a loop in JavaScript": (JAVASCRIPT, "while (true);"),
    "a swallowing loop in JavaScript": (JAVASCRIPT, "while (true) { try { while (true); } catch {} finally { continue } }"),
    "a catastrophic pattern in JavaScript": (JAVASCRIPT, "/^(a+)+$/.test('a'.repeat(40) + 'b')"),
    "a native loop in JavaScript": (JAVASCRIPT, "const a = new Array(2**26); for (let i = 0; i < 1000; i++) a.indexOf(1)"),
    "microtasks": (JAVASCRIPT, "const f = () => Promise.resolve().then(f); await f()"),
    "timers": (JAVASCRIPT, "setInterval(() => {}, 1)"),
    "a long timer": (JAVASCRIPT, "await new Promise((r) => setTimeout(r, 3600000))"),
}  # fmt: skip


@pytest.mark.parametrize("case", SPIN)
def test_a_program_is_stopped_at_its_time_X4(pool: Pool, case: str):
    language, source = SPIN[case]
    began = time.monotonic()
    result = pool.run(source, language, seconds=0.3, memory=256 << 20)
    assert (result.kind, result.limit) == ("limit", "time"), result
    assert "longer than 0.3 s" in result.error
    assert 300 <= result.duration_ms < 2500
    assert time.monotonic() - began < 15  # booting included, on a busy machine


def test_time_in_calls_does_not_count_X4(pool: Pool):
    for language in (PYTHON, JAVASCRIPT):
        result = pool.run("gg.shell.run('0.9')", language, seconds=0.6)
        assert (result.kind, result.error) == ("ok", "")
        assert result.duration_ms < 600


def test_a_program_may_be_given_any_time_and_the_least_memory_that_a_crew_can_ask_for(pool: Pool):
    from ggactors.rules.launch_capabilities import LEAST_MEMORY

    for language, source in (
        (PYTHON, "import json, re, asyncio\nprint(1)"),
        (JAVASCRIPT, "console.log(1)"),
        (TYPESCRIPT, "console.log(1)"),
    ):
        assert pool.run(source, language, seconds=1e300, memory=LEAST_MEMORY).logs == ("1",)
        assert pool.run(source, language, seconds=1e300, memory=4 << 30).logs == ("1",)


HUNGRY = {
    "a list": (PYTHON, "x = []\nwhile True: x.append(bytearray(1 << 20))"),
    "a text": (PYTHON, "x = 'a'\nwhile True: x += x"),
    "at once": (PYTHON, "x = bytearray(10**9)"),
    "a list in JavaScript": (JAVASCRIPT, "const x = [];\nwhile (true) x.push(new Uint8Array(1 << 20))"),
    "a text in JavaScript": (JAVASCRIPT, "const x = [];\nfor (let i = 0; ; i++) x.push('a'.repeat(1 << 20) + i)"),
}


@pytest.mark.parametrize("case", HUNGRY)
def test_a_program_has_the_memory_it_was_given_and_no_more_X4(pool: Pool, case: str):
    language, source = HUNGRY[case]
    result = pool.run(source, language, memory=48 << 20)
    assert (result.kind, result.limit) == ("limit", "memory"), result
    assert "48 MiB" in result.error


BOTTOMLESS = {
    "recursion": (PYTHON, "def f(): return f()\nf()"),
    "a repr of itself": (PYTHON, "class A:\n    def __repr__(self): return repr(self)\nrepr(A())"),
    "a comparison": (PYTHON, "class A:\n    def __eq__(self, o): return self == o\nA() == A()"),
    "nested in C": (PYTHON, "x = []\nfor _ in range(10**5): x = [x]\nrepr(x)"),
    "a sort in a sort": (PYTHON, "def f(_): return sorted([1, 2], key=f)[0]\nf(1)"),
    "recursion in JavaScript": (JAVASCRIPT, "const f = () => f() + 1; f()"),
    "a text of itself in JavaScript": (JAVASCRIPT, "const x = { toString() { return String(x) } }; String(x)"),
    "nested in JavaScript": (JAVASCRIPT, "let x = []; for (let i = 0; i < 1e5; i++) x = [x]; JSON.stringify(x)"),
}


@pytest.mark.parametrize("case", BOTTOMLESS)
def test_a_program_that_goes_too_deep_is_stopped_X4(pool: Pool, case: str):
    language, source = BOTTOMLESS[case]
    result = pool.run(source, language)
    assert (result.kind, result.limit) == ("limit", "depth"), result
    assert pool.run("", language).kind == "ok"


CRASHES = ("import faulthandler\nfaulthandler._sigsegv()", "import os\nos.abort()", "import ctypes")


@pytest.mark.parametrize("source", CRASHES)
def test_a_program_that_breaks_its_interpreter_is_the_culprit_X5(pool: Pool, source: str):
    result = pool.run(source)
    assert result.kind == "runtime_error", result
    assert pool.run("print('fine')").logs == ("fine",)


def test_source_that_is_too_deep_does_not_compile(pool: Pool):
    for language, source in (
        (PYTHON, "x = " + "(" * 5000 + ")" * 5000),
        (PYTHON, "-" * 100_000 + "1"),
        (JAVASCRIPT, "(" * 100_000),
    ):
        result = pool.run(source, language)
        assert result.kind in ("compile_error", "limit"), result
