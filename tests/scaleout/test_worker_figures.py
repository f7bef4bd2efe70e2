"""Workers behind one port: a scrape tells of all of them, whichever answers it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.process.family import children, send
from tests.process.server import Server, until
from tests.scaleout.conftest import CATALOG
from tests.scaleout.system import System

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(300)]

TURNS = 24
Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


@pytest.fixture
def three(system: System) -> Server:
    """Three workers behind one port."""
    server = system.serve("--workers", "3")
    system.put_catalog(server, CATALOG)
    until(lambda: len(workers(scraped(server))) == 3, 20)
    until(lambda: len(set(scraped(server)["routeradmin_config_revision"].values())) == 1, 10)
    return server


def scraped(server: Server) -> Samples:
    answer = server.call("GET", "/metrics", timeout=30)
    assert answer.status == 200, answer.body
    found: Samples = {}
    for family in text_string_to_metric_families(answer.body.decode()):
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in found.setdefault(sample.name, {}), (sample.name, labels)
            found[sample.name][labels] = sample.value
    return found


def decide(server: Server) -> None:
    lease = server.post("/api/v1/select", {"model": "turns"})["lease_id"]
    server.post(f"/api/v1/leases/{lease}/report", {"outcome": "success"})


def total(found: Samples) -> float:
    return sum(found.get("routeradmin_attempts_total", {}).values())


def workers(found: Samples, name: str = "routeradmin_config_revision") -> list[str]:
    return sorted(dict(labels)["worker"] for labels in found[name])


def test_every_scrape_has_the_figures_of_all_workers_also_when_they_were_replaced(
    three: Server,
) -> None:
    for _ in range(TURNS):
        decide(three)
    until(lambda: len(workers(scraped(three))) == 3, 20)
    for _ in range(6):
        found = scraped(three)
        assert total(found) == TURNS
        assert workers(found) == ["1", "2", "3"]
        assert workers(found, "process_resident_memory_bytes") == ["1", "2", "3"]
        assert set(found["routeradmin_worker_answers"].values()) == {1}
        shared = found["routeradmin_deployment_state"]
        assert all(set(dict(labels)) == {"deployment"} for labels in shared)
    assert three.process is not None
    frozen = children(three.process.pid)[:1]
    send(frozen, signal.SIGSTOP)  # the others take its connections: they share the socket
    try:
        assert sorted(scraped(three)["routeradmin_worker_answers"].values()) == [0, 1, 1]
    finally:
        send(frozen, signal.SIGCONT)
    # Who is replaced keeps numbers small.
    three.process.send_signal(signal.SIGHUP)
    until(lambda: "all workers were replaced" in Path(three.log).read_text(), 90)
    until(lambda: len(workers(scraped(three))) == 3, 20)
    assert set(workers(scraped(three))) < {"1", "2", "3", "4"}
    assert three.stop(signal.SIGINT) == 0
