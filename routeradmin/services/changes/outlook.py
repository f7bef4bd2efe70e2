"""What a catalog means at the moment it is published: routes that nobody could be served by now."""

from __future__ import annotations

from collections.abc import Iterator

from routeradmin.catalog.document import Document
from routeradmin.catalog.problems import Problem, Severity, pointer
from routeradmin.engine.condition import admin_state_at, cooling, unhealthy
from routeradmin.engine.objects import AdminState
from routeradmin.engine.snapshot import Candidate, Route, Snapshot
from routeradmin.engine.state import CandidateKey, CandidateState
from routeradmin.services.runtime import Runtime


def idle_now(runtime: Runtime, document: Document, snapshot: Snapshot) -> Iterator[Problem]:
    """A warning per enabled route whose every reachable target is off, resting or without secret.

    A route that is off for good, with no enabled target, is the document's own warning.
    """
    now = runtime.clock()
    known = {
        candidate.key: candidate
        for route in runtime.current.snapshot.routes.values()
        for candidate in route.candidates
    }
    for index, entry in enumerate(document.routes):
        route = snapshot.routes.get(entry.id)
        if route is None or entry.admin_state != "enabled":
            continue
        reasons = [
            _against(candidate, _state(runtime, known, candidate), now)
            for candidate in _reachable(route)
        ]
        temporary = {reason for reason in reasons if reason} - {"disabled"}
        if reasons and all(reasons) and temporary:
            listed = ", ".join(sorted(filter(None, set(reasons))))
            further = ", ".join(_further(route))
            told = f"requests go on to {further}" if further else "requests are refused"
            detail = f"{entry.id} has no eligible target now ({listed}): {told}"
            yield Problem(pointer("routes", index), detail, Severity.WARNING)


def _further(route: Route) -> tuple[str, ...]:
    """The fallback routes that a turn without any attempt may go on with."""
    if not route.fallback_enabled:
        return ()
    lists = route.policy.fallback
    named = (*(lists.rate_limit or ()), *(lists.general or ()))
    return tuple(one for one in dict.fromkeys(named) if one != route.id)


def _reachable(route: Route) -> list[Candidate]:
    tiers = route.tiers if route.fallback_enabled else route.tiers[:1]
    return [candidate for tier in tiers for candidate in tier.candidates]


def _state(
    runtime: Runtime, known: dict[CandidateKey, Candidate], candidate: Candidate
) -> CandidateState:
    """Only those in force have state; asking the store for others would make some."""
    in_force = known.get(candidate.key)
    return runtime.store.of(in_force) if in_force else CandidateState(candidate.key)


def _against(candidate: Candidate, state: CandidateState, now: float) -> str:
    """The first reason, empty for none."""
    wanted = admin_state_at(candidate, now)
    if wanted is not AdminState.ENABLED:
        return wanted.value
    if candidate.secret_missing:
        return "no-secret"
    if cooling(state, now):
        return "cooling-down"
    return "unhealthy" if unhealthy(state, now) else ""
