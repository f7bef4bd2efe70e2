"""How the management API writes what it answers: JSON, UTC times with milliseconds, ETags."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import orjson
from django.http import HttpRequest, HttpResponse

from routeradmin.api import etags


def utc(moment: datetime | None) -> str | None:
    """``2026-01-01T00:00:00.000Z``, or None."""
    if moment is None:
        return None
    moment = moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def location(noun: str, id: str) -> str:
    """Where an object is, escaped; slashes stay, as an id takes the rest of its path."""
    return f"/api/v1/{noun}/{quote(id, safe='/')}"


def answer(
    request: HttpRequest,
    content: Any,
    *,
    status: int = 200,
    etag: str | None = None,
    headers: Mapping[str, str] | None = None,
    may_be_unchanged: bool = True,
) -> HttpResponse:
    """``content`` as JSON with ``etag``, by default that of its bytes.

    A GET whose If-None-Match names it gets 304.
    """
    body = orjson.dumps(content)
    etag = etag or etags.digest(body)
    # Answers differ by who asks and change at any time: nobody between may keep them.
    common = {"ETag": etag, "Cache-Control": "private, no-cache", **(headers or {})}
    if may_be_unchanged and request.method == "GET" and etags.unchanged(request, etag):
        return HttpResponse(status=304, headers=common)
    return HttpResponse(body, status=status, content_type="application/json", headers=common)


def nothing() -> HttpResponse:
    """204: done, and there is nothing to show."""
    return HttpResponse(status=204)
