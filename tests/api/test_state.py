"""The runtime state over HTTP, and people's hands on it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from routeradmin.engine.state import CandidateKey
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.api.client import Api, problem
from tests.api.conftest import stock

KEY = {"deployment": "acme-large", "credential": "acme-key"}


def candidate(api: Api) -> dict[str, Any]:
    (found,) = api.get("/state").json()["candidates"]
    return dict(found)


def test_the_state_is_one_reading_of_every_candidate(stocked: Api, runtime: Runtime) -> None:
    state = stocked.get("/state").json()
    assert state["epoch"] == "test"
    assert state["revision"] == runtime.current.revision
    assert state["config_digest"] == runtime.current.snapshot.config_digest
    assert state["now"] == "2026-01-01T00:00:00.000Z"
    assert state["degraded"] == []
    assert state["processes"] == [{"id": runtime.process_id, "revision": 1, "lag_ms": 0}]
    (one,) = state["candidates"]
    assert one["id"] == "acme-large/acme-key"
    assert (one["state"], one["health"], one["admin_state"]) == ("healthy", "healthy", "enabled")
    assert one["routes"] == ["chat"]
    assert one["cooldown"] is None


def test_what_is_amiss_is_told(stocked: Api, runtime: Runtime) -> None:
    runtime.degraded |= {"store", "database"}
    assert stocked.get("/state").json()["degraded"] == ["database", "store"]


def test_a_cooldown_by_hand_is_set_shown_and_cleared(
    stocked: Api, runtime: Runtime, clock: Any
) -> None:
    seq = stocked.get("/state").json()["seq"]
    answer = stocked.post("/cooldowns", {**KEY, "seconds": 90, "reason": "billing problem"})
    assert answer.status_code == 200, answer.content
    assert answer.json() == {
        "id": "acme-large/acme-key",
        **KEY,
        "matched": None,
        "class": "manual",
        "status": None,
        "message": "billing problem",
        "since": "2026-01-01T00:00:00.000Z",
        "until": "2026-01-01T00:01:30.000Z",
        "remaining_s": 90.0,
        "level": 0,
        "set_by": "user:tests",
    }
    clock.advance(30)
    assert candidate(stocked)["state"] == "cooling"
    (listed,) = stocked.get("/cooldowns").json()["items"]
    assert listed["remaining_s"] == 60.0
    assert stocked.get("/state").json()["seq"] > seq

    cleared = stocked.delete("/cooldowns?deployment=acme-large&credential=acme-key")
    assert cleared.json()["items"] == ["acme-large/acme-key"]
    assert candidate(stocked)["state"] == "healthy"
    assert stocked.get("/cooldowns").json()["items"] == []
    assert stocked.delete("/cooldowns?deployment=acme-large").json()["items"] == []


def test_a_cooldown_is_extended_but_never_shortened(stocked: Api) -> None:
    def set_for(seconds: float) -> str:
        return str(stocked.post("/cooldowns", {**KEY, "seconds": seconds}).json()["until"])

    assert set_for(60) == "2026-01-01T00:01:00.000Z"
    assert set_for(600) == "2026-01-01T00:10:00.000Z"
    assert set_for(1) == "2026-01-01T00:10:00.000Z"


def test_the_credential_may_be_left_out_where_there_is_one(stocked: Api) -> None:
    body = {"deployment": "acme-large", "seconds": 5}
    assert stocked.post("/cooldowns", body).json()["credential"] == "acme-key"
    stocked.post("/credentials", make.account("second", secret_reference_id="env:SECOND"))
    stocked.patch("/deployments/acme-large", {"account_ids": ["acme-key", "second"]}, if_match="*")
    refused = problem(stocked.post("/cooldowns", body), 422, "invalid_request")
    assert [one["pointer"] for one in refused["errors"]] == ["/credential"]
    assert stocked.delete("/cooldowns?deployment=acme-large").status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"deployment": "nobody", "seconds": 5},
        {"deployment": "acme-large", "credential": "nobody", "seconds": 5},
    ],
)
def test_nobody_cannot_rest(stocked: Api, body: dict[str, Any]) -> None:
    problem(stocked.post("/cooldowns", body), 404, "not_found")
    query = "&".join(f"{name}={body[name]}" for name in body if name != "seconds")
    problem(stocked.delete(f"/cooldowns?{query}"), 404, "not_found")


def test_clearing_needs_a_deployment(stocked: Api) -> None:
    refused = problem(stocked.delete("/cooldowns"), 422, "invalid_request")
    assert [one["pointer"] for one in refused["errors"]] == ["?deployment"]


def test_names_behind_a_pattern_rest_and_wake_together(api: Api, runtime: Runtime) -> None:
    stock(make.full_catalog())
    key = CandidateKey("acme-star", "acme-key", "acme-big")
    async_to_sync(runtime.store.set_cooldown)(key, 60, "user:x", "", runtime.clock())
    found = api.get("/cooldowns?deployment=acme-star").json()["items"]
    assert [one["id"] for one in found] == ["acme-star/acme-key@acme-big"]
    cleared = api.delete("/cooldowns?deployment=acme-star").json()["items"]
    assert cleared == ["acme-star/acme-key@acme-big"]


def test_drain_disable_and_enable_change_what_people_want(stocked: Api, clock: Any) -> None:
    def state() -> tuple[str, str]:
        one = candidate(stocked)
        return one["state"], one["admin_state"]

    drained = stocked.post("/deployments/acme-large/drain", {"limit_s": 60, "reason": "soon"})
    assert drained.json()["drain_until"] == "2026-01-01T00:01:00.000Z"
    assert state() == ("draining", "draining")
    clock.advance(61)
    assert state()[0] == "disabled"
    enabled = stocked.post("/deployments/acme-large/enable").json()
    assert (enabled["admin_state"], enabled["drain_until"]) == ("enabled", None)
    assert state() == ("healthy", "enabled")
    assert stocked.post("/deployments/acme-large/disable").json()["admin_state"] == "disabled"
    assert state() == ("disabled", "disabled")
    kinds = [one["kind"] for one in stocked.get("/events?deployment=acme-large").json()["items"]]
    assert kinds == ["disabled", "enabled", "draining"]


@pytest.mark.parametrize("verb", ["drain", "disable", "enable"])
def test_an_action_on_nobody_is_not_found(stocked: Api, verb: str) -> None:
    problem(stocked.post(f"/deployments/nobody/{verb}"), 404, "not_found")
    body = {"reason": "x", "colour": "red"}
    problem(stocked.post(f"/deployments/acme-large/{verb}", body), 422, "invalid_request")


def test_acting_twice_is_the_same_as_once(stocked: Api) -> None:
    stocked.post("/deployments/acme-large/drain")
    revision = stocked.get("/state").json()["revision"]
    assert stocked.post("/deployments/acme-large/drain").status_code == 200
    assert stocked.get("/state").json()["revision"] == revision


def test_state_changes_on_the_event_loop(stocked: Api, runtime: Runtime) -> None:
    """Under a server the handler has a thread of its own; state belongs to the loop's."""
    changed_in: list[int] = []
    runtime.store.listen(lambda changes: changed_in.append(threading.get_ident()))

    async def on_a_loop() -> int:
        await AsyncClient().post(
            "/api/v1/cooldowns",
            {**KEY, "seconds": 60},
            content_type="application/json",
            headers={"authorization": f"Bearer {stocked.token}"},
        )
        return threading.get_ident()

    assert changed_in == []
    loop_thread = async_to_sync(on_a_loop)()
    assert changed_in == [loop_thread]
    assert loop_thread != threading.get_ident()
