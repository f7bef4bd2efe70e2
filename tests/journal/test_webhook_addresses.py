"""Addresses that older entries of the audit log hold are taken out of them, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from routeradmin.adapters.sealing import Secret
from routeradmin.journal.models import AuditEntry
from routeradmin.services.secrets import fingerprint_of

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = [("journal", "0003_intent_decisions")]
AFTER = [("journal", "0004_webhook_addresses_leave_the_audit")]
OLD = "https://hooks.example:8443/services/T000/B000/XXXXsecretXXXX"
NEW = "https://chat.example?key=YYYYsecretYYYY"


@pytest.fixture(autouse=True)
def latest() -> Iterator[None]:
    yield
    MigrationExecutor(connection).migrate(AFTER)


def migrate(to: list[tuple[str, str]]) -> None:
    MigrationExecutor(connection).migrate(to)


def entry(kind: str, **changes: Any) -> int:
    made = AuditEntry.objects.create(
        at=timezone.now(), actor="user:ada", action="update", kind=kind, changes=changes
    )
    return made.pk


def told(url: str, host: str) -> str:
    return f"{host} ({fingerprint_of(Secret(url))})"


def test_addresses_are_taken_out_and_the_rest_stays() -> None:
    migrate(BEFORE)
    made = entry("webhooks", name=[None, "pager"], url=[None, OLD], secret=[None, "abc"])
    moved = entry("webhooks", url=[OLD, NEW])
    renamed = entry("webhooks", name=["pager", "bell"])
    hidden = entry("webhooks", url=[told(OLD, "https://hooks.example:8443/…"), None])
    other = entry("endpoints", url=["https://a.example/x", None])
    migrate(AFTER)
    changes = dict(AuditEntry.objects.values_list("pk", "changes"))
    old, new = told(OLD, "https://hooks.example:8443/…"), told(NEW, "https://chat.example/…")
    assert changes[made] == {"name": [None, "pager"], "url": [None, old], "secret": [None, "abc"]}
    assert changes[moved] == {"url": [old, new]}
    assert changes[hidden] == {"url": [old, None]}
    assert changes[renamed] == {"name": ["pager", "bell"]}
    assert changes[other] == {"url": ["https://a.example/x", None]}


@pytest.mark.parametrize("url", [None, OLD])
def test_entries_are_final_afterwards(url: str | None) -> None:
    migrate(BEFORE)
    entry("webhooks", **({} if url is None else {"url": [None, url]}))
    migrate(AFTER)
    with pytest.raises(IntegrityError, match="final"), transaction.atomic():
        AuditEntry.objects.update(actor="user:bob")
