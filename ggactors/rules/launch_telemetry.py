"""Launch checks of ``telemetry`` (T1). Law: pure; whether the exporter can be had is asked where it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.crew import TelemetrySpec
from ggactors.rules.shape import Table, flag, words

if TYPE_CHECKING:
    from ggactors.rules.shape import Place


def read_telemetry(place: Place) -> TelemetrySpec:
    """Read where spans are sent, and whether they hold what was said."""
    table = Table(place, ("otlpEndpoint", "content"))
    endpoint = table.read("otlpEndpoint", words)
    if endpoint is not None and not endpoint.startswith(("http://", "https://")):
        table.at("otlpEndpoint").wrong("must be an http or https address", "write it such as http://127.0.0.1:4318")
    content = table.read("content", flag)
    return TelemetrySpec(endpoint=endpoint, content=content is True)
