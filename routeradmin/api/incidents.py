"""What is wrong, and what was: what alerts tell of."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel

from routeradmin.alerting.models import Incident
from routeradmin.api import records
from routeradmin.api.access import reading
from routeradmin.api.answers import utc
from routeradmin.api.bodies import Page

router = Router(tags=["incidents"])


class IncidentRecord(BaseModel):
    """``ended_at`` is null while it goes on."""

    id: int
    type: str
    subject: str
    state: str
    began_at: str
    ended_at: str | None
    process: str
    facts: dict[str, Any]


def item(row: Incident) -> dict[str, Any]:
    return {
        "id": row.pk,
        "type": row.type,
        "subject": row.subject,
        "state": "open" if row.ended_at is None else "ended",
        "began_at": utc(row.began_at),
        "ended_at": utc(row.ended_at),
        "process": row.process,
        "facts": row.facts,
    }


INCIDENTS = records.Log(
    rows=Incident.objects.all,
    item=item,
    moment="began_at",
    texts={"type": "type", "subject": "subject"},
    searched=("type", "subject"),
)
OPEN = records.Log(
    rows=lambda: Incident.objects.filter(ended_at=None),
    item=item,
    moment="began_at",
    texts=INCIDENTS.texts,
    searched=INCIDENTS.searched,
)


@router.get(
    "",
    response=Page[IncidentRecord],
    auth=reading,
    summary="List incidents",
    openapi_extra={"parameters": INCIDENTS.documented()},
)
def list_incidents(request: HttpRequest) -> HttpResponse:
    """Newest first."""
    return records.listed(request, INCIDENTS)


@router.get(
    "/open",
    response=Page[IncidentRecord],
    auth=reading,
    summary="List what is wrong now",
    openapi_extra={"parameters": OPEN.documented()},
)
def list_open_incidents(request: HttpRequest) -> HttpResponse:
    return records.listed(request, OPEN)
