"""Spans through OpenTelemetry's SDK, an optional package, set up by its own OTEL_* variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from routeradmin.adapters import header_lines
from routeradmin.env import BadVariable

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import Tracer as OtelTracer

Facts = Mapping[str, str | int | float | bool | None]

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_PROTOCOL = "http/protobuf"
_NAME = "routeradmin"


class OpenTelemetry:
    """A tracer over a provider of the SDK; spans begin and end on the thread that serves."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(_NAME)

    def start(
        self,
        name: str,
        facts: Facts,
        headers: Sequence[tuple[bytes, bytes]],
        at: float | None = None,
    ) -> Spanning:
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        # Only the trace itself is continued: what else a client sends along is not passed on.
        carrier = header_lines.combined(headers)
        parent = TraceContextTextMapPropagator().extract(carrier)
        span = self._tracer.start_span(
            name, parent, SpanKind.SERVER, _given(facts), start_time=_ns(at)
        )
        return Spanning(self._tracer, span)

    def close(self) -> None:
        self._provider.shutdown()


class Spanning:
    """One span that is open."""

    def __init__(self, tracer: OtelTracer, span: OtelSpan) -> None:
        self._tracer = tracer
        self._span = span

    def child(self, name: str, facts: Facts, at: float | None = None) -> Spanning:
        from opentelemetry.trace import SpanKind

        span = self._tracer.start_span(
            name, self._context(), SpanKind.CLIENT, _given(facts), start_time=_ns(at)
        )
        return Spanning(self._tracer, span)

    def headers(self) -> Mapping[str, str]:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier, self._context())
        return carrier

    def end(self, facts: Facts, error: str | None = None, at: float | None = None) -> None:
        from opentelemetry.trace import StatusCode

        self._span.set_attributes(_given(facts))
        if error is not None:
            self._span.set_attribute("error.type", error)
            self._span.set_status(StatusCode.ERROR)
        self._span.end(_ns(at))

    def _context(self) -> Context:
        from opentelemetry.trace import set_span_in_context

        return set_span_in_context(self._span)


def _ns(at: float | None) -> int | None:
    """Epoch seconds in OpenTelemetry's nanoseconds; None is now."""
    return None if at is None else int(at * 1e9)


def _given(facts: Facts) -> dict[str, str | int | float | bool]:
    return {name: value for name, value in facts.items() if value is not None}


def wanted(environ: Mapping[str, str]) -> str | None:
    """The exporter that the standard variables ask for, ``otlp`` or ``console``; None for none.

    Raises BadVariable.
    """
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip()
    is_off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if is_off or exporter == "none":
        return None
    if not exporter and not any(environ.get(name) for name in _ENDPOINTS):
        return None
    if exporter not in ("", "otlp", "console"):
        raise BadVariable("OTEL_TRACES_EXPORTER", "accepts otlp, console or none")
    for name in _PROTOCOLS:
        if exporter != "console" and environ.get(name, _PROTOCOL) not in ("", _PROTOCOL):
            raise BadVariable(name, f"accepts {_PROTOCOL}")
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise BadVariable(
            "OTEL_*",
            "traces need packages that are not installed: pip install -r requirements/otel.txt, "
            "or set OTEL_SDK_DISABLED=true",
        )
    return exporter or "otlp"


def from_environment(environ: Mapping[str, str]) -> OpenTelemetry | None:
    """None unless the standard variables ask for traces. Raises BadVariable."""
    exporter = wanted(environ)
    return None if exporter is None else OpenTelemetry(_provider(environ, exporter))


def _provider(environ: Mapping[str, str], exporter: str) -> TracerProvider:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {} if environ.get("OTEL_SERVICE_NAME") else {"service.name": _NAME}
    # The SDK reads its own variables: resource, sampler, limits, endpoint, headers, batches.
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(_exporter(exporter)))
    return provider


def _exporter(name: str) -> SpanExporter:
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()
