"""Providers, credentials, endpoints, models and deployments of a document, linked."""

from __future__ import annotations

from collections.abc import Mapping

from routeradmin.catalog import canonical
from routeradmin.catalog import document as doc
from routeradmin.engine.objects import (
    AdminState,
    AuthKind,
    BillingKind,
    Capabilities,
    Credential,
    Deployment,
    Endpoint,
    Model,
    Probe,
    ProbeMode,
    Provider,
)


class Objects:
    """The engine's objects by id. The document must be valid: references are not checked."""

    def __init__(self, document: doc.Document, secret_versions: Mapping[str, int]) -> None:
        self.providers = {table.id: _provider(table) for table in document.providers}
        self.credentials = {
            table.id: _credential(table, secret_versions.get(table.id, 0))
            for table in document.accounts
        }
        self.endpoints = {table.id: _endpoint(table) for table in document.endpoints}
        self.models = {
            table.id: Model(table.id, table.upstream_name, table.name or table.id)
            for table in document.models
        }
        self.bindings = dict(canonical.bindings(document))
        self.deployments = {table.id: self._deployment(table) for table in document.serving_models}

    def _deployment(self, table: doc.ServingModel) -> Deployment:
        endpoint = self.endpoints[table.endpoint_id]
        account_ids = table.account_ids or (endpoint.account_id,)
        credentials = tuple(self.credentials[account_id] for account_id in account_ids)
        return Deployment(
            id=table.id,
            provider=self.providers[credentials[0].provider_id],
            endpoint=endpoint,
            model=self.models[table.model_id],
            protocol=table.protocol,
            credentials=credentials,
            protocols=tuple(dict.fromkeys((table.protocol, *table.protocols))),
            capabilities=_capabilities(table.capabilities),
            name=table.name or table.id,
            weight=table.weight,
            priority=table.priority,
            rpm_limit=table.rpm_limit,
            tpm_limit=table.tpm_limit,
            max_parallel_requests=table.max_parallel_requests,
            admin_state=AdminState(table.admin_state),
            drain_until=table.drain_until.timestamp() if table.drain_until else None,
            tags=table.tags,
            probe=_probe(table.probe) if table.probe else endpoint.probe,
            input_price=table.input_price,
            output_price=table.output_price,
        )


def _provider(table: doc.Provider) -> Provider:
    return Provider(
        id=table.id,
        category=table.category,
        name=table.name or table.id,
        kind=table.kind,
        admin_state=AdminState(table.admin_state),
        tags=table.tags,
    )


def _credential(table: doc.Account, secret_version: int) -> Credential:
    return Credential(
        id=table.id,
        provider_id=table.provider_id,
        auth_kind=AuthKind(table.auth_kind),
        billing_kind=BillingKind(table.billing_kind),
        secret_reference_id=table.secret_reference_id,
        api_key_header=table.api_key_header,
        name=table.name or table.id,
        admin_state=AdminState(table.admin_state),
        tags=table.tags,
        secret_version=secret_version,
    )


def _endpoint(table: doc.Endpoint) -> Endpoint:
    return Endpoint(
        id=table.id,
        account_id=table.account_id,
        base_url=table.base_url,
        name=table.name or table.id,
        headers=tuple(sorted(table.headers.items())),
        proxy=table.proxy,
        ca_file=table.ca_file,
        connect_timeout_s=table.connect_timeout_s,
        header_timeout_s=table.header_timeout_s,
        idle_timeout_s=table.idle_timeout_s,
        total_timeout_s=table.total_timeout_s,
        probe=_probe(table.probe),
    )


def _probe(table: doc.Probe) -> Probe:
    return Probe(
        mode=ProbeMode(table.mode),
        interval_s=table.interval_s,
        timeout_s=table.timeout_s,
        failure_threshold=table.failure_threshold,
        path=table.path,
    )


def _capabilities(table: doc.Capabilities) -> Capabilities:
    return Capabilities(**{name: getattr(table, name) for name in doc.Capabilities.model_fields})
