"""The policy's fallback routes: which list a class opens, and what a route in it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from routeradmin.engine.eligibility import falls_back
from routeradmin.engine.errors import ModelNotFound
from routeradmin.engine.refusal import UNSUPPORTED, Refusal
from routeradmin.engine.request import SelectRequest
from routeradmin.engine.resolve import Resolved, resolve
from routeradmin.engine.turn_rules import class_of_refusal, fallback_list


def after_refusal(origin: Resolved, refusal: Refusal) -> Sequence[str]:
    """The list of a turn that never made an attempt on ``origin``: none where nothing fits."""
    if refusal.kind == UNSUPPORTED:
        return ()
    return fallback_list(origin.route.policy.fallback, class_of_refusal(refusal))


def followed(origin: Resolved, request: SelectRequest, refusal: Refusal) -> Iterator[Resolved]:
    """The fallback routes that such a turn goes on with, in order."""
    if not falls_back(origin.route, request):
        return
    left = origin.route.policy.turn.max_fallback_routes
    for route_id in dict.fromkeys(after_refusal(origin, refusal)):
        found = as_used_by(origin, route_id) if route_id != origin.route.id else None
        if found is not None and left > 0:
            left -= 1
            yield found


def as_used_by(origin: Resolved, route_id: str) -> Resolved | None:
    """The route as the turn of ``origin`` uses it; a pattern's takes what its name matched."""
    snapshot = origin.snapshot
    route = snapshot.routes.get(route_id)
    if route is None or "*" not in route.alias:
        return None if route is None else Resolved(route, None, origin.requested, snapshot)
    if origin.matched is None:
        return None
    try:
        found = resolve(snapshot, route.alias.replace("*", origin.matched, 1))
    except ModelNotFound:
        return None
    return found if found.route.id == route_id else None
