"""Intents that would not do what they seem to say."""

from __future__ import annotations

from collections.abc import Iterator

from routeradmin.catalog.checks.scope import Scope, warning
from routeradmin.catalog.document import Route
from routeradmin.catalog.intent_settings import EMBEDDERS
from routeradmin.catalog.problems import Problem
from routeradmin.engine.eligibility import LOCAL_TAG


def unknown_defaults(scope: Scope) -> Iterator[Problem]:
    """Where it is on, the intent of last resort should be one of the catalog's."""
    table = scope.document.defaults.intents
    known = {intent.id for intent in scope.document.intents}
    if table.enabled and table.default_id not in known:
        detail = f"there is no intent {table.default_id}: what fits none goes by auto_priority"
        yield warning("defaults", "intents", "default_id", detail=detail)


def remote_judges(scope: Scope) -> Iterator[Problem]:
    """What judges a prompt gets to read it, so beside a local_only intent it must be local too."""
    document = scope.document
    table = document.defaults.intents
    if not table.enabled or not any(intent.local_only for intent in document.intents):
        return
    named = {"classifier": table.classifier, "embedder": table.embedder}
    for field, name in named.items():
        route = _route_called(scope, name)
        if name not in (None, *EMBEDDERS) and route is not None and not _has_local(scope, route):
            detail = f"no target of {route.id} is tagged {LOCAL_TAG}: it cannot be asked while an "
            yield warning("defaults", "intents", field, detail=detail + "intent is local_only")


def nowhere_local(scope: Scope) -> Iterator[Problem]:
    for index, intent in enumerate(scope.document.intents):
        route = scope.routes.get(intent.route_id)
        if intent.local_only and route is not None and not _has_local(scope, route):
            detail = f"no target of {route.id} is tagged {LOCAL_TAG}: its requests will be refused"
            yield warning("intents", index, "route_id", detail=detail)


def _route_called(scope: Scope, name: str | None) -> Route | None:
    return next((route for route in scope.document.routes if route.alias == name), None)


def _has_local(scope: Scope, route: Route) -> bool:
    served = (scope.deployments.get(one.serving_model_id) for _, one in scope.targets[route.id])
    return any(deployment is not None and LOCAL_TAG in deployment.tags for deployment in served)
