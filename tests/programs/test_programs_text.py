"""The pure parts: the membrane's budget, the log's tail, and how an end is told."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs_kit import JAVASCRIPT, PYTHON, SDKS

from ggactors.programs.execution import Ended, Execution, Order
from ggactors.programs.hints import hint
from ggactors.programs.logs import LINE_BYTES, MOST_BYTES, MOST_LINES, LogTail
from ggactors.programs.membrane import (
    MOST_DEPTH,
    MOST_VALUES,
    Call,
    Doc,
    Junk,
    Ready,
    Report,
    read_request,
    write_reply,
)
from ggactors.programs.outcome import outcome
from ggactors.protocol.program import ProgramLimits, ProgramResult, Returned
from ggactors.protocol.values import Code, Refused

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


# ---------------------------------------------------------------- requests


@given(args=st.dictionaries(st.text(max_size=8), PLAIN, max_size=4))
@settings(max_examples=60, deadline=None)
def test_a_call_within_the_budget_is_read_as_it_was_sent(args):
    assert read_request(json.dumps({"call": "files.read_file", "args": args}).encode()) == Call("files.read_file", args)


@given(sent=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=150, deadline=None)
def test_no_bytes_make_reading_a_request_fail_otherwise_than_as_junk(sent: bytes):
    with contextlib.suppress(Junk):
        assert read_request(sent) is not None


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (b'{"ready": true}', Ready()),
        (b'{"doc": "files.read_file"}', Doc("files.read_file")),
        (b'{"end": "ok"}', Report({"end": "ok"})),
    ],
)
def test_the_other_requests_are_read(sent: bytes, read: object):
    assert read_request(sent) == read


@pytest.mark.parametrize(
    "sent",
    [
        b"[]",
        b'"call"',
        b'{"call": 1}',
        b'{"call": "x"}',
        b'{"ready": false}',
        b"1e999",
        b'{"x": Infinity}',
        b"1" * 5000,
    ],
)
def test_anything_else_is_junk(sent: bytes):
    with pytest.raises(Junk):
        read_request(sent)


def test_depth_and_number_are_counted_outside_of_texts():
    deep = {"call": "x.y", "args": {"a": json.loads("[" * (MOST_DEPTH - 2) + "]" * (MOST_DEPTH - 2))}}
    assert isinstance(read_request(json.dumps(deep).encode()), Call)
    deeper = {"call": "x.y", "args": {"a": json.loads("[" * (MOST_DEPTH - 1) + "]" * (MOST_DEPTH - 1))}}
    refused = read_request(json.dumps(deeper).encode())
    assert isinstance(refused, Refused)
    assert refused.code == Code.LIMIT_EXCEEDED
    brackets = {"call": "x.y", "args": {"a": '["\\' * 10_000, "b": "," * (MOST_VALUES + 1)}}
    assert isinstance(read_request(json.dumps(brackets).encode()), Call)


def test_a_reply_carries_the_value_or_the_refusal():
    assert json.loads(write_reply(Returned(value={"a": [1, None]}))) == {"value": {"a": [1, None]}}
    refused = Refused(code=Code.NOT_FOUND, message="no")
    assert json.loads(write_reply(refused)) == {"error": {"code": "not-found", "message": "no"}}
    with pytest.raises(TypeError):
        write_reply(Returned(value=object()))


# ---------------------------------------------------------------- logs


@given(
    pieces=st.lists(
        st.binary(max_size=40) | st.sampled_from([b"\n", b"x" * 3000, b"\n" * 300, b"y\n" * 5000]), max_size=12
    )
)
@settings(max_examples=100, deadline=None)
def test_the_tail_of_a_log_is_its_last_lines_however_it_came(pieces: list[bytes]):
    tail = LogTail()
    for piece in pieces:
        tail.feed(piece)
    whole = b"".join(pieces).split(b"\n")
    if not whole[-1]:
        whole.pop()
    lines = tail.lines()
    assert tail.dropped + len(lines) == len(whole)
    assert len(lines) <= MOST_LINES
    assert (
        sum(len(line.encode("utf-8", "surrogatepass")) for line in lines) <= 3 * MOST_BYTES
    )  # a bad byte is shown as three
    for line, raw in zip(reversed(lines), reversed(whole), strict=False):
        shown = raw.decode("utf-8", "replace")
        assert line == shown or (len(raw) > LINE_BYTES and line.endswith(" …"))


# ---------------------------------------------------------------- ends

SOURCE = "one\ntwo\nthree"


def judged(ended: Ended, source: str = SOURCE, language=PYTHON) -> ProgramResult:
    order = Order(source=source, name="program.py", sdk="{}", doc=str, seconds=1.0)
    execution = Execution(order, tell=lambda _letter: None, trap=lambda: None)
    return outcome(ended, execution, SDKS[language], ProgramLimits(timeout_secs=1.5, max_memory_bytes=64 << 20))


REPORTS = st.dictionaries(
    st.sampled_from(["end", "type", "message", "frames", "causes", "parts", "code", "operation", "line", "status"]),
    PLAIN
    | st.sampled_from(["ok", "exit", "raised", "uncompiled", "MemoryError", "RecursionError"])
    | st.just([[2, "f"], [-1, "f"], [99, "f"]]),
)


@given(report=REPORTS, language=st.sampled_from([PYTHON, JAVASCRIPT]))
@settings(max_examples=200, deadline=None)
def test_whatever_a_guest_reports_is_judged_as_the_programs_doing_X5(report, language):
    result = judged(Ended(report=report), language=language)
    assert result.kind in ("ok", "compile_error", "runtime_error", "limit")
    assert (result.kind == "ok") == (result.error == "")
    assert result.line is None or 1 <= result.line <= 3
    result.error.encode()
    assert len(result.error) < 40_000


def test_ends_without_a_report_have_their_reason():
    assert judged(Ended(stopped="time", trap="interrupt")).limit == "time"
    assert "1.5 s" in judged(Ended(stopped="time")).error
    assert judged(Ended(trap="stack_overflow")).limit == "depth"
    assert judged(Ended(trap="unreachable")).kind == "runtime_error"
    assert judged(Ended(exited=0, trap="interrupt")).kind == "ok"
    assert judged(Ended(exited=7)).error == "SystemExit: the program ended itself with status 7"
    assert judged(Ended()).kind == "runtime_error"


def test_lines_are_taken_from_the_program_and_not_from_the_report():
    report = {"end": "raised", "type": "ValueError", "message": "m", "frames": [[3, "<module>"], [2, "f"], [44, "g"]]}
    assert (
        judged(Ended(report=report)).error
        == "ValueError: m\n  program.py line 3: three\n  program.py line 2, in f: two"
    )


def test_only_the_ends_of_a_long_story_are_told():
    report = {"end": "raised", "type": "E", "message": "x" * 10_000, "frames": [[1, "f"]] * 500}
    assert len(judged(Ended(report=report)).error) < 10_000


@pytest.mark.parametrize(
    ("kind", "message", "code", "source", "helps"),
    [
        ("FileNotFoundError", "[Errno 44]", None, "", "gg.files"),
        ("gg.NotFound", "no such file", "not-found", "", None),
        ("ModuleNotFoundError", "No module named 'numpy'", None, "", "standard library"),
        ("ImportError", "cannot import name 'x' from 'gg'", None, "", None),
        ("SyntaxError", "invalid syntax", None, "\n```python\nx\n```", "fence"),
        ("ValueError", "bad", None, "x", None),
    ],
)
def test_a_hint_is_given_where_it_helps(kind, message, code, source, helps):
    said = "\n".join(hint(kind, message, code, source))
    assert (helps in said) if helps else said == ""
