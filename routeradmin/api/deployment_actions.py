"""Actions on a deployment: what people want of it, and looking at it right now."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from routeradmin.api import objects
from routeradmin.api.access import acting, actor
from routeradmin.api.access import reason as reason_of
from routeradmin.api.bodies import Reason
from routeradmin.api.nouns import Noun
from routeradmin.catalog.document import ServingModel
from routeradmin.catalog.table import Table
from routeradmin.services import changes

DEPLOYMENTS = Noun("deployments", "deployment", ServingModel)
MOST_SECONDS = 365 * 24 * 3600

router = Router(tags=["deployments"], by_alias=True)


class Action(Table):
    """Why; told in audit, revision and events."""

    reason: Reason = ""


class Drain(Action):
    """``limit_s``: seconds after which the deployment reads disabled."""

    limit_s: float | None = Field(None, gt=0, le=MOST_SECONDS)


def why(request: HttpRequest, body: Action | None) -> str:
    return body.reason if body is not None and body.reason else reason_of(request)


@router.post("/{path:id}/drain", response=ServingModel, auth=acting, summary="Drain a deployment")
def drain(request: HttpRequest, id: str, body: Drain | None = None) -> HttpResponse:
    """No new leases; running ones end by themselves. ``enable`` takes it back."""
    limit_s = body.limit_s if body is not None else None
    changes.drain(id, actor(request), limit_s=limit_s, reason=why(request, body))
    return objects.shown(request, DEPLOYMENTS, id)


@router.post(
    "/{path:id}/disable", response=ServingModel, auth=acting, summary="Disable a deployment"
)
def disable(request: HttpRequest, id: str, body: Action | None = None) -> HttpResponse:
    changes.disable(id, actor(request), reason=why(request, body))
    return objects.shown(request, DEPLOYMENTS, id)


@router.post("/{path:id}/enable", response=ServingModel, auth=acting, summary="Enable a deployment")
def enable(request: HttpRequest, id: str, body: Action | None = None) -> HttpResponse:
    changes.enable(id, actor(request), reason=why(request, body))
    return objects.shown(request, DEPLOYMENTS, id)
