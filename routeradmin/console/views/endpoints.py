"""Endpoints."""

from __future__ import annotations

from routeradmin.console.catalog import Index
from routeradmin.console.forms.endpoints import EndpointDraft
from routeradmin.console.nouns import Cell, Choice, Column, Entry, Noun, health_of, link, named


def _credential(entry: Entry, index: Index) -> Cell:
    return link("credentials", entry.account_id)


def _provider(entry: Entry, index: Index) -> Cell:
    account = index.accounts.get(entry.account_id)
    return link("providers", account.provider_id if account else "")


def _probe(entry: Entry, index: Index) -> str:
    probe = entry.probe
    return probe.mode if probe.mode == "off" else f"{probe.mode} every {probe.interval_s:g} s"


def _deployments(entry: Entry, index: Index) -> int:
    return sum(one.endpoint_id == entry.id for one in index.document.serving_models)


def _timeouts(entry: Entry, index: Index) -> str:
    return (
        f"connect {entry.connect_timeout_s:g} s, first byte {entry.header_timeout_s:g} s, "
        f"idle {entry.idle_timeout_s:g} s, total {entry.total_timeout_s:g} s"
    )


NOUN = Noun(
    slug="endpoints",
    kind="endpoints",
    one="endpoint",
    title="Endpoints",
    meaning="An endpoint is a base URL, reached with a credential.",
    form=EndpointDraft,
    columns=(
        Column("Endpoint", named("endpoints"), "id"),
        Column("Base URL", lambda entry, index: entry.base_url, "url"),
        Column("Provider", _provider, "provider"),
        Column("Credential", _credential, "credential"),
        health_of("endpoint"),
        Column("Health probe", _probe),
        Column("Deployments", _deployments, "deployments", number=True),
    ),
    choices=(
        Choice(
            "probe",
            "Probe",
            lambda index: ("off", "models", "chat"),
            lambda entry, index: entry.probe.mode,
        ),
    ),
    facts=(
        Column("Timeouts", _timeouts),
        Column("Extra headers", lambda entry, index: ", ".join(entry.headers)),
        Column("Proxy", lambda entry, index: entry.proxy),
        Column("CA file", lambda entry, index: entry.ca_file),
    ),
)
