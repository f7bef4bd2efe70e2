"""Subscription billing never turns into another kind by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from routeradmin.catalog.checks.scope import Scope, error
from routeradmin.catalog.document import Account, Route
from routeradmin.catalog.problems import Problem


def deployments(scope: Scope) -> Iterator[Problem]:
    """A deployment rotates through its credentials freely, so they never mix."""
    for index, deployment in enumerate(scope.document.serving_models):
        mixed = _mixed(scope.accounts_of(deployment))
        if mixed:
            yield error(
                "serving_models", index, "account_ids", detail=_detail(deployment.id, *mixed)
            )


def routes(scope: Scope) -> Iterator[Problem]:
    """Inside a tier always; over all that fallback may reach where fallback is on."""
    for index, route in enumerate(scope.document.routes):
        tiers = _tiers(scope, route)
        for position, accounts in sorted(tiers.items()):
            mixed = _mixed(accounts)
            if mixed:
                where = f"position {position} of {route.id}"
                yield error("routes", index, detail=_detail(where, *mixed))
                break
        else:
            if route.fallback_enabled:
                yield from _fallback(scope, index, route)


def _fallback(scope: Scope, index: int, route: Route) -> Iterator[Problem]:
    reached = [account for tier in _tiers(scope, route).values() for account in tier]
    for id in route.preview:
        if id in scope.deployments:
            reached += scope.accounts_of(scope.deployments[id])
    mixed = _mixed(reached)
    if mixed:
        detail = _detail(f"{route.id}, whose fallback is on,", *mixed)
        yield error("routes", index, "fallback_enabled", detail=detail)
        return
    for other in _listed(scope, route):
        mixed = _mixed([*reached, *_served_by(scope, other)])
        if mixed:
            where = f"{route.id} with its policy's fallback route {other.id}"
            yield error("routes", index, "fallback_enabled", detail=_detail(where, *mixed))


def _listed(scope: Scope, route: Route) -> list[Route]:
    """The routes that the policy's fallback lists name, each once, without the route itself."""
    policy = scope.policy_of(route)
    if policy is None:
        return []
    lists = (getattr(policy.fallback, name) or () for name in type(policy.fallback).model_fields)
    ids = dict.fromkeys(id for ids in lists for id in ids)
    return [scope.routes[id] for id in ids if id in scope.routes and id != route.id]


def _served_by(scope: Scope, route: Route) -> list[Account]:
    """What a turn that falls back to the route may use: with its fallback off, its first tier."""
    tiers = sorted(_tiers(scope, route).items())
    reachable = tiers if route.fallback_enabled else tiers[:1]
    return [account for _, accounts in reachable for account in accounts]


def _tiers(scope: Scope, route: Route) -> dict[int, list[Account]]:
    tiers: defaultdict[int, list[Account]] = defaultdict(list)
    for _, target in scope.targets.get(route.id, []):
        deployment = scope.deployments.get(target.serving_model_id)
        if deployment:
            tiers[target.position] += scope.accounts_of(deployment)
    return tiers


def _mixed(accounts: Iterable[Account]) -> tuple[Account, Account] | None:
    """A subscription-oauth account and one of other billing, where both are present."""
    oauth = other = None
    for account in accounts:
        if account.auth_kind == "subscription-oauth":
            oauth = oauth or account
        if account.billing_kind != "subscription":
            other = other or account
    return (oauth, other) if oauth and other else None


def _detail(where: str, oauth: Account, other: Account) -> str:
    return (
        f"{where} mixes the subscription {oauth.id} with {other.id}, "
        f"which is billed as {other.billing_kind}: keep them apart"
    )
