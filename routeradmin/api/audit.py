"""Who did what, when, from where, and why."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel

from routeradmin.api import records
from routeradmin.api.access import reading
from routeradmin.api.answers import utc
from routeradmin.api.bodies import Page
from routeradmin.journal.models import AuditEntry

router = Router(tags=["audit"])


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
