"""From a requested name to a route: exact name, pattern, ``auto``, then ``provider:model``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from routeradmin.engine.compile import (
    DERIVED_ROUTES,
    RouteSpec,
    TargetSpec,
    build_route,
    match,
    normal,
)
from routeradmin.engine.errors import MOST_REQUESTED_CHARS, ModelNotFound
from routeradmin.engine.snapshot import Route, Snapshot

AUTO = "auto"


class Resolved(NamedTuple):
    """The route that answers to ``requested``; ``matched`` is what a pattern's ``*`` took."""

    route: Route
    matched: str | None
    requested: str
    snapshot: Snapshot


def exact(snapshot: Snapshot, name: str) -> Resolved | None:
    """The route of exactly this name: the first thing that ``resolve`` looks for."""
    route_id = snapshot.names.get(name)
    if route_id is None:
        return None
    return Resolved(snapshot.routes[route_id], None, name, snapshot)


def resolve(
    snapshot: Snapshot, name: str, available: Callable[[Resolved], bool] | None = None
) -> Resolved:
    """Find the route. Raises ModelNotFound(name), also for what is longer than any name: the
    requested name is kept in records as it was written, surrounding space included.

    ``auto`` takes the first of ``defaults.auto_priority`` that resolves and that ``available``
    (if given) says yes to; when none is available, the first that resolves.
    """
    found = exact(snapshot, name)
    if found is not None:
        return found
    if len(name) > MOST_REQUESTED_CHARS:
        raise ModelNotFound(name)
    found = _named(snapshot, normal(name))
    if found is None and normal(name) == AUTO:
        found = _auto(snapshot, available)
    if found is None:
        raise ModelNotFound(name)
    return found._replace(requested=name)


def is_auto(snapshot: Snapshot, name: str) -> bool:
    """Whether the name is left to be decided: it is ``auto`` and no route has that name."""
    if name in snapshot.names or normal(name) != AUTO:
        return False
    return _named(snapshot, AUTO) is None


def _named(snapshot: Snapshot, name: str) -> Resolved | None:
    found = exact(snapshot, name)
    if found is not None:
        return found
    name = snapshot.forwards.get(name, name)
    for pattern, route_id in snapshot.patterns:
        matched = match(pattern, name)
        if matched is not None:
            return Resolved(_derive(snapshot, route_id, matched), matched, name, snapshot)
    if name in snapshot.direct and name != AUTO:
        return Resolved(_implicit(snapshot, name), None, name, snapshot)
    return None


def _auto(snapshot: Snapshot, available: Callable[[Resolved], bool] | None) -> Resolved | None:
    options = [_named(snapshot, normal(name)) for name in snapshot.defaults.auto_priority]
    usable = [option for option in options if option is not None]
    if available is not None:
        for option in usable:
            if available(option):
                return option
    return usable[0] if usable else None


def _derive(snapshot: Snapshot, route_id: str, matched: str) -> Route:
    """The pattern's route with ``matched`` in its upstream names, from a bounded cache."""
    route = snapshot.routes[route_id]
    upstreams = (c.deployment.model.upstream_name for c in (*route.candidates, *route.preview))
    if not any("*" in upstream for upstream in upstreams):
        return route
    return _cached(snapshot, (route_id, matched), lambda: _rebuild(snapshot, route, matched))


def _rebuild(snapshot: Snapshot, route: Route, matched: str) -> Route:
    targets = {(c.target.id, c.deployment.id, c.tier) for c in route.candidates}
    spec = RouteSpec(
        id=route.id,
        alias=route.alias,
        targets=[TargetSpec(*target) for target in targets],
        strategy=route.strategy,
        policy_id=route.policy.id or None,
        name=route.name,
        fallback_enabled=route.fallback_enabled,
        when_exhausted=route.when_exhausted,
        max_wait_s=route.max_wait_s,
        affinity_ttl_s=route.affinity_ttl_s,
        preview=tuple(dict.fromkeys(c.deployment.id for c in route.preview)),
        admin_state=route.admin_state,
        tags=route.tags,
        rules=route.rules,
    )
    return build_route(snapshot, spec, matched)


def _implicit(snapshot: Snapshot, name: str) -> Route:
    """A one-tier route over every deployment of the provider that serves the model."""

    def build() -> Route:
        deployments = snapshot.direct[name]
        targets = [TargetSpec(d.id, d.id, 0) for d in deployments]
        return build_route(snapshot, RouteSpec(id=name, alias=name, targets=targets))

    return _cached(snapshot, ("", name), build)


def _cached(snapshot: Snapshot, key: tuple[str, str], build: Callable[[], Route]) -> Route:
    derived = snapshot.derived
    route = derived.get(key)
    if route is None:
        route = derived[key] = build()
    # Another thread may have dropped the entry meanwhile; the route in hand stays good.
    with suppress(KeyError):
        derived.move_to_end(key)
        while len(derived) > DERIVED_ROUTES:
            derived.popitem(last=False)
    return route
