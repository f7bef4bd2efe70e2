"""What is allowed and yet probably not meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from routeradmin.catalog.canonical import DEFAULT_STRATEGY
from routeradmin.catalog.checks.scope import Scope, warning
from routeradmin.catalog.document import Account, Route, ServingModel
from routeradmin.catalog.problems import Problem

MAX_CYCLES = 50  # per kind of list
IsSet = Callable[[str], bool]


def fallback_cycles(scope: Scope) -> Iterator[Problem]:
    """Lists that lead back are harmless, for they are not followed twice; told per list kind."""
    for kind in ("general", "context_window", "content_policy", "rate_limit"):
        links = {route.id: _list(scope, route, kind) for route in scope.document.routes}
        told: set[frozenset[str]] = set()
        for index, route in enumerate(scope.document.routes):
            for loop in _cycles(route.id, links):
                if frozenset(loop) not in told and len(told) < MAX_CYCLES:
                    told.add(frozenset(loop))
                    path = " -> ".join([*loop, loop[0]])
                    yield warning("routes", index, detail=f"{kind} fallback leads back: {path}")


def _list(scope: Scope, route: Route, kind: str) -> tuple[str, ...]:
    policy = scope.policy_of(route)
    listed: tuple[str, ...] | None = getattr(policy.fallback, kind) if policy else None
    return tuple(id for id in listed or () if id != route.id and id in scope.routes)


def _cycles(start: str, links: dict[str, tuple[str, ...]]) -> Iterator[list[str]]:
    """For each route a list names, the shortest way back from it."""
    for first in links[start]:
        before: dict[str, str] = {first: start}
        queue = [first]
        for current in queue:
            if start in links[current]:
                path = [current]
                while path[-1] != start:
                    path.append(before[path[-1]])
                yield path[::-1]
                break
            for following in links[current]:
                if following not in before:
                    before[following] = current
                    queue.append(following)


def idle_routes(scope: Scope) -> Iterator[Problem]:
    """A route that people left on while everything behind it is off."""
    for index, route in enumerate(scope.document.routes):
        found = [scope.deployments.get(one.serving_model_id) for _, one in scope.targets[route.id]]
        usable = any(deployment and _is_usable(scope, deployment) for deployment in found)
        if route.admin_state == "enabled" and found and not usable:
            detail = f"{route.id} has no enabled target: requests for it will be refused"
            yield warning("routes", index, detail=detail)


def unused_tiers(scope: Scope) -> Iterator[Problem]:
    """Fallback is off by default: later tiers that nobody switched on are easily forgotten."""
    for index, route in enumerate(scope.document.routes):
        tiers = {target.position for _, target in scope.targets[route.id]}
        if len(tiers) > 1 and not route.fallback_enabled:
            later = "tier 2 is" if len(tiers) == 2 else f"tiers 2 to {len(tiers)} are"
            detail = f"{later} not used: fallback of {route.id} to later tiers is off"
            yield warning("routes", index, "fallback_enabled", detail=detail)


def _is_usable(scope: Scope, deployment: ServingModel) -> bool:
    limits = (deployment.rpm_limit, deployment.tpm_limit, deployment.max_parallel_requests)
    if deployment.admin_state != "enabled" or 0 in limits:
        return False
    return any(_is_enabled(scope, account) for account in scope.accounts_of(deployment))


def _is_enabled(scope: Scope, account: Account) -> bool:
    provider = scope.providers.get(account.provider_id)
    return account.admin_state == "enabled" and (
        provider is None or provider.admin_state == "enabled"
    )


def unused_accounts(scope: Scope) -> Iterator[Problem]:
    used = {
        account.id
        for deployment in scope.document.serving_models
        for account in scope.accounts_of(deployment)
    }
    for index, account in enumerate(scope.document.accounts):
        if account.id not in used:
            detail = f"no deployment uses the credential {account.id}"
            yield warning("accounts", index, detail=detail)


def unset_secrets(scope: Scope, is_set: IsSet) -> Iterator[Problem]:
    for index, account in enumerate(scope.document.accounts):
        reference = account.secret_reference_id
        if reference is not None and not is_set(reference):
            detail = f"{reference} is not set: {account.id} is passed over until it is"
            yield warning("accounts", index, "secret_reference_id", detail=detail)


def zero_weights(scope: Scope) -> Iterator[Problem]:
    """All weights of a tier 0 draw uniformly, as if none were set."""
    default = scope.document.defaults.strategy or DEFAULT_STRATEGY
    for index, route in enumerate(scope.document.routes):
        if (route.strategy or default) != "simple_shuffle":
            continue
        weights: defaultdict[int, list[int]] = defaultdict(list)
        for _, target in scope.targets[route.id]:
            if target.serving_model_id in scope.deployments:
                weights[target.position].append(scope.deployments[target.serving_model_id].weight)
        for position, tier in sorted(weights.items()):
            if len(tier) > 1 and not any(tier):
                detail = f"every weight at position {position} of {route.id} is 0: all draw evenly"
                yield warning("routes", index, detail=detail)


def idle_rules(scope: Scope) -> Iterator[Problem]:
    for index, rule in enumerate(scope.document.rules):
        served = {target.serving_model_id for _, target in scope.targets[rule.route_id]}
        if rule.only and served and not served.intersection(rule.only):
            detail = f"none of these is a target of {rule.route_id}: where it holds, none is left"
            yield warning("rules", index, "only", detail=detail)
