"""Addresses of webhooks may hold a secret in path or query, and the audit log is for every reader:
entries keep the host and a fingerprint, as new ones do."""

from __future__ import annotations

import hashlib
import hmac
from importlib import import_module

from django.conf import settings
from django.db import migrations

from routeradmin.web_url import host_of

seal = import_module("routeradmin.journal.migrations.0002_audit_entries_are_final")


def told(url: object) -> object:
    """As ``services.changes.webhooks`` tells it; what is told so already stays."""
    if not isinstance(url, str) or not url.isascii():
        return url
    mark = hmac.new(settings.SECRET_KEY.encode(), url.encode(), hashlib.sha256).hexdigest()[:12]
    return f"{host_of(url)} ({mark})"


def forget(apps, schema_editor) -> None:
    """Entries are final: the trigger that says so is away for as long as this transaction lasts,
    which nobody else can write to the table in."""
    entries = apps.get_model("journal", "AuditEntry").objects.using(schema_editor.connection.alias)
    found = entries.filter(kind="webhooks").values_list("pk", "changes")
    rows = [(pk, changes) for pk, changes in found if "url" in changes]
    if not rows:
        return
    seal.remove(apps, schema_editor)
    for pk, changes in rows:
        entries.filter(pk=pk).update(changes=changes | {"url": [told(one) for one in changes["url"]]})
    seal.install(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("journal", "0003_intent_decisions")]
    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]
