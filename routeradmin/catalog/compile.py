"""A valid document becomes the engine's snapshot: the only bridge between the two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from routeradmin.catalog import canonical
from routeradmin.catalog import document as doc
from routeradmin.catalog.compile_objects import Objects
from routeradmin.catalog.compile_policy import policy
from routeradmin.engine.objects import AdminState, Deployment, Rule, Target, WhenExhausted
from routeradmin.engine.policy import DEFAULT_POLICY, Policy
from routeradmin.engine.snapshot import Candidate, Defaults, Route, Snapshot, Tier
from routeradmin.engine.state import CandidateKey

Bindings = Mapping[tuple[str, str], str]


def compile(
    document: doc.Document, revision: int, secret_versions: Mapping[str, int] | None = None
) -> Snapshot:
    """The snapshot of a document that ``validate`` found no error in.

    ``secret_versions`` counts the rotations of each account's secret, by account id.
    """
    objects = Objects(document, secret_versions or {})
    policies = {entry.id: policy(entry) for entry in document.policies}
    routes = _Routes(document, objects, policies).all()
    return Snapshot(
        revision=revision,
        config_digest=canonical.digest(document),
        routes=routes,
        names=names(document),
        patterns=_patterns(document),
        deployments=objects.deployments,
        policies=policies,
        defaults=_defaults(document.defaults),
        bindings=objects.bindings,
    )


def names(document: doc.Document) -> dict[str, str]:
    """Route id by exact route alias and by alias name, chains followed to their end."""
    known = {route.alias: route.id for route in document.routes if "*" not in route.alias}
    links = {alias.name: alias.target for alias in document.aliases}
    for alias in links:
        reached, seen = alias, set()
        while reached in links and reached not in seen:
            seen.add(reached)
            reached = links[reached]
        if reached in known:
            known[alias] = known[reached]
    return known


def _patterns(document: doc.Document) -> tuple[tuple[str, str], ...]:
    found = [(route.alias, route.id) for route in document.routes if "*" in route.alias]
    return tuple(sorted(found, key=lambda pair: (-len(pair[0]), pair[0])))


def _defaults(table: doc.Defaults) -> Defaults:
    return Defaults(
        strategy=table.strategy or canonical.DEFAULT_STRATEGY,
        policy_id=table.policy_id,
        auto_priority=table.auto_priority,
    )


def candidates(target: Target, bindings: Bindings) -> list[Candidate]:
    """One candidate per credential of the target's deployment, in the order given."""
    deployment = target.deployment
    return [
        Candidate(
            key=CandidateKey(deployment.id, credential.id),
            target=target,
            credential=credential,
            upstream_name=deployment.model.upstream_name,
            binding_revision=bindings[deployment.id, credential.id],
        )
        for credential in deployment.credentials
    ]


class _Routes:
    """Routes with their tiers, rules and policies joined."""

    def __init__(
        self, document: doc.Document, objects: Objects, policies: Mapping[str, Policy]
    ) -> None:
        self._document = document
        self._objects = objects
        self._policies = policies
        self._targets: defaultdict[str, list[doc.Target]] = defaultdict(list)
        for target in document.targets:
            self._targets[target.route_id].append(target)
        self._rules: defaultdict[str, list[doc.Rule]] = defaultdict(list)
        for rule in document.rules:
            self._rules[rule.route_id].append(rule)

    def all(self) -> dict[str, Route]:
        return {table.id: self._route(table) for table in self._document.routes}

    def _route(self, table: doc.Route) -> Route:
        defaults = self._document.defaults
        policy_id = table.policy_id or defaults.policy_id
        tiers = self._tiers(self._targets[table.id])
        return Route(
            id=table.id,
            alias=table.alias,
            tiers=tiers,
            strategy=table.strategy or defaults.strategy or canonical.DEFAULT_STRATEGY,
            policy=self._policies[policy_id] if policy_id else DEFAULT_POLICY,
            name=table.name or table.alias,
            fallback_enabled=table.fallback_enabled,
            when_exhausted=WhenExhausted(table.when_exhausted),
            max_wait_s=table.max_wait_s,
            affinity_ttl_s=table.affinity_ttl_s,
            preview=self._preview(table, len(tiers)),
            admin_state=AdminState(table.admin_state),
            tags=table.tags,
            rules=_rules(self._rules[table.id]),
        )

    def _tiers(self, targets: Sequence[doc.Target]) -> tuple[Tier, ...]:
        positions: defaultdict[int, list[Candidate]] = defaultdict(list)
        for target in targets:
            positions[target.position] += self._candidates(target.id, target)
        return tuple(
            Tier(index, tuple(sorted(positions[position], key=_candidate_order)))
            for index, position in enumerate(sorted(positions))
        )

    def _candidates(self, target_id: str, target: doc.Target) -> list[Candidate]:
        deployment = self._objects.deployments[target.serving_model_id]
        joined = Target(target_id, deployment, target.position)
        return candidates(joined, self._objects.bindings)

    def _preview(self, table: doc.Route, position: int) -> tuple[Candidate, ...]:
        """Preview deployments stand after every tier; their target ids name them as such."""
        found: list[Candidate] = []
        for deployment_id in table.preview:
            deployment: Deployment = self._objects.deployments[deployment_id]
            target = Target(f"{table.id}:preview:{deployment_id}", deployment, position)
            found += candidates(target, self._objects.bindings)
        return tuple(found)


def _candidate_order(candidate: Candidate) -> tuple[str, str]:
    return candidate.target.id, candidate.credential.id


def _rules(tables: Iterable[doc.Rule]) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            id=table.id,
            position=table.position,
            only=table.only,
            tags=table.when.tags,
            keys=table.when.key,
            headers=tuple(sorted(table.when.header.items())),
            hours=table.when.hours,
            min_input_tokens=table.when.min_input_tokens,
            max_input_tokens=table.when.max_input_tokens,
            tools=table.when.tools,
        )
        for table in sorted(tables, key=lambda rule: (rule.position, rule.id))
    )
