"""Tracing through OpenTelemetry: when it is on, what spans hold, and how a trace goes on."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from routeradmin.adapters import open_telemetry
from routeradmin.adapters.open_telemetry import OpenTelemetry
from routeradmin.env import BadVariable

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTLP = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    ("environ", "exporter"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "x"}, None),
        (OTLP, "otlp"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "console"),
        ({**OTLP, "OTEL_TRACES_EXPORTER": "none"}, None),
        ({**OTLP, "OTEL_SDK_DISABLED": "true"}, None),
    ],
)
def test_it_is_off_unless_the_standard_variables_ask_for_it(
    environ: dict[str, str], exporter: str | None
) -> None:
    assert open_telemetry.wanted(environ) == exporter


@pytest.mark.parametrize(
    "environ",
    [
        {"OTEL_TRACES_EXPORTER": "zipkin"},
        {**OTLP, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        {**OTLP, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"},
    ],
)
def test_what_cannot_be_had_is_refused_by_name(environ: dict[str, str]) -> None:
    with pytest.raises(BadVariable, match=r"^OTEL_.*: accepts"):
        open_telemetry.wanted(environ)


def test_a_configured_tracer_is_made_and_closed_without_a_collector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    tracer = open_telemetry.from_environment({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    assert tracer is not None
    tracer.close()


def test_two_traces_at_once_are_neither_continued() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    other = PARENT.replace("b7ad6b71", "00000001")
    headers = ((b"traceparent", PARENT.encode()), (b"traceparent", other.encode()))
    OpenTelemetry(provider).start("turn chat", {}, headers).end({})
    assert exporter.get_finished_spans()[0].parent is None


def test_the_states_of_a_trace_may_come_in_several_lines() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    lines = ((b"traceparent", PARENT.encode()), (b"tracestate", b"a=1"), (b"tracestate", b"b=2"))
    turn = OpenTelemetry(provider).start("turn chat", {}, lines)
    assert turn.child("chat m", {}).headers()["tracestate"] == "a=1,b=2"


def test_spans_continue_the_clients_trace_and_carry_it_on() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = OpenTelemetry(provider)
    headers = ((b"traceparent", PARENT.encode()), (b"baggage", b"user=ada"))
    turn = tracer.start("turn chat", {"a": 1, "left.out": None}, headers)
    attempt = turn.child("chat m", {"b": "x"})
    carried = attempt.headers()
    attempt.end({"c": 2.5}, "transient")
    turn.end({})
    inner, outer = exporter.get_finished_spans()
    assert outer.parent is not None
    assert f"{outer.context.trace_id:032x}" == PARENT.split("-")[1]
    assert f"{outer.parent.span_id:016x}" == PARENT.split("-")[2]
    assert inner.parent == outer.context
    assert carried == {
        "traceparent": f"00-{inner.context.trace_id:032x}-{inner.context.span_id:016x}-01"
    }
    assert (outer.kind, inner.kind) == (SpanKind.SERVER, SpanKind.CLIENT)
    assert dict(outer.attributes or {}) == {"a": 1}
    assert dict(inner.attributes or {}) == {"b": "x", "c": 2.5, "error.type": "transient"}
    assert inner.status.status_code is StatusCode.ERROR
    assert outer.status.status_code is StatusCode.UNSET
