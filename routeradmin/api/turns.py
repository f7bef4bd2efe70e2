"""Recorded turns with their attempts."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from routeradmin.api import records
from routeradmin.api.access import reading
from routeradmin.api.answers import answer, utc
from routeradmin.api.bodies import Page
from routeradmin.api.problems import not_found
from routeradmin.journal.models import Attempt, Turn

router = Router(tags=["turns"])


class Usage(BaseModel):
    """Tokens; a figure nobody told is null, never 0."""

    input: int | None
    output: int | None


class AttemptRecord(BaseModel):
    n: int
    target: str
    deployment: str
    credential: str
    provenance: dict[str, Any]
    auth_kind: str
    billing_kind: str
    failure_class: str | None = Field(alias="class")
    status: int | None
    dispatch: str | None
    visible_events: int
    waited_ms: float
    duration_ms: float | None
    ttft_ms: float | None
    usage: Usage
    message: str


class TurnRecord(BaseModel):
    """One request carried through attempts until it halted."""

    id: str
    request_id: str
    route: str
    model: str
    key: str
    revision: int
    halt: str | None
    started_at: str
    duration_ms: float | None
    overhead_ms: float | None
    attempts: list[AttemptRecord]
    warnings: list[dict[str, Any]]
    routing: dict[str, Any] | None


def attempt_item(row: Attempt) -> dict[str, Any]:
    return {
        "n": row.n,
        "target": row.target,
        "deployment": row.deployment,
        "credential": row.credential,
        "provenance": row.provenance,
        "auth_kind": row.auth_kind,
        "billing_kind": row.billing_kind,
        "class": row.failure_class or None,
        "status": row.status,
        "dispatch": row.dispatch or None,
        "visible_events": row.visible_events,
        "waited_ms": row.waited_ms,
        "duration_ms": row.duration_ms,
        "ttft_ms": row.ttft_ms,
        "usage": {"input": row.input_tokens, "output": row.output_tokens},
        "message": row.message,
    }


def item(row: Turn) -> dict[str, Any]:
    return {
        "id": row.uid,
        "request_id": row.request_id,
        "route": row.route,
        "model": row.model,
        "key": row.key,
        "revision": row.revision,
        "halt": row.halt or None,
        "started_at": utc(row.started_at),
        "duration_ms": row.duration_ms,
        "overhead_ms": row.overhead_ms,
        "attempts": [attempt_item(attempt) for attempt in row.attempts.all()],
        "warnings": row.warnings,
        "routing": row.routing,
    }


def turns() -> QuerySet[Turn]:
    return Turn.objects.prefetch_related("attempts")


TURNS = records.Log(
    rows=turns,
    item=item,
    moment="started_at",
    joins=True,
    texts={
        "route": "route",
        "model": "model",
        "key": "key",
        "halt": "halt",
        "request_id": "request_id",
        "deployment": "attempts__deployment",
        "credential": "attempts__credential",
        "class": "attempts__failure_class",
    },
    numbers={"revision": "revision"},
    searched=("uid", "request_id", "route", "model"),
)


@router.get(
    "",
    response=Page[TurnRecord],
    auth=reading,
    by_alias=True,
    summary="List recorded turns",
    openapi_extra={"parameters": TURNS.documented()},
)
def list_turns(request: HttpRequest) -> HttpResponse:
    """Newest first; filters on attempts ask for a turn with such an attempt."""
    return records.listed(request, TURNS)


@router.get(
    "/{path:id}", response=TurnRecord, auth=reading, by_alias=True, summary="Get a recorded turn"
)
def get_turn(request: HttpRequest, id: str) -> HttpResponse:
    found = turns().filter(uid=id).first()
    if found is None:
        raise not_found("recorded turn", id)
    return answer(request, item(found))
