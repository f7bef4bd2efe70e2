"""What if: the same choice over assumed states, drawn many times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from routeradmin.engine.explain import Explanation, explain_route, first_step
from routeradmin.engine.objects import AdminState
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved
from routeradmin.engine.select import Pick, resolve_for
from routeradmin.engine.snapshot import Candidate, Snapshot, Tier
from routeradmin.engine.state import (
    MANUAL,
    CandidateState,
    Cooldown,
    Health,
    StateView,
)
from routeradmin.engine.tables import Table
from routeradmin.engine.windows import roll

MAX_DRAWS = 10_000
ASSUMED_COOLDOWN_S = 60.0


@dataclass(frozen=True, slots=True)
class Assumed:
    """What to assume of one candidate; None leaves the fact as it is.

    False takes a running cooldown, an unhealthy verdict or a disabling away.
    """

    cooling: bool | None = None
    unhealthy: bool | None = None
    disabled: bool | None = None
    active: int | None = None
    rpm: int | None = None
    tpm: int | None = None


@dataclass(frozen=True, slots=True)
class Simulation:
    """Shares by candidate id, of all draws; with ``refused`` they account for every draw."""

    shares: Mapping[str, float]
    refused: int
    explanation: Explanation

    def as_json(self) -> dict[str, Any]:
        return {
            "shares": dict(self.shares),
            "refused": self.refused,
            "explanation": self.explanation.as_json(),
        }


@dataclass(slots=True)
class Overlay:
    """A StateView over another: assumed states on copies, cursors of its own.

    Nothing reaches the view below. States are copied when first asked for, so the view is one
    moment (``now``) throughout.
    """

    below: StateView
    assumed: Mapping[str, Assumed]
    now: float
    _states: dict[object, CandidateState] = field(default_factory=dict)
    _rows: dict[Table, Sequence[CandidateState]] = field(default_factory=dict)
    _moved: Counter[str] = field(default_factory=Counter)

    def of(self, candidate: Candidate) -> CandidateState:
        state = self._states.get(candidate.key)
        if state is None:
            state = replace(self.below.of(candidate))
            assumed = self.assumed.get(str(candidate.key))
            if assumed is not None:
                _assume(state, assumed, self.now)
            self._states[candidate.key] = state
        return state

    def row(self, table: Table) -> Sequence[CandidateState]:
        row = self._rows.get(table)
        if row is None:
            row = self._rows[table] = [self.of(candidate) for candidate in table.candidates]
        return row

    def suspects(self, table: Table) -> Sequence[int]:
        return [place for place, state in enumerate(self.row(table)) if state.suspect]

    def cursor(self, name: str) -> int:
        return self.below.cursor(name) + self._moved[name]

    def advance(self, name: str) -> None:
        self._moved[name] += 1


def simulate(
    snapshot: Snapshot,
    name: str,
    request: SelectRequest,
    view: StateView,
    now: float,
    *,
    overlay: Mapping[str, Assumed],
    draws: int,
    seed: int,
    resolved: Resolved | None = None,
) -> Simulation:
    """Draw ``draws`` choices, each from the same assumed state; only round robin's turn moves on.

    ``resolved`` is the route where it is known already. The explanation is the first draw's.
    Raises ModelNotFound, ValueError (draws out of range).
    """
    if not 1 <= draws <= MAX_DRAWS:
        raise ValueError(f"draws must be 1 to {MAX_DRAWS}, not {draws}")
    above = Overlay(view, overlay, now)
    found = resolved or resolve_for(snapshot, name, request, above, now)
    resolved = _with_admin(found, overlay)
    explanation = explain_route(resolved, request, above, now, Random(seed))
    counts, rng = Counter[str](), Random(seed)
    for _ in range(draws):
        drawn, _ = first_step(resolved, request, above, now, rng)
        if not isinstance(drawn, Pick):
            break  # the state never changes: every later draw is refused as well
        counts[str(drawn.candidate.key)] += 1
        if drawn.cursor is not None:
            above.advance(drawn.cursor)
    shares = {str(c.key): counts[str(c.key)] / draws for c in resolved.route.candidates}
    return Simulation(shares, draws - counts.total(), explanation)


def _assume(state: CandidateState, assumed: Assumed, now: float) -> None:
    state.suspect = True
    roll(state, now)
    if assumed.cooling is not None:
        until = now + ASSUMED_COOLDOWN_S if assumed.cooling else 0.0
        cooldown = Cooldown(MANUAL, now, until, 0, "simulation", None, "assumed")
        state.cooldown, state.cooldown_until = (cooldown if assumed.cooling else None), until
    if assumed.unhealthy is not None:
        state.health = Health.UNHEALTHY if assumed.unhealthy else Health.HEALTHY
        state.probe_unhealthy = assumed.unhealthy
    state.active = state.active if assumed.active is None else assumed.active
    state.rpm_used = state.rpm_used if assumed.rpm is None else assumed.rpm
    state.tpm_used = state.tpm_used if assumed.tpm is None else assumed.tpm


def _with_admin(resolved: Resolved, overlay: Mapping[str, Assumed]) -> Resolved:
    """The route as it would be with candidates disabled, or enabled, as assumed."""
    if all(assumed.disabled is None for assumed in overlay.values()):
        return resolved

    def assume(candidate: Candidate) -> Candidate:
        assumed = overlay.get(str(candidate.key))
        if assumed is None or assumed.disabled is None:
            return candidate
        wanted = AdminState.DISABLED if assumed.disabled else AdminState.ENABLED
        return replace(candidate, assumed_admin=wanted)

    route = resolved.route
    tiers = [Tier(t.index, [assume(c) for c in t.candidates], t.cursor) for t in route.tiers]
    return resolved._replace(route=replace(route, tiers=tuple(tiers)))
