"""LiteLLM's fallback lists: names, or ids of single deployments, become routes in a policy."""

from __future__ import annotations

from typing import Any, ClassVar

from routeradmin.catalog.fields import clean
from routeradmin.catalog.files.drafting import Drafting
from routeradmin.catalog.files.values import LIST, TABLE

Lists = dict[str, list[str]]


class Fallbacks:
    NAMES: ClassVar[dict[str, str]] = {
        "fallbacks": "general",
        "context_window_fallbacks": "context_window",
        "content_policy_fallbacks": "content_policy",
        "default_fallbacks": "general",
    }
    EVERYWHERE: ClassVar[str] = "*"

    def __init__(
        self, drafting: Drafting, deployment_ids: dict[str, str], tables: dict[str, Any]
    ) -> None:
        self._drafting = drafting
        self._deployment_ids = deployment_ids
        self._tables = tables
        self._routes = {one["alias"]: id for id, one in drafting.kinds["routes"].items()}
        self._lists: dict[str, Lists] = {}  # by route id

    def read(self, section: str, values: dict[str, Any]) -> None:
        for name, kind in self.NAMES.items():
            listed = self._drafting.read(LIST, values, name, (section,)) or []
            if name == "default_fallbacks":
                self._add(self.EVERYWHERE, kind, listed, (section, name))
                continue
            for index, entry in enumerate(listed):
                found = self._drafting.fit(TABLE, entry, (section, name, index)) or {}
                for alias, targets in found.items():
                    place = (section, name, index, alias)
                    self._add(alias, kind, self._drafting.fit(LIST, targets, place) or [], place)

    def _add(self, alias: str, kind: str, targets: list[Any], place: tuple[str | int, ...]) -> None:
        route_id = self._routes.get(clean(alias), self.EVERYWHERE)
        if route_id == self.EVERYWHERE and alias != self.EVERYWHERE:
            self._drafting.leave(*place, why="is the list of a name that no model has")
            return
        found = self._lists.setdefault(route_id, {}).setdefault(kind, [])
        for index, target in enumerate(targets):
            target_id = self._route(target)
            if target_id is None:
                self._drafting.leave(*place, index, why="names no model and no deployment id")
            elif target_id not in found:
                found.append(target_id)
                self._warn_of_twins(route_id, target_id, (*place, index))

    def _route(self, target: Any) -> str | None:
        """The route of a name; a deployment's own id gets a route of its own."""
        name = clean(str(target))
        if name in self._routes:
            return self._routes[name]
        deployment_id = self._deployment_ids.get(name)
        if deployment_id is None:
            return None
        route_id = self._drafting.route(name)
        self._drafting.target(route_id, deployment_id)
        self._routes[name] = route_id
        return route_id

    def _warn_of_twins(self, route_id: str, target_id: str, place: tuple[str | int, ...]) -> None:
        behind = self._upstreams(target_id)
        if behind and behind <= self._upstreams(route_id):
            what = "leads to an upstream and key that the route uses already"
            self._drafting.note(*place, what=what)

    def _upstreams(self, route_id: str) -> set[tuple[str, str]]:
        kinds = self._drafting.kinds
        served = [
            kinds["serving_models"][one["serving_model_id"]]
            for one in kinds["targets"].values()
            if one["route_id"] == route_id
        ]
        return {(one["endpoint_id"], one["model_id"]) for one in served}

    def apply(self) -> None:
        """A policy for every route that has lists; retries and cooldowns are the same for all."""
        everywhere = self._lists.pop(self.EVERYWHERE, {})
        for route_id, route in self._drafting.kinds["routes"].items():
            lists = {**everywhere, **self._lists.get(route_id, {})}
            lists = {kind: [id for id in ids if id != route_id] for kind, ids in lists.items()}
            lists = {kind: ids for kind, ids in lists.items() if ids}
            if lists:
                wanted = f"{route_id}-fallback"
                route["policy_id"] = self._drafting.policy(wanted, **self._tables, fallback=lists)
                route["fallback_enabled"] = True
