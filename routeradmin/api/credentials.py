"""Secrets, or none, of providers: ``accounts`` in files. A secret is written, never read back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field
from pydantic.config import JsonDict

from routeradmin.api import objects
from routeradmin.api.access import actor, reason, writing
from routeradmin.api.answers import utc
from routeradmin.api.crud import router_of
from routeradmin.api.nouns import Item, Noun
from routeradmin.catalog.document import Account, Document
from routeradmin.catalog.models import Secret
from routeradmin.catalog.table import Table
from routeradmin.services import changes
from routeradmin.services.changes.nouns import full_form

WRITE_ONLY: JsonDict = {"format": "password", "writeOnly": True}


class AccountCreation(Account):
    """A credential with its secret, or with the reference of one."""

    secret: str | None = Field(None, json_schema_extra=WRITE_ONLY)


class AccountView(Account):
    """``secret_fingerprint`` tells two secrets apart without telling either."""

    secret_fingerprint: str | None
    secret_changed_at: str | None


class SecretReplacement(Table):
    secret: str = Field(json_schema_extra=WRITE_ONLY)


def items(document: Document, entries: Sequence[Any]) -> Iterable[Item]:
    named = {entry.secret_reference_id for entry in entries if entry.secret_reference_id}
    rows = Secret.objects.all() if len(named) > 1 else Secret.objects.filter(reference__in=named)
    secrets = {row.reference: row for row in rows}
    for entry in entries:
        row = secrets.get(entry.secret_reference_id)
        yield full_form(entry) | {
            "secret_fingerprint": (row.fingerprint or None) if row else None,
            "secret_changed_at": utc(row.changed_at) if row else None,
        }


CREDENTIALS = Noun(
    "credentials", "credential", Account, output=AccountView, created=AccountCreation, items=items
)
actions = Router(tags=["credentials"], by_alias=True)


@actions.post(
    "/{path:id}/secret", response=AccountView, auth=writing, summary="Replace a credential's secret"
)
def replace_secret(request: HttpRequest, id: str, body: SecretReplacement) -> HttpResponse:
    """Every process uses it for its next call; the credential's cooldowns are cleared."""
    changes.replace_secret(id, body.secret, actor(request), reason(request))
    return objects.shown(request, CREDENTIALS, id)


router = router_of(CREDENTIALS, actions)
