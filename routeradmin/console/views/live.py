"""The live page: the header strip and the board, whole or as a snapshot for the socket's page."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from routeradmin.console import board
from routeradmin.console.htmx import varied, wants_fragment
from routeradmin.engine.state import CandidateKey
from routeradmin.journal.models import Event
from routeradmin.services import live, runtime

FIGURE_STATES = (
    ("cooling", "cooling"),
    ("draining", "draining"),
    ("needs-attention", "attention"),
    ("unhealthy", "unhealthy"),
)
CHANGES_SHOWN = 8


class Told(NamedTuple):
    """A recorded event with the names that a fresh change has, for their one template."""

    kind: str
    key: str
    at: datetime
    set_by: str
    cls: str
    status: int | None

    @classmethod
    def of(cls, event: Event) -> Told:
        key = CandidateKey(event.deployment, event.credential, event.matched)
        return cls(
            event.kind,
            str(key) if event.credential else event.deployment,
            event.at,
            event.set_by,
            event.failure_class,
            event.status,
        )


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """The page; htmx and the page's script get the board alone."""
    context = _board(board.Filter.from_query(request.GET.dict()))
    if wants_fragment(request):
        return varied(render(request, "console/live/_board.html", context))
    context["changes"] = [
        Told.of(event) for event in Event.objects.exclude(deployment="")[:CHANGES_SHOWN]
    ]
    return varied(render(request, "console/live/page.html", context))


def _board(wanted: board.Filter) -> dict[str, Any]:
    current = runtime.get()
    state, snapshot = live.state_json(current), current.current.snapshot
    rows = state["candidates"]
    return {
        "state": state,
        "process": current.process_id,
        "wanted": wanted,
        "groups": board.groups(snapshot, rows, wanted),
        "beats": current.heartbeats,
        "is_demo": current.is_demo,
        "sums": board.summary(rows),
        "failing_jobs": [job for job in current.jobs.values() if job.failures_in_a_row],
        "processes_ready": sum(p["lag_ms"] == 0 for p in state["processes"]),
        "processes_behind": [
            process | {"silent_ms": current.silence_ms(process["id"])}
            for process in state["processes"]
            if process["lag_ms"]
        ],
        "figure_states": FIGURE_STATES,
        "state_choices": board.STATES,
        "providers": sorted({row["provider"] for row in rows}),
        "routes": sorted(((r.id, r.alias) for r in snapshot.routes.values()), key=lambda p: p[1]),
    }
