"""The decision API of a running server, with a key made beside it."""

from __future__ import annotations

import json
import time
from datetime import datetime
from typing import Any

import pytest

from tests.process.conftest import Make
from tests.process.server import Server, manage, until


@pytest.fixture(autouse=True)
def _nothing_cools(shared: Server) -> None:
    for deployment in ("one", "two", "tight"):
        shared.call("DELETE", f"/api/v1/cooldowns?deployment={deployment}")


def select(server: Server, **facts: Any) -> dict[str, Any]:
    return dict(server.post("/api/v1/select", {"model": "chat", **facts}))


def report(server: Server, lease: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return dict(server.post(f"/api/v1/leases/{lease['lease_id']}/report", facts))


def seconds(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def test_a_key_made_by_the_command_works_on_the_running_server_within_seconds(
    shared: Server,
) -> None:
    made = manage(
        shared.directory, "create_key", "--name", "tour", "--scopes", "select,read", "--json"
    )
    assert made.returncode == 0, made.stderr
    key = json.loads(made.stdout)["key"]
    until(lambda: shared.call("GET", "/api/v1/state", key=key).status == 200, 10)
    assert shared.call("POST", "/api/v1/select", {"model": "chat"}, key=key).status == 200
    assert shared.call("GET", "/api/v1/keys", key=key).status == 403


def test_a_429_cools_its_candidate_and_the_state_shows_it_with_the_answer(shared: Server) -> None:
    idle = {one["id"]: one["active"] for one in shared.get("/api/v1/state")["candidates"]}
    lease = select(shared)
    id = f"{lease['deployment']}/{lease['credential']}"
    assert shared.candidate(id)["active"] == idle[id] + 1
    answer = report(shared, lease, outcome="failure", status=429, retry_after="20", message="slow")
    seen = shared.candidate(id)  # the very first reading after the answer
    assert (seen["state"], seen["active"]) == ("cooling", idle[id])
    assert 19 < seen["cooldown"]["remaining_s"] <= 20
    assert (seen["cooldown"]["class"], seen["cooldown"]["set_by"]) == ("rate-limited", "result")
    assert seen["cooldown"]["until"] == answer["cooldown"]["until"]
    assert answer["next"]["action"] == "next"

    other = select(shared, turn=lease["turn"])
    assert other["deployment"] != lease["deployment"]
    assert report(shared, other, outcome="success", status=200)["next"]["action"] == "done"
    listed = shared.get("/api/v1/cooldowns")["items"]
    assert [one["deployment"] for one in listed] == [lease["deployment"]]


def test_a_finished_turn_and_its_events_are_in_the_records_soon(shared: Server) -> None:
    lease = select(shared)
    report(shared, lease, outcome="success", status=200, latency_ms=12, output_tokens=3)
    turn = until(lambda: shared.call("GET", f"/api/v1/turns/{lease['turn']}").status == 200, 5)
    assert turn
    attempts = shared.get(f"/api/v1/turns/{lease['turn']}")["attempts"]
    assert [one["deployment"] for one in attempts] == [lease["deployment"]]


def test_a_cooldown_set_by_hand_counts_at_once_and_clears_at_once(shared: Server) -> None:
    body = {"deployment": "one", "credential": "open", "seconds": 300, "reason": "maintenance"}
    shared.post("/api/v1/cooldowns", body)
    assert shared.candidate("one/open")["cooldown"]["class"] == "manual"
    assert {select(shared)["deployment"] for _ in range(4)} == {"two"}
    assert shared.call("DELETE", "/api/v1/cooldowns?deployment=one&credential=open").status < 300
    assert shared.candidate("one/open")["state"] == "healthy"


def test_draining_stops_new_leases_and_counts_down_the_running_ones(shared: Server) -> None:
    idle = shared.candidate("one/open")["active"]
    lease = select(shared, exclude=["two"])
    shared.post("/api/v1/deployments/one/drain", {"reason": "rack work"})
    try:
        assert shared.candidate("one/open")["state"] == "draining"
        assert {select(shared)["deployment"] for _ in range(3)} == {"two"}
        report(shared, lease, outcome="success", status=200)
        assert shared.candidate("one/open")["active"] == idle
    finally:
        shared.post("/api/v1/deployments/one/enable", {})


def newest(server: Server, kind: str) -> dict[str, Any] | None:
    events = server.get("/api/v1/events?limit=50")["items"]
    return next((one for one in events if one["kind"] == kind), None)


def test_times_are_utc_whatever_the_zone_of_the_machine(server: Make) -> None:
    away = server(TZ="America/New_York").start()
    body = {"deployment": "one", "credential": "open", "seconds": 600, "reason": "zones"}
    before = time.time()
    away.post("/api/v1/cooldowns", body)
    state = away.get("/api/v1/state")
    cooldown = away.candidate("one/open")["cooldown"]
    assert 599 < cooldown["remaining_s"] <= 600
    assert cooldown["until"].endswith("Z")
    assert 598 < seconds(state["now"], cooldown["until"]) <= 600
    assert abs(datetime.fromisoformat(state["now"]).timestamp() - before) < 5
    event = until(lambda: newest(away, "cooldown-set"), 5)
    assert abs(datetime.fromisoformat(event["at"]).timestamp() - before) < 5
    assert away.stop() == 0
