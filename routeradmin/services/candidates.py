"""The state of every candidate as ``GET /api/v1/state`` shows it: one consistent reading.

Reads the snapshot in force and the state store; no database, no waiting. The same dictionaries
feed the console's live page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from routeradmin.engine.condition import admin_state_at, effective_state, health_at
from routeradmin.engine.describe import cooldown_json, utc_text, window_json
from routeradmin.engine.objects import Credential, Deployment, Target
from routeradmin.engine.snapshot import Candidate, Snapshot
from routeradmin.engine.state import CandidateKey, CandidateState
from routeradmin.engine.windows import used


def percentile(values: Sequence[float], share: float) -> float | None:
    """The nearest-rank percentile of a few samples; None without any."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Placed:
    """A candidate with the ids of the routes that may choose it."""

    candidate: Candidate
    routes: tuple[str, ...]


@lru_cache(maxsize=2)
def placed(snapshot: Snapshot) -> tuple[Placed, ...]:
    """Every candidate of the catalog in its order, routed or not; made once per snapshot."""
    routes = _routes_by_deployment(snapshot)
    return tuple(
        Placed(_candidate(deployment, credential), routes.get(deployment.id, ()))
        for deployment in snapshot.deployments.values()
        for credential in deployment.credentials
    )


def _candidate(deployment: Deployment, credential: Credential) -> Candidate:
    key = CandidateKey(deployment.id, credential.id)
    target = Target(deployment.id, deployment, 0)
    return Candidate(key, target, credential, deployment.model.upstream_name, "")


def _routes_by_deployment(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    routes: dict[str, dict[str, None]] = {}
    for route in snapshot.routes.values():
        for tier in route.tiers:
            for candidate in tier.candidates:
                routes.setdefault(candidate.key.deployment, {})[route.id] = None
    return {deployment: tuple(names) for deployment, names in routes.items()}


def observed(
    snapshot: Snapshot, states: Iterable[CandidateState]
) -> Iterator[tuple[Placed, CandidateState | None]]:
    """Each candidate with its state, if it has one; those with a pattern also per matched name."""
    known = {state.key: state for state in states}
    matched: dict[tuple[str, str], list[CandidateState]] = {}
    for key, state in known.items():
        if key.matched:
            matched.setdefault((key.deployment, key.credential), []).append(state)
    for place in placed(snapshot):
        key = place.candidate.key
        yield place, known.get(key)
        for state in sorted(matched.get((key.deployment, key.credential), ()), key=_matched):
            yield Placed(replace(place.candidate, key=state.key), place.routes), state


def _matched(state: CandidateState) -> str:
    return state.key.matched


def candidate_json(place: Placed, state: CandidateState | None, now: float) -> dict[str, Any]:
    """One member of ``candidates``, exactly the API's shape; no state is a fresh one."""
    candidate, key = place.candidate, place.candidate.key
    deployment = candidate.deployment
    state = state or CandidateState(key)
    rpm, tpm = used(state, now)
    return {
        "id": str(key),
        "deployment": key.deployment,
        "credential": key.credential,
        "matched": key.matched or None,
        "provider": deployment.provider.id,
        "routes": list(place.routes),
        "state": str(effective_state(candidate, state, now)),
        "admin_state": str(admin_state_at(candidate, now)),
        "health": str(health_at(state, now)),
        "active": state.active,
        "max_parallel_requests": deployment.max_parallel_requests,
        "rpm": window_json(rpm, deployment.rpm_limit, now),
        "tpm": window_json(tpm, deployment.tpm_limit, now),
        "latency_ms": {
            "ema": state.latency_ema_ms,
            "p50": percentile(state.latencies_ms, 0.5),
            "p95": percentile(state.latencies_ms, 0.95),
            "ttft_p50": percentile(state.ttfts_ms, 0.5),
        },
        "successes": state.successes,
        "failures": state.failures,
        "consecutive_failures": state.consecutive_failures,
        "level": state.rate_level,
        "cooldown": cooldown_json(state, now),
        "last_error": _last_error(state),
    }


def _last_error(state: CandidateState) -> dict[str, Any] | None:
    error = state.last_error
    if error is None:
        return None
    return {
        "class": error.cls,
        "status": error.status,
        "message": error.message,
        "at": utc_text(error.at),
    }


def candidates_json(
    snapshot: Snapshot, states: Iterable[CandidateState], now: float
) -> list[dict[str, Any]]:
    """Every candidate at ``now`` (epoch seconds), in the catalog's order."""
    return [candidate_json(place, state, now) for place, state in observed(snapshot, states)]
