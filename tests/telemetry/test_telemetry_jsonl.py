"""Events as JSON lines: every field, every string, there and back."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.protocol import events
from ggactors.telemetry.jsonl import HEAD, from_record, parse_line, read_events, to_line, to_record
from ggactors.telemetry.sink import JsonLines, StreamLines

ROOT = Path(__file__).parents[2]

# What docs/reference/events.md promises of each type, written down a second time on purpose.
PROMISED = {
    "session_started": "crew workspace version resumed",
    "agent_spawned": "profile profileName role kind parent issue workdir branch brief tools operations",
    "agent_state": "state waitingOn status summary verified",
    "assistant_message": "text",
    "tool_call": "callId tool args",
    "tool_result": "callId ok code output",
    "code_execution": "ok error finished revoked superseded logs durationMs calls untold",
    "turn_outcome": "outcome errorType consecutiveErrors turns",
    "usage": "profile model input cachedInput output reasoning cost",
    "limit_exceeded": "limit threshold observed turns window budget",
    "board_changed": "op epic issue by",
    "board_stalled": "issue blocker",
    "issue_review": "issue round verdict reviewer approvals items commit emptyChange reason",
    "worktree_merged": "issue branch merged commit conflicts mergeAgent oneSided emptyChange reason savedRef",
    "checkout_moved": "from to held reason",
    "hook": "event name outcome reason exitCode durationMs",
    "retry_wait": "model status waitSecs attempt reason",
    "stuck": "repeats cause evidence nudges",
    "compacted": "before after fallback",
    "message": "message state sender queued text",
    "attention": "item kind state issue title detail options default deadlineSecs answer note",
    "task_ended": "task status summary verified queued",
    "log": "level message",
    "session_summary": "status exitCode summary verified turns errors usage cost limitHit issues stalled agents landed "
    "costPerDone tokensPerDone",
    "session_ended": "status",
}

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
OF_TYPE = {
    "str": ANY_TEXT,
    "int": st.integers(),
    "bool": st.booleans(),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "tuple[str, ...]": st.lists(ANY_TEXT, max_size=3).map(tuple),
    "tuple[dict[str, Any], ...]": st.lists(st.dictionaries(ANY_TEXT, JSON, max_size=2), max_size=2).map(tuple),
    "dict[str, Any]": st.dictionaries(ANY_TEXT, JSON, max_size=3),
    "dict[str, str]": st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=3),
}


def any_event(cls) -> st.SearchStrategy:
    parts = {}
    for attribute in attrs.fields(cls):
        kind = str(attribute.type)
        strategy = OF_TYPE[kind.removesuffix(" | None")]
        parts[attribute.name] = st.none() | strategy if kind.endswith(" | None") else strategy
    return st.builds(cls, **parts)


EVERY_EVENT = st.one_of([any_event(cls) for cls in get_args(events.Event)])


def state(text: str = "running", **more) -> events.AgentState:
    return events.AgentState(agent="root", seq=1, time="2026-11-30T14:05:00Z", run="r", state=text, **more)


def test_every_type_carries_exactly_the_promised_fields_T1():
    assert {cls.type for cls in get_args(events.Event)} == set(PROMISED)
    for cls in get_args(events.Event):
        hints = get_type_hints(cls)
        blank = {
            attribute.name: {"str": "", "int": 0, "bool": False, "float": 0.0}.get(str(attribute.type), ())
            for attribute in attrs.fields(cls)
            if attribute.default is attrs.NOTHING
        }
        assert set(blank) <= set(hints)
        record = json.loads(to_line(cls(**blank)))
        assert list(record) == [*HEAD, "type", *PROMISED[cls.type].split()]
        assert record["type"] == cls.type


@given(EVERY_EVENT)
@settings(max_examples=300, deadline=None)
def test_whatever_an_event_holds_its_line_is_json_and_reads_back_T1(event):
    line = to_line(event)
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line) == json.loads(json.dumps(to_record(event)))
    assert parse_line(line) == event


def test_what_json_has_no_word_for_does_not_break_a_line():
    circle: dict = {}
    circle["self"] = circle
    args = {
        "nan": float("nan"),
        "inf": float("-inf"),
        "huge": 10**9000,
        "bytes": b"\xff",
        ("a", 1): {1},
        "object": Path("/x"),
        "circle": circle,
        "lone": "\ud800",
    }
    line = to_line(events.ToolCalled(call_id="c", tool="t", args=args))
    read = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))["args"]
    assert read["nan"] is None
    assert read["inf"] is None
    assert read["huge"].startswith("0x")
    assert read["bytes"] == "\\xff"
    assert read["('a', 1)"] == [1]
    assert read["object"] == "/x"
    assert read["lone"] == "\ud800"
    assert "\\ud800" in line


def test_reading_forgives_what_a_later_version_adds():
    record = to_record(state(waiting_on="AUTH-1"))
    record["brandNew"] = 1
    del record["verified"]
    assert from_record(record) == state(waiting_on="AUTH-1")
    assert from_record({"type": "of_tomorrow", "seq": 3}) is None
    with pytest.raises(ValueError, match="no event"):
        from_record({"hello": 1})


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"type": 3}', b"[" * 100_000])
def test_a_line_that_is_no_event_is_none(line):
    assert parse_line(line) is None


# ---------------------------------------------------------------- the file


def states(path: Path) -> list[str]:
    return [event.state for event in read_events(path)]


async def test_a_line_is_in_the_file_one_tick_after_its_event(tmp_path):
    path = tmp_path / "events.jsonl"
    sink = JsonLines(path)
    for number in range(100):
        sink(state(str(number)))
    await trio.testing.wait_all_tasks_blocked()
    assert states(path) == [str(number) for number in range(100)]
    sink(state("last"))
    sink.close()
    sink.close()
    await trio.testing.wait_all_tasks_blocked()
    assert states(path)[-1] == "last"


async def test_a_closed_sink_leaves_no_task_in_the_loop(tmp_path):
    await trio.testing.wait_all_tasks_blocked()
    before = trio.lowlevel.current_statistics().tasks_living
    sinks = [JsonLines(tmp_path / f"{number}.jsonl") for number in range(20)]
    for sink in sinks:
        sink(state("one"))
    await trio.testing.wait_all_tasks_blocked()
    assert trio.lowlevel.current_statistics().tasks_living > before
    for sink in sinks:
        sink.close()
    await trio.testing.wait_all_tasks_blocked()
    assert trio.lowlevel.current_statistics().tasks_living == before


def test_what_is_said_while_the_loop_goes_down_is_written_too(tmp_path):
    path = tmp_path / "events.jsonl"
    sink = JsonLines(path)

    async def last_words():
        try:
            await trio.sleep_forever()
        finally:
            sink(state("at the very end"))

    async def main():
        sink(state("first"))
        await trio.testing.wait_all_tasks_blocked()
        trio.lowlevel.spawn_system_task(last_words)
        await trio.testing.wait_all_tasks_blocked()

    trio.run(main)
    assert states(path) == ["first", "at the very end"]
    sink.close()


def test_outside_trio_a_line_is_written_at_once(tmp_path):
    path = tmp_path / "events.jsonl"
    sink = JsonLines(path)
    sink(state("a"))
    assert states(path) == ["a"]
    sink.close()


def test_a_torn_last_line_is_passed_over_and_cut_off_by_the_next_process(tmp_path):
    path = tmp_path / "events.jsonl"
    whole = to_line(state("whole")).encode() + b"\n"
    torn = to_line(state("torn", summary="x" * 200_000)).encode()[:-1]
    path.write_bytes(whole + torn)
    assert states(path) == ["whole"]
    sink = JsonLines(path)
    sink(state("next"))
    sink.close()
    assert states(path) == ["whole", "next"]
    path.write_bytes(torn)
    JsonLines(path).close()
    assert path.read_bytes() == b""


FULL_DISK = """
import resource, sys
from pathlib import Path
from ggactors.protocol.events import Log
from ggactors.telemetry.sink import JsonLines

heard = []
sink = JsonLines(Path(sys.argv[1]), on_trouble=heard.append)
sink(Log(level="info", message="before"))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
for number in range(20):
    sink(Log(level="info", message=f"during {number}"))
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
sink(Log(level="info", message="after"))
sink.close()
print(*heard, sep="\\n")
"""


def test_a_full_disk_is_told_once_and_nothing_is_lost_when_it_has_room_again(tmp_path):
    path = tmp_path / "events.jsonl"
    ran = subprocess.run([sys.executable, "-c", FULL_DISK, path], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) == 1
    assert "the run goes on" in ran.stdout
    assert [event.message for event in read_events(path)] == ["before", *(f"during {n}" for n in range(20)), "after"]


def test_what_is_kept_while_nothing_can_be_written_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("ggactors.telemetry.sink.KEEP_BYTES", 10_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    path = tmp_path / "events.jsonl"
    sink = JsonLines(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        for number in range(1000):
            sink(state(str(number)))
        assert sink._size < 11_000
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    sink.close()
    found = states(path)
    assert found == [str(number) for number in range(len(found))]


# ---------------------------------------------------------------- a stream


def test_a_slow_reader_holds_nothing_up_and_gets_everything():
    reader, writer = os.pipe()
    sink = StreamLines(writer)
    for number in range(5000):  # far more than a pipe holds
        sink(state(str(number)))
    with os.fdopen(reader, "rb") as lines:
        found = [parse_line(lines.readline()).state for _ in range(5000)]
    sink.close()
    os.close(writer)
    assert found == [str(number) for number in range(5000)]


def test_a_reader_that_goes_away_is_no_error():
    reader, writer = os.pipe()
    sink = StreamLines(writer)
    os.close(reader)
    for number in range(10):
        sink(state(str(number)))
    sink.close()
    sink(state("more"))
    os.close(writer)
    assert sink.reader_gone
