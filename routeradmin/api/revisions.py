"""Published catalogs: listed, read, compared, brought back."""

from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel

from routeradmin.api import etags, records
from routeradmin.api.access import actor, reading, writing
from routeradmin.api.access import reason as reason_of
from routeradmin.api.answers import answer, utc
from routeradmin.api.bodies import Page, Reason
from routeradmin.api.catalog import (
    CatalogChange,
    CatalogDiff,
    change_item,
    diff_item,
    tag_of,
)
from routeradmin.api.problems import not_found
from routeradmin.catalog.diff import diff
from routeradmin.catalog.models import Revision
from routeradmin.catalog.table import Table
from routeradmin.services import changes, runtime

router = Router(tags=["revisions"])

MAX_NUMBER = 2**31 - 1


class RevisionRecord(BaseModel):
    """``health`` counts candidates by state at the moment of publishing."""

    number: int
    author: str
    reason: str
    created_at: str
    digest: str
    health: dict[str, int]


class RevisionView(RevisionRecord):
    """``document`` is the canonical catalog; secrets are references."""

    document: dict[str, Any]


class Rollback(Table):
    reason: Reason = ""


def item(row: Revision) -> dict[str, Any]:
    return {
        "number": row.number,
        "author": row.author,
        "reason": row.reason,
        "created_at": utc(row.created_at),
        "digest": row.digest,
        "health": row.health,
    }


REVISIONS = records.Log(
    rows=lambda: Revision.objects.defer("document"),
    item=item,
    moment="created_at",
    texts={"author": "author", "digest": "digest"},
    searched=("author", "reason", "digest"),
    cursor="number",
)


@router.get(
    "",
    response=Page[RevisionRecord],
    auth=reading,
    summary="List revisions",
    openapi_extra={"parameters": REVISIONS.documented()},
)
def list_revisions(request: HttpRequest) -> HttpResponse:
    """Newest first."""
    return records.listed(request, REVISIONS)


@router.post(
    "/{int:number}/rollback",
    response=CatalogChange,
    auth=writing,
    summary="Roll back to a revision",
)
def roll_back(
    request: HttpRequest, number: int, body: Rollback | None = None, dry_run: bool = False
) -> HttpResponse:
    """Makes a new revision with the old one's catalog; what people want of objects
    (``admin_state``) stays as it is. If-Match is honoured where it is sent."""
    revision = runtime.get().current.revision
    done = changes.rollback(
        number,
        actor(request),
        body.reason if body and body.reason else reason_of(request),
        if_match=etags.optionally_based_on(request, tag_of(revision), revision),
        dry_run=dry_run,
    )
    return answer(request, change_item(done, dry_run=dry_run), etag=tag_of(done.revision))


@router.get(
    "/{int:a}/diff/{int:b}", response=CatalogDiff, auth=reading, summary="Compare two revisions"
)
def compare_revisions(request: HttpRequest, a: int, b: int) -> HttpResponse:
    """What changed from ``a`` to ``b``."""
    before, after = (changes.revision_document(found(number)) for number in (a, b))
    return answer(request, diff_item(diff(before, after)))


@router.get("/{int:number}", response=RevisionView, auth=reading, summary="Get a revision")
def get_revision(request: HttpRequest, number: int) -> HttpResponse:
    row = found(number)
    return answer(request, item(row) | {"document": orjson.loads(row.document)})


def found(number: int) -> Revision:
    """Raises Problem 404."""
    row = Revision.objects.filter(number=number).first() if number <= MAX_NUMBER else None
    if row is None:
        raise not_found("revision", str(number))
    return row
