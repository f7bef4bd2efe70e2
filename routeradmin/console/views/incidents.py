"""What is wrong, what was, and what a webhook was told of it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from routeradmin.alerting.models import AlertEvent, Delivery, Incident, Webhook
from routeradmin.console import logs
from routeradmin.console.access import admin
from routeradmin.console.htmx import or_404

TYPES = logs.Sought("type", "Type", "type", AlertEvent.values)
INCIDENTS = logs.Log(filters=(TYPES,), searched=("type", "subject"))
DELIVERIES = logs.Log(filters=(TYPES,), searched=("type", "detail", "message_id"))


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Past ones with those that go on."""
    page = logs.page(INCIDENTS, Incident.objects.all(), request.GET)
    return render(request, "console/incidents/list.html", {"page": page})


@admin
@require_safe
def deliveries(request: HttpRequest, uid: str) -> HttpResponse:
    """Every attempt to tell one webhook, newest first."""
    row = or_404(Webhook.objects.filter(uid=uid), f"webhook {uid!r}")
    page = logs.page(DELIVERIES, Delivery.objects.filter(webhook=row), request.GET)
    context = {"page": page, "webhook": row}
    return render(request, "console/incidents/deliveries.html", context)
