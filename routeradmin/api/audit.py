"""Who did what, when, from where, and why."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel

from routeradmin.api import records
from routeradmin.api.access import reading
from routeradmin.api.answers import utc
from routeradmin.api.bodies import Page
from routeradmin.api.listing import parameter
from routeradmin.api.problems import invalid
from routeradmin.journal.models import AuditEntry

router = Router(tags=["audit"])

MOST_EXPORTED = 100_000
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would run


class AuditRecord(BaseModel):
    """``changes`` maps a field to [before, after]; secrets appear as fingerprints only."""

    id: int
    at: str
    actor: str
    source: str
    action: str
    kind: str
    object_id: str
    changes: dict[str, Any]
    reason: str
    revision: int | None


def item(row: AuditEntry) -> dict[str, Any]:
    return {
        "id": row.pk,
        "at": utc(row.at),
        "actor": row.actor,
        "source": row.source,
        "action": row.action,
        "kind": row.kind,
        "object_id": row.object_id,
        "changes": row.changes,
        "reason": row.reason,
        "revision": row.revision,
    }


AUDIT = records.Log(
    rows=AuditEntry.objects.all,
    item=item,
    moment="at",
    texts={"actor": "actor", "action": "action", "kind": "kind", "object_id": "object_id"},
    numbers={"revision": "revision"},
    searched=("actor", "action", "kind", "object_id", "reason"),
)


EXPORT_FORMAT = parameter(
    "format", {"type": "string", "enum": ["csv", "json"]}, "The file's format; csv by default."
)


@router.get(
    "/export",
    auth=reading,
    summary="Export audit entries as a file",
    openapi_extra={
        "parameters": [EXPORT_FORMAT, *AUDIT.filters()],
        "responses": {200: {"content": {"text/csv": {}, "application/json": {}}}},
    },
)
def export_audit(request: HttpRequest) -> HttpResponse:
    """Every entry that the filters let through, oldest first."""
    format = request.GET.get("format", "csv")
    if format not in ("csv", "json"):
        raise invalid("The query was not accepted.", ("?format", "must be csv or json"))
    found = records.matching(request.GET, AUDIT)
    if found.count() > MOST_EXPORTED:
        detail = f"more than {MOST_EXPORTED} entries match: take a part with since and until"
        raise invalid("The query was not accepted.", ("?since", detail))
    items = (item(row) for row in found.order_by("pk").iterator(chunk_size=2000))
    is_csv = format == "csv"
    return HttpResponse(
        _as_csv(items) if is_csv else orjson.dumps(list(items)),
        content_type="text/csv; charset=utf-8" if is_csv else "application/json",
        headers={
            "Content-Disposition": f'attachment; filename="audit.{format}"',
            "Cache-Control": "private, no-store",
        },
    )


def _as_csv(items: Iterable[dict[str, Any]]) -> bytes:
    """A header and a line per entry, ``changes`` as JSON (RFC 4180)."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(AuditRecord.model_fields)
    for one in items:
        writer.writerow(_cell(one[name]) for name in AuditRecord.model_fields)
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    """Text that a spreadsheet would take for a formula gets an apostrophe in front."""
    if isinstance(value, dict):
        return orjson.dumps(value).decode()
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


@router.get(
    "",
    response=Page[AuditRecord],
    auth=reading,
    summary="List audit entries",
    openapi_extra={"parameters": AUDIT.documented()},
)
def list_audit(request: HttpRequest) -> HttpResponse:
    """Newest first; with ``after`` oldest first, for exporting without gaps."""
    return records.listed(request, AUDIT)
