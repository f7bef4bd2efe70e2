"""What the operations on catalog objects do: find, check the condition, change, show."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse

from routeradmin.api import etags, listing
from routeradmin.api.access import actor, reason
from routeradmin.api.answers import answer, location, nothing
from routeradmin.api.bodies import named, whole
from routeradmin.api.nouns import Item, Noun
from routeradmin.catalog.document import Document
from routeradmin.catalog.rows import version_of
from routeradmin.catalog.table import Table
from routeradmin.services import changes, runtime

WARNINGS_HEADER = "X-Routeradmin-Warnings"  # GET /catalog/warnings lists them


def document() -> Document:
    """The catalog in force in this process."""
    return runtime.get().current.document


def etag_of(noun: Noun, item: Item) -> tuple[str, int]:
    """An object's ETag, and the stored version that it vouches for.

    The version tells edits by other processes apart, the digest everything that is shown.
    """
    version = version_of(noun.kind, str(item[noun.key]))
    if version is None:
        raise changes.NotFound(noun.plural, str(item[noun.key]))
    shown = hashlib.blake2b(orjson.dumps(item), digest_size=8).hexdigest()
    return f'"{version}-{shown}"', version


def listed(request: HttpRequest, noun: Noun) -> HttpResponse:
    current = document()
    items = noun.items(current, noun.entries(current))
    return answer(request, listing.of_request(request, items, noun.fields, key=noun.key))


def shown(
    request: HttpRequest, noun: Noun, id: str, status: int = 200, warnings: int | None = None
) -> HttpResponse:
    """``warnings``: how many the catalog has after a write."""
    item = noun.shown_as(document(), id)
    etag, _ = etag_of(noun, item)
    headers = {"Location": location(noun.plural, id)} if status == 201 else {}
    if warnings is not None:
        headers[WARNINGS_HEADER] = str(warnings)
    return answer(request, item, status=status, etag=etag, headers=headers)


def based_on(request: HttpRequest, noun: Noun, id: str) -> int | str:
    """The version that the request's If-Match vouches for, or ``*``.

    Raises Problem 428 and 412, NotFound.
    """
    etag, version = etag_of(noun, noun.shown_as(document(), id))
    return etags.based_on(request, etag, version)


def created(request: HttpRequest, noun: Noun, body: Table) -> HttpResponse:
    saved = changes.create(noun.plural, named(body), actor(request), reason(request))
    return shown(request, noun, saved.id, 201, len(saved.warnings))


def replaced(request: HttpRequest, noun: Noun, id: str, body: Table) -> HttpResponse:
    """PUT: what the body does not name goes back to its default."""
    return _changed(request, noun, id, whole(body))


def updated(request: HttpRequest, noun: Noun, id: str, body: Table) -> HttpResponse:
    """PATCH: only the named fields change; tables merge, null goes back to the default."""
    return _changed(request, noun, id, named(body))


def _changed(request: HttpRequest, noun: Noun, id: str, patch: dict[str, Any]) -> HttpResponse:
    version = based_on(request, noun, id)
    saved = changes.update(
        noun.plural, id, patch, actor(request), if_match=version, reason=reason(request)
    )
    return shown(request, noun, id, warnings=len(saved.warnings))


def deleted(request: HttpRequest, noun: Noun, id: str, *, cascade: bool) -> HttpResponse:
    version = based_on(request, noun, id)
    changes.delete(
        noun.plural,
        id,
        actor(request),
        if_match=version,
        cascade=cascade,
        reason=reason(request),
    )
    return nothing()
