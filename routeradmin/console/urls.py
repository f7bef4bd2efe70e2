"""URLs of the console. Ids may hold slashes, so a verb comes first and the id is the rest."""

from __future__ import annotations

from django.urls import URLPattern, path, register_converter
from django.urls.converters import StringConverter

from routeradmin.console.views import (
    actions,
    aliases,
    audit,
    bulk,
    catalog,
    credentials,
    defaults,
    deployments,
    endpoints,
    events,
    explain,
    incidents,
    intents,
    keys,
    live,
    models,
    playground,
    policies,
    providers,
    revisions,
    routes,
    rules,
    saved,
    session,
    transfer,
    turns,
    users,
    webhooks,
)

NOUNS = (
    routes.NOUN,
    aliases.NOUN,
    deployments.NOUN,
    models.NOUN,
    endpoints.NOUN,
    providers.NOUN,
    credentials.NOUN,
    policies.NOUN,
    rules.RULES,
    rules.INTENTS,
)


class FileFormat(StringConverter):
    regex = "toml|json"


register_converter(FileFormat, "file_format")

urlpatterns: list[URLPattern] = [
    path("", live.show, name="live"),
    path("panel", live.panel, name="panel"),
    path("login", session.SignIn.as_view(), name="login"),
    path("logout", session.SignOut.as_view(), name="logout"),
    path("account", session.account, name="account"),
    path("act", actions.act, name="act"),
    path("bulk/deployments", bulk.bulk, name="bulk"),
    path("explain", explain.show, name="explain"),
    path("playground", playground.show, name="playground"),
    path("judge", policies.judge, name="judge"),
    path("turns", turns.show, name="turns"),
    path("turns/<path:uid>", turns.one, name="turn"),
    path("events", events.show, name="events"),
    path("audit", audit.show, name="audit"),
    path("revisions", revisions.show, name="revisions"),
    path("revisions/<int:number>", revisions.one, name="revision"),
    path("revisions/<int:number>/rollback", revisions.rollback, name="rollback"),
    path("transfer", transfer.show, name="transfer"),
    path("export/catalog.<file_format:format>", transfer.export, name="export"),
    path("defaults", defaults.edit, name="defaults"),
    path("keys", keys.show, name="keys"),
    path("new/keys", keys.create, name="keys-new"),
    path("edit/keys/<path:uid>", keys.edit, name="keys-edit"),
    path("revoke/keys/<path:uid>", keys.revoke, name="keys-revoke"),
    path("delete/keys/<path:uid>", keys.delete, name="keys-delete"),
    path("alerts", webhooks.show, name="alerts"),
    path("alerts/incidents", incidents.show, name="incidents"),
    path("alerts/<path:uid>/deliveries", incidents.deliveries, name="alerts-deliveries"),
    path("new/alerts", webhooks.create, name="alerts-new"),
    path("edit/alerts/<path:uid>", webhooks.edit, name="alerts-edit"),
    path("test/alerts/<path:uid>", webhooks.test, name="alerts-test"),
    path("delete/alerts/<path:uid>", webhooks.delete, name="alerts-delete"),
    path("users", users.show, name="users"),
    path("new/users", users.create, name="users-new"),
    path("edit/users/<path:name>", users.edit, name="users-edit"),
    path("delete/users/<path:name>", users.delete, name="users-delete"),
    credentials.SECRET_URL,
    *intents.URLS,
    *saved.URLS,
]
for noun in NOUNS:
    urlpatterns += catalog.urls(noun)
