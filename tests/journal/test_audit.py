"""An audit entry stays what it was."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from routeradmin.journal.models import AuditEntry

pytestmark = pytest.mark.django_db


def test_the_database_refuses_to_alter_an_audit_entry() -> None:
    entry = AuditEntry.objects.create(at=timezone.now(), actor="user:ada", action="delete")
    with pytest.raises(IntegrityError, match="final"), transaction.atomic():
        AuditEntry.objects.update(actor="user:bob")
    entry.reason = "never mind"
    with pytest.raises(IntegrityError, match="final"), transaction.atomic():
        entry.save()
    assert AuditEntry.objects.get().actor == "user:ada"


def test_an_entry_without_an_actor_is_refused() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        AuditEntry.objects.create(at=timezone.now(), actor="", action="delete")
