"""What leaves the process while it works: spans to a real OTLP receiver, log lines in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from routeradmin.adapters.simulated import SimulatedProvider, running_in_thread
from tests.process.collected import bring
from tests.process.conftest import BOOTSTRAP, CATALOG
from tests.process.server import Server, until
from tests.receiver import Receiver, receiver

PROMPT = "a most unusual prompt"


class Collector:
    """Takes spans as OTLP over HTTP has them."""

    def __init__(self, held: Receiver) -> None:
        self.url = held.origin
        self.held = held

    @property
    def bodies(self) -> list[bytes]:
        assert {named[":path"] for named, _ in self.held.got} <= {"/v1/traces"}
        return [body for _, body in self.held.got]

    @property
    def spans(self) -> dict[str, Span]:
        found: dict[str, Span] = {}
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    found |= {span.name: span for span in scope.spans}
        return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    with receiver() as held:
        held.statuses = [200]
        yield Collector(held)


@pytest.fixture
def server(tmp_path: Path, collector: Collector) -> Iterator[Server]:
    told = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "ROUTERADMIN_LOG_FORMAT": "json",
        "ROUTERADMIN_LOG_TURNS": "all",
    }
    running = Server(bring(tmp_path / "data"), env=BOOTSTRAP | told).start()
    with running_in_thread(provider=SimulatedProvider()) as url:
        catalog = CATALOG.replace(b"http://127.0.0.1:9", url.encode())
        headers = {"content-type": "application/toml", "if-match": "*"}
        assert running.call("PUT", "/api/v1/catalog", catalog, headers=headers).status == 200
        yield running
    running.stop()


def test_a_turn_is_a_trace_at_a_real_receiver_and_a_line_with_its_request_id(
    server: Server, collector: Collector
) -> None:
    alias = server.get("/api/v1/routes")["items"][0]["alias"]
    body = {"model": alias, "messages": [{"role": "user", "content": PROMPT}]}
    named = {"x-request-id": "from-the-proxy-1"}
    answer = server.call("POST", "/v1/chat/completions", body, headers=named)
    assert answer.status == 200, answer.body
    assert answer.headers["x-request-id"] == "from-the-proxy-1"

    spans = until(lambda: len(collector.spans) >= 2 and collector.spans, 20)
    turn, attempt = spans[f"turn {alias}"], spans["chat small"]
    assert (attempt.trace_id, attempt.parent_span_id) == (turn.trace_id, turn.span_id)
    given = {one.key: one.value for one in turn.attributes}
    assert given["routeradmin.request.id"].string_value == "from-the-proxy-1"
    assert given["routeradmin.halt"].string_value == "succeeded"
    assert not any(PROMPT.encode() in body for body in collector.bodies)

    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    (told,) = (line for line in lines if line["logger"] == "routeradmin.turns")
    assert (told["request_id"], told["halt"]) == ("from-the-proxy-1", "succeeded")
    assert PROMPT not in server.log.read_text()


def test_requests_of_the_control_plane_have_ids_too_and_so_have_their_lines(
    server: Server,
) -> None:
    made = server.call("GET", "/api/v1/routes").headers["x-request-id"]
    named = {"x-request-id": "from-the-proxy-2", "host": "elsewhere.example"}
    answer = server.call("GET", "/api/v1/routes", headers=named)
    assert (answer.status, answer.headers["x-request-id"]) == (400, "from-the-proxy-2")
    assert made not in ("", "from-the-proxy-2")
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    (told,) = (line for line in lines if line["logger"] == "django.security.DisallowedHost")
    assert told["request_id"] == "from-the-proxy-2"
