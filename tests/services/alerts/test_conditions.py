"""What counts as wrong, and what does not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from routeradmin.catalog.document import Document
from routeradmin.engine.objects import AdminState
from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.snapshot import Snapshot
from routeradmin.engine.state import CandidateKey, Dispatch, FailureClass, Grant, Outcome
from routeradmin.services.alerts.conditions import present
from routeradmin.services.runtime import Runtime
from tests.conftest import FakeClock
from tests.engine.world import catalog, deployment, route

LIMITED = Outcome(FailureClass.RATE_LIMITED, Dispatch.REJECTED, 429, hint_s=600)
UNAUTHORIZED = Outcome(FailureClass.UNAUTHORIZED, Dispatch.REJECTED, 401)


def publish(runtime: Runtime, snapshot: Snapshot) -> None:
    runtime.store.bind(snapshot)
    runtime.current.swap(snapshot, Document())


def look(runtime: Runtime) -> dict[tuple[str, str], dict[str, Any]]:
    found = asyncio.run(present(runtime, runtime.alerts.drops))
    return {one.key: dict(one.facts) for one in found}


def kinds(runtime: Runtime) -> set[str]:
    return {kind for kind, _ in look(runtime)}


def fail(runtime: Runtime, outcome: Outcome, *names: str) -> None:
    """One attempt on each of these deployments."""

    async def each() -> None:
        now = runtime.clock()
        for found in runtime.current.snapshot.routes["r"].candidates:
            if found.key.deployment in names:
                lease = await runtime.store.reserve(Grant(found, "o", 60, 0, "r"), now)
                assert lease is not None
                await runtime.store.settle(lease.id, outcome, DEFAULT_POLICY, now)

    asyncio.run(each())


def test_nothing_is_wrong_with_a_catalog_at_rest(bare_runtime: Runtime) -> None:
    publish(bare_runtime, catalog([deployment("a"), deployment("b")]))
    assert look(bare_runtime) == {}


@pytest.mark.parametrize(("cooled", "is_storm"), [(4, False), (5, True)])
def test_a_storm_is_many_candidates_cooling_within_a_minute(
    bare_runtime: Runtime, clock: FakeClock, cooled: int, is_storm: bool
) -> None:
    names = [f"d{n}" for n in range(10)]
    publish(bare_runtime, catalog([deployment(name) for name in names]))
    fail(bare_runtime, LIMITED, *names[:cooled])
    assert (("cooldown.storm", "") in look(bare_runtime)) is is_storm
    clock.advance(61)
    assert ("cooldown.storm", "") not in look(bare_runtime)


def test_in_a_large_catalog_a_storm_takes_a_tenth_of_it(bare_runtime: Runtime) -> None:
    names = [f"d{n}" for n in range(100)]
    publish(bare_runtime, catalog([deployment(name) for name in names]))
    fail(bare_runtime, LIMITED, *names[:9])
    assert "cooldown.storm" not in kinds(bare_runtime)
    fail(bare_runtime, LIMITED, names[9])
    assert look(bare_runtime)["cooldown.storm", ""] == {
        "candidates": [f"d{n}/k" for n in range(10)],
        "cooled": 10,
        "of": 100,
        "window_s": 60,
    }


def test_cooldowns_that_people_set_are_no_storm(bare_runtime: Runtime) -> None:
    names = [f"d{n}" for n in range(6)]
    publish(bare_runtime, catalog([deployment(name) for name in names]))
    for name in names:
        key = CandidateKey(name, "k")
        asyncio.run(bare_runtime.store.set_cooldown(key, 9, "user:a", "", bare_runtime.clock()))
    assert kinds(bare_runtime) == {"route.without_target"}


def test_a_rejected_key_needs_attention_with_its_evidence(bare_runtime: Runtime) -> None:
    publish(bare_runtime, catalog([deployment("a"), deployment("b")]))
    fail(bare_runtime, UNAUTHORIZED, "a")
    assert look(bare_runtime) == {
        ("candidate.needs_attention", "a/k"): {
            "candidate": "a/k",
            "deployment": "a",
            "credential": "k",
            "class": "unauthorized",
            "status": 401,
        }
    }


def test_a_route_is_without_target_once_all_it_may_reach_is_down(bare_runtime: Runtime) -> None:
    tiers = route(["a"], ["b"], fallback_enabled=True)
    publish(bare_runtime, catalog([deployment("a"), deployment("b")], tiers))
    fail(bare_runtime, LIMITED, "a")
    assert look(bare_runtime) == {}
    fail(bare_runtime, LIMITED, "b")
    assert look(bare_runtime) == {("route.without_target", "r"): {"route": "r", "alias": "m"}}


def test_a_tier_out_of_reach_does_not_help(bare_runtime: Runtime) -> None:
    tiers = route(["a"], ["b"], fallback_enabled=False)
    publish(bare_runtime, catalog([deployment("a"), deployment("b")], tiers))
    fail(bare_runtime, LIMITED, "a")
    assert kinds(bare_runtime) == {"route.without_target"}


def test_a_route_at_its_limits_is_busy_and_one_switched_off_is_not(bare_runtime: Runtime) -> None:
    publish(bare_runtime, catalog([deployment("a", max_parallel_requests=1)]))
    (only,) = bare_runtime.current.snapshot.routes["r"].candidates
    now = bare_runtime.clock()
    assert asyncio.run(bare_runtime.store.reserve(Grant(only, "o", 60, 0, "r"), now))
    assert look(bare_runtime) == {}
    publish(bare_runtime, catalog([deployment("a", admin_state=AdminState.DISABLED)]))
    assert kinds(bare_runtime) == {"route.without_target"}


def test_a_pattern_without_a_match_is_no_route_without_target(bare_runtime: Runtime) -> None:
    publish(bare_runtime, catalog([deployment("a", upstream="*")], route(["a"], alias="acme/*")))
    assert look(bare_runtime) == {}


def test_lost_records_are_told_for_a_minute(bare_runtime: Runtime, clock: FakeClock) -> None:
    bare_runtime.journal.dropped_turns = 3
    assert look(bare_runtime)["journal.drops", bare_runtime.process_id]["turns"] == 3
    clock.advance(59)
    assert kinds(bare_runtime) == {"journal.drops"}
    clock.advance(1)
    assert kinds(bare_runtime) == set()


def test_a_process_five_seconds_behind_is_a_laggard(
    bare_runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = [{"id": n, "revision": 1, "lag_ms": lag} for n, lag in (("p", 4999), ("q", 5000))]
    monkeypatch.setattr(bare_runtime, "processes", lambda: processes)
    assert list(look(bare_runtime)) == [("process.laggard", "q")]


def test_a_process_that_does_not_lead_tells_of_its_own_losses_alone(
    bare_runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(bare_runtime, catalog([deployment("a", admin_state=AdminState.DISABLED)]))
    bare_runtime.journal.dropped_changes = 1
    monkeypatch.setattr(type(bare_runtime), "leads", False)
    assert kinds(bare_runtime) == {"journal.drops"}
