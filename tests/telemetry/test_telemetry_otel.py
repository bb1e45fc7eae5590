"""Spans, sent to a real collector on loopback that reads the protocol's own bytes."""

from __future__ import annotations

import gzip
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, get_args

import pytest
from attrs import fields

from ggactors.app.exporting import telemetry_problems
from ggactors.protocol.crew import TelemetrySpec
from ggactors.protocol.events import AgentSpawned, AgentState, Event, Log, SessionEnded, SessionStarted
from ggactors.protocol.values import Status
from ggactors.rules.launch import read_document
from ggactors.telemetry.otel import OtelExport, OtelSettings, choose_otel
from ggactors.telemetry.otelspans import SpanBook, nanoseconds
from ggactors.testing.crews import finish, run_to_end, turn, write_crew

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")


class Collector:
    """Takes OTLP over HTTP; ``status`` and ``delay`` spoil its answers."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.status = 200
        self.hold = threading.Event()
        self.hold.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.hold.wait(30)
                collector.take(self.path, gzip.decompress(body) if self.headers["Content-Encoding"] else body)
                self.send_response(collector.status)
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path: str, body: bytes) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        self.paths.append(path)
        if self.status != 200:
            return
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(plain(resource.resource.attributes))
            for scope in resource.scope_spans:
                self.spans += scope.spans

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]


def plain(attributes) -> dict[str, Any]:
    """Read the attributes of a span."""

    def value(one) -> Any:
        kind = one.WhichOneof("value")
        return [value(item) for item in one.array_value.values] if kind == "array_value" else getattr(one, kind)

    return {pair.key: value(pair.value) for pair in attributes}


@pytest.fixture
def collector(monkeypatch):
    for name in ("OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        monkeypatch.delenv(name, raising=False)
    one = Collector()
    yield one
    one.hold.set()
    one.server.shutdown()
    one.server.server_close()


def filed(**more: Any) -> tuple[str, dict[str, Any]]:
    args = {"title": "Add a", "inScope": "a", "outOfScope": "-", "completionCriteria": "-", "agent": "coder"}
    return "create_issue", args | more


WAIT = ("wait_for_issue", {"issueId": "ISSUE-1"})
FILED = {
    "root": [turn(filed(reviewers=["critic"])), turn(WAIT), finish()],
    "*i": [
        turn(("read_file", {"path": "nowhere"})),
        turn(("write_file", {"path": "a", "contents": "secret words"})),
        finish(),
    ],
    "*r": [turn(("approve", {}))],
}


async def play(tmp_path, **document: Any):
    (tmp_path / "work").mkdir()
    agents = {"lead": {}, "coder": {}, "critic": {}}
    crew = write_crew(tmp_path / "crew", FILED, agents=agents, **document)
    return await run_to_end(crew, tmp_path / "work", home=tmp_path / "state")


async def test_a_run_is_one_trace_of_agents_model_calls_and_tool_calls_by_the_genai_conventions_T1(
    tmp_path, collector, monkeypatch
):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
    outcome, events = await play(tmp_path)
    assert outcome.status is Status.COMPLETED
    assert set(collector.paths) == {"/v1/traces"}
    assert collector.resources[0]["service.name"] == "ggactors"
    assert len({span.trace_id for span in collector.spans}) == 1

    by_id = {span.span_id: span for span in collector.spans}
    (run,) = [span for span in collector.spans if not span.parent_span_id]
    assert run.name == "invoke_workflow test crew"
    told = plain(run.attributes)
    assert told["gen_ai.operation.name"] == "invoke_workflow"
    assert told["gg.run.status"] == "completed"
    assert told["gen_ai.conversation.id"] == events[0].run

    agents = {
        plain(span.attributes)["gen_ai.agent.id"]: span
        for span in collector.spans
        if span.name.startswith("invoke_agent")
    }
    assert set(agents) == {event.agent for event in events if event.type == "agent_spawned"}
    (filed,) = collector.named("gg.issue")
    assert plain(filed.attributes)["gg.issue.id"] == "ISSUE-1"
    assert [event.name for event in filed.events].count("gg.issue.review") == 1
    assert agents["root"].parent_span_id == run.span_id
    assert agents["ISSUE-1.0i"].parent_span_id == filed.span_id
    assert plain(agents["ISSUE-1.0i.0r"].attributes)["gg.agent.role"] == "review"

    calls = [event for event in events if event.type == "tool_call"]
    tools = [span for span in collector.spans if span.name.startswith("execute_tool")]
    assert sorted(plain(span.attributes)["gen_ai.tool.name"] for span in tools) == sorted(event.tool for event in calls)
    assert all(by_id[span.parent_span_id] is agents[plain(span.attributes)["gen_ai.agent.id"]] for span in tools)
    (refused,) = collector.named("execute_tool read_file")
    assert plain(refused.attributes)["error.type"] == "not-found"
    assert refused.status.code == 2

    chats = [span for span in collector.spans if span.name.startswith("chat ")]
    assert len(chats) == sum(event.type == "usage" for event in events)
    assert {plain(span.attributes)["gen_ai.provider.name"] for span in chats} == {"script"}
    assert {"gen_ai.request.model", "gen_ai.usage.input_tokens"} <= set(plain(chats[0].attributes))
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in collector.spans)
    ended = {event.agent: event.time for event in events if event.type == "agent_state" and event.state == "ended"}
    assert {name: span.end_time_unix_nano for name, span in agents.items()} == {
        name: nanoseconds(stamp) for name, stamp in ended.items()
    }


async def test_what_was_said_is_in_no_span_unless_the_crew_asks_for_it_and_then_masked(
    tmp_path, collector, monkeypatch
):
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    await play(tmp_path, telemetry={"otlpEndpoint": collector.address})
    assert collector.spans
    assert "secret words" not in str(collector.spans)
    assert "Add a" not in str(collector.spans)


async def test_content_is_told_where_it_was_asked_for(tmp_path, collector):
    await play(tmp_path, telemetry={"otlpEndpoint": collector.address, "content": True})
    (wrote,) = collector.named("execute_tool write_file")
    assert "secret words" in plain(wrote.attributes)["gen_ai.tool.call.arguments"]
    assert "gen_ai.tool.call.result" in plain(wrote.attributes)


async def test_a_collector_that_is_gone_or_refuses_is_said_once_and_costs_the_run_nothing(
    tmp_path, collector, monkeypatch
):
    collector.status = 400
    outcome, events = await play(tmp_path, telemetry={"otlpEndpoint": collector.address})
    assert outcome.status is Status.COMPLETED
    assert collector.paths
    assert events[-1].type == "session_ended"
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


def export_to(address: str, **more: Any) -> tuple[OtelExport, list[str]]:
    said: list[str] = []
    settings = OtelSettings(endpoint=address, content=True)
    export = OtelExport(
        settings=settings, providers={}, mask=lambda text: text.replace("fake-key", "[masked]"), say=said.append, **more
    )
    return export, said


def spawned(name: str, **more: Any) -> AgentSpawned:
    values: dict[str, Any] = {"profile": "p", "profile_name": "P", "role": "standard", "kind": "root", "workdir": "w"}
    values |= {"brief": "with fake-key in it", "tools": (), "operations": (), "time": "2026-01-01T00:00:01.000Z"}
    return AgentSpawned(agent=name, **(values | more))


START = SessionStarted(crew="c", workspace="w", version="1", resumed=False, run="r", time="2026-01-01T00:00:00.000Z")
END = SessionEnded(status="completed", run="r", time="2026-01-01T00:00:09.000Z")


def test_every_text_of_a_span_is_masked(collector):
    export, said = export_to(collector.address)
    for event in (START, spawned("root"), END):
        export(event)
    export.close()
    assert said == []
    assert "fake-key" not in str(collector.spans)
    assert "[masked]" in str(collector.spans)


def test_a_slow_collector_fills_a_bounded_queue_and_the_loss_is_said_once_with_its_count(collector, monkeypatch):
    monkeypatch.setattr("ggactors.telemetry.otel.EVERY_SECS", 0.0)
    collector.hold.clear()
    export, said = export_to(collector.address, room=50)
    began = time.monotonic()
    for number in range(400):
        export(spawned(f"a{number}"))
        export(AgentState(agent=f"a{number}", state="ended", status="completed"))
    assert time.monotonic() - began < 2  # whoever emits is not held up
    assert export.dropped > 0
    assert len(said) == 1
    collector.hold.set()
    export.close()
    assert len(said) == 2
    assert f"{export.dropped} events and 0 spans did not reach" in said[1]


def test_a_collector_that_never_answers_is_left_alone_after_a_bounded_time(collector):
    collector.hold.clear()
    export, said = export_to(collector.address)
    for event in (START, END):
        export(event)
    began = time.monotonic()
    export.close(0.3)
    assert time.monotonic() - began < 5
    assert "gave no answer in 0.3 s" in said[-1]
    collector.hold.set()


def test_a_refusing_collector_is_named_with_its_answer_and_what_was_lost(collector):
    collector.status = 403
    export, said = export_to(collector.address)
    for event in (START, END):
        export(event)
    export.close()
    assert export.unsent == 1
    assert len(said) == 2
    assert "403" in said[0]


def test_spans_that_nobody_ended_end_with_the_stream(collector):
    export, _ = export_to(collector.address)
    for event in (START, spawned("root"), Log(level="info", message="m", time="2026-01-01T00:00:05.000Z")):
        export(event)
    export.close()
    assert {span.name for span in collector.spans} == {"invoke_workflow c", "invoke_agent P"}
    assert {span.end_time_unix_nano for span in collector.spans} == {nanoseconds("2026-01-01T00:00:05.000Z")}


def sample(kind: type[Any]) -> Any:
    """Make an event of a type, of plain values. Types are read as written: whoever packs events may have resolved them."""
    written = {
        name: text for one in reversed(kind.__mro__) for name, text in vars(one).get("__annotations__", {}).items()
    }
    plain_values = {"str": "x", "int": 1, "float": 1.0, "bool": True, "tuple": (), "dict": {}}
    values = {
        one.name: next(value for word, value in plain_values.items() if written[one.name].startswith(word))
        for one in fields(kind)
        if one.name not in ("agent", "seq", "time", "run")
    }
    return kind(agent="root", time="2026-01-01T00:00:03.000Z", run="r", **values)


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.type)
def test_every_event_passes_whether_or_not_its_run_and_agent_were_heard_of(kind):
    from opentelemetry.sdk.trace import TracerProvider

    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("t")
    for before in ((), (START, spawned("root"))):
        book = SpanBook(tracer=tracer, providers={}, mask=str, content=True)
        for event in (*before, sample(kind), sample(kind)):
            book.take(event)
        book.close()


AT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4318"}
BY_CREW = TelemetrySpec(endpoint="http://c:4318", content=True)


def test_the_environment_or_the_crew_switches_it_on_and_the_standard_switches_switch_it_off():
    assert choose_otel(None, {}).settings is None
    assert choose_otel(None, AT).settings == OtelSettings()
    assert choose_otel(BY_CREW, {}).settings == OtelSettings(endpoint="http://c:4318", content=True)
    assert choose_otel(BY_CREW, AT).settings == OtelSettings(content=True)
    for off in ({"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}):
        assert choose_otel(BY_CREW, AT | off).settings is None
    asked = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
    assert choose_otel(None, AT | asked).settings == OtelSettings(content=True)
    spoken = choose_otel(None, AT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    assert spoken.settings is None
    assert "grpc" in (spoken.note or "")


def test_a_missing_extra_refuses_a_crew_that_asks_and_only_tells_who_set_a_variable_2(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    asking = read_document(
        {"agents": [{"id": "a", "root": True, "model": "script/s.json"}], "telemetry": {"otlpEndpoint": "http://c"}},
        folder=".",
    ).crew
    assert asking is not None
    (problem,) = telemetry_problems(asking)
    assert "pip install 'ggactors[otel]'" in problem.remedy
    told = choose_otel(None, AT)
    assert (told.problem, told.settings) == (None, None)
    assert "pip install" in (told.note or "")


def test_the_key_is_checked_in_shape_P1():
    problems = defaultdict(list)
    lead = {"id": "a", "root": True, "model": "script/s.json"}
    for value in ({"otlpEndpoint": "localhost:4318"}, {"content": "yes"}, {"endpoint": "http://c"}, []):
        problems[str(value)] = list(read_document({"agents": [lead], "telemetry": value}, folder=".").problems)
    assert all(len(found) == 1 for found in problems.values())
