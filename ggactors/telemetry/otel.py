"""Sending a run's spans to an OpenTelemetry collector, OTLP over HTTP (T1, extra ``otel``).

Law: a collector that is slow, deaf or gone costs the run nothing. Events are put into a bounded queue and a thread of its own does
the rest; what the queue does not take is counted and said once. The end of a run waits for the last spans a bounded time.

Switched on by the standard variables (``OTEL_EXPORTER_OTLP_ENDPOINT`` or ``…_TRACES_ENDPOINT``), or by the crew's ``telemetry``.
"""

from __future__ import annotations

import importlib.util
import queue
import threading
import time
from typing import TYPE_CHECKING, Any, cast

from attrs import define, field, frozen

from ggactors.protocol.values import Problem
from ggactors.telemetry.otelspans import SpanBook

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ggactors.protocol.crew import TelemetrySpec
    from ggactors.protocol.events import Event

QUEUE = 20_000
"""Events that wait at most; later ones are dropped and counted."""
BATCH = 512
"""Spans sent at once at most."""
EVERY_SECS = 1.0
"""How long a span waits for others at most."""
FLUSH_SECS = 5.0
"""How long the end of a run waits for its last spans."""
REMEDY = "pip install 'ggactors[otel]'"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@frozen(kw_only=True)
class OtelSettings:
    """Where spans are sent: ``endpoint`` None leaves that to the standard variables. ``content``: with what was said."""

    endpoint: str | None = None
    content: bool = False


@frozen(kw_only=True)
class OtelChoice:
    """What was asked for: settings, or nothing; ``note`` says why something that was asked for by environment is not done."""

    settings: OtelSettings | None = None
    problem: Problem | None = None
    note: str | None = None


def choose_otel(spec: TelemetrySpec | None, environ: Mapping[str, str]) -> OtelChoice:
    """Settle whether spans are sent. The environment goes before the crew; a crew that asks for what is not there is refused."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return OtelChoice()
    if environ.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower() not in ("otlp", ""):
        return OtelChoice()
    by_environment = any(environ.get(name, "").strip() for name in _ENDPOINTS)
    by_crew = spec is not None and spec.endpoint is not None
    if not by_environment and not by_crew:
        return OtelChoice()
    if importlib.util.find_spec("opentelemetry") is None or importlib.util.find_spec("opentelemetry.sdk") is None:
        what = "the extra otel is not installed"
        if by_crew:
            return OtelChoice(problem=Problem(path="telemetry", what=what, remedy=f"install it: {REMEDY}"))
        return OtelChoice(note=f"no spans are sent to the OpenTelemetry collector: {what} ({REMEDY})")
    protocol = next((environ[name].strip() for name in _PROTOCOLS if environ.get(name, "").strip()), "http/protobuf")
    if by_environment and protocol != "http/protobuf":
        return OtelChoice(note=f"no spans are sent: OTLP is spoken as http/protobuf, not as {protocol}")
    asked = environ.get(_CONTENT, "").strip().lower()
    content = asked in ("true", "1", "span_only", "span_and_event") if asked else spec is not None and spec.content
    endpoint = None if by_environment or spec is None else spec.endpoint
    return OtelChoice(settings=OtelSettings(endpoint=endpoint, content=content))


@define(eq=False)
class OtelExport:
    """Takes events and sends spans; call it with each event, from one thread. ``say`` is told of trouble, from any thread."""

    settings: OtelSettings
    providers: Mapping[str, str]
    """Maps a profile to its model's provider."""
    mask: Callable[[str], str]
    say: Callable[[str], None]
    room: int = QUEUE
    dropped: int = 0
    """Events the queue did not take."""
    unsent: int = 0
    """Spans no collector took."""
    sent: int = 0
    _events: queue.Queue[Event | None] = field(init=False)
    _thread: threading.Thread = field(init=False)
    _exporter: Any = None
    _told: bool = False
    _shut: bool = False
    _why: str = ""

    def __attrs_post_init__(self) -> None:
        """Start the thread; a daemon, so that a collector that never answers cannot keep a process."""
        self._events = queue.Queue(self.room)
        self._thread = threading.Thread(target=self._work, name="ggactors-otel", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        """Take an event, or count it when too many wait."""
        try:
            self._events.put_nowait(event)
        except queue.Full:
            self.dropped += 1
            if self.dropped == 1:
                self.say("the OpenTelemetry collector does not keep up; spans of this run are incomplete")

    def close(self, seconds: float | None = None) -> None:
        """Send what is left, for so many seconds at most, and say what was not sent. Blocking. Doing it twice is fine."""
        seconds = FLUSH_SECS if seconds is None else seconds
        deadline = time.monotonic() + seconds
        try:
            self._events.put(None, timeout=seconds / 2)
        except queue.Full:
            self.dropped += 1
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive() and self._exporter is not None:
            self._shut = True
            self._exporter.shutdown()  # ends its waiting between tries
            self._thread.join(0.5)
        if self._thread.is_alive():
            self.say(f"the OpenTelemetry collector gave no answer in {seconds:g} s; the last spans are not sent")
        elif self.dropped or self.unsent:
            why = f": {self._why}" if self._why and not self._told else ""
            self.say(f"{self.dropped} events and {self.unsent} spans did not reach the OpenTelemetry collector{why}")

    # ------------------------------------------------------------ the thread

    def _work(self) -> None:
        try:
            self._send_all()
        except Exception as error:  # noqa: BLE001 - nothing that goes wrong here may be the run's affair
            self._trouble(f"no more spans are sent: {type(error).__name__}: {error}")

    def _send_all(self) -> None:
        from opentelemetry.exporter.otlp.proto.http import trace_exporter

        # The library tells of every try on the standard log; what of it matters is told once, masked, as ours.
        log = trace_exporter._logger
        log.addFilter(self._overhear)
        try:
            endpoint = self.settings.endpoint
            address = None if endpoint is None else f"{endpoint.rstrip('/')}/v1/traces"
            self._exporter = trace_exporter.OTLPSpanExporter(endpoint=address)
            ended = _Ended()
            book = SpanBook(
                tracer=_tracer(ended), providers=self.providers, mask=self.mask, content=self.settings.content
            )
            self._follow(book, ended)
            book.close()
            self._send(ended)
            if not self._shut:
                self._exporter.shutdown()
        finally:
            log.removeFilter(self._overhear)

    def _follow(self, book: SpanBook, ended: _Ended) -> None:
        """Take events until the last, sending spans as they add up or grow old."""
        due = time.monotonic() + EVERY_SECS
        while True:
            try:
                event = self._events.get(timeout=max(0.01, due - time.monotonic()) if ended.spans else None)
            except queue.Empty:
                event = None
            else:
                if event is None:
                    return
                book.take(event)
            if len(ended.spans) >= BATCH or (ended.spans and time.monotonic() >= due):
                self._send(ended)
                due = time.monotonic() + EVERY_SECS

    def _send(self, ended: _Ended) -> None:
        spans, ended.spans = ended.spans, []
        for start in range(0, len(spans), BATCH):
            batch = spans[start : start + BATCH]
            if not self._shut and self._exporter.export(batch).name == "SUCCESS":
                self.sent += len(batch)
                self._why = ""
            else:
                self.unsent += len(batch)
                self._trouble(f"spans do not reach the OpenTelemetry collector: {self._why or 'it refused them'}")

    def _overhear(self, record: Any) -> bool:
        # The first is the cause; what follows tells of tries, and of giving up.
        self._why = self._why or self.mask(record.getMessage())[:300]
        return False

    def _trouble(self, message: str) -> None:
        if not self._told:
            self._told = True
            self.say(message)


class _Ended:
    """A span processor that keeps ended spans until they are sent."""

    def __init__(self) -> None:
        self.spans: list[Any] = []

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Do nothing yet."""

    def on_end(self, span: Any) -> None:
        """Keep a span."""
        self.spans.append(span)

    def _on_ending(self, span: Any) -> None:
        """Do nothing yet."""

    def shutdown(self) -> None:
        """Have nothing to close."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - the port's words
        """Have nothing to wait for."""
        return True


def _tracer(ended: _Ended) -> Any:
    import os

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanLimits, TracerProvider

    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    about = {} if named else {"service.name": "ggactors"}
    provider = TracerProvider(
        resource=Resource.create(about),
        shutdown_on_exit=False,
        span_limits=SpanLimits(max_events=2000),
        active_span_processor=cast("Any", ended),  # it has all that is asked of one
    )
    return provider.get_tracer("ggactors")
