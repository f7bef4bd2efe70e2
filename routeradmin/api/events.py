"""State changes with their evidence; an event's id is the cursor that readers follow."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from routeradmin.api import records
from routeradmin.api.access import reading
from routeradmin.api.answers import utc
from routeradmin.api.bodies import Page
from routeradmin.journal.models import Event

router = Router(tags=["events"])


class EventRecord(BaseModel):
    """One change; what does not apply is null."""

    id: int
    kind: str
    at: str
    deployment: str | None
    credential: str | None
    matched: str | None
    set_by: str | None
    failure_class: str | None = Field(alias="class")
    status: int | None
    message: str | None
    until: str | None
    level: int | None
    revision: int | None
    facts: dict[str, Any]


def item(row: Event) -> dict[str, Any]:
    return {
        "id": row.pk,
        "kind": row.kind,
        "at": utc(row.at),
        "deployment": row.deployment or None,
        "credential": row.credential or None,
        "matched": row.matched or None,
        "set_by": row.set_by or None,
        "class": row.failure_class or None,
        "status": row.status,
        "message": row.message or None,
        "until": utc(row.until),
        "level": row.level,
        "revision": row.revision,
        "facts": row.facts,
    }


EVENTS = records.Log(
    rows=Event.objects.all,
    item=item,
    moment="at",
    texts={
        "kind": "kind",
        "deployment": "deployment",
        "credential": "credential",
        "class": "failure_class",
        "set_by": "set_by",
    },
    numbers={"status": "status", "revision": "revision"},
    searched=("kind", "deployment", "credential", "message", "set_by"),
)


@router.get(
    "",
    response=Page[EventRecord],
    auth=reading,
    by_alias=True,
    summary="List events",
    openapi_extra={"parameters": EVENTS.documented()},
)
def list_events(request: HttpRequest) -> HttpResponse:
    """Newest first; with ``after`` oldest first, for following the tail."""
    return records.listed(request, EVENTS)
