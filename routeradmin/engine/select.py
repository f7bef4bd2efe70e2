"""Choosing: walk the tiers, let the strategy pick among what is free, or say why nothing is."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import partial
from random import Random
from typing import NamedTuple

from routeradmin.engine import eligibility, strategies
from routeradmin.engine.eligibility import all_rejections, falls_back
from routeradmin.engine.objects import WhenExhausted
from routeradmin.engine.preferences import Preferences
from routeradmin.engine.refusal import Refusal, recovers_at, refuse
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved, exact, resolve
from routeradmin.engine.snapshot import Candidate, Route, Snapshot, Tier
from routeradmin.engine.state import (
    CandidateKey,
    CandidateState,
    FailureClass,
    Grant,
    Lease,
    Ring,
    StateView,
)
from routeradmin.engine.store import StateStore
from routeradmin.engine.strategies import Field, Strategy
from routeradmin.engine.tables import Table

_NO_KEYS: frozenset[CandidateKey] = frozenset()
_NO_PLACES: frozenset[int] = frozenset()


class Pick(NamedTuple):
    """The choice. ``cursor`` is the round-robin cursor to advance at the grant, if any.

    ``least_bad``: nothing was eligible, this one recovers first. ``note``: what an operator
    should know about how it was chosen. ``ring``: whose turns the cursor counts.
    """

    candidate: Candidate
    cursor: str | None
    tier: int
    least_bad: bool = False
    note: str = ""
    ring: Ring | None = None


class Selected(NamedTuple):
    pick: Pick
    lease: Lease


def pick(
    resolved: Resolved,
    request: SelectRequest,
    view: StateView,
    now: float,
    rng: Random,
    *,
    tier: int | None = None,
    skip: AbstractSet[CandidateKey] = _NO_KEYS,
    forgive: AbstractSet[CandidateKey] = _NO_KEYS,
    prefer: CandidateKey | None = None,
) -> Pick | Refusal:
    """``choose``, or what ``when_exhausted`` still allows, or why there is nothing."""
    found = choose(
        resolved, request, view, now, rng, tier=tier, skip=skip, forgive=forgive, prefer=prefer
    )
    if found is not None:
        return found
    last_resort = resolved.route.when_exhausted
    if last_resort is WhenExhausted.LEAST_BAD and tier is None and not skip:
        least_bad = _least_bad(resolved, request, view, now)
        if least_bad is not None:
            return least_bad
    return refuse(resolved, request, view, now)


def choose(
    resolved: Resolved,
    request: SelectRequest,
    view: StateView,
    now: float,
    rng: Random,
    *,
    tier: int | None = None,
    skip: AbstractSet[CandidateKey] = _NO_KEYS,
    forgive: AbstractSet[CandidateKey] = _NO_KEYS,
    prefer: CandidateKey | None = None,
) -> Pick | None:
    """The strategy's choice in the first tier that has something free.

    ``tier`` looks at that tier alone; ``skip`` are keys not to use; ``forgive`` keys whose
    cooldown or unhealthy verdict does not count; ``prefer`` wins in the tier where it is free.
    Reserves nothing and advances no cursor.
    """
    route = resolved.route
    tiers = route.tiers if route.fallback_enabled else route.tiers[:1]
    if request.preferences is not None and not falls_back(route, request):
        tiers = tiers[:1]
    if tier is not None:
        tiers = tiers[tier : tier + 1]
    for one in tiers:
        found = _in_tier(route, one, request, view, now, rng, skip, forgive, prefer)
        if found is not None:
            return found
    return None


def _in_tier(
    route: Route,
    tier: Tier,
    request: SelectRequest,
    view: StateView,
    now: float,
    rng: Random,
    skip: AbstractSet[CandidateKey],
    forgive: AbstractSet[CandidateKey],
    prefer: CandidateKey | None,
) -> Pick | None:
    table = tier.table(request)
    candidates = table.candidates
    if not candidates:
        return None
    strategy = strategies.BY_NAME.get(route.strategy)
    takes_turns = (strategy or route.stand_in) is strategies.round_robin
    barred, wishes = _NO_PLACES, request.preferences
    if skip or request.exclude or request.local_only or route.rules or wishes is not None:
        barred = _barred(table, route, request, now, skip)
    field = Field(
        table,
        view,
        request.estimate,
        now,
        rng,
        view.cursor(tier.cursor) if takes_turns else 0,
        barred,
        _places(table, forgive) if forgive else _NO_PLACES,
    )
    if prefer is not None:
        place = table.index.get(prefer)
        if place is not None and field.free(place):
            return Pick(candidates[place], None, tier.index)
    if wishes is not None and wishes.ranks:
        field = _best_ranked(field, wishes)
    if strategy is not None:
        return _by_strategy(strategy, field, tier)
    return _by_selector(field, route, tier, request)


def _best_ranked(field: Field, wishes: Preferences) -> Field:
    """The field with all but the places that the client likes best barred."""
    candidates, states = field.table.candidates, field.states
    ranks = {place: wishes.rank(candidates[place], states[place]) for place in field.all_free()}
    best = min(ranks.values(), default=None)
    return field.without(place for place, rank in ranks.items() if rank != best)


def _by_strategy(strategy: Strategy, field: Field, tier: Tier, note: str = "") -> Pick | None:
    if strategy is strategies.round_robin:
        return _turn_by_turn(field, tier, note)
    place = strategy(field)
    return (
        None
        if place is None
        else Pick(field.table.candidates[place], None, tier.index, False, note)
    )


def _turn_by_turn(field: Field, tier: Tier, note: str = "") -> Pick | None:
    """Round robin; with one candidate left there is no turn to take, so the cursor stays."""
    taken = field.taken()
    place = strategies.nth_free(field, taken)
    if place is None:
        return None
    candidate = field.table.candidates[place]
    if len(field.states) - len(taken) == 1:
        return Pick(candidate, None, tier.index, False, note)
    return Pick(candidate, tier.cursor, tier.index, False, note, Ring(field.table, taken))


def _by_selector(field: Field, route: Route, tier: Tier, request: SelectRequest) -> Pick | None:
    if route.selector is None:
        note = f"no selector named {route.strategy!r}"
        return _by_strategy(route.stand_in, field, tier, note)
    place, note = strategies.custom(route.selector, field, request)
    if place is None:
        return _by_strategy(route.stand_in, field, tier, note) if note else None
    return Pick(field.table.candidates[place], None, tier.index)


def _places(table: Table, keys: AbstractSet[CandidateKey]) -> frozenset[int]:
    index = table.index
    return frozenset(index[key] for key in keys if key in index)


def _barred(
    table: Table,
    route: Route,
    request: SelectRequest,
    now: float,
    skip: AbstractSet[CandidateKey],
) -> frozenset[int]:
    """Places that this request may not use: tried, excluded, or against a route rule."""
    out = set(_places(table, skip))
    for name in request.exclude:
        out.update(table.named.get(name, ()))
    allowed, wishes = eligibility.permitted(route, request, now), request.preferences
    if wishes is not None and wishes.bars:
        out.update(p for p, one in enumerate(table.candidates) if wishes.forbids(one))
    if allowed is not None or request.local_only:
        for place, candidate in enumerate(table.candidates):
            if eligibility.against_rules(candidate, request, allowed):
                out.add(place)
    return frozenset(out)


def _least_bad(
    resolved: Resolved, request: SelectRequest, view: StateView, now: float
) -> Pick | None:
    """The candidate that recovers first among those that only a transient cooldown keeps back."""
    cooled = [
        (recovers_at(view.of(candidate), reasons, now), candidate)
        for candidate, reasons in all_rejections(resolved.route, request, view, now)
        if reasons == ("cooling-down",) and _only_transient(view.of(candidate))
    ]
    if not cooled:
        return None
    _, best = min(cooled, key=lambda pair: pair[0])
    return Pick(best, None, best.tier, least_bad=True)


def _only_transient(state: CandidateState) -> bool:
    return state.cooldown is not None and state.cooldown.cls == FailureClass.TRANSIENT


def resolve_for(
    snapshot: Snapshot, name: str, request: SelectRequest, view: StateView, now: float
) -> Resolved:
    """``resolve``, where ``auto`` takes the first listed name that has something free now.

    Raises ModelNotFound.
    """

    found = exact(snapshot, name)
    if found is not None:
        return found
    return resolve(snapshot, name, partial(_available, request, view, now))


def _available(request: SelectRequest, view: StateView, now: float, option: Resolved) -> bool:
    # A fixed seed: only whether there is a choice matters, not which.
    return choose(option, request, view, now, Random(0)) is not None


async def select(
    resolved: Resolved,
    request: SelectRequest,
    store: StateStore,
    now: float,
    rng: Random,
    *,
    owner: str = "",
    turn_id: str | None = None,
    tier: int | None = None,
    skip: AbstractSet[CandidateKey] = _NO_KEYS,
    forgive: AbstractSet[CandidateKey] = _NO_KEYS,
    prefer: CandidateKey | None = None,
) -> Selected | Refusal:
    """Pick and reserve; a candidate whose last slot another caller took is dropped, the rest
    picked from again."""
    route = resolved.route
    while True:
        found = pick(
            resolved, request, store, now, rng, tier=tier, skip=skip, forgive=forgive, prefer=prefer
        )
        if isinstance(found, Refusal):
            return found
        grant = Grant(
            found.candidate,
            owner,
            request.lease_ttl_s,
            request.estimate,
            route.id,
            route.policy.id,
            turn_id,
            found.cursor,
            found.ring,
        )
        lease = await store.reserve(grant, now)
        if lease is not None:
            return Selected(found._replace(candidate=grant.granted(lease)), lease)
        skip = {*skip, found.candidate.key}
