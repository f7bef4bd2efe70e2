"""Policies, rules, intents and defaults: references and numbers that depend on each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from routeradmin.catalog.checks.scope import Scope, error, undeclared
from routeradmin.catalog.document import Rule
from routeradmin.catalog.intent_settings import EMBEDDERS
from routeradmin.catalog.problems import Problem

HOURS = re.compile(r"([01]\d|2[0-3]):[0-5]\d-(([01]\d|2[0-3]):[0-5]\d|24:00)")


def policies(scope: Scope) -> Iterator[Problem]:
    for index, policy in enumerate(scope.document.policies):
        cooldown = policy.cooldown
        at = ("policies", index, "cooldown")
        detail = "must not be below its base"
        if cooldown.rate_limited_cap_s < cooldown.rate_limited_base_s:
            yield error(*at, "rate_limited_cap_s", detail=detail)
        if cooldown.transient_cap_s < cooldown.transient_base_s:
            yield error(*at, "transient_cap_s", detail=detail)
        for name in type(policy.fallback).model_fields:
            listed = getattr(policy.fallback, name) or ()
            yield from undeclared(listed, scope.routes, "policies", index, "fallback", name)


def rules(scope: Scope) -> Iterator[Problem]:
    for index, rule in enumerate(scope.document.rules):
        if rule.route_id not in scope.routes:
            yield error("rules", index, "route_id", detail=f"{rule.route_id} is not declared")
        if not rule.only:
            detail = "needs at least one deployment: without one the route could serve nothing"
            yield error("rules", index, "only", detail=detail)
        yield from undeclared(rule.only, scope.deployments, "rules", index, "only")
        yield from _condition(index, rule)


def _condition(index: int, rule: Rule) -> Iterator[Problem]:
    at = ("rules", index, "when")
    for place, hours in enumerate(rule.when.hours):
        if not HOURS.fullmatch(hours):
            yield error(*at, "hours", place, detail="must look like 22:00-06:00")
    least, most = rule.when.min_input_tokens, rule.when.max_input_tokens
    if least is not None and most is not None and least > most:
        yield error(*at, "max_input_tokens", detail="must not be below min_input_tokens")


def intents(scope: Scope) -> Iterator[Problem]:
    for index, intent in enumerate(scope.document.intents):
        if intent.route_id not in scope.routes:
            yield error("intents", index, "route_id", detail=f"{intent.route_id} is not declared")
        elif "*" in scope.routes[intent.route_id].alias:
            detail = f"{intent.route_id} is a pattern: an intent needs a route with a whole name"
            yield error("intents", index, "route_id", detail=detail)


def defaults(scope: Scope) -> Iterator[Problem]:
    table = scope.document.defaults
    if table.policy_id is not None and table.policy_id not in scope.policies:
        yield error("defaults", "policy_id", detail=f"{table.policy_id} is not declared")
    known = _names(scope)
    for place, name in enumerate(table.auto_priority):
        if name not in known and not scope.is_served(name):
            detail = f"{name} is no alias and no provider:model of this catalog"
            yield error("defaults", "auto_priority", place, detail=detail)


def intent_settings(scope: Scope) -> Iterator[Problem]:
    """Names that embed and classify must lead somewhere."""
    table, known = scope.document.defaults.intents, _names(scope)
    named = {"classifier": table.classifier}
    if table.embedder not in EMBEDDERS:
        named["embedder"] = table.embedder
    for field, name in named.items():
        if name is not None and name not in known and not scope.is_served(name):
            detail = f"{name} is no alias and no provider:model of this catalog"
            yield error("defaults", "intents", field, detail=detail)


def _names(scope: Scope) -> set[str]:
    """The exact names that no route has itself: aliases and ``provider:model``."""
    document = scope.document
    names = {alias.name for alias in document.aliases}
    for deployment in document.serving_models:
        provider, model = scope.provider_of(deployment), scope.models.get(deployment.model_id)
        if provider is not None and model is not None:
            names |= {f"{provider}:{model.id}", f"{provider}:{model.upstream_name}"}
    return names
