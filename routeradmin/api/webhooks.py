"""Webhooks for alerts: a signing secret made here is in the answer to its creation alone."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from routeradmin.alerting.models import Delivery, Webhook
from routeradmin.api import etags, listing, records
from routeradmin.api.access import actor, administering, reason
from routeradmin.api.answers import answer, nothing, utc
from routeradmin.api.bodies import Page
from routeradmin.api.nouns import flat_fields
from routeradmin.catalog.fields import Name
from routeradmin.catalog.table import Table
from routeradmin.services import changes
from routeradmin.services.alerts.trying import send_test

router = Router(tags=["webhooks"])

WRITE_ONLY: JsonDict = {"format": "password", "writeOnly": True}
Texts = Annotated[tuple[Name, ...], Field(strict=False, max_length=64)]


class WebhookSettings(Table):
    """``events``: the types it is told of; none for all."""

    events: Texts = ()
    is_enabled: bool = True


class WebhookBody(WebhookSettings):
    """``secret``: ``whsec_`` and base64; left out, one is made."""

    name: Name
    url: str = Field(max_length=4096)
    secret: str = Field("", max_length=256, json_schema_extra=WRITE_ONLY)


class WebhookPatch(WebhookSettings):
    """Only the named fields change."""

    name: Name = ""
    url: str = Field("", max_length=4096)
    secret: str = Field("", max_length=256, json_schema_extra=WRITE_ONLY)


class WebhookView(WebhookSettings):
    """``failures``: attempts in a row that were not taken."""

    id: str
    name: str
    url: str
    fingerprint: str
    last_attempt_at: datetime | None
    last_status: int | None
    last_error: str
    failures: int
    created_at: datetime


class CreatedWebhook(WebhookView):
    """``signing_secret`` is shown this once; null where the request gave it."""

    signing_secret: str | None


class TestResult(Table):
    """``status`` is the receiver's; null where none came."""

    ok: bool
    status: int | None
    detail: str
    duration_ms: float


FIELDS = flat_fields(WebhookView)


def found(id: str) -> Webhook:
    """Raises NotFound."""
    row = Webhook.objects.filter(uid=id).first()
    if row is None:
        raise changes.NotFound("webhooks", id)
    return row


def show(request: HttpRequest, row: Webhook) -> HttpResponse:
    # How deliveries went is not a change of it: the version alone makes the ETag.
    content = changes.webhook_values(row)
    return answer(request, content, etag=row.etag, may_be_unchanged=False)


def based_on(request: HttpRequest, id: str) -> int | str:
    """The version that If-Match vouches for, or ``*``. Raises Problem 428 and 412, NotFound."""
    row = found(id)
    etags.require_match(request, row.etag)
    return changes.ANY if etags.matches_any(request) else row.version


@router.get(
    "",
    response=Page[WebhookView],
    auth=administering,
    summary="List webhooks",
    openapi_extra={"parameters": listing.documented(FIELDS)},
)
def list_webhooks(request: HttpRequest) -> HttpResponse:
    rows = map(changes.webhook_values, Webhook.objects.all())
    return answer(request, listing.of_request(request, rows, FIELDS))


@router.post("", response={201: CreatedWebhook}, auth=administering, summary="Create a webhook")
def create_webhook(request: HttpRequest, body: WebhookBody) -> HttpResponse:
    """The answer alone holds a signing secret that was made for it."""
    values = body.model_dump(exclude_unset=True)
    row, secret = changes.create_webhook(values, actor(request), reason(request))
    made = secret.reveal() if secret is not None else None
    content = changes.webhook_values(row) | {"signing_secret": made}
    headers = {"Location": f"/api/v1/webhooks/{row.uid}", "Cache-Control": "no-store"}
    return answer(request, content, status=201, etag=row.etag, headers=headers)


@router.post(
    "/{path:id}/test", response=TestResult, auth=administering, summary="Send a test message"
)
def test_webhook(request: HttpRequest, id: str) -> HttpResponse:
    """Sent once, now, also to a webhook that is switched off."""
    sent = send_test(id, actor(request), reason(request))
    content = {
        "ok": sent.ok,
        "status": sent.status,
        "detail": sent.detail,
        "duration_ms": sent.duration_ms,
    }
    return answer(request, content)


class DeliveryRecord(BaseModel):
    """One attempt; ``status`` is the receiver's, ``next_at`` when it is tried again."""

    id: int
    message_id: str
    type: str
    at: str
    attempt: int
    ok: bool
    status: int | None
    detail: str | None
    duration_ms: float
    next_at: str | None


def _delivery(row: Delivery) -> dict[str, Any]:
    return {
        "id": row.pk,
        "message_id": row.message_id,
        "type": row.type,
        "at": utc(row.at),
        "attempt": row.attempt,
        "ok": row.ok,
        "status": row.status,
        "detail": row.detail or None,
        "duration_ms": row.duration_ms,
        "next_at": utc(row.next_at),
    }


def _deliveries(webhook: Webhook | None = None) -> records.Log:
    return records.Log(
        rows=lambda: Delivery.objects.filter(webhook=webhook),
        item=_delivery,
        moment="at",
        texts={"type": "type", "message_id": "message_id"},
        numbers={"status": "status"},
        searched=("type", "detail"),
    )


@router.get(
    "/{path:id}/deliveries",
    response=Page[DeliveryRecord],
    auth=administering,
    summary="List what was sent to a webhook",
    openapi_extra={"parameters": _deliveries().documented()},
)
def list_deliveries(request: HttpRequest, id: str) -> HttpResponse:
    """Attempts, newest first."""
    return records.listed(request, _deliveries(found(id)))


@router.get("/{path:id}", response=WebhookView, auth=administering, summary="Get a webhook")
def get_webhook(request: HttpRequest, id: str) -> HttpResponse:
    return show(request, found(id))


def _change(request: HttpRequest, id: str, values: dict[str, Any]) -> HttpResponse:
    version = based_on(request, id)
    by, why = actor(request), reason(request)
    return show(request, changes.update_webhook(id, values, by, if_match=version, reason=why))


@router.put("/{path:id}", response=WebhookView, auth=administering, summary="Replace a webhook")
def replace_webhook(request: HttpRequest, id: str, body: WebhookBody) -> HttpResponse:
    """A secret that is not named stays."""
    kept = {"secret"} - body.model_fields_set
    return _change(request, id, body.model_dump(exclude=kept))


@router.patch("/{path:id}", response=WebhookView, auth=administering, summary="Update a webhook")
def update_webhook(request: HttpRequest, id: str, body: WebhookPatch) -> HttpResponse:
    return _change(request, id, body.model_dump(exclude_unset=True))


@router.delete("/{path:id}", response={204: None}, auth=administering, summary="Delete a webhook")
def delete_webhook(request: HttpRequest, id: str) -> HttpResponse:
    version = based_on(request, id)
    changes.delete_webhook(id, actor(request), if_match=version, reason=reason(request))
    return nothing()
