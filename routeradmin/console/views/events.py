"""Events: state changes with their evidence, publishes, actions."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from routeradmin.console import logs, saved_views, standing
from routeradmin.engine.state import FailureClass
from routeradmin.journal.models import Event

KINDS = (
    "cooldown-set",
    "cooldown-extended",
    "cooldown-cleared",
    "recovering",
    "healthy",
    "degraded",
    "unhealthy",
    "needs-attention",
    "enabled",
    "draining",
    "disabled",
    "secret-replaced",
    "published",
)
EVENTS = logs.Log(
    filters=(
        logs.Sought("kind", "Kind", "kind", KINDS),
        logs.Sought("class", "Class", "failure_class", [str(one) for one in FailureClass]),
        logs.Sought("deployment", "Deployment", "deployment"),
        logs.Sought("credential", "Credential", "credential"),
    ),
    searched=("deployment", "credential", "message", "set_by", "kind"),
)


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    saved = saved_views.offered(request, "events")
    if saved.start:
        return redirect(saved.start)
    context = {
        "place": standing.place(),
        "page": logs.page(EVENTS, Event.objects.all(), request.GET),
        "saved": saved,
    }
    return render(request, "console/events/list.html", context)
