"""Programs in Python: the language is all there, the SDK is a library people like, and errors have the program's own lines."""

# ruff: noqa: E501, ISC004 - a program reads best on one line, next to what it comes to

from __future__ import annotations

import pytest
from programs_kit import Pool, World, needs_code

pytestmark = needs_code

# A program, and what it prints, line by line.
WORKS = {
    "an empty program": ("", []),
    "only a comment": ("# nothing yet\n", []),
    "gg without an import": ("print(gg.files.read_file('a.txt'))", ["one", "two", ""]),
    "import gg": ("import gg\nprint(gg.files.read_file('a.txt') == 'one\\ntwo\\n')", ["True"]),
    "from gg": ("from gg import files, session\nfiles.read_file('a.txt')\nprint(session.finish('done'))", ["None"]),
    "from a module": ("from gg.files import read_file as rf\nprint(len(rf('a.txt')))", ["8"]),
    "import a module": ("import gg.files as f\nprint(f.read_file('a.txt')[:3])", ["one"]),
    "everything": ("from gg import *\nprint(files.__name__, Error.__name__)", ["gg.files Error"]),
    "a record": ("r = gg.shell.run('0')\nprint(r.exit_code, r['output'], dict(r)['exit_code'])", ["0 out 0"]),
    "a record as json": (
        "import json\nprint(json.dumps(gg.shell.run('0')))",
        ['{"exit_code": 0, "output": "out", "full_output": null}'],
    ),
    "records in a list": ("print([(e.name, e['kind']) for e in gg.files.list_dir()][0])", ["('a.txt', 'file')"]),
    "names that are not ascii": ("print(gg.files.read_file('naïve ☃.txt'))", ["snow"]),
    "a path object": ("from pathlib import PurePosixPath as P\nprint(len(gg.files.read_file(P('a.txt'))))", ["8"]),
    "await on a call": ("text = await gg.files.read_file('a.txt')\nprint(len(text))", ["8"]),
    "await in main": (
        "import asyncio\nasync def main():\n    print(len(await gg.files.read_file('a.txt')))\nasyncio.run(main())",
        ["8"],
    ),
    "gather of calls": (
        "import asyncio\nasync def main():\n    a, b = await asyncio.gather(gg.files.read_file('a.txt'), one())\n    print(len(a), b)\n"
        "async def one():\n    await asyncio.sleep(0.01)\n    return 1\nasyncio.run(main())",
        ["8 1"],
    ),
    "await of a sleep at the top": ("import asyncio\nawait asyncio.sleep(0.01)\nprint('slept')", ["slept"]),
    "to_thread": ("import asyncio\nprint(len(await asyncio.to_thread(gg.files.read_file, 'a.txt')))", ["8"]),
    "a refusal caught": (
        "try:\n    gg.files.read_file('nope')\nexcept gg.NotFound as e:\n    print(e.code, e.operation, e.message == str(e))",
        ["not-found files.read_file True"],
    ),
    "a refusal caught by its base": (
        "try:\n    gg.files.read_file('nope')\nexcept gg.Error as e:\n    print(type(e).__name__)",
        ["NotFound"],
    ),
    "a sleep": ("import time\nt = time.monotonic()\ntime.sleep(0.05)\nprint(time.monotonic() - t >= 0.05)", ["True"]),
    "exit 0": ("print('x')\nexit = __import__('sys').exit\nexit(0)", ["x"]),
    "exit without a status": ("import sys\nsys.exit()", []),
    "main guard": ("def main():\n    print('main')\nif __name__ == '__main__':\n    main()", ["main"]),
    "stderr": ("import sys\nprint('err', file=sys.stderr)\nsys.__stderr__.write('raw\\n')", ["err", "raw"]),
    "an unended line": ("print('no newline', end='')", ["no newline"]),
    "classes and generators": (
        "import dataclasses, enum, contextlib\n@dataclasses.dataclass\nclass A:\n    x: int = 1\nclass E(enum.Enum):\n    P = 1\n"
        "@contextlib.contextmanager\ndef c():\n    yield A()\nwith c() as a:\n    print(a, E.P, [*(y for y in range(3))])",
        ["A(x=1) E.P [0, 1, 2]"],
    ),
    "match and walrus": (
        "match {'a': [1, 2]}:\n    case {'a': [x, *rest]} if (n := x) == 1:\n        print(n, rest)",
        ["1 [2]"],
    ),
    "the standard library": (
        "import re, json, math, collections, itertools, functools, textwrap, datetime, random, statistics, hashlib, csv, io, string, heapq, uuid, "
        "base64, difflib, operator, typing, copy, fractions, decimal, urllib.parse\nprint(re.sub('a', 'b', 'aa'), math.pi > 3, random.random() < 1)",
        ["bb True True"],
    ),
    "a traceback of its own": (
        "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    print(traceback.format_exc().splitlines()[2].strip())",
        ["1 / 0"],
    ),
    "UNCHANGED": (
        "print(gg.UNCHANGED, bool(gg.UNCHANGED)); gg.board.update_issue('A-1', title=gg.UNCHANGED, epic_id=None)",
        ["UNCHANGED False"],
    ),
    "hasattr": (
        "print(hasattr(gg, 'board'), hasattr(gg.files, 'nope'), getattr(gg.files, 'nope', 7))",
        ["True False 7"],
    ),
    "dir": ("print(dir(gg.files), 'NotFound' in dir(gg))", ["['list_dir', 'read_file', 'write_file'] True"]),
    "a signature": (
        "import inspect\nprint(inspect.signature(gg.files.read_file), repr(gg.files.read_file))",
        ["(path, *, offset=None, limit=None) <function gg.files.read_file(path, *, offset=None, limit=None)>"],
    ),
    "a docstring": (
        "print(gg.files.list_dir.__doc__.splitlines()[0])",
        ["gg.files.list_dir(path: str = '.') -> list[Record]"],
    ),
    "deep recursion caught": (
        "def f(): return f()\ntry:\n    f()\nexcept RecursionError:\n    print('caught')",
        ["caught"],
    ),
    "memory given back": ("try:\n    x = bytearray(10**9)\nexcept MemoryError:\n    print('caught')", ["caught"]),
    "its own frames": ("import sys\nprint(sys._getframe().f_code.co_filename, __file__)", ["program.py program.py"]),
}


@pytest.mark.parametrize("case", WORKS)
def test_a_program_in_python_works(pool: Pool, case: str):
    source, printed = WORKS[case]
    result = pool.run(source)
    assert (result.kind, result.error) == ("ok", "")
    assert list(result.logs) == printed


# A program, the kind of its end, the exception, the line, and a part of what the model reads.
FAILS = {
    "prose": ("Here is the program you asked for:\n", "compile_error", "SyntaxError", 1, "program.py line 1: Here is"),
    "a fence": ("```python\nprint(1)\n```", "compile_error", "SyntaxError", 1, "without a Markdown fence"),
    "an unclosed bracket": ("x = 1\ny = (\n", "compile_error", "SyntaxError", 2, "'(' was never closed"),
    "bad indentation": ("def f():\nreturn 1", "compile_error", "IndentationError", 2, "program.py line 2: return 1"),
    "a null byte": ("print(1)\0", "compile_error", None, None, "null bytes"),
    "half a character": ("print('\ud800')", "compile_error", None, None, ""),
    "a division": ("def f(x):\n    return 1 / x\n\nf(0)", "runtime_error", "ZeroDivisionError", 2, "line 4: f(0)\n  program.py line 2, in f: return 1 / x"),
    "an unknown name": ("print(nope)", "runtime_error", "NameError", 1, "NameError: name 'nope' is not defined"),
    "a refusal": ("x = 1\ngg.files.read_file('nope')", "runtime_error", "gg.NotFound", 2, "[not-found, from gg.files.read_file]"),
    "a failure of its own": ("class Bad(Exception): ...\nraise Bad('so')", "runtime_error", "Bad", 2, "Bad: so"),
    "with a cause": ("try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('v') from e", "runtime_error", "ValueError", 4, "after KeyError: 'k' (line 2)"),
    "a group": ("raise ExceptionGroup('g', [ValueError('one'), KeyError('two')])", "runtime_error", "ExceptionGroup", 1, "with ValueError: one"),
    "a status": ("import sys\nsys.exit(3)", "runtime_error", "SystemExit", None, "status 3"),
    "a last word": ("import sys\nsys.exit('it cannot be done')", "runtime_error", "SystemExit", None, "it cannot be done"),
    "a hard exit": ("import os\nos._exit(4)", "runtime_error", "SystemExit", None, "status 4"),
    "an interrupt": ("raise KeyboardInterrupt", "runtime_error", "KeyboardInterrupt", 1, "KeyboardInterrupt"),
    "camel case": ("gg.files.readFile('a')", "runtime_error", "AttributeError", 1, "in Python it is spelled `read_file`"),
    "camel case imported": ("from gg.files import readFile", "runtime_error", "ImportError", 1, "spelled `read_file`"),
    "a misspelt function": ("gg.files.red_file('a')", "runtime_error", "AttributeError", 1, "did you mean `read_file`?"),
    "a misspelt module": ("gg.file.read_file('a')", "runtime_error", "AttributeError", 1, "did you mean `files`?"),
    "a function without its module": ("gg.finish('x')", "runtime_error", "AttributeError", 1, "did you mean `gg.session.finish`?"),
    "a misspelt argument": ("gg.shell.run('0', timeoutSecs=3)", "runtime_error", "gg.InvalidArgument", 1, "spelled `timeout_secs`"),
    "a missing argument": ("gg.files.write_file('a')", "runtime_error", "gg.InvalidArgument", 1, "files.write_file needs `contents`"),
    "an optional one by position": ("gg.files.read_file('a', 1)", "runtime_error", "gg.InvalidArgument", 1, "takes 1 positional argument, not 2"),
    "bytes": ("gg.files.write_file('a', b'x')", "runtime_error", "gg.InvalidArgument", 1, "decode them to a str"),
    "not a number": ("gg.files.read_file('a', offset=float('nan'))", "runtime_error", "gg.InvalidArgument", 1, ""),
    "a misspelt field": ("gg.shell.run('0').exitCode", "runtime_error", "AttributeError", 1, "spelled `exit_code`"),
    "an open file": ("open('/etc/passwd').read()", "runtime_error", "FileNotFoundError", 1, "gg.files"),
    "a foreign module": ("import requests", "runtime_error", "ModuleNotFoundError", 1, "the standard library"),
    "a thread": ("import threading\nthreading.Thread(target=print).start()", "runtime_error", "RuntimeError", 2, "no threads"),
    "a process": ("import subprocess\nsubprocess.run(['ls'])", "runtime_error", "OSError", 2, "gg.shell"),
    "a wait for ever": ("import asyncio\nasync def main():\n    await asyncio.Future()\nasyncio.run(main())", "runtime_error", "RuntimeError", None, "deadlock"),
    "a failing coroutine": ("import asyncio\nasync def main():\n    raise ValueError('in it')\nasyncio.run(main())", "runtime_error", "ValueError", 3, "in main"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILS)
def test_a_failing_program_is_told_with_its_own_line_X5(pool: Pool, case: str):
    source, kind, error_type, line, said = FAILS[case]
    result = pool.run(source)
    assert result.kind == kind, result
    assert said in result.error
    if error_type is not None:
        assert result.error_type == error_type
    if line is not None or error_type == "SystemExit":
        assert result.line == line
    assert "<gg>" not in result.error
    assert "python_sdk" not in result.error


def test_a_refusal_nobody_catches_carries_its_code_and_operation(pool: Pool):
    result = pool.run("gg.files.read_file('nope')")
    assert (result.code, result.operation) == ("not-found", "files.read_file")


def test_a_program_leaves_nothing_to_the_next(pool: Pool):
    spoiled = "import sys, builtins, json\nbuiltins.len = lambda x: 7\njson.dumps = None\nsys.modules['leak'] = sys\ngg.files.x = 1"
    look = "import sys, json\nprint(len([]), 'leak' in sys.modules, json.dumps(1), hasattr(gg.files, 'x'))"
    for _ in range(3):
        assert pool.run(spoiled).kind == "ok"
        assert pool.run(look).logs == ("0 False 1 False",)


def test_arguments_arrive_as_they_were_given(pool: Pool, world: World):
    pool.run(
        "gg.files.read_file('a.txt', offset=2)\ngg.files.list_dir()\ngg.files.list_dir('src')\n"
        "gg.board.update_issue('A-1', epic_id=None)\ngg.session.finish(summary='done')",
        world=world,
    )
    assert world.asked == [
        ("files.read_file", {"path": "a.txt", "offset": 2}),
        ("files.list_dir", {}),
        ("files.list_dir", {"path": "src"}),
        ("board.update_issue", {"issue_id": "A-1", "epic_id": None}),
        ("session.finish", {"summary": "done"}),
    ]


def test_values_cross_unharmed_in_both_directions(pool: Pool):
    from ggactors.protocol.program import Returned

    value = {"a": [1, 2.5, True, None, "☃😀\u0000\udc80", -(2**53), {"deep": [[[]]]}], "big": 10**30}
    got = []

    async def serve(_operation: str, args: dict) -> Returned:
        got.append(args["contents"])
        return Returned(value=value)

    result = pool.run(
        "v = gg.files.write_file('x', {'z': [1, {'y': None}]})\nassert gg.files.write_file('x', v) == v\nprint(v.a[6].deep)",
        serve=serve,
    )
    assert (result.kind, result.error, result.logs) == ("ok", "", ("[[[]]]",))
    assert got == [{"z": [1, {"y": None}]}, value]


def test_every_call_has_a_signature_python_itself_can_read(pool: Pool):
    result = pool.run(
        "import inspect\n"
        "for module in (gg.files, gg.shell, gg.board, gg.session):\n"
        "    for name in dir(module):\n"
        "        call = getattr(module, name)\n"
        "        if callable(call): print(name, inspect.signature(call))\n"
    )
    assert result.error == ""
    assert "update_issue (issue_id, *, title=None, epic_id=None, status=None)" in result.logs
