"""Actions on a deployment: what people want of it, and looking at it right now."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from routeradmin.api import objects
from routeradmin.api.access import acting, actor
from routeradmin.api.access import reason as reason_of
from routeradmin.api.answers import answer
from routeradmin.api.bodies import Reason
from routeradmin.api.nouns import Noun
from routeradmin.api.state import CandidateView, reading_of_now
from routeradmin.catalog.document import ServingModel
from routeradmin.catalog.table import Table
from routeradmin.services import changes, connecting, looking

DEPLOYMENTS = Noun("deployments", "deployment", ServingModel)
MOST_SECONDS = 365 * 24 * 3600

router = Router(tags=["deployments"], by_alias=True)


class Action(Table):
    """Why; told in audit, revision and events."""

    reason: Reason = ""


class Drain(Action):
    """``limit_s``: seconds after which the deployment reads disabled."""

    limit_s: float | None = Field(None, gt=0, le=MOST_SECONDS)


class Looking(Action):
    """``credential``: only with this one."""

    credential: str | None = Field(None, max_length=256)


class SeenView(BaseModel):
    """``class`` is null where the deployment answered well; mode ``chat`` may be billed."""

    credential: str
    mode: str
    ok: bool
    failure_class: str | None = Field(alias="class")
    status: int | None
    message: str
    duration_ms: float


class ProbeView(BaseModel):
    """``candidates`` is how they stand afterwards, as in ``GET /state``."""

    results: list[SeenView]
    candidates: list[CandidateView]


class StepView(BaseModel):
    """``ok`` null: not tried, or it cannot be told."""

    name: str
    ok: bool | None
    detail: str
    duration_ms: float | None


class TestView(BaseModel):
    deployment: str
    credential: str
    ok: bool
    steps: list[StepView]


def why(request: HttpRequest, body: Action | None) -> str:
    return body.reason if body is not None and body.reason else reason_of(request)


@router.post("/{path:id}/drain", response=ServingModel, auth=acting, summary="Drain a deployment")
def drain_deployment(request: HttpRequest, id: str, body: Drain | None = None) -> HttpResponse:
    """No new leases; running ones end by themselves. ``enable`` takes it back."""
    limit_s = body.limit_s if body is not None else None
    changes.drain(id, actor(request), limit_s=limit_s, reason=why(request, body))
    return objects.shown(request, DEPLOYMENTS, id)


@router.post(
    "/{path:id}/disable", response=ServingModel, auth=acting, summary="Disable a deployment"
)
def disable_deployment(request: HttpRequest, id: str, body: Action | None = None) -> HttpResponse:
    changes.disable(id, actor(request), reason=why(request, body))
    return objects.shown(request, DEPLOYMENTS, id)


@router.post("/{path:id}/enable", response=ServingModel, auth=acting, summary="Enable a deployment")
def enable_deployment(request: HttpRequest, id: str, body: Action | None = None) -> HttpResponse:
    changes.enable(id, actor(request), reason=why(request, body))
    return objects.shown(request, DEPLOYMENTS, id)


@router.post("/{path:id}/probe", response=ProbeView, auth=acting, summary="Probe a deployment now")
def probe_deployment(request: HttpRequest, id: str, body: Looking | None = None) -> HttpResponse:
    """Asks as its probe does; where that is off, for the model list, which costs nothing."""
    credential = body.credential if body is not None else None
    seen = looking.probe(id, actor(request), credential_id=credential, reason=why(request, body))
    state = reading_of_now()
    content = {
        "results": [seen_item(one) for one in seen],
        "candidates": [one for one in state["candidates"] if one["deployment"] == id],
    }
    return answer(request, content)


def seen_item(seen: looking.Seen) -> dict[str, Any]:
    outcome = seen.outcome
    return {
        "credential": seen.credential,
        "mode": seen.mode,
        "ok": outcome.failure is None,
        "class": str(outcome.failure) if outcome.failure is not None else None,
        "status": outcome.status,
        "message": outcome.message,
        "duration_ms": seen.duration_ms,
    }


@router.post(
    "/{path:id}/test",
    response=TestView,
    auth=acting,
    operation_id="test_deployment",
    summary="Test a deployment's connection",
)
def try_deployment(request: HttpRequest, id: str, body: Looking | None = None) -> HttpResponse:
    """In steps, up to a first token: a tiny real request that may be billed. Changes nothing."""
    credential = body.credential if body is not None else None
    tested = connecting.try_out(
        id, actor(request), credential_id=credential, reason=why(request, body)
    )
    content = {
        "deployment": id,
        "credential": tested.credential,
        "ok": tested.ok,
        "steps": [asdict(step) for step in tested.steps],
    }
    return answer(request, content)
