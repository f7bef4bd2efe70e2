"""Where alerts go: webhooks, how they fared, and a test on the spot."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from routeradmin.alerting.models import Incident, Webhook
from routeradmin.console import curl, logs, writes
from routeradmin.console.access import admin, may_configure
from routeradmin.console.forms.webhooks import EVENTS, WebhookDraft
from routeradmin.console.htmx import or_404, see_other
from routeradmin.console.questions import Affected, Answer, Question, ask
from routeradmin.console.sheets import Named, Sheet
from routeradmin.services import changes
from routeradmin.services.alerts.trying import send_test

WEBHOOKS = logs.Log(searched=("name", "uid", "url"))
MOST_OPEN = 50  # on the first page; the list of incidents has all
NOUN = Named("alerts", "webhook", "Alerts")


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """What is wrong is for everyone, where it is told for admins alone: addresses are secrets."""
    context: dict[str, Any] = {"incidents": Incident.objects.filter(ended_at=None)[:MOST_OPEN]}
    if may_configure(request):
        context["page"] = logs.page(WEBHOOKS, Webhook.objects.all(), request.GET)
    return render(request, "console/webhooks/list.html", context)


@never_cache
@admin
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    sheet = Sheet(
        NOUN,
        reverse("alerts-new"),
        reverse("alerts"),
        plain=True,
        call=lambda form: curl.create("webhooks", _fields(form)),
    )
    if request.method != "POST":
        return sheet.show(request, WebhookDraft())

    def make(form: WebhookDraft) -> HttpResponse:
        row, secret = changes.create_webhook(
            _fields(form), writes.actor(request), form.cleaned_data["reason"]
        )
        if secret is None:
            return see_other(request, reverse("alerts"))
        context = {"webhook": row, "secret": secret.reveal()}
        return render(request, "console/webhooks/created.html", context)

    return sheet.take(request, WebhookDraft(request.POST), make)


def _fields(form: WebhookDraft) -> dict[str, Any]:
    return {name: value for name, value in form.typed().items() if value not in (None, "")}


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, uid: str) -> HttpResponse:
    row = _found(uid)
    sheet = Sheet(
        NOUN,
        reverse("alerts-edit", args=[uid]),
        reverse("alerts"),
        uid,
        row.name,
        call=lambda form: curl.update("webhooks", uid, form.patch()),
    )
    save = partial(changes.update_webhook, uid)
    return sheet.edit(request, WebhookDraft, changes.webhook_values(row), row.version, save)


def _found(uid: str) -> Webhook:
    return or_404(Webhook.objects.filter(uid=uid), f"webhook {uid!r}")


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
    return see_other(request, reverse("alerts"))


@admin
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, uid: str) -> HttpResponse:
    def question() -> Question:
        row = _found(uid)
        return Question(
            title=f"Delete webhook {row.name}?",
            yes="Delete",
            back=reverse("alerts"),
            version=str(row.version),
            lines=[f"{row.url} is told nothing more, and what waits to be sent to it is dropped."],
            affected=_untold(row),
            call=curl.delete_object("webhooks", uid),
            crumbs=(("Alerts", reverse("alerts")),),
        )

    def do(answer: Answer) -> HttpResponse:
        by = writes.actor(request)
        changes.delete_webhook(uid, by, if_match=answer.version, reason=answer.reason)
        return see_other(request, reverse("alerts"))

    _found(uid)
    return ask(request, question, do)


def _untold(row: Webhook) -> list[Affected]:
    """Its events, and whether anybody else is told of them."""
    others = Webhook.objects.filter(is_enabled=True).exclude(pk=row.pk)
    told = [set(other.events or dict(EVENTS)) for other in others]
    counts = {event: sum(event in events for events in told) for event, _ in EVENTS}
    return [
        Affected("alert", event, f"goes to {counts[event] or 'nobody'} else", sub=text)
        for event, text in EVENTS
        if not row.events or event in row.events
    ]
