"""What the checks look things up in: a document's entries by id, leniently joined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from routeradmin.catalog.canonical import accounts_of, by_key
from routeradmin.catalog.document import (
    Account,
    Document,
    Endpoint,
    Model,
    Provider,
    Route,
    ServingModel,
    Target,
)
from routeradmin.catalog.policies import Policy
from routeradmin.catalog.problems import Problem, Severity, pointer
from routeradmin.engine.compile import match


@dataclass(slots=True)
class Scope:
    """Indexes over one document. Entries that nothing declares are simply not found."""

    document: Document
    providers: dict[str, Provider] = field(init=False)
    accounts: dict[str, Account] = field(init=False)
    endpoints: dict[str, Endpoint] = field(init=False)
    models: dict[str, Model] = field(init=False)
    deployments: dict[str, ServingModel] = field(init=False)
    routes: dict[str, Route] = field(init=False)
    policies: dict[str, Policy] = field(init=False)
    targets: dict[str, list[tuple[int, Target]]] = field(init=False)  # by route id, with index

    exact: set[str] = field(init=False)
    patterns: list[str] = field(init=False)

    def __post_init__(self) -> None:
        document = self.document
        self.providers = by_key(document.providers)
        self.accounts = by_key(document.accounts)
        self.endpoints = by_key(document.endpoints)
        self.models = by_key(document.models)
        self.deployments = by_key(document.serving_models)
        self.routes = by_key(document.routes)
        self.policies = by_key(document.policies)
        self.exact = {route.alias for route in document.routes if "*" not in route.alias}
        self.patterns = [route.alias for route in document.routes if "*" in route.alias]
        self.targets = defaultdict(list)
        for index, target in enumerate(document.targets):
            self.targets[target.route_id].append((index, target))

    def accounts_of(self, deployment: ServingModel) -> list[Account]:
        """The declared ones among the deployment's credentials."""
        endpoint = self.endpoints.get(deployment.endpoint_id)
        ids = accounts_of(deployment, endpoint) if endpoint else deployment.account_ids
        return [self.accounts[id] for id in ids if id in self.accounts]

    def provider_of(self, deployment: ServingModel) -> str | None:
        """The id of the provider behind the deployment's endpoint."""
        endpoint = self.endpoints.get(deployment.endpoint_id)
        account = self.accounts.get(endpoint.account_id) if endpoint else None
        return account.provider_id if account else None

    def policy_of(self, route: Route) -> Policy | None:
        policy_id = route.policy_id or self.document.defaults.policy_id
        return self.policies.get(policy_id) if policy_id else None

    def is_served(self, name: str) -> bool:
        """Whether a route answers to this exact name, by its alias or by its pattern."""
        return name in self.exact or any(
            match(pattern, name) is not None for pattern in self.patterns
        )


Check = Callable[[Scope], Iterator[Problem]]


def error(*place: str | int, detail: str) -> Problem:
    return Problem(pointer(*place), detail)


def warning(*place: str | int, detail: str) -> Problem:
    return Problem(pointer(*place), detail, Severity.WARNING)


def undeclared(ids: Iterable[str], known: Iterable[str], *place: str | int) -> Iterator[Problem]:
    """One problem per listed id that nothing declares; ``place`` is the list."""
    declared = set(known)
    for index, id in enumerate(ids):
        if id not in declared:
            yield error(*place, index, detail=f"{id} is not declared")


def repeated(ids: Iterable[str], *place: str | int) -> Iterator[Problem]:
    """One problem per listed id that stands in the list before."""
    seen: set[str] = set()
    for index, id in enumerate(ids):
        if id in seen:
            yield error(*place, index, detail=f"{id} stands in this list twice")
        seen.add(id)
