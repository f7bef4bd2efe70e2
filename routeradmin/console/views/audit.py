"""The audit log: who did what, when, from where and why."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from routeradmin.console import logs
from routeradmin.journal.models import AuditEntry
from routeradmin.services import changes

AUDIT = logs.Log(
    filters=(
        logs.Sought("kind", "Kind", "kind", changes.AUDITED),
        logs.Sought("actor", "Who", "actor"),
        logs.Sought("object", "Object", "object_id"),
    ),
    searched=("actor", "action", "object_id", "reason"),
)


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    page = logs.page(AUDIT, AuditEntry.objects.all(), request.GET)
    return render(request, "console/audit/list.html", {"page": page})
