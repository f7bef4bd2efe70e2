"""One store over one snapshot at a clock that moves when told: what the store tests work with."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from routeradmin.engine.policy import DEFAULT_POLICY
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.snapshot import Candidate, Snapshot
from routeradmin.engine.state import (
    CandidateKey,
    CandidateState,
    Dispatch,
    FailureClass,
    Grant,
    Lease,
    Outcome,
)
from routeradmin.engine.store import StateStore
from routeradmin.engine.turn_state import TurnState
from tests.engine.world import NOW, catalog, deployment

Make = Callable[[Snapshot], StateStore]
Run = Callable[[Coroutine[Any, Any, Any]], Any]

A = CandidateKey("a", "k")
OK = Outcome(None, Dispatch.ACCEPTED, 200, latency_ms=100.0, ttft_ms=20.0)
HUNG_UP = Outcome(FailureClass.CANCELLED, Dispatch.UNKNOWN)
LIMITED = Outcome(FailureClass.RATE_LIMITED, Dispatch.REJECTED, 429, hint_s=20.0, message="slow")
BROKEN = Outcome(FailureClass.TRANSIENT, Dispatch.UNKNOWN, 500)


def kept_turn(turn_id: str, model: str) -> TurnState:
    return TurnState(turn_id, model, "r", SelectRequest(model=model), NOW)


class Desk:
    """One store over one snapshot, and a clock that moves when told."""

    def __init__(self, make: Make, run: Run, *deployments: Any) -> None:
        self.run = run
        self.snapshot = catalog(list(deployments) or [deployment("a")])
        self.store = make(self.snapshot)
        self.now = NOW

    def candidate(self, name: str = "a") -> Candidate:
        candidates = self.snapshot.routes["r"].candidates
        return next(c for c in candidates if c.deployment.id == name)

    def state(self, name: str = "a") -> CandidateState:
        return self.store.of(self.candidate(name))

    def take(self, name: str = "a", tokens: int = 0, ttl_s: float = 120.0, **more: Any) -> Lease:
        lease = self.try_take(name, tokens, ttl_s, **more)
        assert lease is not None
        return lease

    def try_take(
        self, name: str = "a", tokens: int = 0, ttl_s: float = 120.0, **more: Any
    ) -> Lease | None:
        owner = more.pop("owner", "me")
        grant = Grant(self.candidate(name), owner, ttl_s, tokens, "r", **more)
        found: Lease | None = self.run(self.store.reserve(grant, self.now))
        return found

    def settle(self, lease: Lease, outcome: Outcome = OK, **more: Any) -> Any:
        return self.run(self.store.settle(lease.id, outcome, DEFAULT_POLICY, self.now, **more))

    def release(self, lease: Lease, **more: Any) -> Any:
        return self.run(self.store.release(lease.id, self.now, **more))

    def publish(self, *deployments: Any, **more: Any) -> None:
        self.snapshot = catalog(list(deployments), **more)
        self.store.bind(self.snapshot)
