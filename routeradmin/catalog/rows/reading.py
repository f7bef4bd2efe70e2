"""Rows to document: one query per table, whatever the size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from django.db.models import Model as Row

from routeradmin.catalog import models
from routeradmin.catalog.document import Document
from routeradmin.catalog.rows import columns as col

Values = Iterator[dict[str, Any]]


def load() -> Document:
    """The catalog as it is stored, entries in the order of their ids."""
    return Document.model_validate(_Reader().document())


class _Reader:
    """Reads tables in the order of their references, so that each knows the ids it names."""

    def __init__(self) -> None:
        self._uids: dict[type[Row], dict[int, str]] = {}

    def document(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            "providers": list(self._providers()),
            "accounts": list(self._accounts()),
            "endpoints": list(self._endpoints()),
            "models": list(self._models()),
            "serving_models": list(self._serving_models()),
        }
        policies = list(models.Policy.objects.all())
        self._remember(models.Policy, policies)
        values["routes"] = list(self._routes())
        values["targets"] = list(self._targets())
        values["aliases"] = list(models.Alias.objects.values("name", "target"))
        values["policies"] = list(self._policies(policies))
        values["rules"] = list(self._rules())
        values["intents"] = list(self._intents())
        values["defaults"] = self._defaults()
        return values

    def _remember(self, kind: type[Row], rows: list[Any]) -> None:
        self._uids[kind] = {row.pk: row.uid for row in rows}

    def _all(self, kind: Any) -> list[Any]:
        rows = list(kind.objects.order_by("uid"))
        self._remember(kind, rows)
        return rows

    def _uid(self, kind: type[Row], pk: int) -> str:
        return self._uids[kind][pk]

    def _places(self, kind: Any, owner: str, item: str, item_kind: Any) -> dict[int, list[str]]:
        """Ordered lists of ids by owner."""
        places: defaultdict[int, list[str]] = defaultdict(list)
        found = kind.objects.order_by(f"{owner}_id", "position")
        for owner_pk, item_pk in found.values_list(f"{owner}_id", f"{item}_id"):
            places[owner_pk].append(self._uid(item_kind, item_pk))
        return places

    def _providers(self) -> Values:
        for row in self._all(models.Provider):
            yield {"id": row.uid, **col.from_columns(row, col.PROVIDER)}

    def _accounts(self) -> Values:
        references = dict(models.Secret.objects.values_list("pk", "reference"))
        for row in self._all(models.Credential):
            values = {"id": row.uid, "provider_id": self._uid(models.Provider, row.provider_id)}
            if row.secret_id:
                values["secret_reference_id"] = references[row.secret_id]
            yield values | col.from_columns(row, col.ACCOUNT)

    def _endpoints(self) -> Values:
        for row in self._all(models.Endpoint):
            yield {
                "id": row.uid,
                "account_id": self._uid(models.Credential, row.credential_id),
                "probe": col.from_columns(row, col.PROBE, "probe_"),
                **col.from_columns(row, col.ENDPOINT),
            }

    def _models(self) -> Values:
        for row in self._all(models.UpstreamModel):
            yield {"id": row.uid, **col.from_columns(row, col.MODEL)}

    def _serving_models(self) -> Values:
        accounts = self._places(
            models.DeploymentCredential, "deployment", "credential", models.Credential
        )
        for row in self._all(models.Deployment):
            values = {
                "id": row.uid,
                "endpoint_id": self._uid(models.Endpoint, row.endpoint_id),
                "model_id": self._uid(models.UpstreamModel, row.model_id),
                "account_ids": accounts.get(row.pk, []),
                "capabilities": col.from_columns(row, col.CAPABILITIES),
                **col.from_columns(row, col.SERVING_MODEL),
            }
            if row.probe_mode:
                values["probe"] = col.from_columns(row, col.PROBE, "probe_")
            yield values

    def _routes(self) -> Values:
        previews = self._places(models.RoutePreview, "route", "deployment", models.Deployment)
        for row in self._all(models.Route):
            values = {"id": row.uid, "preview": previews.get(row.pk, [])}
            if row.policy_id:
                values["policy_id"] = self._uid(models.Policy, row.policy_id)
            yield values | col.from_columns(row, col.ROUTE)

    def _targets(self) -> Values:
        for row in models.Target.objects.order_by("uid"):
            yield {
                "id": row.uid,
                "route_id": self._uid(models.Route, row.route_id),
                "serving_model_id": self._uid(models.Deployment, row.deployment_id),
                "position": row.position,
            }

    def _policies(self, rows: list[models.Policy]) -> Values:
        entries = self._places(models.FallbackEntry, "fallback_list", "route", models.Route)
        lists: defaultdict[int, dict[str, list[str]]] = defaultdict(dict)
        for found in models.FallbackList.objects.all():
            lists[found.policy_id][found.kind] = entries.get(found.pk, [])
        for row in rows:
            yield {"id": row.uid, "fallback": lists[row.pk], **col.policy_values(row)}

    def _rules(self) -> Values:
        allowed = self._places(models.RuleDeployment, "rule", "deployment", models.Deployment)
        for row in self._all(models.Rule):
            yield {
                "id": row.uid,
                "route_id": self._uid(models.Route, row.route_id),
                "when": row.when,
                "only": allowed.get(row.pk, []),
                **col.from_columns(row, col.RULE),
            }

    def _intents(self) -> Values:
        for row in self._all(models.Intent):
            route = self._uid(models.Route, row.route_id)
            yield {"id": row.uid, "route_id": route, **col.from_columns(row, col.INTENT)}

    def _defaults(self) -> dict[str, Any]:
        row = models.Defaults.objects.first()
        if row is None:
            return {}
        values = {**col.from_columns(row, col.DEFAULTS), "intents": row.intents}
        if row.policy_id:
            values["policy_id"] = self._uid(models.Policy, row.policy_id)
        return values
