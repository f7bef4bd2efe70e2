"""What a catalog means at the moment it is published: routes that nobody could be served by now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from routeradmin.catalog.document import Document
from routeradmin.catalog.problems import Problem, Severity, pointer
from routeradmin.engine.condition import admin_state_at, cooling, unhealthy
from routeradmin.engine.explain import first_step
from routeradmin.engine.objects import AdminState
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.select import Pick
from routeradmin.engine.snapshot import Candidate, Route, Snapshot
from routeradmin.engine.state import CandidateState, StateView
from routeradmin.engine.tables import Table
from routeradmin.services.runtime import Runtime


def idle_now(runtime: Runtime, document: Document, snapshot: Snapshot) -> Iterator[Problem]:
    """A warning per enabled route whose every reachable target is off, resting or without secret.

    A route that is off for good, with no enabled target, is the document's own warning.
    """
    now, view = runtime.clock(), Foreseen(runtime)
    for index, entry in enumerate(document.routes):
        route = snapshot.routes.get(entry.id)
        if route is None or entry.admin_state != "enabled":
            continue
        reasons = [_against(candidate, view.of(candidate), now) for candidate in _reachable(route)]
        temporary = {reason for reason in reasons if reason} - {"disabled"}
        if reasons and all(reasons) and temporary:
            listed = ", ".join(sorted(filter(None, set(reasons))))
            told = _onward(route, snapshot, view, now)
            detail = f"{entry.id} has no eligible target now ({listed}): {told}"
            yield Problem(pointer("routes", index), detail, Severity.WARNING)


class Foreseen:
    """The StateView of a snapshot that may not be in force yet. Only candidates in force have
    state: asking the store for others would make some."""

    def __init__(self, runtime: Runtime) -> None:
        self._store = runtime.store
        self._in_force = {
            candidate.key: candidate
            for route in runtime.current.snapshot.routes.values()
            for candidate in route.candidates
        }

    def of(self, candidate: Candidate) -> CandidateState:
        in_force = self._in_force.get(candidate.key)
        return self._store.of(in_force) if in_force else CandidateState(candidate.key)

    def row(self, table: Table) -> Sequence[CandidateState]:
        return [self.of(candidate) for candidate in table.candidates]

    def suspects(self, table: Table) -> Sequence[int] | None:
        return None

    def cursor(self, name: str) -> int:
        return self._store.cursor(name)


def _onward(route: Route, snapshot: Snapshot, view: StateView, now: float) -> str:
    """What becomes of a request for a route that has nobody, by what keeps its targets back."""
    matched = "any" if "*" in route.alias else None
    resolved = Resolved(route, matched, route.alias, snapshot)
    request = SelectRequest(model=route.alias, needs_secret=True)
    chosen, further = first_step(resolved, request, view, now, Random())
    if further:
        return f"requests go on to {', '.join(one.resolved.route.id for one in further)}"
    if isinstance(chosen, Pick):
        return "requests go to the one that recovers first"
    return "requests are refused"


def _reachable(route: Route) -> list[Candidate]:
    tiers = route.tiers if route.fallback_enabled else route.tiers[:1]
    return [candidate for tier in tiers for candidate in tier.candidates]


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
