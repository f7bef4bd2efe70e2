"""The catalog as the console reads it: the document in force, and who names whom in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from routeradmin.catalog.document import Document
from routeradmin.services import runtime


def document() -> Document:
    return runtime.get().current.document


@dataclass(frozen=True, slots=True)
class Index:
    """Entries of one document by id, and the references between them."""

    document: Document
    providers: Mapping[str, Any]
    accounts: Mapping[str, Any]
    endpoints: Mapping[str, Any]
    models: Mapping[str, Any]
    deployments: Mapping[str, Any]
    routes: Mapping[str, Any]
    policies: Mapping[str, Any]
    targets_of_route: Mapping[str, list[Any]]
    routes_of_deployment: Mapping[str, list[str]]
    route_of_target: Mapping[str, str]

    def alias_of(self, route_id: str) -> str:
        """What people call a route; one that is not in the catalog keeps its id."""
        route = self.routes.get(route_id)
        return route.alias if route else route_id

    def route_called(self, text: str) -> str:
        """The id of the route with this alias; the text itself where there is none."""
        return next((one.id for one in self.document.routes if one.alias == text), text)

    def accounts_of(self, deployment: Any) -> tuple[str, ...]:
        """A deployment's own credentials, else its endpoint's."""
        if deployment.account_ids:
            return tuple(deployment.account_ids)
        endpoint = self.endpoints.get(deployment.endpoint_id)
        return (endpoint.account_id,) if endpoint else ()

    def provider_of(self, deployment: Any) -> str:
        accounts = self.accounts_of(deployment)
        account = self.accounts.get(accounts[0]) if accounts else None
        return account.provider_id if account else ""


def _by_id(entries: Iterable[Any]) -> dict[str, Any]:
    return {entry.id: entry for entry in entries}


def _indexed(document: Document) -> Index:
    targets: dict[str, list[Any]] = defaultdict(list)
    routes_of: dict[str, list[str]] = defaultdict(list)
    for target in sorted(document.targets, key=lambda one: (one.position, one.id)):
        targets[target.route_id].append(target)
        routes_of[target.serving_model_id].append(target.route_id)
    return Index(
        document,
        _by_id(document.providers),
        _by_id(document.accounts),
        _by_id(document.endpoints),
        _by_id(document.models),
        _by_id(document.serving_models),
        _by_id(document.routes),
        _by_id(document.policies),
        targets,
        routes_of,
        {target.id: target.route_id for target in document.targets},
    )


_latest: list[Index] = []  # of the document in force: documents are immutable


def index() -> Index:
    current = document()
    if not _latest or _latest[0].document is not current:
        _latest[:] = [_indexed(current)]
    return _latest[0]


@dataclass(frozen=True, slots=True)
class Choices:
    """Id and readable name of every entry of a kind, for a select."""

    kind: str
    label: str = "name"

    def __call__(self) -> list[tuple[str, str]]:
        entries = getattr(document(), self.kind)
        offered = [(entry.id, _labelled(entry, self.label)) for entry in entries]
        return sorted(offered, key=lambda pair: pair[1])


def _labelled(entry: Any, label: str) -> str:
    """A route is called by its alias; everything else by its id."""
    text = getattr(entry, label, None)
    if not text or text == entry.id:
        return str(entry.id)
    return f"{text} – {entry.id}" if label == "alias" else f"{entry.id} – {text}"
