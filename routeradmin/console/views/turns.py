"""Recorded turns, and one turn as a timeline of attempts."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from routeradmin.console import catalog, curl, logs, routing, saved_views, standing
from routeradmin.console.htmx import or_404
from routeradmin.engine.state import FailureClass
from routeradmin.journal.models import Attempt, Turn

HALTS = (
    "succeeded",
    "exhausted",
    "ineligible-failure",
    "visible-output",
    "ambiguous-dispatch",
    "limit-refused",
    "deadline",
    "cancelled",
    "attempt-bound",
    "sink-refused",
)


def _route_called(text: str) -> str:
    return catalog.index().route_called(text)


TURNS = logs.Log(
    filters=(
        logs.Sought("halt", "Halt", "halt", HALTS),
        logs.Sought(
            "class", "Class", "attempts__failure_class", [str(one) for one in FailureClass]
        ),
        logs.Sought("route", "Route", "route", meant=_route_called),
        logs.Sought("deployment", "Deployment", "attempts__deployment"),
        logs.Sought("key", "Key", "key"),
    ),
    searched=("uid", "request_id", "route", "model"),
)


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    saved = saved_views.offered(request, "turns")
    if saved.start:
        return redirect(saved.start)
    context = {
        "place": standing.place(),
        "page": logs.page(TURNS, Turn.objects.prefetch_related("attempts"), request.GET),
        "saved": saved,
    }
    return render(request, "console/turns/list.html", context)


@require_safe
def one(request: HttpRequest, uid: str) -> HttpResponse:
    found = Turn.objects.filter(uid=uid).prefetch_related("attempts")
    turn = or_404(found, f"recorded turn {uid!r}; old ones are deleted")
    attempts = list(turn.attempts.all())
    context = {
        "turn": turn,
        "bars": _bars(attempts),
        "routing": routing.told(turn.routing),
        "curl": curl.get("turns", uid),
    }
    return render(request, "console/turns/detail.html", context)


def _bars(attempts: list[Attempt]) -> list[dict[str, Any]]:
    """Each attempt with its place on a line of 0 to 100: waits before it, then its duration."""
    at = 0.0
    spans = []
    for attempt in attempts:
        start = at + (attempt.waited_ms or 0)
        at = start + (attempt.duration_ms or 0)
        spans.append((attempt, start, at))
    whole = max(at, 1.0)
    return [
        {
            "attempt": attempt,
            "x": round(100 * start / whole, 2),
            "width": max(0.5, round(100 * (end - start) / whole, 2)),
        }
        for attempt, start, end in spans
    ]
