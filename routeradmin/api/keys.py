"""API keys: a key's text is in the answer to its creation and nowhere else."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from routeradmin.access.models import ApiKey
from routeradmin.api import etags, listing
from routeradmin.api.access import actor, administering, reason
from routeradmin.api.answers import answer, location, nothing
from routeradmin.api.bodies import Page
from routeradmin.api.nouns import flat_fields
from routeradmin.catalog.fields import Count, Instant, Name
from routeradmin.catalog.table import Table
from routeradmin.services import changes

router = Router(tags=["keys"])

Texts = Annotated[tuple[Name, ...], Field(strict=False, max_length=4096)]


class KeyLimits(Table):
    """``routes``: ids of the routes it may use, null for all. Limits: null for none."""

    routes: Texts | None = None
    rpm_limit: Count | None = None
    tpm_limit: Count | None = None
    max_parallel_requests: Count | None = None
    tokens_per_day: Count | None = None
    expires_at: Instant | None = None


class KeyBody(KeyLimits):
    name: Name
    scopes: Texts


class KeyPatch(KeyLimits):
    """Only the named fields change."""

    name: Name = ""
    scopes: Texts = ()


class KeyView(KeyBody):
    """``prefix`` is what people know it by."""

    id: str
    prefix: str
    revoked_at: datetime | None
    last_used_at: datetime | None
    created_at: datetime


class CreatedKey(KeyView):
    """``key`` is the key's text: it is shown this once."""

    key: str


FIELDS = flat_fields(KeyView)


def found(id: str) -> ApiKey:
    """Raises NotFound."""
    row = ApiKey.objects.filter(uid=id).first()
    if row is None:
        raise changes.NotFound("keys", id)
    return row


def show(request: HttpRequest, row: ApiKey) -> HttpResponse:
    # Its use is not a change of it: the version alone makes the ETag, so no 304 by it.
    return answer(request, changes.key_values(row), etag=row.etag, may_be_unchanged=False)


def based_on(request: HttpRequest, id: str) -> int | str:
    """Raises Problem 428 and 412, NotFound."""
    row = found(id)
    return etags.based_on(request, row.etag, row.version)


@router.get(
    "",
    response=Page[KeyView],
    auth=administering,
    summary="List keys",
    openapi_extra={"parameters": listing.documented(FIELDS)},
)
def list_keys(request: HttpRequest) -> HttpResponse:
    rows = map(changes.key_values, ApiKey.objects.all())
    return answer(request, listing.of_request(request, rows, FIELDS))


@router.post("", response={201: CreatedKey}, auth=administering, summary="Create a key")
def create_key(request: HttpRequest, body: KeyBody) -> HttpResponse:
    """The answer alone holds the key's text."""
    row, token = changes.create_key(
        body.model_dump(exclude_unset=True), actor(request), reason=reason(request)
    )
    content = changes.key_values(row) | {"key": token}
    headers = {"Location": location("keys", row.uid), "Cache-Control": "no-store"}
    return answer(request, content, status=201, etag=row.etag, headers=headers)


@router.post("/{path:id}/revoke", response=KeyView, auth=administering, summary="Revoke a key")
def revoke_key(request: HttpRequest, id: str) -> HttpResponse:
    """It opens nothing from now on, and stays to be seen."""
    return show(request, changes.revoke_key(id, actor(request), reason=reason(request)))


@router.get("/{path:id}", response=KeyView, auth=administering, summary="Get a key")
def get_key(request: HttpRequest, id: str) -> HttpResponse:
    return show(request, found(id))


def _change(request: HttpRequest, id: str, values: dict[str, Any]) -> HttpResponse:
    version = based_on(request, id)
    row = changes.update_key(id, values, actor(request), if_match=version, reason=reason(request))
    return show(request, row)


@router.put("/{path:id}", response=KeyView, auth=administering, summary="Replace a key's settings")
def replace_key(request: HttpRequest, id: str, body: KeyBody) -> HttpResponse:
    """The text stays; what the body does not name has no limit."""
    return _change(request, id, body.model_dump())


@router.patch("/{path:id}", response=KeyView, auth=administering, summary="Update a key")
def update_key(request: HttpRequest, id: str, body: KeyPatch) -> HttpResponse:
    return _change(request, id, body.model_dump(exclude_unset=True))


@router.delete("/{path:id}", response={204: None}, auth=administering, summary="Delete a key")
def delete_key(request: HttpRequest, id: str) -> HttpResponse:
    version = based_on(request, id)
    changes.delete_key(id, actor(request), if_match=version, reason=reason(request))
    return nothing()
