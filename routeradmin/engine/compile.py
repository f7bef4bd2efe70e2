"""From declared objects to a Snapshot: routes become tiers of candidates, names become tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from routeradmin.engine.errors import InvalidCatalog
from routeradmin.engine.intents import Matrix
from routeradmin.engine.objects import AdminState, Deployment, Rule, Target, WhenExhausted
from routeradmin.engine.policy import DEFAULT_POLICY, Policy
from routeradmin.engine.snapshot import Candidate, Defaults, Route, Snapshot, Tier
from routeradmin.engine.state import CandidateKey
from routeradmin.engine.strategies import BY_NAME, CUSTOM_PREFIX, Selector, simple_shuffle

MAX_HOPS = 16
DERIVED_ROUTES = 1024  # from patterns and provider:model names, kept per snapshot


@dataclass(frozen=True, slots=True)
class TargetSpec:
    id: str
    deployment_id: str
    position: int


@dataclass(frozen=True, slots=True)
class RouteSpec:
    """A route as declared; ``strategy`` and ``policy_id`` None take the catalog's defaults."""

    id: str
    alias: str
    targets: Sequence[TargetSpec]
    strategy: str | None = None
    policy_id: str | None = None
    name: str = ""
    fallback_enabled: bool = False
    when_exhausted: WhenExhausted = WhenExhausted.FAIL
    max_wait_s: float = 0.0
    affinity_ttl_s: float = 0.0
    preview: Sequence[str] = ()  # deployment ids
    admin_state: AdminState = AdminState.ENABLED
    tags: tuple[str, ...] = ()
    rules: Sequence[Rule] = ()


def compile_snapshot(
    *,
    revision: int,
    config_digest: str,
    deployments: Mapping[str, Deployment] | Iterable[Deployment],
    routes: Iterable[RouteSpec],
    aliases: Mapping[str, str] | None = None,
    policies: Mapping[str, Policy] | None = None,
    defaults: Defaults | None = None,
    bindings: Mapping[tuple[str, str], str] | None = None,
    missing_secrets: Iterable[str] = (),
    selectors: Mapping[str, Selector] | None = None,
    matrix: Matrix | None = None,
) -> Snapshot:
    """Compile a checked catalog. Raises InvalidCatalog where a route names what is not there.

    ``aliases``: alias name to target name. One that loops, leads nowhere or takes more than 16
    hops answers nothing (it is refused when saved).
    """
    listed = deployments.values() if isinstance(deployments, Mapping) else deployments
    by_id = {deployment.id: deployment for deployment in listed}
    base = Snapshot(
        revision=revision,
        config_digest=config_digest,
        deployments=by_id,
        policies=dict(policies or {}),
        defaults=defaults or Defaults(),
        bindings=dict(bindings or {}),
        missing_secrets=frozenset(missing_secrets),
        selectors=dict(selectors or {}),
        direct=_direct(by_id.values()),
        matrix=matrix or Matrix(),
        has_intents=matrix is not None and matrix.is_on,
    )
    built = [build_route(base, spec) for spec in routes]
    exact = {normal(r.alias): r.id for r in built if "*" not in r.alias}
    patterns = sorted(
        ((normal(r.alias), r.id) for r in built if "*" in r.alias),
        key=lambda pattern: (-len(pattern[0]), pattern),
    )
    names, forwards = _flatten(exact, aliases or {})
    return replace(
        base,
        routes={route.id: route for route in built},
        names=names,
        patterns=tuple(patterns),
        forwards=forwards,
        rule_headers=frozenset(
            name for route in built for rule in route.rules for name, _ in rule.headers
        ),
    )


def normal(name: str) -> str:
    """Names are compared after NFC and trimming."""
    return unicodedata.normalize("NFC", name.strip())


MOST_NAME_CHARS = 256


def match(pattern: str, name: str) -> str | None:
    """What the pattern's ``*`` takes of the name, or None.

    Such a name is any caller's own words, and it is kept in state and records: what is longer
    than every declared name may be, or holds characters that none may, matches nothing.
    """
    if len(name) > MOST_NAME_CHARS or not name.isprintable():
        return None
    head, _, tail = pattern.partition("*")
    if len(name) < len(head) + len(tail) or not name.startswith(head) or not name.endswith(tail):
        return None
    return name[len(head) : len(name) - len(tail)]


def build_route(base: Snapshot, spec: RouteSpec, matched: str | None = None) -> Route:
    """One route; with ``matched`` every ``*`` in an upstream name takes that text."""
    policy_id = spec.policy_id or base.defaults.policy_id
    strategy = spec.strategy or base.defaults.strategy
    targets = sorted(spec.targets, key=lambda t: (t.position, t.id))
    positions = sorted({t.position for t in targets})
    tiers = []
    for index, position in enumerate(positions):
        chosen = [
            Target(t.id, _deployment(base, spec, t.deployment_id), index)
            for t in targets
            if t.position == position
        ]
        cursor = f"{spec.id}/{index}" if matched is None else f"{spec.id}/{index}@{matched}"
        tiers.append(Tier(index, _candidates(base, spec, chosen, index, matched), cursor))
    preview = [Target(d, _deployment(base, spec, d), 0) for d in spec.preview]
    return Route(
        id=spec.id,
        alias=spec.alias,
        tiers=tuple(tiers),
        strategy=strategy,
        policy=DEFAULT_POLICY
        if policy_id is None
        else base.policies.get(policy_id, DEFAULT_POLICY),
        name=spec.name or spec.alias,
        fallback_enabled=spec.fallback_enabled,
        when_exhausted=spec.when_exhausted,
        max_wait_s=spec.max_wait_s,
        affinity_ttl_s=spec.affinity_ttl_s,
        preview=tuple(_candidates(base, spec, preview, 0, matched)),
        admin_state=spec.admin_state,
        tags=spec.tags,
        rules=tuple(sorted(spec.rules, key=lambda rule: (rule.position, rule.id))),
        selector=base.selectors.get(strategy.removeprefix(CUSTOM_PREFIX)),
        stand_in=BY_NAME.get(base.defaults.strategy, simple_shuffle),
    )


def _deployment(base: Snapshot, spec: RouteSpec, deployment_id: str) -> Deployment:
    try:
        return base.deployments[deployment_id]
    except KeyError:
        message = f"Route {spec.id!r} names deployment {deployment_id!r}: declare it, or remove it."
        raise InvalidCatalog(message) from None


def _candidates(
    base: Snapshot, spec: RouteSpec, targets: Sequence[Target], tier: int, matched: str | None
) -> list[Candidate]:
    found = []
    for target in targets:
        deployment = target.deployment
        upstream = deployment.model.upstream_name
        taken = matched is not None and "*" in upstream
        if taken:
            upstream = upstream.replace("*", matched or "")
        for credential in sorted(deployment.credentials, key=lambda c: c.id):
            found.append(
                Candidate(
                    key=CandidateKey(deployment.id, credential.id, upstream if taken else ""),
                    target=target,
                    credential=credential,
                    upstream_name=upstream,
                    binding_revision=base.bindings.get((deployment.id, credential.id), ""),
                    tier=tier,
                    route_admin_state=spec.admin_state,
                    secret_missing=credential.id in base.missing_secrets,
                )
            )
    return found


def _direct(deployments: Iterable[Deployment]) -> dict[str, tuple[Deployment, ...]]:
    found: dict[str, list[Deployment]] = {}
    for deployment in deployments:
        model = deployment.model
        if "*" in model.upstream_name:
            continue  # only a pattern's match makes a name of it
        for name in {model.id, model.upstream_name}:
            found.setdefault(f"{deployment.provider.id}:{name}", []).append(deployment)
    return {name: tuple(listed) for name, listed in found.items()}


def _flatten(
    exact: Mapping[str, str], aliases: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Follow every alias to its route; to the last name where only a pattern answers to that."""
    targets = {normal(name): normal(target) for name, target in aliases.items()}
    names, forwards = dict(exact), {}
    for alias in targets:
        if alias in exact:
            continue
        name, hops = alias, 0
        while name in targets and name not in exact and hops < MAX_HOPS:
            name, hops = targets[name], hops + 1
        if name in exact:
            names[alias] = exact[name]
        elif name not in targets:
            forwards[alias] = name
    return names, forwards
