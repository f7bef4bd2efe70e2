"""Document to rows: only what differs is written, a few statements per table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from routeradmin.catalog import document as doc
from routeradmin.catalog import models
from routeradmin.catalog.canonical import plain
from routeradmin.catalog.policies import Policy
from routeradmin.catalog.rows import columns as col
from routeradmin.catalog.rows.delta import Delta, delta
from routeradmin.catalog.rows.names import release_names, write_names
from routeradmin.catalog.rows.tables import Ids, delete, rewrite_places, upsert


def store(before: doc.Document, after: doc.Document, now: datetime) -> Delta:
    """Make the rows of ``before`` those of ``after``, a valid document; tell what differed.

    Runs inside the caller's transaction. Rows that did not change keep their version.
    """
    found = delta(before, after)
    if found:
        _Writer(found, now).write(after)
    return found


class _Writer:
    def __init__(self, found: Delta, now: datetime) -> None:
        self._delta = found
        self._now = now
        self._ids = Ids()

    def write(self, after: doc.Document) -> None:
        release_names(self._delta, self._ids)
        self._delete()
        self._providers()
        self._accounts()
        if self._delta["accounts"]:
            note_unused_secrets(self._now)
        self._endpoints()
        self._models()
        self._serving_models()
        self._policies()
        self._routes()
        self._fallback_lists()
        self._targets()
        write_names(self._delta, self._ids, self._now)
        self._rules()
        self._intents()
        if self._delta.defaults_changed:
            self._defaults(after.defaults)

    def _delete(self) -> None:
        """Children first by habit; what is left dangling the database refuses at commit."""
        gone = self._delta.kinds
        ids = self._ids
        routes = [ids.of(models.Route)[uid] for uid in gone["routes"].removed]
        policies = [ids.of(models.Policy)[uid] for uid in gone["policies"].removed]
        deployments = [ids.of(models.Deployment)[uid] for uid in gone["serving_models"].removed]
        rules = [ids.of(models.Rule)[uid] for uid in gone["rules"].removed]
        delete(models.RuleDeployment, "rule_id", rules)
        delete(models.Rule, "id", rules)
        delete(models.Intent, "uid", gone["intents"].removed)
        # A target that changed is written anew, so that two of a route can swap deployments.
        delete(models.Target, "uid", gone["targets"].removed)
        delete(models.Target, "uid", [target.id for target in gone["targets"].changed])
        delete(models.RoutePreview, "route_id", routes)
        delete(models.FallbackEntry, "fallback_list__policy_id", policies)
        delete(models.FallbackList, "policy_id", policies)
        delete(models.Route, "id", routes)
        delete(models.Policy, "id", policies)
        delete(models.DeploymentCredential, "deployment_id", deployments)
        delete(models.Deployment, "id", deployments)
        delete(models.UpstreamModel, "uid", gone["models"].removed)
        delete(models.Endpoint, "uid", gone["endpoints"].removed)
        delete(models.Credential, "uid", gone["accounts"].removed)
        delete(models.Provider, "uid", gone["providers"].removed)
        self._ids = Ids()

    def _providers(self) -> None:
        entries: list[doc.Provider] = self._delta["providers"].written
        rows = [
            models.Provider(uid=entry.id, **col.to_columns(entry, col.PROVIDER))
            for entry in entries
        ]
        upsert(models.Provider, rows, self._now)

    def _accounts(self) -> None:
        entries: list[doc.Account] = self._delta["accounts"].written
        if not entries:
            return
        secrets = secret_ids({entry.secret_reference_id for entry in entries}, self._now)
        providers = self._ids.of(models.Provider)
        rows = [
            models.Credential(
                uid=entry.id,
                provider_id=providers[entry.provider_id],
                secret_id=secrets.get(entry.secret_reference_id),
                **col.to_columns(entry, col.ACCOUNT),
            )
            for entry in entries
        ]
        upsert(models.Credential, rows, self._now)

    def _endpoints(self) -> None:
        entries: list[doc.Endpoint] = self._delta["endpoints"].written
        if not entries:
            return
        accounts = self._ids.of(models.Credential)
        rows = [
            models.Endpoint(
                uid=entry.id,
                credential_id=accounts[entry.account_id],
                **col.to_columns(entry, col.ENDPOINT),
                **col.to_columns(entry.probe, col.PROBE, "probe_"),
            )
            for entry in entries
        ]
        upsert(models.Endpoint, rows, self._now)

    def _models(self) -> None:
        entries: list[doc.Model] = self._delta["models"].written
        rows = [
            models.UpstreamModel(uid=entry.id, **col.to_columns(entry, col.MODEL))
            for entry in entries
        ]
        upsert(models.UpstreamModel, rows, self._now)

    def _serving_models(self) -> None:
        entries: list[doc.ServingModel] = self._delta["serving_models"].written
        if not entries:
            return
        upsert(models.Deployment, [self._deployment(entry) for entry in entries], self._now)
        pks, accounts = self._ids.of(models.Deployment), self._ids.of(models.Credential)
        rewrite_places(
            models.DeploymentCredential,
            "deployment",
            "credential",
            {pks[entry.id]: [accounts[uid] for uid in entry.account_ids] for entry in entries},
        )

    def _deployment(self, entry: doc.ServingModel) -> models.Deployment:
        probe = col.to_columns(entry.probe, col.PROBE, "probe_") if entry.probe else {}
        return models.Deployment(
            uid=entry.id,
            endpoint_id=self._ids.of(models.Endpoint)[entry.endpoint_id],
            model_id=self._ids.of(models.UpstreamModel)[entry.model_id],
            **col.to_columns(entry, col.SERVING_MODEL),
            **col.to_columns(entry.capabilities, col.CAPABILITIES),
            **probe,
        )

    def _policies(self) -> None:
        entries: list[Policy] = self._delta["policies"].written
        rows = [models.Policy(uid=entry.id, **col.policy_columns(entry)) for entry in entries]
        upsert(models.Policy, rows, self._now)

    def _routes(self) -> None:
        entries: list[doc.Route] = self._delta["routes"].written
        if not entries:
            return
        policies = self._ids.of(models.Policy)
        rows = [
            models.Route(
                uid=entry.id,
                policy_id=policies[entry.policy_id] if entry.policy_id else None,
                **col.to_columns(entry, col.ROUTE),
            )
            for entry in entries
        ]
        upsert(models.Route, rows, self._now)
        pks, deployments = self._ids.of(models.Route), self._ids.of(models.Deployment)
        rewrite_places(
            models.RoutePreview,
            "route",
            "deployment",
            {pks[entry.id]: [deployments[uid] for uid in entry.preview] for entry in entries},
        )

    def _fallback_lists(self) -> None:
        entries: list[Policy] = self._delta["policies"].written
        if not entries:
            return
        policies, routes = self._ids.of(models.Policy), self._ids.of(models.Route)
        owners = [policies[entry.id] for entry in entries]
        delete(models.FallbackEntry, "fallback_list__policy_id", owners)
        delete(models.FallbackList, "policy_id", owners)
        stated = [
            (models.FallbackList(policy_id=policies[entry.id], kind=kind.value), listed)
            for entry in entries
            for kind in models.FallbackKind
            if (listed := getattr(entry.fallback, kind.value)) is not None
        ]
        models.FallbackList.objects.bulk_create([row for row, _ in stated])
        models.FallbackEntry.objects.bulk_create(
            models.FallbackEntry(fallback_list=row, route_id=routes[uid], position=position)
            for row, listed in stated
            for position, uid in enumerate(listed)
        )

    def _targets(self) -> None:
        entries: list[doc.Target] = self._delta["targets"].written
        if not entries:
            return
        routes, deployments = self._ids.of(models.Route), self._ids.of(models.Deployment)
        models.Target.objects.bulk_create(
            models.Target(
                uid=entry.id,
                route_id=routes[entry.route_id],
                deployment_id=deployments[entry.serving_model_id],
                position=entry.position,
                created_at=self._now,
                updated_at=self._now,
            )
            for entry in entries
        )

    def _rules(self) -> None:
        entries: list[doc.Rule] = self._delta["rules"].written
        if not entries:
            return
        routes, deployments = self._ids.of(models.Route), self._ids.of(models.Deployment)
        rows = [
            models.Rule(
                uid=entry.id,
                route_id=routes[entry.route_id],
                when=entry.when.model_dump(mode="json", exclude_defaults=True),
                **col.to_columns(entry, col.RULE),
            )
            for entry in entries
        ]
        upsert(models.Rule, rows, self._now)
        pks = self._ids.of(models.Rule)
        rewrite_places(
            models.RuleDeployment,
            "rule",
            "deployment",
            {pks[entry.id]: [deployments[uid] for uid in entry.only] for entry in entries},
        )

    def _intents(self) -> None:
        entries: list[doc.Intent] = self._delta["intents"].written
        if not entries:
            return
        routes = self._ids.of(models.Route)
        rows = [
            models.Intent(
                uid=entry.id,
                route_id=routes[entry.route_id],
                **col.to_columns(entry, col.INTENT),
            )
            for entry in entries
        ]
        upsert(models.Intent, rows, self._now)

    def _defaults(self, entry: doc.Defaults) -> None:
        policies = self._ids.of(models.Policy)
        row = models.Defaults.objects.first() or models.Defaults(id=1, version=0)
        for name, value in col.to_columns(entry, col.DEFAULTS).items():
            setattr(row, name, value)
        row.policy_id = policies[entry.policy_id] if entry.policy_id else None
        row.intents = plain(entry.intents)
        row.version += 1
        row.updated_at = self._now
        row.save()


def secret_ids(references: Iterable[str | None], now: datetime) -> dict[str | None, int]:
    """Primary keys of these references, each made known when it was not."""
    wanted = sorted({reference for reference in references if reference})
    models.Secret.objects.bulk_create(
        (
            models.Secret(
                reference=reference,
                kind=kind_of_reference(reference),
                created_at=now,
                updated_at=now,
            )
            for reference in wanted
        ),
        ignore_conflicts=True,
    )
    known: dict[str | None, int] = {}
    known.update(models.Secret.objects.values_list("reference", "pk"))
    return known


def note_unused_secrets(now: datetime) -> None:
    """Since when no credential names a secret."""
    models.Secret.objects.filter(credentials__isnull=True, unused_since__isnull=True).update(
        unused_since=now
    )
    models.Secret.objects.filter(credentials__isnull=False, unused_since__isnull=False).update(
        unused_since=None
    )


def kind_of_reference(reference: str) -> models.SecretKind:
    """``env:NAME`` and ``file:/path`` are outside, anything else names a stored secret."""
    if reference.startswith("env:"):
        return models.SecretKind.ENV
    if reference.startswith("file:"):
        return models.SecretKind.FILE
    return models.SecretKind.STORED
