"""The one canonical form of a document, and the digests taken from it.

A document that is valid llm.catalog/1 has that format's form and digests; any other has the
superset's. Comments, white space, order of tables and ``/v1`` against ``/v1/`` change nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from routeradmin.catalog.document import (
    FORMAT,
    KINDS,
    LLM_FORMAT,
    Account,
    Capabilities,
    Document,
    Endpoint,
    Model,
    Provider,
    Route,
    ServingModel,
    key_of,
)
from routeradmin.catalog.fields import is_ident
from routeradmin.catalog.table import Table

T = TypeVar("T", bound=Table)
Form = dict[str, Any]

BINDING_FORMAT = "llm.binding/1"
DEFAULT_STRATEGY = "simple_shuffle"
LLM_PROTOCOLS = ("responses", "messages", "chat-completions")
LLM_MAX_BYTES = 2 * 1024 * 1024
LLM_MAX_DECLARATIONS = 4096
LLM_MAX_TARGETS = 64


def dump(value: Any) -> bytes:
    """Compact JSON, UTF-8 unescaped, keys in the order given."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def sha256(value: Any) -> str:
    return hashlib.sha256(dump(value)).hexdigest()


def canonical(document: Document) -> dict[str, Any]:
    """The document as plain JSON values in canonical order; ``dump`` of it is digested."""
    form = superset_form(document)
    if is_llm(document, form):
        return {"format": LLM_FORMAT, **{kind: form.get(kind, []) for kind in Document.LLM}}
    return {"format": FORMAT, **form}


def digest(document: Document) -> str:
    """Lower-case hex SHA-256 of the canonical form: ``config_digest``."""
    return sha256(canonical(document))


def superset_form(document: Document) -> dict[str, Any]:
    """Every kind that has entries, each entry without its defaults, sorted by id or name."""
    form: dict[str, Any] = {}
    endpoints = by_key(document.endpoints)
    for kind in KINDS:
        entries = sorted(getattr(document, kind), key=key_of)
        if entries:
            form[kind] = [entry_form(document, entry, endpoints) for entry in entries]
    defaults = defaults_form(document)
    return {**form, "defaults": defaults} if defaults else form


def defaults_form(document: Document) -> dict[str, Any]:
    """The ``defaults`` table without what holds anyway."""
    form = table_form(document.defaults)
    if form.get("strategy") == DEFAULT_STRATEGY:
        del form["strategy"]
    return form


def entry_form(
    document: Document, entry: Table, endpoints: dict[str, Endpoint] | None = None
) -> dict[str, Any]:
    """One entry without its defaults, those included that follow from other entries."""
    form = table_form(entry)
    if isinstance(entry, ServingModel):
        if endpoints is None:
            endpoints = by_key(document.endpoints)
        endpoint = endpoints.get(entry.endpoint_id)
        if endpoint and entry.account_ids == (endpoint.account_id,):
            form.pop("account_ids", None)
        if endpoint and entry.probe == endpoint.probe:
            form.pop("probe", None)
    if isinstance(entry, Route) and entry.strategy == DEFAULT_STRATEGY == (
        document.defaults.strategy or DEFAULT_STRATEGY
    ):
        form.pop("strategy", None)
    return form


def table_form(table: Table) -> dict[str, Any]:
    """A table's stated values in canonical order; defaults and absent optionals left out."""
    form: dict[str, Any] = {}
    implied = table.implied()
    for name, written, default in _columns(type(table)):
        value = getattr(table, name)
        if name in table.ALWAYS:
            form[written] = plain(value)
        elif value is not None and value != implied.get(name) and value != default:
            said = plain(value)
            # a nested table may say no more than its default in other words
            if said != {} or default is None:
                form[written] = said
    return form


@cache
def _columns(table: type[Table]) -> tuple[tuple[str, str, Any], ...]:
    """(attribute, written name, default) in canonical order."""
    return tuple(
        (name, info.alias or name, info.get_default(call_default_factory=True, validated_data={}))
        for name, info in table.model_fields.items()
    )


def plain(value: Any) -> Any:
    """A field's value as JSON: whole numbers as integers, times in UTC with milliseconds."""
    if isinstance(value, Table):
        return table_form(value)
    if isinstance(value, tuple):
        return [plain(member) for member in value]
    if isinstance(value, dict):
        return {name: plain(value[name]) for name in sorted(value)}
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value


def is_llm(document: Document, form: dict[str, Any] | None = None) -> bool:
    """Whether a valid document needs nothing beyond llm.catalog/1."""
    form = superset_form(document) if form is None else form
    return (
        set(form) <= set(Document.LLM)
        and all(len(entries) <= LLM_MAX_DECLARATIONS for entries in form.values())
        and all(
            set(entry) <= set(KINDS[kind].LLM)
            for kind, entries in form.items()
            for entry in entries
        )
        and all(map(_is_llm_deployment, document.serving_models))
        and all(is_ident(route.alias) and "*" not in route.alias for route in document.routes)
        and not any("*" in model.upstream_name for model in document.models)
        and _are_llm_positions(document)
        and len(dump(form)) <= LLM_MAX_BYTES
    )


def _is_llm_deployment(deployment: ServingModel) -> bool:
    stated = table_form(deployment.capabilities)
    return tuple(stated) == Capabilities.LLM and deployment.protocol in LLM_PROTOCOLS


def _are_llm_positions(document: Document) -> bool:
    """At most 64 targets per route, each at a position of its own."""
    positions: dict[str, list[int]] = {}
    for target in document.targets:
        positions.setdefault(target.route_id, []).append(target.position)
    return all(len(places) == len(set(places)) <= LLM_MAX_TARGETS for places in positions.values())


def llm_form(table: Table) -> dict[str, Any]:
    """A table's llm.catalog/1 fields alone, in their declared order."""
    form = table_form(table)
    if isinstance(table, ServingModel):
        form["capabilities"] = llm_form(table.capabilities)
    return {name: form[name] for name in table.LLM if name in form}


def binding_revision(
    provider: Provider, account: Account, endpoint: Endpoint, model: Model, serving: ServingModel
) -> str:
    """SHA-256 over the llm.catalog/1 fields of the five objects that make one call possible."""
    return _binding(*map(llm_form, (provider, account, endpoint, model, serving)))


def _binding(provider: Form, account: Form, endpoint: Form, model: Form, serving: Form) -> str:
    return sha256(
        {
            "format": BINDING_FORMAT,
            "provider": provider,
            "account": account,
            "endpoint": endpoint,
            "model": model,
            "serving": serving,
        }
    )


def accounts_of(deployment: ServingModel, endpoint: Endpoint) -> tuple[str, ...]:
    """The ids of the credentials a deployment may use, in the order given."""
    return deployment.account_ids or (endpoint.account_id,)


def bindings(document: Document) -> Iterator[tuple[tuple[str, str], str]]:
    """((serving model id, account id), binding revision) of a valid document."""
    endpoints = by_key(document.endpoints)
    forms = {
        kind: {key_of(entry): llm_form(entry) for entry in getattr(document, kind)}
        for kind in ("providers", "accounts", "endpoints", "models")
    }
    for serving in document.serving_models:
        form = llm_form(serving)
        for account_id in accounts_of(serving, endpoints[serving.endpoint_id]):
            account = forms["accounts"][account_id]
            revision = _binding(
                forms["providers"][account["provider_id"]],
                account,
                forms["endpoints"][serving.endpoint_id],
                forms["models"][serving.model_id],
                form,
            )
            yield (serving.id, account_id), revision


def by_key(entries: Iterable[T]) -> dict[str, T]:
    """Entries by id, aliases by name; of duplicates the last."""
    return {key_of(entry): entry for entry in entries}
