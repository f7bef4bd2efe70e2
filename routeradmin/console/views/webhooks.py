"""Where alerts go: webhooks, how they fared, and a test on the spot."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from routeradmin.alerting.models import Webhook
from routeradmin.console import logs, writes
from routeradmin.console.access import admin
from routeradmin.console.forms.webhooks import WebhookDraft
from routeradmin.console.htmx import see_other, varied, wants_fragment
from routeradmin.services import changes
from routeradmin.services.alerts.trying import send_test

WEBHOOKS = logs.Log(searched=("name", "uid", "url"))


@admin
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    page = logs.page(WEBHOOKS, Webhook.objects.all(), request.GET)
    return render(request, "console/webhooks/list.html", {"page": page})


@never_cache
@admin
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    form = WebhookDraft(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        fields = {name: value for name, value in form.typed().items() if value not in (None, "")}
        try:
            row, secret = changes.create_webhook(
                fields, writes.actor(request), form.cleaned_data["reason"]
            )
        except changes.Invalid as problems:
            writes.show_problems(form, problems)
        else:
            if secret is None:
                return see_other(request, "/alerts")
            context = {"webhook": row, "secret": secret.reveal()}
            return render(request, "console/webhooks/created.html", context)
    return _page(request, form, "")


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, uid: str) -> HttpResponse:
    row = _found(uid)
    if request.method != "POST":
        return _page(request, WebhookDraft.showing(changes.webhook_values(row), row.version), uid)
    form = WebhookDraft(request.POST, exists=True)
    if form.is_valid():
        given = form.cleaned_data
        version = writes.version(given["version"])
        try:
            changes.update_webhook(
                uid, form.touched(), writes.actor(request), if_match=version, reason=given["reason"]
            )
        except changes.Invalid as problems:
            writes.show_problems(form, problems)
        except changes.Stale as stale:
            again, differences = form.rebased(stale.current, stale.version)
            more = {"conflict": True, "differences": differences}
            return _page(request, again, uid, 409, more)
        else:
            return see_other(request, "/alerts")
    return _page(request, form, uid)


def _found(uid: str) -> Webhook:
    row = Webhook.objects.filter(uid=uid).first()
    if row is None:
        raise Http404(f"There is no webhook {uid!r}.")
    return row


def _page(
    request: HttpRequest,
    form: WebhookDraft,
    uid: str,
    status: int | None = None,
    more: dict[str, Any] | None = None,
) -> HttpResponse:
    action = f"/edit/alerts/{uid}" if uid else "/new/alerts"
    context = {"form": form, "uid": uid, "action": action, "back": "/alerts", **(more or {})}
    context["noun"] = {"one": "webhook", "slug": "alerts", "title": "Alerts"}
    part = wants_fragment(request) and uid
    template = "console/catalog/_form.html" if part else "console/webhooks/form.html"
    answer = render(request, template, context, status=status or (422 if form.errors else 200))
    return varied(answer)


@admin
@require_POST
def test(request: HttpRequest, uid: str) -> HttpResponse:
    """One message now; how it went is told on the list."""
    _found(uid)
    sent = send_test(uid, writes.actor(request))
    if sent.ok:
        messages.success(request, f"Taken with {sent.status} after {sent.duration_ms:.0f} ms.")
    else:
        messages.error(request, f"Not taken: {sent.detail}")
    return see_other(request, "/alerts")


@admin
@require_POST
def delete(request: HttpRequest, uid: str) -> HttpResponse:
    _found(uid)
    changes.delete_webhook(uid, writes.actor(request), if_match="*")
    return see_other(request, "/alerts")
