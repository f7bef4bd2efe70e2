"""A valid document becomes the engine's snapshot: the only bridge between the two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from routeradmin.catalog import canonical
from routeradmin.catalog import document as doc
from routeradmin.catalog.compile_objects import Objects
from routeradmin.catalog.compile_policy import policy
from routeradmin.engine.compile import RouteSpec, TargetSpec, compile_snapshot
from routeradmin.engine.intents import Intent, IntentSettings, Matrix
from routeradmin.engine.objects import AdminState, Rule, WhenExhausted
from routeradmin.engine.snapshot import Defaults, Snapshot
from routeradmin.engine.strategies import Selector


def compile(
    document: doc.Document,
    revision: int,
    secret_versions: Mapping[str, int] | None = None,
    *,
    missing_secrets: Iterable[str] = (),
    selectors: Mapping[str, Selector] | None = None,
) -> Snapshot:
    """The snapshot of a document that ``validate`` found no error in.

    ``secret_versions`` counts the rotations of each account's secret; ``missing_secrets`` names
    the accounts without one at hand; both go by account id.
    """
    objects = Objects(document, secret_versions or {})
    return compile_snapshot(
        revision=revision,
        config_digest=canonical.digest(document),
        deployments=objects.deployments,
        routes=_routes(document),
        aliases={alias.name: alias.target for alias in document.aliases},
        policies={entry.id: policy(entry) for entry in document.policies},
        defaults=_defaults(document.defaults),
        bindings=objects.bindings,
        missing_secrets=missing_secrets,
        selectors=selectors,
        matrix=_matrix(document),
    )


def _defaults(table: doc.Defaults) -> Defaults:
    return Defaults(
        strategy=table.strategy or canonical.DEFAULT_STRATEGY,
        policy_id=table.policy_id,
        auto_priority=table.auto_priority,
    )


def _matrix(document: doc.Document) -> Matrix:
    table = document.defaults.intents
    settings = {name: getattr(table, name) for name in type(table).model_fields}
    intents = (
        Intent(
            id=entry.id,
            route_id=entry.route_id,
            name=entry.name or entry.id,
            description=entry.description,
            examples=entry.examples,
            keywords=entry.keywords,
            local_only=entry.local_only,
        )
        for entry in document.intents
    )
    return Matrix(IntentSettings(**settings), {intent.id: intent for intent in intents})


def _routes(document: doc.Document) -> Iterator[RouteSpec]:
    targets: defaultdict[str, list[TargetSpec]] = defaultdict(list)
    for target in document.targets:
        spec = TargetSpec(target.id, target.serving_model_id, target.position)
        targets[target.route_id].append(spec)
    rules: defaultdict[str, list[Rule]] = defaultdict(list)
    for rule in document.rules:
        rules[rule.route_id].append(_rule(rule))
    for route in document.routes:
        yield _route(route, targets[route.id], rules[route.id])


def _route(table: doc.Route, targets: Sequence[TargetSpec], rules: Sequence[Rule]) -> RouteSpec:
    return RouteSpec(
        id=table.id,
        alias=table.alias,
        targets=targets,
        strategy=table.strategy,
        policy_id=table.policy_id,
        name=table.name or table.alias,
        fallback_enabled=table.fallback_enabled,
        when_exhausted=WhenExhausted(table.when_exhausted),
        max_wait_s=table.max_wait_s,
        affinity_ttl_s=table.affinity_ttl_s,
        preview=table.preview,
        admin_state=AdminState(table.admin_state),
        tags=table.tags,
        rules=rules,
    )


def _rule(table: doc.Rule) -> Rule:
    return Rule(
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
