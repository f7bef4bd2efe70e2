"""Routes, their targets, preview lists and patterns."""

from __future__ import annotations

from collections.abc import Iterator

from routeradmin.catalog.checks.scope import Scope, error, repeated, undeclared
from routeradmin.catalog.document import Route, ServingModel, Target
from routeradmin.catalog.problems import Problem, pointer


def targets(scope: Scope) -> Iterator[Problem]:
    for index, target in enumerate(scope.document.targets):
        if target.route_id not in scope.routes:
            yield error("targets", index, "route_id", detail=f"{target.route_id} is not declared")
        if target.serving_model_id not in scope.deployments:
            detail = f"{target.serving_model_id} is not declared"
            yield error("targets", index, "serving_model_id", detail=detail)


def routes(scope: Scope) -> Iterator[Problem]:
    for index, route in enumerate(scope.document.routes):
        found = scope.targets.get(route.id, [])
        if not found:
            yield error("routes", index, detail=f"{route.id} has no target: add one")
        yield from _positions(route, found)
        yield from _twice(route, found)
        yield from undeclared(route.preview, scope.deployments, "routes", index, "preview")
        yield from repeated(route.preview, "routes", index, "preview")
        if route.policy_id is not None and route.policy_id not in scope.policies:
            detail = f"{route.policy_id} is not declared"
            yield error("routes", index, "policy_id", detail=detail)
        yield from _patterns(scope, index, route)
    yield from _duplicate_aliases(scope)


def _positions(route: Route, found: list[tuple[int, Target]]) -> Iterator[Problem]:
    """The distinct positions are 0 to n-1; targets may share one."""
    distinct = {target.position for _, target in found}
    for index, target in found:
        if target.position >= len(distinct):
            missing = min(set(range(len(distinct))) - distinct)
            detail = f"positions of {route.id} have no gaps and start at 0: {missing} is missing"
            yield error("targets", index, "position", detail=detail)


def _twice(route: Route, found: list[tuple[int, Target]]) -> Iterator[Problem]:
    seen: dict[str, Target] = {}
    for index, target in found:
        first = seen.setdefault(target.serving_model_id, target)
        if first is not target:
            detail = f"{first.id} stands for {target.serving_model_id} in {route.id} already"
            yield error("targets", index, "serving_model_id", detail=detail)


def _patterns(scope: Scope, index: int, route: Route) -> Iterator[Problem]:
    """An upstream ``*`` takes what the alias's ``*`` matched, so there must be one."""
    if "*" in route.alias:
        return
    why = f"needs a * in the alias of {route.id}, for its upstream name holds one"
    for place, target in scope.targets.get(route.id, []):
        if _is_pattern(scope, scope.deployments.get(target.serving_model_id)):
            detail = f"{target.serving_model_id} {why}"
            yield error("targets", place, "serving_model_id", detail=detail)
    for place, id in enumerate(route.preview):
        if _is_pattern(scope, scope.deployments.get(id)):
            yield error("routes", index, "preview", place, detail=f"{id} {why}")


def _is_pattern(scope: Scope, deployment: ServingModel | None) -> bool:
    model = scope.models.get(deployment.model_id) if deployment else None
    return model is not None and "*" in model.upstream_name


def _duplicate_aliases(scope: Scope) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, route in enumerate(scope.document.routes):
        place = first.setdefault(route.alias, index)
        if place != index:
            detail = f"{route.alias} is the alias of route {scope.document.routes[place].id} "
            detail += "already: give one of the two another name"
            yield Problem(
                pointer("routes", index, "alias"), detail, other=pointer("routes", place, "alias")
            )
