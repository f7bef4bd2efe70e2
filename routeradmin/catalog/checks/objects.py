"""Ids, accounts, endpoints and deployments (llm.catalog/1's refusals, in its order)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from routeradmin.catalog.checks.scope import Scope, error, repeated, undeclared
from routeradmin.catalog.document import KINDS, Account, Alias, ServingModel, key_of
from routeradmin.catalog.problems import Problem


def duplicate_ids(scope: Scope) -> Iterator[Problem]:
    """An id stands once within its kind; ids of different kinds may coincide."""
    for kind, table in KINDS.items():
        first: dict[str, int] = {}
        for index, entry in enumerate(getattr(scope.document, kind)):
            key = key_of(entry)
            if first.setdefault(key, index) != index:
                name = "name" if table is Alias else "id"
                detail = f"{key} is declared at /{kind}/{first[key]} already: choose another {name}"
                yield error(kind, index, name, detail=detail)


def accounts(scope: Scope) -> Iterator[Problem]:
    for index, account in enumerate(scope.document.accounts):
        yield from _credential_fields(index, account)
        if account.provider_id not in scope.providers:
            yield error(
                "accounts", index, "provider_id", detail=f"{account.provider_id} is not declared"
            )
    yield from _shared_subscriptions(scope)


def _credential_fields(index: int, account: Account) -> Iterator[Problem]:
    at = ("accounts", index)
    anonymous = account.auth_kind == "anonymous"
    if anonymous and account.secret_reference_id is not None:
        yield error(*at, "secret_reference_id", detail="an anonymous account has no secret")
    if not anonymous and account.secret_reference_id is None:
        detail = f"{account.auth_kind} needs the reference of its secret"
        yield error(*at, "secret_reference_id", detail=detail)
    if set(account.secret_reference_id or "-") == {"*"}:
        yield error(*at, "secret_reference_id", detail="is a mask: name the secret's reference")
    if account.auth_kind == "api-key" and account.api_key_header is None:
        yield error(*at, "api_key_header", detail="api-key needs the header that carries the key")
    if account.auth_kind != "api-key" and account.api_key_header is not None:
        yield error(*at, "api_key_header", detail="is for auth_kind api-key only")
    if account.auth_kind == "subscription-oauth" and account.billing_kind != "subscription":
        yield error(*at, "billing_kind", detail="subscription-oauth is billed as subscription")


def _shared_subscriptions(scope: Scope) -> Iterator[Problem]:
    """One subscription's secret belongs to one account, lest it is spent under two names."""
    users: defaultdict[str, list[int]] = defaultdict(list)
    for index, account in enumerate(scope.document.accounts):
        if account.secret_reference_id is not None:
            users[account.secret_reference_id].append(index)
    for indexes in users.values():
        sharing = [scope.document.accounts[index] for index in indexes]
        if len(sharing) > 1 and any(one.billing_kind == "subscription" for one in sharing):
            names = ", ".join(one.id for one in sharing)
            detail = f"a subscription's secret is one account's: {names} share this one"
            yield error("accounts", indexes[-1], "secret_reference_id", detail=detail)


def endpoints(scope: Scope) -> Iterator[Problem]:
    for index, endpoint in enumerate(scope.document.endpoints):
        if endpoint.account_id not in scope.accounts:
            detail = f"{endpoint.account_id} is not declared"
            yield error("endpoints", index, "account_id", detail=detail)
    yield from _key_headers(scope)


def _key_headers(scope: Scope) -> Iterator[Problem]:
    """A fixed header must not stand in for a key that some account sends in it."""
    secret = {one.api_key_header for one in scope.document.accounts if one.api_key_header}
    for index, endpoint in enumerate(scope.document.endpoints):
        for name in secret.intersection(endpoint.headers):
            detail = "carries an account's key: remove it here"
            yield error("endpoints", index, "headers", name, detail=detail)


def deployments(scope: Scope) -> Iterator[Problem]:
    for index, deployment in enumerate(scope.document.serving_models):
        at = ("serving_models", index)
        if deployment.endpoint_id not in scope.endpoints:
            yield error(*at, "endpoint_id", detail=f"{deployment.endpoint_id} is not declared")
        if deployment.model_id not in scope.models:
            yield error(*at, "model_id", detail=f"{deployment.model_id} is not declared")
        yield from undeclared(deployment.account_ids, scope.accounts, *at, "account_ids")
        yield from repeated(deployment.account_ids, *at, "account_ids")
        yield from _one_provider(scope, index, deployment)
        yield from _capabilities(index, deployment)
        yield from _subscription_protocol(scope, index, deployment)


def _one_provider(scope: Scope, index: int, deployment: ServingModel) -> Iterator[Problem]:
    """A key goes to its own provider's endpoint and to no other."""
    provider = scope.provider_of(deployment)
    for place, id in enumerate(deployment.account_ids):
        account = scope.accounts.get(id)
        if account and provider is not None and account.provider_id != provider:
            detail = f"{id} is a credential of {account.provider_id}, the endpoint is {provider}'s"
            yield error("serving_models", index, "account_ids", place, detail=detail)


def _capabilities(index: int, deployment: ServingModel) -> Iterator[Problem]:
    window = deployment.capabilities.context_window
    output = deployment.capabilities.max_output_tokens
    if window is not None and output is not None and output > window:
        yield error(
            "serving_models",
            index,
            "capabilities",
            "max_output_tokens",
            detail="must not be above context_window",
        )


def _subscription_protocol(scope: Scope, index: int, deployment: ServingModel) -> Iterator[Problem]:
    if all(account.auth_kind != "subscription-oauth" for account in scope.accounts_of(deployment)):
        return
    detail = "a subscription-oauth account speaks messages only"
    if deployment.protocol != "messages":
        yield error("serving_models", index, "protocol", detail=detail)
    for place, protocol in enumerate(deployment.protocols):
        if protocol != "messages":
            yield error("serving_models", index, "protocols", place, detail=detail)
