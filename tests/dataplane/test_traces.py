"""Traces of gateway turns: one span for the turn, one for each attempt, nothing that was said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from routeradmin.adapters.open_telemetry import OpenTelemetry
from routeradmin.services.tracing import OFF
from tests.conftest import START, FakeClock
from tests.dataplane import catalogs
from tests.dataplane.desk import Desk
from tests.dataplane.serving import SECRET, Gateway
from tests.engine.world import catalog, deployment

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans(gate: Gateway) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    gate.runtime.tracer = OpenTelemetry(provider)
    yield exporter
    gate.runtime.tracer = OFF


def facts(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def ended(gate: Gateway, spans: InMemorySpanExporter, count: int) -> list[ReadableSpan]:
    gate.until(lambda: len(spans.get_finished_spans()) >= count)
    found = list(spans.get_finished_spans())
    assert len(found) == count
    return found


def test_a_turn_has_a_span_for_itself_and_one_for_each_attempt(
    gate: Gateway, spans: InMemorySpanExporter
) -> None:
    once = {"retry": {"max_attempts": 1}}
    gate.use(catalogs.document(gate.upstream, "a", "b", policy=once), revision=3)
    gate.script("a", {"status": 429})
    headers = {"traceparent": PARENT, "x-request-id": "req-1"}
    assert gate.post(headers=headers, temperature=0.5, max_tokens=9).status == 200
    first, second, turn = ended(gate, spans, 3)
    assert [span.name for span in (first, second, turn)] == ["chat a", "chat b", "turn chat"]
    assert turn.parent is not None
    assert f"{turn.parent.span_id:016x}" == PARENT.split("-")[2]
    assert first.parent == second.parent == turn.context
    assert facts(turn) == facts(turn) | {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "chat",
        "routeradmin.route": "chat",
        "routeradmin.request.id": "req-1",
        "routeradmin.revision": 3,
        "routeradmin.halt": "succeeded",
        "routeradmin.attempts": 2,
        "routeradmin.stream": False,
    }
    assert facts(first) == facts(first) | {
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "a",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 9,
        "routeradmin.deployment": "a",
        "routeradmin.attempt": 1,
        "http.response.status_code": 429,
        "error.type": "rate-limited",
        "server.address": "127.0.0.1",
    }
    assert "error.type" not in facts(second)
    assert facts(second)["gen_ai.usage.input_tokens"]


def test_a_stream_says_that_it_is_one_and_when_it_began_to_come(
    gate: Gateway, spans: InMemorySpanExporter
) -> None:
    gate.use(catalogs.document(gate.upstream, "a"))
    assert gate.post(stream=True).status == 200
    attempt, _ = ended(gate, spans, 2)
    first_s = facts(attempt)["gen_ai.response.time_to_first_chunk"]
    assert facts(attempt)["gen_ai.request.stream"] is True
    assert isinstance(first_s, float)
    assert first_s * 1000 == pytest.approx(facts(attempt)["routeradmin.first_token_ms"])


@pytest.mark.parametrize(("scheme", "port"), [("https", 443), ("http", 80)])
def test_an_address_without_a_port_has_that_of_its_scheme(
    gate: Gateway, spans: InMemorySpanExporter, scheme: str, port: int
) -> None:
    once = {"retry": {"max_attempts": 1}}
    gate.use(catalogs.document(f"{scheme}://127.0.0.1", "a", policy=once))
    gate.post()
    attempt, _ = ended(gate, spans, 2)
    assert (facts(attempt)["server.address"], facts(attempt)["server.port"]) == ("127.0.0.1", port)


def test_the_upstream_is_told_which_attempt_called_it(
    gate: Gateway, spans: InMemorySpanExporter
) -> None:
    gate.use(catalogs.document(gate.upstream, "a"))
    gate.post(headers={"traceparent": PARENT, "baggage": "user=ada"})
    attempt, _ = ended(gate, spans, 2)
    sent = {name.lower(): value for name, value in gate.last_call()["headers"].items()}
    assert sent["traceparent"].split("-")[1] == PARENT.split("-")[1]
    assert attempt.context is not None
    assert sent["traceparent"].split("-")[2] == f"{attempt.context.span_id:016x}"
    assert "baggage" not in sent


def test_without_a_tracer_the_upstream_sees_no_trace(gate: Gateway) -> None:
    gate.use(catalogs.document(gate.upstream, "a"))
    gate.post(headers={"traceparent": PARENT})
    assert "traceparent" not in {name.lower() for name in gate.last_call()["headers"]}


def test_a_stream_that_its_client_leaves_ends_its_spans(
    gate: Gateway, spans: InMemorySpanExporter
) -> None:
    gate.use(catalogs.document(gate.upstream, "a"))
    gate.script("a", {"delay_ms": 60_000})
    with gate.open_stream():
        gate.until(lambda: gate.runtime.meters.in_flight)
    attempt, turn = ended(gate, spans, 2)
    assert facts(turn)["routeradmin.halt"] == "cancelled"
    assert facts(attempt)["error.type"] == "cancelled"


def test_no_span_holds_a_prompt_an_answer_or_a_secret(
    gate: Gateway, spans: InMemorySpanExporter
) -> None:
    gate.use(catalogs.document(gate.upstream, "a"))
    secret = SECRET.format("a")
    gate.script("a", {"status": 400, "error": {"message": f"your prompt PROMPT-7 with {secret}"}})
    gate.post(messages=[{"role": "user", "content": "PROMPT-7"}], user="ada-lovelace")
    text = "".join(span.to_json() for span in ended(gate, spans, 2))
    for forbidden in ("PROMPT-7", secret, "ada-lovelace", "rk_test"):
        assert forbidden not in text


def test_a_turn_of_the_decision_api_is_told_when_it_is_over(desk: Desk, clock: FakeClock) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    desk.runtime.tracer = OpenTelemetry(provider)
    desk.publish(catalog([deployment("a")]))
    lease = desk.took()
    clock.advance(2)
    assert exporter.get_finished_spans() == ()
    desk.call(
        "POST",
        f"/api/v1/leases/{lease['lease_id']}/report",
        {"outcome": "success", "status": 200, "input_tokens": 5, "message": "hello"},
        headers=[("traceparent", PARENT)],
    )
    attempt, turn = exporter.get_finished_spans()
    assert (attempt.name, turn.name) == ("attempt a", "turn r")
    assert attempt.parent == turn.context
    assert turn.parent is not None
    assert f"{turn.parent.span_id:016x}" == PARENT.split("-")[2]
    for span in (attempt, turn):
        assert span.start_time == int(START * 1e9)
        assert span.end_time == int((START + 2) * 1e9)
    assert facts(turn)["routeradmin.halt"] == "succeeded"
    assert facts(attempt)["gen_ai.usage.input_tokens"] == 5
    assert facts(attempt)["gen_ai.provider.name"] == "p"
    assert facts(attempt)["gen_ai.operation.name"] == "chat"


def test_an_attempt_of_the_decision_api_names_the_model_that_its_caller_was_told(
    desk: Desk,
) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    desk.runtime.tracer = OpenTelemetry(provider)
    desk.publish(catalog([deployment("a", upstream="gpt-5")]))
    lease = desk.took()
    desk.succeeded(lease)
    attempt, _ = exporter.get_finished_spans()
    assert facts(attempt)["gen_ai.request.model"] == lease["model"] == "gpt-5"
