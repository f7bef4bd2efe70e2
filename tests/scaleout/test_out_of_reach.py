"""Processes that start at once, and that are told of each other's leases while Redis is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.databases import database
from tests.process.server import Server, until
from tests.scaleout.conftest import CATALOG
from tests.scaleout.servers import RedisServer
from tests.scaleout.system import PATIENT, System, environment_of

pytestmark = [pytest.mark.services, pytest.mark.slow]

LEASE_S = 60


@pytest.fixture(scope="module")
def two(
    own_redis: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Server]]:
    """Started at one instant on an empty database, each told to make the same admin and key."""
    with database() as url:
        environment = environment_of(url, own_redis.url, **PATIENT)
        system = System(tmp_path_factory.mktemp("at-once") / "data", environment)
        servers = system.make(), system.make()
        for server in servers:
            server.spawn()
        one, other = (server.start() for server in servers)
        system.put_catalog(one, CATALOG)
        system.wait_for_revision([one, other])
        yield one, other
        system.close()


def test_processes_that_start_at_once_on_an_empty_database_all_come_up(
    two: tuple[Server, Server],
) -> None:
    assert {one.get("/readyz")["status"] for one in two} == {"ready"}
    keys = two[0].get("/api/v1/keys")["items"]
    assert [key["name"] for key in keys] == ["bootstrap"]


def select(server: Server, **more: Any) -> Any:
    return server.post("/api/v1/select", {"model": "turns", "lease_ttl_s": LEASE_S, **more})


def report(server: Server, lease: Any, **outcome: Any) -> Any:
    return server.post(f"/api/v1/leases/{lease['lease_id']}/report", outcome)


def test_what_is_told_to_another_process_while_redis_is_gone_counts_when_it_is_back(
    two: tuple[Server, Server], own_redis: RedisServer
) -> None:
    one, other = two
    until(lambda: not any(server.get("/readyz")["degraded"] for server in two), 20)
    before, failing = select(one), select(one)
    own_redis.kill()
    try:
        until(lambda: all("store" in server.get("/readyz")["degraded"] for server in two), 20)
        during = select(one)
        told = [report(other, lease, outcome="success") for lease in (before, during)]
        assert [(answer["released"], answer["next"]["action"]) for answer in told] == [
            (False, "done"),
            (False, "done"),
        ]
        retried = report(other, failing, outcome="failure", status=503)
        assert retried["next"]["action"] == "retry"
        anew = select(other, turn=failing["turn"])
        unused = select(one)
        assert other.post(f"/api/v1/leases/{unused['lease_id']}/release", {}) == {"released": False}
        renewed = other.call("POST", f"/api/v1/leases/{unused['lease_id']}/renew", {})
        assert (renewed.status, b"state_unavailable" in renewed.body) == (503, True)
        report(other, anew, outcome="success")
    finally:
        own_redis.start()
    until(lambda: all(active(server) == 0 for server in two), 30)
    for lease in (before, during, anew):
        until(lambda: one.call("GET", f"/api/v1/turns/{lease['turn']}").status == 200, 20)  # noqa: B023
    assert failures(one) >= 1


def test_a_lease_that_never_was_is_unknown_while_redis_is_there(two: tuple[Server, Server]) -> None:
    until(lambda: not any(server.get("/readyz")["degraded"] for server in two), 20)

    def refused() -> bool:
        answer = two[0].call("POST", "/api/v1/leases/nobodys/report", {"outcome": "success"})
        return answer.status == 404

    until(refused, 20)


def active(server: Server) -> int:
    return sum(one["active"] for one in server.get("/api/v1/state")["candidates"])


def failures(server: Server) -> int:
    return sum(one["failures"] for one in server.get("/api/v1/state")["candidates"])
