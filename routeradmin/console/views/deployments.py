"""Deployments, with the live state of their candidates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routeradmin.console import board, standing
from routeradmin.console.catalog import Index
from routeradmin.console.forms.deployments import DeploymentDraft
from routeradmin.console.nouns import (
    STATE_CHOICE,
    Cell,
    Choice,
    Column,
    Entry,
    Noun,
    link,
    named,
    providers_by_name,
    routes_by_alias,
    routes_of,
    tags_of,
)
from routeradmin.journal.models import Event
from routeradmin.services import runtime

CHANGES_SHOWN = 8


def _state(entry: Entry, index: Index) -> Cell:
    """The worst state among its candidates."""
    worst = standing.worst(entry.id)
    if not worst:
        return Cell("no credential", state="disabled")
    return Cell(worst, state=worst, live=board.worst_id(entry.id))


def _provider(entry: Entry, index: Index) -> Cell:
    return link("providers", index.provider_of(entry))


def _model(entry: Entry, index: Index) -> Cell:
    model = index.models.get(entry.model_id)
    text = model.upstream_name if model else entry.model_id
    return Cell(text, url=link("models", entry.model_id).url)


def _endpoint(entry: Entry, index: Index) -> Cell:
    return link("endpoints", entry.endpoint_id)


def _limits(entry: Entry, index: Index) -> str:
    parts = (
        (entry.max_parallel_requests, "parallel"),
        (entry.rpm_limit, "rpm"),
        (entry.tpm_limit, "tpm"),
    )
    return ", ".join(f"{limit} {word}" for limit, word in parts if limit is not None) or "none"


def _routes(entry: Entry, index: Index) -> Cell:
    return routes_of(index, index.routes_of_deployment.get(entry.id, ()))


def _capabilities(entry: Entry, index: Index) -> str:
    declared = entry.capabilities.model_dump(exclude_none=True)
    return ", ".join(
        name.replace("_", " ") if value is True else f"{name.replace('_', ' ')} {_in_words(value)}"
        for name, value in declared.items()
    )


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "no"
    return "/".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _credentials(entry: Entry, index: Index) -> str:
    return ", ".join(index.accounts_of(entry))


def _more(entry: Entry, index: Index) -> Mapping[str, Any]:
    routes = index.routes_of_deployment.get(entry.id, ())
    return {
        "rows": standing.rows_of(entry.id),
        "worst": standing.worst(entry.id),
        "worst_dom": board.worst_id(entry.id),
        "beats": runtime.get().heartbeats,
        "changes": Event.objects.filter(deployment=entry.id)[:CHANGES_SHOWN],
        "explained": index.routes[routes[0]].alias if routes else "",
        "probe_cost": _probe_cost(entry, index),
    }


def _probe_cost(entry: Entry, index: Index) -> str:
    """Costly actions say what they cost before they are taken."""
    endpoint = index.endpoints.get(entry.endpoint_id)
    probe = entry.probe or (endpoint.probe if endpoint else None)
    if probe is not None and probe.mode == "chat":
        return "A probe sends one request of at most 16 tokens per credential; it may be billed."
    return "A probe reads the provider's model list, which costs nothing."


NOUN = Noun(
    slug="deployments",
    kind="serving_models",
    one="deployment",
    title="Deployments",
    meaning="A deployment is one model at one endpoint, with its limits and capabilities.",
    form=DeploymentDraft,
    detail_template="console/deployments/detail.html",
    has_bulk=True,
    columns=(
        Column("Deployment", named("deployments"), "id"),
        Column("State", _state),
        Column("Provider", _provider, "provider"),
        Column("Model", _model, "model"),
        Column("Routes", _routes),
        Column("Limits", _limits),
        Column("Weight", lambda entry, index: entry.weight, "weight", number=True),
        Column("Priority", lambda entry, index: entry.priority, "priority", number=True),
        Column("Tags", tags_of),
    ),
    choices=(
        Choice(
            "provider",
            "Provider",
            providers_by_name,
            lambda entry, index: index.provider_of(entry),
        ),
        Choice(
            "route",
            "Route",
            routes_by_alias,
            lambda entry, index: index.routes_of_deployment.get(entry.id, []),
        ),
        STATE_CHOICE,
    ),
    facts=(
        Column("Endpoint", _endpoint),
        Column("Protocol", lambda entry, index: ", ".join((entry.protocol, *entry.protocols))),
        Column("Credentials", _credentials),
        Column("Capabilities", _capabilities),
        Column("Input price", lambda entry, index: entry.input_price),
        Column("Output price", lambda entry, index: entry.output_price),
    ),
    more=_more,
)
